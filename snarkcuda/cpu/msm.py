"""Multi-scalar multiplication by affine additions from end to end, many at a time.

    digits    signed windows, sorted by bucket once for all queries (`digits`)
    task      N = 2^m neighbouring buckets of one window: summed by pairwise trees (`bucket_tree`),
              then by the bits of their numbers (`bucket_weights`)
    at the end  a few doublings a task, and Horner's rule over the windows, on scalars

    Σ_j (low + j)·S_j = low·S + Σ_k 2^k·O_k      S the sum of all, O_k of those with bit k

One kernel source for both forms of points: eight at a time in vector form (AVX-512 IFMA), or in
Montgomery form, straight from a key file. A bucket of any size is exact, and so are equal, opposite
and infinite points (`batch_add`). The naive twin is the sum of multiples,
`curve.points.linear_combination`.

Sources: Pippenger 1976; as `batch_add`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from snarkcuda.cpu.bucket_tree import sum_buckets, tree_memory
from snarkcuda.cpu.bucket_weights import weigh_buckets, weights_memory
from snarkcuda.cpu.digits import SortedDigits
from snarkcuda.cpu.pool import Pool, Stop, claim, stopped
from snarkcuda.cpu.vector_form import leave_vector_form, leaving_constant
from snarkcuda.curve.formulas import xyzz_add, xyzz_add_affine, xyzz_double, xyzz_infinity
from snarkcuda.curve.params import Group
from snarkcuda.curve.points import point_shape, store_affine
from snarkcuda.field.arrays import U64Array, at_even_address
from snarkcuda.field.bundle import Bundles
from snarkcuda.field.element import load, zero
from snarkcuda.field.vector_rows import address_of, aligned_address
from snarkcuda.field.vector_type import LANES
from snarkcuda.jit import formula, kernel

TASKS = 8  # for each thread at least: should one be slowed down, others take over
LEAST_BUCKETS = 1 << 8  # of a task: fewer make small batches, each with an inversion


def msm(
    pool: Pool,
    group: Group,
    points: NDArray[np.uint8],
    digits: SortedDigits,
    stop: Stop | None = None,
    infinite: NDArray[np.uint8] | None = None,
    *,
    vectors: bool = False,
) -> U64Array:
    """Σ kᵢ·Pᵢ.

    Args:
        pool: the threads to use.
        group: G1 or G2 of a curve.
        points: packed affine points, one for each scalar, in vector form, or in Montgomery form
            with coordinates below p; all zero is infinity. At an odd address they are copied, as
            a sign is kept in the last bit.
        digits: the scalars.
        stop: ends the work early with `Cancelled`.
        vectors: the form of the points, and whether eight are added at a time (AVX-512 IFMA).
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
    if 0 < 8 * len(marks) < len(digits):
        raise ValueError("each point has a bit of `infinite`")
    points = at_even_address(points)
    result = np.zeros(point_shape(group), dtype=np.uint64)
    if len(digits) == 0:
        return result
    rows, n_buckets = digits.codes.shape[0], digits.starts.shape[1] - 3
    parts = _part_count(rows, n_buckets, pool.threads)
    log_n = (n_buckets // parts).bit_length() - 1
    shape = rows * parts, -(-(log_n + 1) // LANES) * LANES, 2 * group.field.words
    sums = np.zeros(shape, dtype=np.uint64)
    codes, starts, first = digits.codes, digits.starts, digits.first
    leaving = leaving_constant(group.field)
    lanes = group.field if vectors else Bundles(group.field)
    arguments = (lanes, points, marks, codes, starts, first, parts, log_n, leaving, sums)
    pool.run(_task, rows * parts, *arguments, stop=stop)
    pool.call(_combine, group.field, sums, parts, log_n, digits.window, result)
    return result


def _part_count(rows: int, n_buckets: int, threads: int) -> int:
    """Into how many tasks a window's buckets are cut: a power of two."""
    parts = 1
    while n_buckets // parts > LEAST_BUCKETS:
        tasks = rows * parts
        idle = -tasks % threads  # threads that have nothing to do in the last round
        if tasks >= TASKS * threads and 32 * idle <= tasks:
            break
        parts *= 2
    return parts


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
