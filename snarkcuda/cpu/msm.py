"""Multi-scalar multiplication Σ kᵢ·Pᵢ on the CPU: Pippenger's buckets with signed digits.

    kᵢ = Σ_w digit[w, i]·2^(c·w),   −2^(c−1) < digit ≤ 2^(c−1)   (c = 16: ≤ and <)

    task (w, g):   for i in group g:   bucket[|digit[w, i]|] += ±Pᵢ
                   sum = Σ_b b·bucket[b], by two running sums from the top
    at the end:    Σ_w 2^(c·w) · Σ_g sum[w, g], by Horner's rule

Digits are cut once for scalars that several queries share (A, B1, B2 and L of a proof). A negative
digit adds the point with −y, so half the buckets do. A zero digit costs one comparison, so 0/1
witnesses are cheap; a bucket of any size is exact, as the mixed addition handles equal, opposite
and infinite points.

Sources: Pippenger 1976; Bernstein, Doumen, Lange and Oosterwijk, eprint 2012/549, §4. The naive
twin is the sum of multiples, `curve.points.linear_combination`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import int16, int64, uint64
from numpy.typing import NDArray

from snarkcuda.cpu.pool import Pool, Stop, claim, stopped
from snarkcuda.cpu.xyzz_rows import load_xyzz, store_xyzz
from snarkcuda.curve.formulas import (
    xyzz_add,
    xyzz_add_affine,
    xyzz_double,
    xyzz_infinity,
)
from snarkcuda.curve.params import Group
from snarkcuda.curve.points import point_shape, store_affine
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.element import load, zero
from snarkcuda.jit import kernel

SCALAR_LIMBS = 4
MAX_WINDOW = 16  # digits are kept in int16
_CHUNK = 1 << 12  # scalars cut in one task; points added between two looks at the stop flag


@dataclass(frozen=True)
class Digits:
    """Scalars cut into signed windows, for any number of MSMs over them or their tail.

    `values[w, i]` is digit w of scalar i, read-only; the scalars are those from index `first` on.
    """

    window: int
    values: NDArray[np.int16]  # (n_windows, n)
    first: int = 0

    def __len__(self) -> int:
        return int(self.values.shape[1]) - self.first

    def tail(self, first: int) -> Digits:
        """The digits of the scalars from index `first` on; nothing is copied."""
        return Digits(self.window, self.values, self.first + first)


def window_bits(n: int, scalar_bits: int, bucket_cost: float = 2 * 1.4) -> int:
    """The window c, at least 2, that makes bucket additions and bucket sums cheapest.

    `bucket_cost` is what a bucket's share of the sum costs, in additions to a bucket. Here it is
    two full additions, of about 1.4 mixed ones (10M + 2S + 1P against 6M + 2S + 1P).
    """

    def cost(c: int) -> float:
        return n_windows(scalar_bits, c) * (n + bucket_cost * (1 << (c - 1)))

    return min(range(2, MAX_WINDOW + 1), key=cost)


def n_windows(scalar_bits: int, c: int) -> int:
    """Windows of c bits that hold scalar_bits bits and the last carry.

    Of 16 bits the last window must leave one free: its digit cannot be −2^15 and a carry.
    """
    return (scalar_bits + (c == MAX_WINDOW)) // c + 1


def signed_digits(
    pool: Pool,
    scalars: U64Array,
    scalar_bits: int,
    stop: Stop | None = None,
    window: int | None = None,
) -> Digits:
    """Cut scalars into digits.

    Args:
        pool: the threads to use.
        scalars: uint64 (n, 4), canonical, below 2^scalar_bits.
        scalar_bits: bit length of the scalar field's modulus.
        stop: ends the work early with `Cancelled`.
        window: bits of a digit, 1 … MAX_WINDOW; by default what is best for an MSM.
    """
    n = len(scalars)
    c = window or window_bits(n, scalar_bits)
    if not 1 <= c <= MAX_WINDOW:
        raise ValueError(f"a window has 1 to {MAX_WINDOW} bits, not {c}")
    values = np.empty((n_windows(scalar_bits, c), n), dtype=np.int16)
    n_tasks = -(-n // _CHUNK)
    pool.run(_cut, n_tasks, arrays.packed(scalars), c, values, stop=stop)
    values.flags.writeable = False
    return Digits(c, values)


def msm(
    pool: Pool, group: Group, points: NDArray[np.uint8], digits: Digits, stop: Stop | None = None
) -> U64Array:
    """Σ kᵢ·Pᵢ.

    Args:
        pool: the threads to use.
        group: G1 or G2 of a curve.
        points: packed affine points, Montgomery, one for each scalar; all zero is infinity.
        digits: the scalars.
        stop: ends the work early with `Cancelled`.

    Returns:
        uint64 (2, limbs) or (2, 2, limbs): affine, Montgomery; infinity is all zero.
    """
    n = len(digits)
    if points.nbytes != 2 * 8 * group.field.words * n:
        raise ValueError(f"{points.nbytes} bytes of {group.name} points do not go with {n} scalars")
    rows = digits.values.shape[0]
    groups = _group_count(n, rows, digits.window, pool.threads)
    sums = np.zeros((rows * groups, 4 * group.field.words), dtype=np.uint64)
    result = np.zeros(point_shape(group), dtype=np.uint64)
    if n == 0:
        return result
    window, first = digits.window, digits.first
    arguments = (group.field, points, digits.values, first, window, groups, sums)
    pool.run(_fill_buckets, rows * groups, *arguments, stop=stop)
    _horner(group.field, sums, groups, digits.window, result)
    return result


def _group_count(n: int, rows: int, window: int, threads: int) -> int:
    """Split the points when there are too few windows to keep the threads busy to the end."""
    wanted = -(-4 * threads // rows)
    affordable = max(1, n >> (window + 1))  # each group sums its own buckets
    return min(wanted, affordable)


@kernel
def _cut(tasks: Any, scalars: Any, c: int, values: Any) -> None:
    rows, n = values.shape
    mask = (uint64(1) << uint64(c)) - uint64(1)
    most = uint64(1) << uint64(c - 1)
    if c == MAX_WINDOW:  # which int16 does not hold, but −2^(c−1) it does
        most -= uint64(1)
    limbs = np.empty(SCALAR_LIMBS, dtype=np.uint64)
    task = claim(tasks)
    while task >= 0:
        for i in range(task * _CHUNK, min(n, (task + 1) * _CHUNK)):
            for j in range(SCALAR_LIMBS):
                limb = uint64(0)
                for k in range(8):
                    limb |= uint64(scalars[8 * (SCALAR_LIMBS * i + j) + k]) << uint64(8 * k)
                limbs[j] = limb
            carry = uint64(0)
            for w in range(rows):
                bit = w * c
                word, shift = bit >> 6, bit & 63
                digit = uint64(0)
                if word < SCALAR_LIMBS:
                    digit = limbs[word] >> uint64(shift)
                    if shift + c > 64 and word + 1 < SCALAR_LIMBS:
                        digit |= limbs[word + 1] << uint64(64 - shift)
                digit = (digit & mask) + carry
                if digit > most:
                    values[w, i] = int16(-int16((mask + uint64(1)) - digit))
                    carry = uint64(1)
                else:
                    values[w, i] = int16(digit)
                    carry = uint64(0)
        task = claim(tasks)


@kernel
def _fill_buckets(
    tasks: Any, F: Any, points: Any, values: Any, first: int, c: int, groups: int, sums: Any
) -> None:
    n = values.shape[1] - first
    n_buckets = 1 << (c - 1)
    infinity = xyzz_infinity(zero(F))
    buckets = np.empty((n_buckets + 1, sums.shape[1]), dtype=np.uint64)
    task = claim(tasks)
    while task >= 0:
        row, group = task // groups, task % groups
        buckets[:] = uint64(0)
        for start in range(n * group // groups, n * (group + 1) // groups, _CHUNK):
            if stopped(tasks):
                return
            for i in range(start, min(start + _CHUNK, n * (group + 1) // groups)):
                digit = int64(values[row, first + i])  # −2^15 has no |digit| in int16
                if digit == 0:
                    continue
                x, y = load(F, points, 2 * i), load(F, points, 2 * i + 1)
                if digit < 0:
                    y = -y
                b = abs(digit)
                store_xyzz(F, buckets, b, xyzz_add_affine(load_xyzz(F, buckets, b), x, y))
        running, total = infinity, infinity
        for b in range(n_buckets, 0, -1):
            running = xyzz_add(running, load_xyzz(F, buckets, b))
            total = xyzz_add(total, running)
        store_xyzz(F, sums, task, total)
        task = claim(tasks)


@kernel
def _horner(F: Any, sums: Any, groups: int, c: int, result: Any) -> None:
    total = xyzz_infinity(zero(F))
    for row in range(sums.shape[0] // groups - 1, -1, -1):
        for _ in range(c):
            total = xyzz_double(total)
        for group in range(groups):
            total = xyzz_add(total, load_xyzz(F, sums, row * groups + group))
    store_affine(F, result, 0, total)
