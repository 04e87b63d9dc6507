"""Buckets of affine points summed by pairwise trees: every round is one batch of independent pairs.

    entries, by bucket     a b │ c d    f g          e waits, h is the sum of its bucket
    round 1                a+b  c+d                  f+g is a sum
    round 2                ab+cd  e
    round 3                abcd+e                    is a sum

Entries are addresses, laid out so that each two neighbours are a pair: of a bucket with an odd
number of them the last one waits for the next round. So nothing is moved but an address for each
sum, and no point is copied before its bucket's sum is known. A group of buckets is taken at a time:
its sums are rows written one after another that stay in the cache. A bucket larger than a group is
summed in pieces, the sum so far being an entry of the next piece. Buckets of any size and points of
any kind are exact (`batch_add`). Source: as `batch_add`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from snarkcuda.cpu.batch_add import AHEAD, add_pairs, batch_memory, batch_size
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
_PAIRS, _ODD, _WAITING, _TARGET = range(4)  # of a bucket: counts, and addresses


@formula
def tree_memory(F: Any) -> Any:
    """What `sum_buckets` works in: allocated once, for any number of calls."""
    pairs = np.zeros(GROUP + 2 * (LANES + AHEAD + LANES), dtype=np.int64)
    # A bucket takes its entries and one more of a group's GROUP places (`sum_buckets`): at most
    # half as many have an entry, a third two of them, and a row after the last is written.
    buckets = np.empty((GROUP // 2 + 2, 4), dtype=np.int64)
    done = np.empty((2, GROUP // 2 + 2 + LANES), dtype=np.int64)
    rows = np.empty((GROUP + LANES) * 16 * word_count(F) + LINE, dtype=np.uint8)
    return pairs, buckets, done, rows, batch_memory(F)


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
    batch = batch_size(F, memory)
    for first in range(0, n, batch):
        count = min(batch, n - first)
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
def _settle(
    pairs: Any, at: int, n: int, target: int, buckets: Any, k: int, done: Any, m: int
) -> Any:
    """n ≥ 1 entries of a bucket stand at `at`: see to what they become, without a branch.

    Returns:
        where entries of the next bucket go: over the one that waits; the next of `buckets`: the
        same k if this one has no pair; and the next of `done`.
    """
    last = pairs[at + n - 1]
    buckets[k, _PAIRS], buckets[k, _ODD] = n >> 1, n & 1
    buckets[k, _WAITING], buckets[k, _TARGET] = last, target
    done[0, m], done[1, m] = last, target
    return at + (n & -2), k + (n > 1), m + (n == 1)


@formula
def _sum_group(F: Any, n_entries: int, n_buckets: int, n_done: int, memory: Any) -> None:
    """The sums of a group's buckets, to their targets."""
    pairs, buckets, done, rows_memory, batch = memory
    rows, row_bytes, row = aligned_address(rows_memory), 16 * word_count(F), 0
    while n_buckets > 0:
        add_all_pairs(F, pairs, n_entries >> 1, rows, row, batch)
        n_entries, k = 0, 0
        for b in range(n_buckets):
            n, target = buckets[b, _PAIRS], buckets[b, _TARGET]
            for i in range(LANES):  # more than most have: how many would be guessed, and wrongly
                pairs[n_entries + i] = rows + (row + i) * row_bytes
            for i in range(LANES, n):
                pairs[n_entries + i] = rows + (row + i) * row_bytes
            pairs[n_entries + n] = buckets[b, _WAITING]
            row += n
            n += buckets[b, _ODD]
            n_entries, k, n_done = _settle(pairs, n_entries, n, target, buckets, k, done, n_done)
        n_buckets = k
    if n_done > 0:
        _copy_points(F, done, n_done)


@formula
def _write_entries(
    pairs: Any, n: int, codes: Any, start: int, stop: int, first: int, infinite: Any, points: int,
    row_bytes: int,
) -> Any:  # fmt: skip
    """The addresses of entries start … stop − 1, from pairs[n] on; returns the end of those kept.

    Each is written, and the next one goes over it if it is left out: a branch would be guessed.
    """
    place = np.uint64(n)  # no index here is negative, which numba would ask of each
    for i in range(np.uint64(start), np.uint64(stop)):
        code = np.int64(codes[i]) - 2 * first
        kept = np.uint64(code >= 0)
        if len(infinite) > 0 and kept:
            index = np.uint64(code) >> np.uint64(1)
            kept = ~(np.uint64(infinite[index >> np.uint64(3)]) >> (index & np.uint64(7)))
            kept &= np.uint64(1)
        pairs[place] = points + (code >> 1) * row_bytes + (code & 1)
        place += kept
    return np.int64(place)


@formula
def sum_buckets(
    tasks: Any, F: Any, points: int, codes: Any, starts: Any, first: int, low: int, high: int,
    infinite: Any, sums: int, memory: Any,
) -> None:  # fmt: skip
    """Row b − low at `sums` = Σ ±points over the entries of bucket b, low ≤ b < high.

    Args:
        tasks: the pool's counter: if the work is stopped, the sums are left incomplete.
        F: field of the coordinates, or `Bundles` of it.
        points: address of packed affine points, in the form that F asks for (`field/vector_rows`):
            at most 2p for vectors, below p for bundles.
        codes: uint32, 2·i + sign, sorted by bucket.
        starts: int64, where each bucket begins in `codes`, and the end of the last.
        first: index of the point that stands first in `points`; entries below it are left out.
        low, high: the buckets.
        infinite: uint8, bit i of the whole says that point first + i is infinity: its entries are
            left out, which are slow to add. May be empty, and none is left out.
        sums: address of packed rows; those of empty buckets are left as they are: zero them.
        memory: of `tree_memory`.
    """
    pairs, buckets, done = memory[0], memory[1], memory[2]
    row_bytes = 16 * word_count(F)
    bucket, position, goes_on = low, starts[low], False
    while bucket < high and not stopped(tasks):
        # Fill a group: whole buckets, and a piece of the last one if it is too large.
        n, n_buckets, n_done, room = 0, 0, 0, GROUP
        while bucket < high and room > 0:
            end, target, begin = starts[bucket + 1], sums + (bucket - low) * row_bytes, n
            if goes_on:  # what earlier groups left of this bucket
                pairs[n] = target
                n += 1
                goes_on = False
            stop = min(end, position + room)
            n = _write_entries(pairs, n, codes, position, stop, first, infinite, points, row_bytes)
            room -= stop - position + 1
            position = stop
            if n > begin:
                n, n_buckets, n_done = _settle(
                    pairs, begin, n - begin, target, buckets, n_buckets, done, n_done
                )
            goes_on = position < end
            if not goes_on:
                bucket += 1
        _sum_group(F, n, n_buckets, n_done, memory)
