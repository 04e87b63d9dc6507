"""A matrix by columns holds each entry once, rows ascending."""

from __future__ import annotations

import numpy as np
import pytest

from snarkcuda.circuits.columns import by_column
from snarkcuda.circuits.r1cs import SparseRows

MATRIX = SparseRows(
    start=np.array([0, 3, 3, 5, 6], dtype=np.int64),
    wires=np.array([4, 0, 4, 0, 2, 0], dtype=np.uint32),  # wire 4 twice in row 0
    values=np.arange(24, dtype=np.uint64).reshape(6, 4),
)


def test_each_entry_once() -> None:
    columns = by_column(MATRIX, 6)
    assert columns.start.tolist() == [0, 3, 3, 4, 4, 6, 6]
    assert columns.rows.tolist() == [0, 2, 3, 2, 0, 0]
    assert columns.entries.tolist() == [1, 3, 5, 4, 0, 2]


def test_no_entries() -> None:
    empty = SparseRows(
        np.zeros(4, dtype=np.int64), np.zeros(0, dtype=np.uint32), np.zeros((0, 4), dtype=np.uint64)
    )
    columns = by_column(empty, 3)
    assert columns.start.tolist() == [0, 0, 0, 0]
    assert len(columns.rows) == len(columns.entries) == 0


def test_a_wire_out_of_range() -> None:
    with pytest.raises(ValueError, match="not below 4"):
        by_column(MATRIX, 4)
