"""Integers in packed bytes (`arrays.packed`), inside kernels: files hold u32 at any alignment."""

from __future__ import annotations

from typing import Any

from numba import int64

from snarkcuda.jit import formula


@formula
def load_u32(data: Any, at: int) -> Any:
    """The little-endian u32 at byte `at`, as int64; LLVM makes one load of it."""
    low = int64(data[at]) | int64(data[at + 1]) << 8
    return low | int64(data[at + 2]) << 16 | int64(data[at + 3]) << 24
