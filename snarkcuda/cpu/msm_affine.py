"""Multi-scalar multiplication on vectors: affine additions, eight at a time, from end to end.

    digits    signed windows, as `cpu/msm.py` cuts them; sorted by bucket once for all queries
    task      N = 2^m neighbouring buckets of one window: summed by pairwise trees (`bucket_tree`),
              then by the bits of their numbers (`bucket_weights`)
    at the end  a few doublings a task, and Horner's rule over the windows, on scalars

    Σ_j (low + j)·S_j = low·S + Σ_k 2^k·O_k      S the sum of all, O_k of those with bit k

The twin is `cpu/msm.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import int64, uint32, uint64
from numpy.typing import NDArray

from snarkcuda.cpu.bucket_tree import sum_buckets, tree_memory
from snarkcuda.cpu.bucket_weights import weigh_buckets, weights_memory
from snarkcuda.cpu.msm import signed_digits, window_bits
from snarkcuda.cpu.pool import Pool, Stop, claim, stopped
from snarkcuda.cpu.vector_form import leave_vector_form, leaving_constant
from snarkcuda.curve.formulas import xyzz_add, xyzz_add_affine, xyzz_double, xyzz_infinity
from snarkcuda.curve.params import Group
from snarkcuda.curve.points import point_shape, store_affine
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.element import load, zero
from snarkcuda.field.vector_rows import address_of, aligned_address
from snarkcuda.field.vector_type import LANES
from snarkcuda.jit import formula, kernel

BUCKET_COST = 2.2  # of a bucket, in additions: two, and its share of the scalars' work; measured
TASKS = 16  # for each thread: the last ones end at about the same time
LEAST_BUCKETS = 1 << 8  # of a task: fewer make small batches, each with an inversion


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
    # A small scalar, as most of a circuit's bits are, has a digit in one window only.
    large = int(np.count_nonzero(scalars[:, -1]))
    window = window or window_bits(max(large, len(scalars) >> 6), scalar_bits, BUCKET_COST)
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
    infinite: NDArray[np.uint8] | None = None,
) -> U64Array:
    """Σ kᵢ·Pᵢ.

    Args:
        pool: the threads to use.
        group: G1 or G2 of a curve.
        points: packed affine points in vector form, one for each scalar; all zero is infinity.
        digits: the scalars.
        stop: ends the work early with `Cancelled`.
        infinite: bit i of the whole says that point i is infinity; exact without it, but slower
            where there are many, as there are in the B queries of nearly every key.

    Returns:
        uint64 (2, limbs) or (2, 2, limbs): affine, Montgomery; infinity is all zero.
    """
    if points.nbytes != 2 * 8 * group.field.words * len(digits):
        raise ValueError(
            f"{points.nbytes} bytes of {group.name} points do not go with {len(digits)} scalars"
        )
    marks = np.empty(0, dtype=np.uint8) if infinite is None else infinite
    if points.ctypes.data % 2 or 0 < 8 * len(marks) < len(digits):
        raise ValueError("points begin at an even address, and each has a bit of `infinite`")
    result = np.zeros(point_shape(group), dtype=np.uint64)
    if len(digits) == 0:
        return result
    rows, n_buckets = digits.codes.shape[0], digits.starts.shape[1] - 3
    parts = 1
    while rows * parts < TASKS * pool.threads and n_buckets // parts > LEAST_BUCKETS:
        parts *= 2
    log_n = (n_buckets // parts).bit_length() - 1
    shape = rows * parts, -(-(log_n + 1) // LANES) * LANES, 2 * group.field.words
    sums = np.zeros(shape, dtype=np.uint64)
    codes, starts, first = digits.codes, digits.starts, digits.first
    leaving = leaving_constant(group.field)
    arguments = (group.field, points, marks, codes, starts, first, parts, log_n, leaving, sums)
    pool.run(_task, rows * parts, *arguments, stop=stop)
    pool.call(_combine, group.field, sums, parts, log_n, digits.window, result)
    return result


@kernel
def _sort(tasks: Any, values: Any, codes: Any, starts: Any) -> None:
    n = values.shape[1]
    task = claim(tasks)
    while task >= 0:
        for i in range(n):
            starts[task, uint64(abs(int64(values[task, i])) + 2)] += 1
        for b in range(2, starts.shape[1]):
            starts[task, b] += starts[task, b - 1]
        zeros = starts[task, 2]
        for i in range(n):
            digit = int64(values[task, i])
            if digit == 0:
                continue  # its entries are never read
            bucket = uint64(abs(digit) + 1)
            place = starts[task, bucket]
            starts[task, bucket] = place + 1
            codes[task, uint64(place - zeros)] = uint32(2 * i + (1 if digit < 0 else 0))
        # Now starts[b + 1] is the end of bucket b, zeros counted: starts[b] its beginning.
        for b in range(1, starts.shape[1]):
            starts[task, b] = starts[task, b] - zeros
        starts[task, 1] = 0
        task = claim(tasks)


@kernel
def _task(
    tasks: Any, F: Any, points: Any, marks: Any, codes: Any, starts: Any, first: int, parts: int,
    log_n: int, leaving: Any, sums: Any,
) -> None:  # fmt: skip
    source, n = address_of(points), 1 << log_n
    tree, weights = tree_memory(F), weights_memory(F, log_n)
    buckets = weights[0]
    task = claim(tasks)
    while task >= 0:
        row, part = task // parts, task % parts
        buckets[:] = 0
        low = 1 + part * n
        into = aligned_address(buckets)
        sum_buckets(
            tasks, F, source, codes[row], starts[row], first, low, low + n, marks, into, tree
        )
        weigh_buckets(tasks, F, log_n, address_of(sums[task]), weights, tree)
        if stopped(tasks):
            return
        leave_vector_form(F, sums[task], 2 * sums.shape[1], leaving)
        task = claim(tasks)


@kernel
def _combine(F: Any, sums: Any, parts: int, log_n: int, c: int, result: Any) -> None:
    nothing = xyzz_infinity(zero(F))
    total, n_rows = nothing, sums.shape[1]
    for row in range(sums.shape[0] // parts - 1, -1, -1):
        for _ in range(c):
            total = xyzz_double(total)
        running, multiple = nothing, nothing  # Σ S and Σ part·S, over the parts from this one on
        for part in range(parts - 1, -1, -1):
            first = (row * parts + part) * n_rows
            weighted = nothing
            for k in range(log_n - 1, -1, -1):
                weighted = xyzz_add_affine(xyzz_double(weighted), *_point(F, sums, first + k))
            total = xyzz_add(total, weighted)
            running = xyzz_add_affine(running, *_point(F, sums, first + log_n))
            if part > 0:
                multiple = xyzz_add(multiple, running)
        for _ in range(log_n):
            multiple = xyzz_double(multiple)
        total = xyzz_add(xyzz_add(total, multiple), running)
    store_affine(F, result, 0, total)


@formula
def _point(F: Any, rows: Any, i: int) -> Any:
    return load(F, rows, 2 * i), load(F, rows, 2 * i + 1)
