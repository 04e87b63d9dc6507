"""What must hold of a circuit before its rows are walked.

The reader of r1cs files checks what a file says; this checks what a program may have made. Kernels
rely on it: they index by what a circuit says.
"""

from __future__ import annotations

import numpy as np

from snarkcuda.circuits.r1cs import R1cs, SparseRows
from snarkcuda.errors import FormatError, NotInFieldError
from snarkcuda.field.arrays import first_not_canonical


def check_r1cs(r1cs: R1cs) -> None:
    """Shapes, types and ranges of a circuit.

    Raises:
        FormatError: an array of another shape or type than `R1cs` states, rows that overlap or
            leave entries out, matrices of different heights, or a wire that does not exist.
        NotInFieldError: a coefficient is not below r.
    """
    name, public = r1cs.source, r1cs.n_public
    for what, value, bits in (
        ("private inputs", r1cs.n_private_inputs, 32),
        ("labels", r1cs.n_labels, 64),
    ):
        if not 0 <= value < 1 << bits:
            raise FormatError(f"{name}: the number of {what}, {value}, does not fit {bits} bits")
    if min(r1cs.n_outputs, r1cs.n_public_inputs) < 0 or not public < r1cs.n_wires:
        raise FormatError(
            f"{name}: {public} public signals and the constant do not fit {r1cs.n_wires} wires"
        )
    if r1cs.labels.dtype != np.uint64 or r1cs.labels.shape != (r1cs.n_wires,):
        raise FormatError(f"{name}: labels must be uint64 ({r1cs.n_wires},)")
    for letter, rows in zip("ABC", (r1cs.a, r1cs.b, r1cs.c), strict=True):
        _check_rows(r1cs, rows, f"{name}: {letter}")


def _check_rows(r1cs: R1cs, rows: SparseRows, label: str) -> None:
    if not len(rows.start):
        raise FormatError(f"{label}.start is empty; it begins with 0")
    entries = len(rows.wires)
    for part, array, dtype, shape in (
        ("start", rows.start, np.int64, (r1cs.n_constraints + 1,)),
        ("wires", rows.wires, np.uint32, (entries,)),
        ("values", rows.values, np.uint64, (entries, r1cs.curve.fr.limbs)),
    ):
        if not isinstance(array, np.ndarray):
            raise FormatError(f"{label}.{part} must be an array, not {type(array).__name__}")
        if array.dtype != dtype or array.shape != shape or not array.flags.c_contiguous:
            raise FormatError(
                f"{label}.{part} must be {np.dtype(dtype)} {shape}, C-contiguous, not "
                f"{array.dtype} {array.shape}"
            )
    if rows.start[0] != 0 or rows.start[-1] != entries or (rows.start[1:] < rows.start[:-1]).any():
        raise FormatError(f"{label}.start must rise from 0 to the number of entries, {entries}")
    if entries and rows.wires.max() >= r1cs.n_wires:
        bad = int(np.argmax(rows.wires >= r1cs.n_wires))
        raise FormatError(
            f"{label}: entry {bad} names wire {rows.wires[bad]}, not below {r1cs.n_wires}"
        )
    bad_value = first_not_canonical(r1cs.curve.fr, rows.values)
    if bad_value is not None:
        raise NotInFieldError(f"{label}: the coefficient of entry {bad_value} is not below r")
