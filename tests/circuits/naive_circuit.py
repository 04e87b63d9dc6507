"""Circuits as Python integers: made from lists, and checked by their definition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from snarkcuda.circuits.r1cs import R1cs, SparseRows
from snarkcuda.curve.params import Curve
from snarkcuda.field.arrays import from_ints, to_ints
from snarkcuda.groth16.keys import Witness

List = Sequence[tuple[int, int]]  # (wire, coefficient)
Rows = Sequence[tuple[List, List, List]]


def sparse(lists: Sequence[List]) -> SparseRows:
    """A matrix from its rows."""
    entries = [entry for row in lists for entry in row]
    return SparseRows(
        np.cumsum([0, *map(len, lists)]).astype(np.int64),
        np.array([wire for wire, _ in entries], dtype=np.uint32),
        from_ints([value for _, value in entries], 4),
    )


def circuit(curve: Curve, n_wires: int, rows: Rows, public: tuple[int, int] = (0, 0)) -> R1cs:
    """A circuit from its rows; wire i has label 10·i."""
    a, b, c = (sparse([row[m] for row in rows]) for m in range(3))
    labels = 10 * np.arange(n_wires, dtype=np.uint64)
    return R1cs(curve, n_wires, *public, 0, a, b, c, labels, 10 * n_wires)


def lists(matrix: SparseRows) -> list[List]:
    """A matrix's rows."""
    entries = list(zip(matrix.wires.tolist(), to_ints(matrix.values), strict=True))
    return [entries[i:j] for i, j in zip(matrix.start, matrix.start[1:], strict=False)]


def unsatisfied(r1cs: R1cs, witness: Witness) -> list[int]:
    """Every constraint that fails."""
    r, w = r1cs.curve.fr.modulus, to_ints(witness.values)
    a, b, c = (
        [sum(value * w[wire] for wire, value in row) for row in lists(matrix)]
        for matrix in (r1cs.a, r1cs.b, r1cs.c)
    )
    return [i for i in range(len(a)) if (a[i] * b[i] - c[i]) % r]
