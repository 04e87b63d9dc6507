"""What the synthetic circuits share: random numbers, repeated rows, a witness row by row.

    mimc_chain      every wire a full-size field element
    sha_like        nearly every wire a bit
    random_sparse   rows of any length, coefficients of every kind

They are for benchmarks and tests and state nothing of use. The same curve, size and seed give the
same circuit on every machine. Wire 1 is the only public signal, an output.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snarkcuda.circuits.r1cs import R1cs, SparseRows
from snarkcuda.circuits.satisfied import row_sum
from snarkcuda.curve.params import Curve
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array, from_ints
from snarkcuda.field.element import canonical_one, load, montgomery_cube, store
from snarkcuda.field.params import PrimeField
from snarkcuda.groth16.keys import Witness
from snarkcuda.jit import kernel

Generated = tuple[R1cs, Witness]
Wires = int | NDArray[np.int64]
Entry = tuple[Wires, int | U64Array]
"""A wire and a coefficient; arrays, of equal lengths, hold one for each repetition of a row."""


def check_size(n_constraints: int) -> None:
    """Raise ValueError unless there is a constraint to define the output."""
    if n_constraints < 1:
        raise ValueError(f"a synthetic circuit has at least 1 constraint, not {n_constraints}")


def draw(seed: str, what: str, count: int) -> U64Array:
    """`count` random words; each `what` is a stream of its own. Not for secrets."""
    digest = hashlib.sha256(f"{what}\0{seed}".encode(errors="surrogateescape")).digest()
    # The raw stream: what numpy's distributions make of it may change between versions.
    raw: U64Array = np.random.PCG64(int.from_bytes(digest, "little")).random_raw(count)
    return raw


def draw_elements(field: PrimeField, seed: str, what: str, count: int) -> U64Array:
    """`count` random elements below the largest power of two in the field: (count, 4) canonical."""
    elements = draw(seed, what, field.limbs * count).reshape(count, field.limbs)
    elements[:, -1] &= np.uint64((1 << (field.bits - 1) % 64) - 1)
    return elements


def repeated(
    field: PrimeField, n: int, unit: Sequence[Sequence[Entry]], repetitions: int
) -> SparseRows:
    """The first n rows of `unit`, repeated; coefficients are integers or (repetitions, 4)."""
    start = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.resize([len(row) for row in unit], n), out=start[1:])
    entries = [entry for row in unit for entry in row]
    wires = np.empty((repetitions, len(entries)), dtype=np.uint32)
    values = np.empty((repetitions, len(entries), field.limbs), dtype=np.uint64)
    for i, (wire, value) in enumerate(entries):
        wires[:, i] = wire
        values[:, i] = from_ints([value % field.modulus], 4) if isinstance(value, int) else value
    flat = values.reshape(-1, field.limbs)
    return SparseRows(start, wires.reshape(-1)[: start[n]], flat[: start[n]])


def generated(
    curve: Curve, kind: str, n_inputs: int, matrices: Sequence[SparseRows], values: U64Array
) -> Generated:
    """The circuit and its witness; wire 1 is the output, the private inputs follow."""
    n_wires, (a, b, c) = len(values), matrices
    labels = np.arange(n_wires, dtype=np.uint64)
    r1cs = R1cs(curve, n_wires, 1, 0, n_inputs, a, b, c, labels, n_wires, source=kind)
    return r1cs, Witness(curve, values, source=f"{kind} witness")


def solved(curve: Curve, kind: str, inputs: U64Array, matrices: Sequence[SparseRows]) -> Generated:
    """The circuit whose every row defines one wire, and its witness.

    Args:
        curve: whose scalar field to take.
        kind: the circuit's name.
        inputs: (n, 4) canonical, the wires from 2 on.
        matrices: A, B, C. The last entry of each row of C is its new wire, with coefficient 1; the
            other wires of a row are inputs or older.
    """
    values = np.zeros((1 + len(inputs) + len(matrices[0]), 4), dtype=np.uint64)
    values[0, 0] = 1
    values[2 : 2 + len(inputs)] = inputs
    a, b, c = ((m.start, m.wires, arrays.packed(m.values)) for m in matrices)
    _solve(curve.fr, a, b, c, 2 + len(inputs), values, np.zeros_like(values))
    return generated(curve, kind, len(inputs), matrices, values)


def share_of_bits(witness: Witness) -> float:
    """Which part of the values is 0 or 1."""
    values = witness.values
    is_bit = values[:, 0] <= 1
    for limb in range(1, values.shape[1]):
        is_bit &= values[:, limb] == 0
    return float(is_bit.mean())


@kernel
def _solve(F: Any, a: Any, b: Any, c: Any, known: int, values: Any, forms: Any) -> None:
    """`forms` are the values in Montgomery form, zeros at first: a new wire adds 0 to its row."""
    start, wires, _ = c
    cube, plain = montgomery_cube(F), canonical_one(F)
    for i in range(known):
        store(F, forms, i, load(F, values, i) * cube * plain)
    for row in range(len(start) - 1):
        # Sums are plain (v·(w·R)/R); with R³ one becomes s·R², then a·b·R and s·R.
        product = row_sum(F, a, row, forms) * cube * row_sum(F, b, row, forms)
        form = product - row_sum(F, c, row, forms) * cube * plain
        wire = wires[start[row + 1] - 1]
        store(F, forms, wire, form)
        store(F, values, wire, form * plain)
