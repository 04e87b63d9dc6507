"""Which path a case takes, by the backend's rule or as it was asked for."""

from __future__ import annotations

from snarkcuda.bench.case import Case
from snarkcuda.cpu.resident_key import VECTOR_ROWS
from snarkcuda.errors import DeviceError
from snarkcuda.field.vector_type import has_vectors


def takes_vectors(case: Case) -> bool:
    """Whether the case runs on vectors.

    Raises:
        DeviceError: it is to, and there are none.
    """
    if case.path == "vector" and not has_vectors():
        raise DeviceError(
            "--path vector: numba compiles for a processor without AVX-512 IFMA here "
            "(`snarkcuda doctor` says more): use --path scalar"
        )
    if case.path == "auto":
        return has_vectors() and 1 << case.log_n >= VECTOR_ROWS
    return case.path == "vector"
