"""Buckets of affine points summed by pairwise trees: every round is one batch of independent pairs.

    entries, by bucket     a b c d e │ f g │ h
    round 1                a+b  c+d  e │ f+g │ (h is done)
    round 2                ab+cd  e │ (fg is done)
    round 3                abcd+e   │            …

Entries are addresses, so that one left over (e) is carried on without being copied. A group of
buckets is taken at a time: its sums are rows written one after another that stay in the cache. A
bucket larger than a group is summed in pieces, the sum so far being an entry of the next piece.
Buckets of any size and points of any kind are exact (`batch_add`). Source: as `batch_add`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from snarkcuda.cpu.batch_add import AHEAD, BATCH, add_pairs, batch_memory
from snarkcuda.cpu.pool import stopped
from snarkcuda.field.vector_memory import word_count
from snarkcuda.field.vector_rows import (
    LINE,
    aligned_address,
    gather_points,
    lane_count,
    scatter_points,
)
from snarkcuda.field.vector_type import LANES
from snarkcuda.jit import formula

GROUP = 1 << 13  # entries of a group: as many rows of 64 bytes are 512 kB


@formula
def tree_memory(F: Any) -> Any:
    """What `sum_buckets` works in: allocated once, for any number of calls."""
    entries = np.empty(GROUP + 1, dtype=np.int64)
    begins = np.empty(GROUP + 2, dtype=np.int64)
    which = np.empty(GROUP + 1, dtype=np.int64)
    pairs = np.zeros(GROUP + 2 * (LANES + AHEAD + LANES), dtype=np.int64)
    done = np.empty((2, GROUP + LANES), dtype=np.int64)
    rows = np.empty((GROUP + LANES) * 16 * word_count(F) + LINE, dtype=np.uint8)
    return entries, begins, which, pairs, done, rows, batch_memory(F)


@formula
def no_marks() -> Any:
    """For `sum_buckets`: no point is left out."""
    return np.empty(0, dtype=np.uint8)


@formula
def add_all_pairs(F: Any, pairs: Any, n: int, target: int, row: int, memory: Any) -> None:
    """`add_pairs` for any number of pairs, in batches; the last pair is repeated to a vector."""
    for i in range(n, (n + LANES - 1) // LANES * LANES):
        pairs[2 * i] = pairs[2 * n - 2]
        pairs[2 * i + 1] = pairs[2 * n - 1]
    for first in range(0, n, BATCH):
        count = min(BATCH, n - first)
        add_pairs(F, pairs, first, count, target, row + first, memory)


@formula
def _copy_points(F: Any, done: Any, n: int) -> None:
    """The point at done[0, i], negated where the address says so, goes to address done[1, i]."""
    for i in range(n, (n + LANES - 1) // LANES * LANES):
        done[0, i] = done[0, n - 1]
        done[1, i] = done[1, n - 1]
    for at in range(0, n, lane_count(F)):
        x, y = gather_points(F, done[0], at, 1)
        scatter_points(F, done[1], at, x, y)


@formula
def sum_buckets(
    tasks: Any, F: Any, points: int, codes: Any, starts: Any, first: int, low: int, high: int,
    infinite: Any, sums: int, memory: Any,
) -> None:  # fmt: skip
    """Row b − low at `sums` = Σ ±points over the entries of bucket b, low ≤ b < high.

    Args:
        tasks: the pool's counter: if the work is stopped, the sums are left incomplete.
        F: field of the coordinates, or `Bundles` of it.
        points: address of packed affine points, in the form that F asks for (`field/vector_rows`).
        codes: uint32, 2·i + sign, sorted by bucket.
        starts: int64, where each bucket begins in `codes`, and the end of the last.
        first: index of the point that stands first in `points`; entries below it are left out.
        low, high: the buckets.
        infinite: uint8, bit i of the whole says that point first + i is infinity: its entries are
            left out, which are slow to add. May be empty, and none is left out.
        sums: address of packed rows; those of empty buckets are left as they are: zero them.
        memory: of `tree_memory`.
    """
    entries, begins, which, pairs, done, rows_memory, batch = memory
    row_bytes, n_marks = 16 * word_count(F), len(infinite)
    rows = aligned_address(rows_memory)
    bucket, position, goes_on = low, starts[low], False
    while bucket < high and not stopped(tasks):
        # Fill a group: whole buckets, and a piece of the last one if it is too large.
        n, n_buckets, joins = 0, 0, goes_on
        goes_on = False
        while bucket < high and n < GROUP:
            end = starts[bucket + 1]
            begins[n_buckets] = n
            if joins:  # what earlier groups left of this bucket
                entries[n] = sums + (bucket - low) * row_bytes
                n += 1
                joins = False
            while position < end and n < GROUP:
                code = np.int64(codes[position]) - 2 * first
                position += 1
                if code < 0:
                    continue
                if n_marks > 0 and (infinite[code >> 4] >> ((code >> 1) & 7)) & 1:
                    continue
                entries[n] = points + (code >> 1) * row_bytes + (code & 1)
                n += 1
            if n > begins[n_buckets]:
                which[n_buckets] = bucket - low
                n_buckets += 1
            if position < end:
                goes_on = True
                break
            bucket += 1
        begins[n_buckets] = n
        n_rows, n_done = 0, 0
        while n_buckets > 0:
            n_pairs, kept, n = 0, 0, 0
            begin = begins[0]
            for k in range(n_buckets):
                end = begins[k + 1]
                if end - begin == 1:
                    done[0, n_done] = entries[begin]
                    done[1, n_done] = sums + which[k] * row_bytes
                    n_done += 1
                else:
                    begins[kept] = n
                    for i in range(begin, end - 1, 2):
                        pairs[2 * n_pairs] = entries[i]
                        pairs[2 * n_pairs + 1] = entries[i + 1]
                        entries[n] = rows + (n_rows + n_pairs) * row_bytes
                        n_pairs += 1
                        n += 1
                    if (end - begin) & 1:
                        entries[n] = entries[end - 1]
                        n += 1
                    which[kept] = which[k]
                    kept += 1
                begin = end
            begins[kept] = n
            if n_pairs > 0:
                add_all_pairs(F, pairs, n_pairs, rows, n_rows, batch)
            n_rows += n_pairs
            n_buckets = kept
        if n_done > 0:
            _copy_points(F, done, n_done)
