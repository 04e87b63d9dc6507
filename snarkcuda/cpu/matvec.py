"""A·w and B·w: the sparse half of a proof, and the pointwise products around the transforms.

A circom key lists its coefficients as records (matrix, row, column, value·R²); here they are
grouped by row once, when the key is made resident, in compressed sparse rows:

    rows 0 … n − 1: A;  rows n … 2n − 1: B            n the domain size
    row j: entries start[j] … start[j + 1] − 1, each a wire and a value

A Montgomery product of value·R² with the plain witness is the Montgomery form of value·w, so the
witness is never converted. C is not stored: on a satisfied circuit c = a·b at every point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snarkcuda.cpu.pool import Pool, Stop, claim
from snarkcuda.errors import FormatError
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.element import canonical_one, load, one, store, zero
from snarkcuda.field.packed import load_u32
from snarkcuda.field.params import PrimeField
from snarkcuda.field.words import mul_sub
from snarkcuda.jit import formula, kernel

_CHUNK = 1 << 10  # rows of one task
_RECORD = 44  # bytes of a coefficient record in the key


@dataclass(frozen=True)
class Matrices:
    """A and B of a key, grouped by row."""

    field: PrimeField
    n: int
    start: NDArray[np.int64]  # (2n + 1,)
    wires: NDArray[np.uint32]  # (entries,)
    values: U64Array  # (entries, 4) value·R² mod r


def group_by_row(
    field: PrimeField, n: int, n_wires: int, coefficients: NDArray[Any], source: str = "key"
) -> Matrices:
    """Counting sort of the key's records by (matrix, row); order within a row is the file's.

    Args:
        field: the scalar field.
        n: domain size.
        n_wires: length of the witness.
        coefficients: (entries,) of `groth16.keys.COEFFICIENT`.
        source: the key's name, for the error.

    Raises:
        FormatError: a row or wire is out of range. The reader has checked, but a mapped file can
            change under our feet, and a row out of range would be a wild write.
    """
    records = arrays.packed(coefficients)
    start = np.zeros(2 * n + 1, dtype=np.int64)
    wires = np.empty(len(coefficients), dtype=np.uint32)
    values = np.empty((len(coefficients), field.limbs), dtype=np.uint64)
    bad = _group(field, records, n, n_wires, start, wires, values)
    if bad >= 0:
        raise FormatError(
            f"{source}: coefficient {bad} names a row or a wire out of range: the key is damaged, "
            "or was changed while it was read"
        )
    return Matrices(field, n, start, wires, values)


def evaluate(
    pool: Pool, matrices: Matrices, witness: U64Array, stop: Stop | None = None
) -> U64Array:
    """a = A·w, b = B·w and c = a·b on the domain: uint64 (3, n, limbs), Montgomery.

    Args:
        pool: the threads to use.
        matrices: those of the key.
        witness: uint64 (n_wires, 4), canonical.
        stop: ends the work early with `Cancelled`.
    """
    m = matrices
    abc = np.empty((3, m.n, m.field.limbs), dtype=np.uint64)
    n_tasks = -(-m.n // _CHUNK)
    packed = arrays.packed(witness)
    pool.run(_rows, n_tasks, m.field, m.start, m.wires, m.values, packed, abc, stop=stop)
    return abc


def quotient_scalars(
    pool: Pool, field: PrimeField, abc: U64Array, stop: Stop | None = None
) -> U64Array:
    """a·b − c on the coset: uint64 (n, limbs), canonical, the scalars of circom's H query."""
    h = np.empty(abc.shape[1:], dtype=np.uint64)
    pool.run(_quotient, -(-len(h) // _CHUNK), field, abc, h, stop=stop)
    return h


@formula
def _row_of(records: Any, n: int, i: int) -> int:
    """Row of record i in the stacked matrices, or −1 if it is out of range."""
    matrix = load_u32(records, _RECORD * i)
    constraint = load_u32(records, _RECORD * i + 4)
    return matrix * n + constraint if matrix < 2 and constraint < n else -1


@kernel
def _group(F: Any, records: Any, n: int, n_wires: int, start: Any, wires: Any, values: Any) -> int:
    entries = len(wires)
    for i in range(entries):
        row = _row_of(records, n, i)
        if row < 0:
            return i
        start[row + 1] += 1
    for row in range(2 * n):
        start[row + 1] += start[row]
    for i in range(entries):
        row, wire = _row_of(records, n, i), load_u32(records, _RECORD * i + 8)
        # A row that changed since it was counted may have no place left.
        if row < 0 or wire >= n_wires or start[row] >= entries:
            return i
        place = start[row]
        start[row] += 1
        wires[place] = np.uint32(wire)
        store(F, values, place, load(F, records[_RECORD * i + 12 : _RECORD * (i + 1)], 0))
    for row in range(2 * n, 0, -1):  # each start was moved to its row's end: move them back
        start[row] = start[row - 1]
    start[0] = 0
    return -1


@kernel
def _rows(tasks: Any, F: Any, start: Any, wires: Any, values: Any, witness: Any, abc: Any) -> None:
    n = abc.shape[1]
    task = claim(tasks)
    while task >= 0:
        for row in range(task * _CHUNK, min(n, (task + 1) * _CHUNK)):
            a, b = zero(F), zero(F)
            for i in range(start[row], start[row + 1]):
                a = a + load(F, values, i) * load(F, witness, wires[i])
            for i in range(start[n + row], start[n + row + 1]):
                b = b + load(F, values, i) * load(F, witness, wires[i])
            store(F, abc, row, a)
            store(F, abc, n + row, b)
            store(F, abc, 2 * n + row, a * b)
        task = claim(tasks)


@kernel
def _quotient(tasks: Any, F: Any, abc: Any, h: Any) -> None:
    n = h.shape[0]
    task = claim(tasks)
    while task >= 0:
        for i in range(task * _CHUNK, min(n, (task + 1) * _CHUNK)):
            a, b, c = load(F, abc, i), load(F, abc, n + i), load(F, abc, 2 * n + i)
            store(F, h, i, mul_sub(a, b, c, one(F)) * canonical_one(F))
        task = claim(tasks)
