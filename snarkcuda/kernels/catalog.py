"""Every kernel of the project, by the field or group that it computes in.

`snarkcuda kernels` reports on these, `warmup` compiles them ahead, and tests look at each.
"""

from __future__ import annotations

from collections.abc import Callable

from snarkcuda.curve.params import Curve
from snarkcuda.field.params import PrimeField
from snarkcuda.kernels import matvec, ntt, pointwise
from snarkcuda.kernels.field import DeviceField, device_field
from snarkcuda.kernels.launch import DeviceKernel

Factory = Callable[[DeviceField], DeviceKernel]

OF_SCALARS: tuple[Factory, ...] = (
    ntt.ntt_pass,
    ntt.ntt_factors,
    matvec.matvec_rows,
    matvec.matvec_long_rows,
    pointwise.products,
    pointwise.circom_quotient,
    pointwise.bellman_quotient,
    pointwise.natural_scalars,
)


def scalar_kernels(field: PrimeField, arithmetic: str | None = None) -> list[DeviceKernel]:
    """The kernels that compute in a scalar field."""
    F = device_field(field, arithmetic)
    return [factory(F) for factory in OF_SCALARS]


def kernels_of(curve: Curve, arithmetic: str | None = None) -> list[DeviceKernel]:
    """The kernels of a curve's proofs."""
    return scalar_kernels(curve.fr, arithmetic)
