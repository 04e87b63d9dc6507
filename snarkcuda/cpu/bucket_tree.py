"""Buckets of affine points summed by pairwise trees: every round is one batch of independent pairs.

    entries, by bucket     a b c d e │ f g │ h
    round 1                a+b  c+d  e │ f+g │ (h is done)
    round 2                ab+cd  e │ (fg is done)
    round 3                abcd+e   │            …

A group of buckets is taken at a time, so that its rows stay in the cache; a bucket larger than a
group is summed in pieces, the sum so far joining the next piece after its first round. Buckets of
any size and points of any kind are exact (`batch_add`). Source: as `batch_add`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from snarkcuda.cpu.batch_add import BATCH, PARTS, add_pairs
from snarkcuda.cpu.pool import stopped
from snarkcuda.field.vector_memory import (
    LINE,
    address_of,
    aligned_address,
    gather_points,
    limb_words,
    scatter_points,
    word_count,
)
from snarkcuda.field.vector_type import LANES
from snarkcuda.jit import formula

GROUP = 1 << 14  # entries of a group: its first round leaves 512 kB of 64-byte rows


@formula
def _pad(codes: Any, n: int) -> None:
    """Repeat the last code up to the next whole vector."""
    for i in range(n, (n + LANES - 1) // LANES * LANES):
        codes[i] = codes[n - 1]


@formula
def _copy_points(F: Any, source: int, places: Any, target: int, results: Any, n: int) -> None:
    """target[results[i]] = source[places[i]], negated where the code says so."""
    if n > 0:
        _pad(places, n)
        _pad(results, n)
        for at in range(0, n, LANES):
            x, y = gather_points(F, source, places, at)
            scatter_points(F, target, results, at, x, y)


@formula
def sum_buckets(
    tasks: Any,
    F: Any,
    points: int,
    codes: Any,
    starts: Any,
    first: int,
    low: int,
    high: int,
    sums: Any,
) -> None:
    """sums[b − low] = Σ ±points over the entries of bucket b, low ≤ b < high.

    Args:
        tasks: the pool's counter: if the work is stopped, the sums are left incomplete.
        F: field of the coordinates.
        points: address of packed affine points, vector form.
        codes: uint32, 2·i + sign, sorted by bucket.
        starts: int64, where each bucket begins in `codes`, and the end of the last.
        first: index of the point that stands first in `points`; entries below it are left out.
        low, high: the buckets.
        sums: uint8 rows, zeroed.
    """
    entries = np.empty(GROUP + LANES, dtype=np.int64)
    nexts = np.empty(GROUP + LANES, dtype=np.int64)
    begins = np.empty(GROUP + 2, dtype=np.int64)
    which = np.empty(GROUP + 2, dtype=np.int64)
    pairs = np.empty((3, GROUP // 2 + LANES), dtype=np.int64)
    copies = np.empty((2, GROUP + LANES), dtype=np.int64)
    done = np.empty((2, GROUP + LANES), dtype=np.int64)
    row_bytes = 16 * word_count(F)
    rows_memory = np.empty(
        (2, (GROUP // 2 + GROUP // 4 + LANES) * row_bytes + LINE), dtype=np.uint8
    )
    rows = aligned_address(rows_memory[0]), aligned_address(rows_memory[1])
    scratch_memory = np.empty(PARTS * (BATCH // LANES) * limb_words(F) + 8, dtype=np.uint64)
    scratch = aligned_address(scratch_memory)
    partial_at = np.empty(2 * LANES, dtype=np.int64)
    special = np.empty((BATCH // LANES, 3), dtype=np.uint64)
    into = address_of(sums)

    bucket, position, has_partial = low, starts[low], False
    while bucket < high and not stopped(tasks):
        # Fill a group: whole buckets, and a piece of the last one if it is too large.
        n, n_buckets, goes_on = 0, 0, False
        while bucket < high and n < GROUP:
            end = starts[bucket + 1]
            begins[n_buckets] = n
            while position < end and n < GROUP:
                code = np.int64(codes[position]) - 2 * first
                position += 1
                if code >= 0:
                    entries[n] = code
                    n += 1
            if n > begins[n_buckets]:
                which[n_buckets] = bucket - low
                n_buckets += 1
            if position < end:
                goes_on = True
                break
            bucket += 1
        begins[n_buckets] = n
        source, side, partial = points, 0, has_partial
        while n_buckets > 0:
            target = rows[side]
            n_pairs, n_copies, n_done, n_rows, kept = 0, 0, 0, 0, 0
            begin = begins[0]
            for k in range(n_buckets):
                end = begins[k + 1]
                begins[kept] = n_rows
                joins = partial and k == 0
                if end - begin == 1 and not joins:
                    done[0, n_done] = entries[begin]
                    done[1, n_done] = 2 * which[k]
                    n_done += 1
                else:
                    for i in range(begin, end - 1, 2):
                        pairs[0, n_pairs] = entries[i]
                        pairs[1, n_pairs] = entries[i + 1]
                        pairs[2, n_pairs] = 2 * n_rows
                        n_pairs += 1
                        nexts[n_rows] = 2 * n_rows
                        n_rows += 1
                    if (end - begin) % 2 == 1:
                        copies[0, n_copies] = entries[end - 1]
                        copies[1, n_copies] = 2 * n_rows
                        n_copies += 1
                        nexts[n_rows] = 2 * n_rows
                        n_rows += 1
                    if joins:  # what earlier groups left of this bucket
                        partial_at[0] = 2 * which[k]
                        partial_at[LANES] = 2 * n_rows
                        _copy_points(F, into, partial_at, target, partial_at[LANES:], 1)
                        nexts[n_rows] = 2 * n_rows
                        n_rows += 1
                    which[kept] = which[k]
                    kept += 1
                begin = end
            begins[kept] = n_rows
            if n_pairs > 0:
                for i in range(3):
                    _pad(pairs[i], n_pairs)
                for at in range(0, n_pairs, BATCH):
                    count = min(BATCH, n_pairs - at)
                    add_pairs(
                        F, source, pairs[0], pairs[1], at, count, target, pairs[2], scratch, special
                    )
            _copy_points(F, source, copies[0], target, copies[1], n_copies)
            _copy_points(F, source, done[0], into, done[1], n_done)
            entries, nexts = nexts, entries
            source, side, partial, n_buckets = target, 1 - side, False, kept
        has_partial = goes_on
