"""XYZZ points as rows of an array, uint64 (n, 4·words): X, Y, ZZ, ZZZ, Montgomery."""

from __future__ import annotations

from typing import Any

from snarkcuda.field.element import load, store
from snarkcuda.jit import formula


@formula
def load_xyzz(F: Any, rows: Any, index: int) -> Any:
    """Row `index` as an XYZZ point."""
    base = 4 * index
    return (
        load(F, rows, base),
        load(F, rows, base + 1),
        load(F, rows, base + 2),
        load(F, rows, base + 3),
    )


@formula
def store_xyzz(F: Any, rows: Any, index: int, p: Any) -> None:
    """Write an XYZZ point to row `index`."""
    base = 4 * index
    store(F, rows, base, p[0])
    store(F, rows, base + 1, p[1])
    store(F, rows, base + 2, p[2])
    store(F, rows, base + 3, p[3])
