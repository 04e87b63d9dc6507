"""A circuit's matrices A and B as a circom key lists them (`keys.COEFFICIENT`).

    constraint 0: its A entries, its B entries; constraint 1: …; then for each public wire s,
    the constant included, one row more: A[n_constraints + s, s] = 1

Zero coefficients stay in, as in snarkjs (src/zkey_new.js).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint32
from numpy.typing import NDArray

from snarkcuda.circuits.r1cs import R1cs
from snarkcuda.field.arrays import from_ints
from snarkcuda.field.element import load, montgomery_cube, store
from snarkcuda.groth16.keys import COEFFICIENT
from snarkcuda.jit import kernel

_RECORD = COEFFICIENT.itemsize


def key_coefficients(r1cs: R1cs) -> NDArray[np.void]:
    """The key's coefficients: (n,) `COEFFICIENT`, value·R² mod r."""
    fr, entries = r1cs.curve.fr, len(r1cs.a.wires) + len(r1cs.b.wires)
    records = np.zeros(entries + r1cs.n_public + 1, dtype=COEFFICIENT)
    numbers = records.view(np.uint8).reshape(-1, _RECORD)
    for matrix, (rows, other) in enumerate(
        ((r1cs.a, r1cs.b.start[:-1]), (r1cs.b, r1cs.a.start[1:]))
    ):
        _place(fr, matrix, rows.start, rows.wires, rows.values, other, numbers)
    public = records[entries:]
    public["wire"] = np.arange(r1cs.n_public + 1)
    public["constraint"] = r1cs.n_constraints + public["wire"]
    public["value"] = from_ints([fr.montgomery**2 % fr.modulus], fr.limbs)
    return records


@kernel
def _place(
    F: Any, matrix: int, start: Any, wires: Any, values: Any, other: Any, records: Any
) -> None:
    """Write one matrix; `other[row]` entries of the other one stand before those of `row`."""
    cube = montgomery_cube(F)
    word = np.empty(1, dtype=np.uint32)
    for row in range(len(start) - 1):
        for k in range(start[row], start[row + 1]):
            record = records[k + other[row]]
            for field, number in enumerate((uint32(matrix), uint32(row), wires[k])):
                word[0] = number
                record[4 * field : 4 * field + 4] = word.view(np.uint8)
            # value · R³ / R
            store(F, record[12:], 0, load(F, values, k) * cube)
