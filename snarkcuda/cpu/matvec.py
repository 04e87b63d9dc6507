"""A·w and B·w: the sparse half of a proof.

A circom key lists its coefficients as records (matrix, row, column, value·R²); here they are
grouped by row once, when the key is made resident, in compressed sparse rows:

    rows 0 … n − 1: A;  rows n … 2n − 1: B            n the domain size
    row j: entries start[j] … start[j + 1] − 1, each a wire and the code of its value
    code 0: 1;  code 1: −1;  code c: row c − 2 of a table of the values that occur

Nearly all coefficients of a circuit are 1 or −1: their wires are added up as they are, and the sum
multiplied once. A Montgomery product of value·R² with the plain witness is the Montgomery form of
value·w, so the witness is never converted. C is not stored: on a satisfied circuit c = a·b at every
point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import int64, uint64
from numpy.typing import NDArray

from snarkcuda.cpu.pool import Pool, Stop, claim
from snarkcuda.errors import FormatError
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.element import load, store, zero
from snarkcuda.field.packed import load_u32
from snarkcuda.field.params import PrimeField
from snarkcuda.jit import formula, kernel

_CHUNK = 1 << 10  # rows of one task
_RECORD = 44  # bytes of a coefficient record in the key
_LOG_SLOTS = 17  # of the hash table by which equal values are found
_PROBES = 8  # slots looked at: a value that finds none is stored again, so no file makes this slow


@dataclass(frozen=True)
class Matrices:
    """A and B of a key, grouped by row."""

    field: PrimeField
    n: int
    start: NDArray[np.int64]  # (2n + 1,)
    wires: NDArray[np.uint32]  # (entries,)
    codes: NDArray[np.uint32]  # (entries,)
    table: U64Array  # (values, 4) value·R² mod r

    @property
    def nbytes(self) -> int:
        """Of all arrays."""
        return self.start.nbytes + self.wires.nbytes + self.codes.nbytes + self.table.nbytes


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
    # Zeroed: a row that changes between the passes leaves a place unwritten in another.
    wires, codes = (np.zeros(len(coefficients), dtype=np.uint32) for _ in range(2))
    table = np.empty((len(coefficients), field.limbs), dtype=np.uint64)
    slots = np.zeros(1 << _LOG_SLOTS, dtype=np.uint32)
    bad, used = _group(field, records, n, n_wires, _units(field), start, wires, codes, table, slots)
    if bad >= 0:
        raise FormatError(
            f"{source}: coefficient {bad} names a row or a wire out of range: the key is damaged, "
            "or was changed while it was read"
        )
    return Matrices(field, n, start, wires, codes, table[:used].copy())


def _units(field: PrimeField) -> U64Array:
    """R² and −R²: the coefficients 1 and −1 as a key has them."""
    square = field.montgomery**2 % field.modulus
    return arrays.from_ints([square, field.modulus - square], field.limbs)


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
    entries = m.start, m.wires, m.codes, m.table, _units(m.field)
    pool.run(_rows, n_tasks, m.field, *entries, packed, abc, stop=stop)
    return abc


@formula
def _row_of(records: Any, n: int, i: int) -> int:
    """Row of record i in the stacked matrices, or −1 if it is out of range."""
    matrix = load_u32(records, _RECORD * i)
    constraint = load_u32(records, _RECORD * i + 4)
    return matrix * n + constraint if matrix < 2 and constraint < n else -1


@formula
def _equal(a: Any, i: int, b: Any, j: int) -> bool:
    """Rows i of a and j of b are the same."""
    same = True
    for k in range(a.shape[1]):
        same = same and a[i, k] == b[j, k]
    return same


@formula
def _code(units: Any, table: Any, used: int, slots: Any) -> Any:
    """The code of the value in row `used` of the table: used + 2 where it is new there."""
    if _equal(units, 0, table, used):
        return 0
    if _equal(units, 1, table, used):
        return 1
    mixed = uint64(0)
    for k in range(table.shape[1]):
        mixed = (mixed ^ table[used, k]) * uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio
    place = int64(mixed >> uint64(64 - _LOG_SLOTS))
    for probe in range(_PROBES):
        slot = (place + probe) & ((1 << _LOG_SLOTS) - 1)
        code = int64(slots[slot])
        if code == 0:
            slots[slot] = np.uint32(used + 2)
            return used + 2
        if _equal(table, code - 2, table, used):
            return code
    return used + 2


@kernel
def _group(
    F: Any, records: Any, n: int, n_wires: int, units: Any, start: Any, wires: Any, codes: Any,
    table: Any, slots: Any,
) -> tuple[int, int]:  # fmt: skip
    """The first bad record, or −1, and the rows of the table that are used."""
    entries, used = len(wires), 0
    for i in range(entries):
        row = _row_of(records, n, i)
        if row < 0:
            return i, 0
        start[row + 1] += 1
    for row in range(2 * n):
        start[row + 1] += start[row]
    for i in range(entries):
        row, wire = _row_of(records, n, i), load_u32(records, _RECORD * i + 8)
        # A row that changed since it was counted may have no place left.
        if row < 0 or wire >= n_wires or start[row] >= entries:
            return i, 0
        place = start[row]
        start[row] += 1
        wires[place] = np.uint32(wire)
        store(F, table, used, load(F, records[_RECORD * i + 12 : _RECORD * (i + 1)], 0))
        code = _code(units, table, used, slots)
        codes[place] = np.uint32(code)
        if code == used + 2:
            used += 1
    for row in range(2 * n, 0, -1):  # each start was moved to its row's end: move them back
        start[row] = start[row - 1]
    start[0] = 0
    return -1, used


@formula
def _row(
    F: Any, start: Any, wires: Any, codes: Any, table: Any, unit: Any, witness: Any, row: int
) -> Any:
    plain, rest = zero(F), zero(F)  # Σ ±w, canonical, and the others, Montgomery
    for i in range(start[row], start[row + 1]):
        value, code = load(F, witness, wires[i]), codes[i]
        if code == 0:
            plain = plain + value
        elif code == 1:
            plain = plain - value
        else:
            rest = rest + load(F, table, int64(code) - 2) * value
    return plain * unit + rest


@kernel
def _rows(
    tasks: Any, F: Any, start: Any, wires: Any, codes: Any, table: Any, units: Any, witness: Any,
    abc: Any,
) -> None:  # fmt: skip
    n, unit = abc.shape[1], load(F, units, 0)
    task = claim(tasks)
    while task >= 0:
        for row in range(task * _CHUNK, min(n, (task + 1) * _CHUNK)):
            a = _row(F, start, wires, codes, table, unit, witness, row)
            b = _row(F, start, wires, codes, table, unit, witness, n + row)
            store(F, abc, row, a)
            store(F, abc, n + row, b)
            store(F, abc, 2 * n + row, a * b)
        task = claim(tasks)
