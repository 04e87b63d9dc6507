"""A word for loops in kernels."""

from __future__ import annotations

from snarkcuda.kernels.target import simulated

if simulated():

    def no_unroll() -> None:
        """Keep the loop that it stands in, as `field_device.no_unroll` does where it matters."""

else:
    from snarkcuda.kernels.field_device import no_unroll  # noqa: F401
