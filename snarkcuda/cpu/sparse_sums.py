"""Σ vₖ·Pₖ for each column of a sparse matrix: a setup's sums over a ceremony's points.

Columns are short and coefficients mostly ±1 or small, so that each column is summed on its own:

    v = ±1      one mixed addition
    other v     the smaller of v and r − v in width-4 NAF: v = Σ_b digit[b]·2^b, digits odd or 0,
                |digit| ≤ 7, over a table P, 3P, 5P, 7P (P alone for a power of two, the weight
                of a bit in a circuit); `_TERMS` terms share the doublings

A column of more than `LONG` entries is a multi-scalar multiplication (`cpu/msm_once.py`): a
constant that stands in every row is an ordinary circuit. Sources: Straus 1964; Solinas 2000
(width-w NAF).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import int64, uint64
from numpy.typing import NDArray

from snarkcuda.circuits.columns import Columns
from snarkcuda.cpu.affine import to_affine
from snarkcuda.cpu.msm_once import msm_once
from snarkcuda.cpu.pool import Pool, claim, stopped
from snarkcuda.cpu.xyzz_rows import load_xyzz, store_xyzz
from snarkcuda.curve.formulas import xyzz_add, xyzz_add_affine, xyzz_double, xyzz_infinity
from snarkcuda.curve.params import Group
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array, from_ints
from snarkcuda.field.element import load, zero
from snarkcuda.jit import formula, kernel

_COLUMNS = 32  # columns of one task
LONG = 512  # entries from which a column is an MSM
_TERMS = 8  # terms that share their doublings
_BITS = 257  # NAF digits of a scalar below 2^256


@dataclass(frozen=True)
class Summand:
    """One matrix with the points that its rows stand for: adds Σₖ value·points[row] to column i."""

    columns: Columns
    values: U64Array  # (entries, 4) canonical
    points: U64Array  # (rows, …) affine, Montgomery


def column_sums(
    pool: Pool, group: Group, n: int, summands: list[Summand], long: int = LONG
) -> U64Array:
    """The sum over all summands, for each of n columns.

    Args:
        pool: the threads to use.
        group: where the points are.
        n: the number of columns of each summand.
        summands: what is added up.
        long: a column of more entries is an MSM; tests lower it.

    Returns:
        uint64 (n, 2, limbs) or (n, 2, 2, limbs): affine, Montgomery; an empty sum is all zero.
    """
    sums = np.zeros((n, 4 * group.field.words), dtype=np.uint64)
    modulus = from_ints([group.order], 4)[0]
    for part in summands:
        lengths = np.diff(part.columns.start)
        arguments = (part.columns.start, part.columns.rows, part.columns.entries)
        points = arrays.packed(part.points)
        pool.run(
            _add_columns,
            -(-n // _COLUMNS),
            group.field,
            points,
            *arguments,
            part.values,
            modulus,
            long,
            sums,
        )
        for column in np.flatnonzero(lengths > long):
            total = _long_column(pool, group, part, int(column))
            _add_point(group.field, arrays.packed(total), int(column), sums)
    return to_affine(pool, group, sums)


def _long_column(pool: Pool, group: Group, part: Summand, column: int) -> U64Array:
    here = slice(part.columns.start[column], part.columns.start[column + 1])
    values = part.values[part.columns.entries[here]]
    points = part.points[part.columns.rows[here]]
    (total,) = msm_once(pool, values, group.order.bit_length(), [(group, points)])
    return total


@formula
def _smaller_magnitude(values: Any, index: int, modulus: Any, out: Any) -> bool:
    """out = min(v, r − v) for v = values[index]; True if it is r − v."""
    borrow = uint64(0)
    for j in range(4):
        v, m = uint64(values[index, j]), uint64(modulus[j])
        out[j] = m - v - borrow
        borrow = uint64(1) if (v > m or (v == m and borrow > 0)) else uint64(0)
    for j in range(3, -1, -1):
        if out[j] != values[index, j]:
            if out[j] < values[index, j]:
                return True
            break
    for j in range(4):
        out[j] = values[index, j]
    return False


@formula
def _naf(limbs: Any, digits: Any) -> tuple[int, int]:
    """Width-4 NAF of a number, which is used up; returns how many digits and the largest one."""
    length, largest = 0, 0
    while limbs[0] | limbs[1] | limbs[2] | limbs[3]:
        digit = 0
        if limbs[0] & uint64(1):
            digit = int64(limbs[0] & uint64(15))
            carry = uint64(0)
            if digit > 8:
                digit -= 16
                carry = uint64(-digit)
                limbs[0] += carry
                carry = uint64(1) if limbs[0] < carry else uint64(0)
                for j in range(1, 4):
                    limbs[j] += carry
                    carry = uint64(1) if carry > 0 and limbs[j] == 0 else uint64(0)
            else:
                limbs[0] -= uint64(digit)
        digits[length] = digit
        largest = max(largest, abs(digit))
        length += 1
        for j in range(3):
            limbs[j] = (limbs[j] >> uint64(1)) | (limbs[j + 1] << uint64(63))
        limbs[3] >>= uint64(1)
    return length, largest


@kernel
def _add_columns(
    tasks: Any, F: Any, points: Any, start: Any, rows: Any, entries: Any, values: Any,
    modulus: Any, long: int, sums: Any,
) -> None:  # fmt: skip
    n = sums.shape[0]
    table = np.empty((_TERMS * 4, sums.shape[1]), dtype=np.uint64)
    digits = np.empty((_TERMS, _BITS), dtype=np.int8)
    lengths = np.empty(_TERMS, dtype=np.int64)
    limbs = np.empty(4, dtype=np.uint64)
    task = claim(tasks)
    while task >= 0:
        for column in range(task * _COLUMNS, min(n, (task + 1) * _COLUMNS)):
            if start[column + 1] - start[column] > long:
                continue
            if stopped(tasks):
                return
            total, terms = load_xyzz(F, sums, column), 0
            for k in range(start[column], start[column + 1]):
                entry, row = entries[k], rows[k]
                negative = _smaller_magnitude(values, entry, modulus, limbs)
                x, y = load(F, points, 2 * row), load(F, points, 2 * row + 1)
                if negative:
                    y = -y
                if limbs[0] <= 1 and (limbs[1] | limbs[2] | limbs[3]) == 0:
                    if limbs[0] == 1:
                        total = xyzz_add_affine(total, x, y)
                    continue
                lengths[terms], largest = _naf(limbs, digits[terms])
                p = xyzz_add_affine(xyzz_infinity(x), x, y)
                store_xyzz(F, table, 4 * terms, p)
                if largest > 1:
                    double = xyzz_double(p)
                    for odd in range(1, (largest >> 1) + 1):
                        p = xyzz_add(p, double)
                        store_xyzz(F, table, 4 * terms + odd, p)
                terms += 1
                if terms == _TERMS:
                    total = xyzz_add(total, _straus(F, table, digits, lengths, terms))
                    terms = 0
            if terms > 0:
                total = xyzz_add(total, _straus(F, table, digits, lengths, terms))
            store_xyzz(F, sums, column, total)
        task = claim(tasks)


@formula
def _straus(F: Any, table: Any, digits: Any, lengths: Any, terms: int) -> Any:
    """The sum of up to `_TERMS` multiples, their doublings shared."""
    longest = 0
    for t in range(terms):
        longest = lengths[t] if lengths[t] > longest else longest
    total = xyzz_infinity(zero(F))
    for bit in range(longest - 1, -1, -1):
        total = xyzz_double(total)
        for t in range(terms):
            digit = int(digits[t, bit]) if bit < lengths[t] else 0
            if digit == 0:
                continue
            x, y, zz, zzz = load_xyzz(F, table, 4 * t + (abs(digit) >> 1))
            if digit < 0:
                y = -y
            total = xyzz_add(total, (x, y, zz, zzz))
    return total


@kernel
def _add_point(F: Any, point: NDArray[np.uint8], column: int, sums: Any) -> None:
    p = xyzz_add_affine(load_xyzz(F, sums, column), load(F, point, 0), load(F, point, 1))
    store_xyzz(F, sums, column, p)
