"""A circuit without structure: rows of any length, coefficients of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint32, uint64
from numpy.typing import NDArray

from snarkcuda.circuits.r1cs import SparseRows
from snarkcuda.circuits.synthetic import Generated, check_size, draw, draw_elements, solved
from snarkcuda.curve.params import Curve
from snarkcuda.field.arrays import U64Array, from_ints
from snarkcuda.field.params import PrimeField
from snarkcuda.jit import kernel

_INPUTS = 7
_RECENT = 64  # wires back; half of the entries are of these, as in circuits that people write


def random_sparse(curve: Curve, n_constraints: int, seed: str) -> Generated:
    """Rows A·B = others + new wire, over wires that older rows defined.

    * At least k terms have one row in k², about: most rows have one or two, some have hundreds.
    * One row in 16 has no A, one in 16 no B.
    * Coefficients are 1, −1, small, minus small, a power of two or any element.
    * The constant stands in every eighth place; one wire in eight stands in no A, B or sum.

    Args:
        curve: whose scalar field to take.
        n_constraints: exactly so many rows; the last one defines the output.
        seed: fixes everything.

    Raises:
        ValueError: n_constraints < 1.
    """
    check_size(n_constraints)
    matrices = [_matrix(curve.fr, letter, n_constraints, seed) for letter in "ABC"]
    new = np.arange(2 + _INPUTS, 2 + _INPUTS + n_constraints, dtype=np.uint32)
    new[-1] = 1
    last = matrices[2].start[1:] - 1
    matrices[2].wires[last] = new
    matrices[2].values[last] = from_ints([1], 4)
    inputs = draw_elements(curve.fr, seed, "inputs", _INPUTS)
    return solved(curve, "random_sparse", inputs, matrices)


def _matrix(field: PrimeField, letter: str, n: int, seed: str) -> SparseRows:
    """Random rows; those of C have an entry more, whose place the new wire will take."""
    start = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(_lengths(draw(seed, f"lengths of {letter}", n), letter == "C"), out=start[1:])
    entries = int(start[-1])
    wires = np.empty(entries, dtype=np.uint32)
    # One mark for each wire but the output.
    marks = np.full(n + _INPUTS + 1, -1, dtype=np.int64)
    _choose_wires(start, draw(seed, f"wires of {letter}", entries), marks, wires)
    return SparseRows(start, wires, _coefficients(field, letter, entries, seed))


def _lengths(random: U64Array, is_c: bool) -> NDArray[np.int64]:
    """The smaller of two numbers that are at least k with probability 1/k."""
    u, v = ((random >> np.uint64(shift)) & np.uint64(0xFFFF) for shift in (0, 16))
    lengths = np.minimum(65536 // (1 + u.astype(np.int64)), 65536 // (1 + v.astype(np.int64)))
    # Without an older wire to the right, products of zeros would soon be all there is.
    lengths = lengths + 1 if is_c else np.where(random >> np.uint64(60) == 0, 0, lengths)
    # Distinct wires are chosen by trial: never more than half of those that are there.
    return np.minimum(lengths, (1 + _INPUTS + np.arange(len(random))) // 2)


@kernel
def _choose_wires(start: Any, random: Any, marks: Any, wires: Any) -> None:
    """Distinct wires for each row; `marks[i]` is the last row that took the i-th, output left out.

    snarkjs and circom take a row for a map from wires to coefficients: none may stand twice.
    """
    for row in range(len(start) - 1):
        there = 1 + _INPUTS + row
        for k in range(start[row], start[row + 1]):
            number = int(random[k] >> uint64(8))
            if random[k] & uint64(7) == uint64(0):
                i = 0
            elif random[k] & uint64(8) == uint64(0):
                i = there - 1 - number % min(there, _RECENT)
            else:
                i = number % there
            while marks[i] == row or i % 8 == 7:
                i = (i + 1) % there
            marks[i] = row
            wires[k] = uint32(i if i == 0 else i + 1)


def _coefficients(field: PrimeField, letter: str, count: int, seed: str) -> U64Array:
    random = draw(seed, f"coefficients of {letter}", count)
    kind, number = random % np.uint64(8), random >> np.uint64(3)
    small = np.uint64(2) + number % np.uint64(254)
    minus_one = from_ints([field.modulus - 1], 4)
    values = np.zeros((count, 4), dtype=np.uint64)
    values[:, 0] = np.where(kind == 3, small, np.uint64(1))
    values[kind == 4] = minus_one
    minus_small = kind == 5  # the lowest limb of both moduli is larger than small
    values[minus_small] = minus_one
    values[minus_small, 0] -= small[minus_small]
    power = np.flatnonzero(kind == 6)
    exponent = number[power] % np.uint64(field.bits - 1)
    values[power] = 0
    values[power, exponent >> np.uint64(6)] = np.uint64(1) << (exponent & np.uint64(63))
    full = np.flatnonzero(kind == 7)
    values[full] = draw_elements(field, seed, f"full coefficients of {letter}", len(full))
    return values
