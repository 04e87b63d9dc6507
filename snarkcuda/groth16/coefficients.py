"""A circuit's matrices A and B as a circom key lists them (`keys.COEFFICIENT`).

    constraint 0: its A entries, its B entries; constraint 1: …; then for each public wire s,
    the constant included, one row more: A[n_constraints + s, s] = 1

Zero coefficients stay in, as in snarkjs (src/zkey_new.js).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from snarkcuda.circuits.r1cs import R1cs
from snarkcuda.field.arrays import from_ints
from snarkcuda.field.element import load, montgomery_cube, store
from snarkcuda.groth16.keys import COEFFICIENT
from snarkcuda.jit import kernel

_RECORD = COEFFICIENT.itemsize
_VALUE = 12  # offset of the value in a record


def key_coefficients(r1cs: R1cs) -> NDArray[np.void]:
    """The key's coefficients: (n,) `COEFFICIENT`, value·R² mod r."""
    fr, entries = r1cs.curve.fr, len(r1cs.a.wires) + len(r1cs.b.wires)
    records = np.zeros(entries + r1cs.n_public + 1, dtype=COEFFICIENT)
    # A row's A entries stand behind the B entries of the rows before it, and its B entries behind
    # the A entries of the rows up to it.
    for matrix, (rows, before) in enumerate(
        ((r1cs.a, r1cs.b.start[:-1]), (r1cs.b, r1cs.a.start[1:]))
    ):
        row_of = np.repeat(np.arange(len(rows), dtype=np.uint32), np.diff(rows.start))
        places = np.arange(len(row_of)) + before[row_of]
        records["matrix"][places] = matrix
        records["constraint"][places] = row_of
        records["wire"][places] = rows.wires
        _put_values(fr, rows.values, places, records.view(np.uint8))
    public = records[entries:]
    public["wire"] = np.arange(r1cs.n_public + 1)
    public["constraint"] = r1cs.n_constraints + public["wire"]
    public["value"] = from_ints([fr.montgomery**2 % fr.modulus], fr.limbs)
    return records


@kernel
def _put_values(F: Any, values: Any, places: Any, records: Any) -> None:
    cube = montgomery_cube(F)
    for k in range(len(places)):
        # value · R³ / R
        at = _RECORD * places[k] + _VALUE
        store(F, records[at:], 0, load(F, values, k) * cube)
