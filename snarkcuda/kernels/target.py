"""What kernels are written for: numba-cuda, or its simulator. The only import of either.

Kernels take `cuda` and integer types from here: in the simulator a kernel sees its threads and
blocks through the global name `cuda` of its module.
"""

from __future__ import annotations

from importlib.util import find_spec

from numba.core import config

from snarkcuda.errors import DeviceError

INSTALL = "pip install 'snarkcuda[cuda]'"

if find_spec("numba_cuda") is None:
    raise DeviceError(f"CUDA kernels need numba-cuda, which is not installed: {INSTALL}")

from numba import cuda  # noqa: E402
from numba.cuda.types import int64, uint32  # noqa: E402

__all__ = ["INSTALL", "cuda", "int64", "simulated", "uint32"]


def simulated() -> bool:
    """Whether kernels run in the simulator: NUMBA_ENABLE_CUDASIM, as numba found it."""
    return bool(config.ENABLE_CUDASIM)
