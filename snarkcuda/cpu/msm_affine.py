"""Multi-scalar multiplication on vectors: affine buckets, eight additions at a time.

    digits    signed windows, as `cpu/msm.py` cuts them; sorted by bucket once for all queries
    task      some buckets of one window: summed by pairwise trees (`bucket_tree`), then
              Σ_b b·bucket[b] by running sums, eight segments of buckets side by side
    at the end  the lanes of all tasks, and Horner's rule, on scalars

    lane l has buckets l·m + 1 … (l + 1)·m:   running = Σ S_b,  total = Σ (b − l·m)·S_b
    Σ_b b·S_b = Σ_l total_l + l·m·running_l

The running sums use the complete addition, which has no branches. The twin is `cpu/msm.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import int64, uint32
from numpy.typing import NDArray

from snarkcuda.cpu.bucket_tree import sum_buckets
from snarkcuda.cpu.msm import signed_digits, window_bits
from snarkcuda.cpu.pool import Pool, Stop, claim, stopped
from snarkcuda.curve.formulas import complete_add, xyzz_add, xyzz_double, xyzz_infinity
from snarkcuda.curve.params import Group
from snarkcuda.curve.points import point_shape, store_affine
from snarkcuda.field import arrays, ifma
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.element import load, zero
from snarkcuda.field.naive import flatten, naive
from snarkcuda.field.params import prime_of
from snarkcuda.field.vector import is_null, reduced
from snarkcuda.field.vector_memory import (
    address_of,
    broadcast_vector,
    gather_points,
    store_vector,
)
from snarkcuda.field.vector_type import LANES
from snarkcuda.field.words import is_zero, one_like, select, zero_like
from snarkcuda.jit import kernel

BUCKET_COST = 2.5  # two complete additions in affine ones, measured
MIN_WINDOW = 5  # with fewer bits lanes have a bucket each, or none, to sum
_SUMS = 6  # X, Y, Z of the running sum and of the total


@dataclass(frozen=True)
class SortedDigits:
    """Digits sorted by bucket, for any number of MSMs over them or their tail.

    Row w has window w: `codes` are 2·i + sign, bucket by bucket, those of digit 0 left out.
    """

    window: int
    codes: NDArray[np.uint32]  # (windows, n)
    starts: NDArray[np.int64]  # (windows, buckets + 3): where each begins; 2^(c−1), at least 8
    first: int = 0

    def __len__(self) -> int:
        return int(self.codes.shape[1]) - self.first

    def tail(self, first: int) -> SortedDigits:
        """The digits of the scalars from index `first` on; nothing is copied."""
        return SortedDigits(self.window, self.codes, self.starts, self.first + first)


def sorted_digits(
    pool: Pool,
    scalars: U64Array,
    scalar_bits: int,
    stop: Stop | None = None,
    window: int | None = None,
) -> SortedDigits:
    """Cut scalars into digits and sort each window by |digit|; within a bucket indices ascend.

    Args:
        pool: the threads to use.
        scalars: uint64 (n, 4), canonical, below 2^scalar_bits; n < 2^31.
        scalar_bits: bit length of the scalar field's modulus.
        stop: ends the work early with `Cancelled`.
        window: bits of a digit, 1 … MAX_WINDOW; by default what is best for an MSM.
    """
    window = window or window_bits(len(scalars), scalar_bits, BUCKET_COST, MIN_WINDOW)
    digits = signed_digits(pool, scalars, scalar_bits, stop, window)
    rows, n = digits.values.shape
    codes = np.empty((rows, n), dtype=np.uint32)
    starts = np.zeros((rows, max(1 << (window - 1), LANES) + 3), dtype=np.int64)
    pool.run(_sort, rows, digits.values, codes, starts, stop=stop)
    return SortedDigits(window, codes, starts)


def msm_affine(
    pool: Pool,
    group: Group,
    points: NDArray[np.uint8],
    digits: SortedDigits,
    stop: Stop | None = None,
) -> U64Array:
    """Σ kᵢ·Pᵢ.

    Args:
        pool: the threads to use.
        group: G1 or G2 of a curve.
        points: packed affine points in vector form, one for each scalar; all zero is infinity.
        digits: the scalars.
        stop: ends the work early with `Cancelled`.

    Returns:
        uint64 (2, limbs) or (2, 2, limbs): affine, Montgomery; infinity is all zero.
    """
    if points.nbytes != 2 * 8 * group.field.words * len(digits):
        raise ValueError(
            f"{points.nbytes} bytes of {group.name} points do not go with {len(digits)} scalars"
        )
    result = np.zeros(point_shape(group), dtype=np.uint64)
    if len(digits) == 0:
        return result
    rows, n_buckets = digits.codes.shape[0], digits.starts.shape[1] - 3
    parts = 1
    while rows * parts < 4 * pool.threads and n_buckets // (2 * parts) >= 8 * LANES:
        parts *= 2
    prime = prime_of(group.field)
    b3 = [3 * c * ifma.radix(prime) % prime.modulus for c in flatten(naive(group.field, group.b))]
    leave = [prime.montgomery % prime.modulus, *[0] * (group.field.level - 1)]
    constants = arrays.from_ints([*b3, *leave], prime.limbs)
    sums = np.zeros((rows * parts, _SUMS, LANES, group.field.words), dtype=np.uint64)
    codes, starts, first = digits.codes, digits.starts, digits.first
    arguments = (group.field, points, codes, starts, first, parts, constants, sums)
    pool.run(_task, rows * parts, *arguments, stop=stop)
    _combine(group.field, sums, parts, n_buckets // parts, digits.window, result)
    return result


@kernel
def _sort(tasks: Any, values: Any, codes: Any, starts: Any) -> None:
    n = values.shape[1]
    task = claim(tasks)
    while task >= 0:
        for i in range(n):
            digit = int64(values[task, i])
            starts[task, abs(digit) + 2] += 1
        for b in range(2, starts.shape[1]):
            starts[task, b] += starts[task, b - 1]
        zeros = starts[task, 2]
        for i in range(n):
            digit = int64(values[task, i])
            bucket = abs(digit)
            if bucket == 0:
                continue  # its entries are never read
            place = starts[task, bucket + 1]
            starts[task, bucket + 1] = place + 1
            codes[task, place - zeros] = uint32(2 * i + (1 if digit < 0 else 0))
        # Now starts[b + 1] is the end of bucket b, zeros counted: starts[b] its beginning.
        for b in range(1, starts.shape[1]):
            starts[task, b] = starts[task, b] - zeros
        starts[task, 1] = 0
        task = claim(tasks)


@kernel
def _task(
    tasks: Any, F: Any, points: Any, codes: Any, starts: Any, first: int, parts: int,
    constants: Any, sums: Any,
) -> None:  # fmt: skip
    n_buckets = (starts.shape[1] - 3) // parts
    segment = n_buckets // LANES
    source = address_of(points)
    buckets = np.empty(16 * sums.shape[3] * n_buckets, dtype=np.uint8)
    places = np.empty(LANES, dtype=np.int64)
    b3, leave = broadcast_vector(F, constants, 0), broadcast_vector(F, constants, 1)
    task = claim(tasks)
    while task >= 0:
        row, part = task // parts, task % parts
        buckets[:] = 0
        low = 1 + part * n_buckets
        sum_buckets(tasks, F, source, codes[row], starts[row], first, low, low + n_buckets, buckets)
        if stopped(tasks):
            return
        nothing, one = zero_like(b3), one_like(b3)
        rx, ry, rz = nothing, one, nothing
        tx, ty, tz = nothing, one, nothing
        rows = address_of(buckets)
        for j in range(segment - 1, -1, -1):
            for lane in range(LANES):
                places[lane] = 2 * (lane * segment + j)
            x, y = gather_points(F, rows, places, 0)
            empty = is_null(x) & is_zero(y)
            point = (x, select(empty, one, y), select(empty, nothing, one))
            rx, ry, rz = complete_add((rx, ry, rz), point, b3)
            tx, ty, tz = complete_add((tx, ty, tz), (rx, ry, rz), b3)
        base = _SUMS * LANES * task
        store_vector(F, sums, base, reduced(rx * leave))
        store_vector(F, sums, base + LANES, reduced(ry * leave))
        store_vector(F, sums, base + 2 * LANES, reduced(rz * leave))
        store_vector(F, sums, base + 3 * LANES, reduced(tx * leave))
        store_vector(F, sums, base + 4 * LANES, reduced(ty * leave))
        store_vector(F, sums, base + 5 * LANES, reduced(tz * leave))
        task = claim(tasks)


@kernel
def _combine(F: Any, sums: Any, parts: int, n_buckets: int, c: int, result: Any) -> None:
    segment = n_buckets // LANES
    total = xyzz_infinity(zero(F))
    for row in range(sums.shape[0] // parts - 1, -1, -1):
        for _ in range(c):
            total = xyzz_double(total)
        for part in range(parts):
            base = _SUMS * LANES * (row * parts + part)
            for lane in range(LANES):
                # x = X/Z, y = Y/Z:  X·Z/Z², Y·Z²/Z³
                x, y, z = (
                    load(F, sums, base + lane),
                    load(F, sums, base + LANES + lane),
                    load(F, sums, base + 2 * LANES + lane),
                )
                zz = z * z
                running = (x * z, y * zz, zz, zz * z)
                multiple, skipped = xyzz_infinity(z), part * n_buckets + lane * segment
                for bit in range(c - 1, -1, -1):
                    multiple = xyzz_double(multiple)
                    if (skipped >> bit) & 1:
                        multiple = xyzz_add(multiple, running)
                total = xyzz_add(total, multiple)
                x, y, z = (
                    load(F, sums, base + 3 * LANES + lane),
                    load(F, sums, base + 4 * LANES + lane),
                    load(F, sums, base + 5 * LANES + lane),
                )
                zz = z * z
                total = xyzz_add(total, (x * z, y * zz, zz, zz * z))
    store_affine(F, result, 0, total)
