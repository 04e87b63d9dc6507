"""Kernels that sum the points of each bucket: equal work for each thread, whatever the buckets.

Entries lie bucket by bucket; a thread takes a chunk of them. Of the buckets that it meets, those
that lie in the chunk as a whole are done; the first and the last may go on beyond it:

    chunk t:   …a | a a b b b b c c d | d d …        b, c: to their buckets
                    head = Σ a      tail = Σ d       a, d: to places 2t and 2t + 1, with their keys

Heads and tails are a list of points whose keys, the buckets, do not fall; `sum_runs` adds up its
runs of equal keys, a block of threads for some neighbours, and leaves a head and a tail a block, to
be taken again until one block has them all. A bucket of a million equal scalars takes no longer
than a million buckets.

In one array, `sums`: a place of XYZZ a bucket, then heads and tails. A bucket without entries has
none written: readers look at `starts`.
"""

from __future__ import annotations

from typing import Any

from snarkcuda.curve.formulas import xyzz_add, xyzz_add_affine, xyzz_infinity
from snarkcuda.jit import formula
from snarkcuda.kernels.field import DeviceField
from snarkcuda.kernels.group import xyzz_words
from snarkcuda.kernels.launch import DeviceKernel, device_kernel
from snarkcuda.kernels.loops import no_unroll
from snarkcuda.kernels.msm_group import CHUNK, TOTAL
from snarkcuda.kernels.target import cuda, int64, uint32

MAX_THREADS = 128
_NO_KEY = 0xFFFFFFFF


def sum_chunks(F: DeviceField) -> DeviceKernel:
    """The sums of chunks of entries.

    Arguments of a launch, a thread a chunk: sums, points; keys, words, of heads and tails; table,
    affine points; entries, starts, chunk_buckets, totals as in `msm_group`; the place of the first
    head.
    """
    _, store_xyzz = xyzz_words(F)
    load, zero = F.load, F.constant(0)

    @device_kernel(
        f"sum_chunks[{F.key}]", ("words",) * 7 + ("i64",), max_threads=MAX_THREADS,
        may_spill=F.calls,
    )  # fmt: skip
    def sum_chunks(
        sums: Any, keys: Any, table: Any, entries: Any, starts: Any, chunk_buckets: Any,
        totals: Any, heads: int,
    ) -> None:  # fmt: skip
        t, chunk = cuda.grid(1), int64(totals[CHUNK])
        first = t * chunk
        last = min(first + chunk, int64(totals[TOTAL]))
        if first < last:
            bucket = int64(chunk_buckets[t])
            end = int64(starts[bucket + 1])
            keys[2 * t] = bucket
            place = heads + 2 * t
            total = xyzz_infinity(zero())
            for k in range(first, last):
                no_unroll()
                if k == end:
                    store_xyzz(sums, place, total)
                    total = xyzz_infinity(zero())
                    while end == k:  # buckets without entries
                        bucket += 1
                        end = int64(starts[bucket + 1])
                    place = bucket
                entry = int64(entries[k])
                x, y = load(table, entry & -2), load(table, entry | 1)
                if entry & 1:  # a select would keep both
                    y = -y
                total = xyzz_add_affine(total, x, y)
            if place == heads + 2 * t:  # one run: the tail is empty
                store_xyzz(sums, place, total)
                total = xyzz_infinity(zero())
            store_xyzz(sums, heads + 2 * t + 1, total)
            keys[2 * t + 1] = bucket

    return sum_chunks


@formula
def n_runs(totals: Any, level: int, log_threads: int) -> Any:
    """Heads and tails of a level: two a chunk, then two a block of the level before."""
    chunk = int64(totals[CHUNK])
    count = (int64(totals[TOTAL]) + chunk - 1) // chunk * 2
    for _ in range(level):
        count = ((count + (1 << log_threads) - 1) >> log_threads) * 2
    return count


def sum_runs(F: DeviceField) -> DeviceKernel:
    """Runs of equal keys added up, by blocks.

    Arguments of a launch, a thread a point: sums, points; keys, words, of this level, and of the
    next; totals; the places of this level's first head and of the next one's; the level, from 0 on;
    log2 of the threads of a block; whether this is the last level, 0 or 1. Dynamic shared memory:
    a point and a word a thread. `F.calls`, as the addition is code of many kilobytes.
    """
    load_xyzz, store_xyzz = xyzz_words(F)
    get, put, zero = F.load_shared, F.store_shared, F.constant(0)

    @formula
    def share(shared: Any, thread: int, n: int, p: Any) -> None:
        x, y, zz, zzz = p
        put(shared, thread, 4 * n, x)
        put(shared, n + thread, 4 * n, y)
        put(shared, 2 * n + thread, 4 * n, zz)
        put(shared, 3 * n + thread, 4 * n, zzz)

    @formula
    def shared_xyzz(shared: Any, thread: int, n: int) -> Any:
        return (
            get(shared, thread, 4 * n),
            get(shared, n + thread, 4 * n),
            get(shared, 2 * n + thread, 4 * n),
            get(shared, 3 * n + thread, 4 * n),
        )

    words = 4 * F.words

    @device_kernel(
        f"sum_runs[{F.key}]", ("words",) * 4 + ("i64",) * 5, max_threads=MAX_THREADS,
        may_spill=F.calls,
    )  # fmt: skip
    def sum_runs(
        sums: Any, keys: Any, next_keys: Any, totals: Any, here: int, then: int, level: int,
        log_threads: int, is_last: int,
    ) -> None:  # fmt: skip
        shared = cuda.shared.array(0, uint32)
        block, thread, n = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
        base = block << log_threads
        points = min(n_runs(totals, level, log_threads) - base, n)
        if points > 0:
            at = words * n  # of the keys in shared memory
            key = int64(_NO_KEY)
            total = xyzz_infinity(zero())
            if thread < points:
                key = int64(keys[base + thread])
                total = load_xyzz(sums, here + base + thread)
            shared[at + thread] = key
            distance = 1
            while distance < n:
                no_unroll()
                share(shared, thread, n, total)
                cuda.syncthreads()
                if thread >= distance and int64(shared[at + thread - distance]) == key:
                    total = xyzz_add(shared_xyzz(shared, thread - distance, n), total)
                cuda.syncthreads()
                distance <<= 1
            head, tail = int64(shared[at]), int64(shared[at + points - 1])
            after = int64(_NO_KEY)
            if thread < points - 1:
                after = int64(shared[at + thread + 1])
            if key != after:  # its run ends here
                place = key
                if not is_last:
                    if key == head:
                        place = then + 2 * block
                    elif key == tail:
                        place = then + 2 * block + 1
                store_xyzz(sums, place, total)
            if thread == 0 and not is_last:
                next_keys[2 * block] = head
                next_keys[2 * block + 1] = tail
                if head == tail:
                    store_xyzz(sums, then + 2 * block + 1, xyzz_infinity(zero()))

    return sum_runs
