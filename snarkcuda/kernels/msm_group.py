"""Kernels that group digits by bucket: sums of counts over tiles, then a sort of each bin.

    counts      uint32 (tiles, columns)      column 0: scalars 1 and −1; column 1 + b: bin b
    offsets     uint32 (tiles, columns)      the counts' exclusive sums, column by column
    starts      uint32 (1 + bins·places + 1) where each bucket begins among the entries

Bucket 0 is that of column 0; bucket 1 + bin·places + place is one of a digit. A bin is one block's:
its counters fit in shared memory, and its records, a few megabytes, in the L2 cache. Tiles follow
each other in a bin, so that a record needs only the place in its tile.

Entries are summed in chunks of equal length (`msm_sums.py`), however buckets are filled; the sort
says in which bucket each chunk begins.
"""

from __future__ import annotations

from typing import Any

from snarkcuda.jit import formula
from snarkcuda.kernels.launch import device_kernel
from snarkcuda.kernels.loops import no_unroll
from snarkcuda.kernels.msm_digits import record_entry, record_place
from snarkcuda.kernels.target import cuda, int64, uint32

MAX_THREADS = 1024
# What later kernels need to know, in words: entries in all, entries of a chunk.
TOTAL, CHUNK, TOTALS = 0, 1, 2


@formula
def block_prefix(shared: Any, base: int, value: int) -> int:
    """Sum of the values of the threads before this one, whose words are shared[base + thread].

    Of as many threads as a power of two; Hillis and Steele.
    """
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    total, distance = value, 1
    shared[base + thread] = value
    cuda.syncthreads()
    while distance < threads:
        other = int64(shared[base + thread - distance]) if thread >= distance else 0
        cuda.syncthreads()
        total += other
        shared[base + thread] = total
        cuda.syncthreads()
        distance <<= 1
    return total - value


@device_kernel("column_sums", ("words", "words") + ("i64",) * 3, max_threads=256)
def column_sums(sums: Any, counts: Any, tiles: int, columns: int, span: int) -> None:
    """The sum of each column over each span of tiles, a thread each: uint32 (spans, columns)."""
    i = cuda.grid(1)
    first = i // columns * span
    if first < tiles:
        column, total = i % columns, 0
        for tile in range(first, min(tiles, first + span)):
            total += int64(counts[tile * columns + column])
        sums[i] = total


@device_kernel("column_starts", ("words",) * 3 + ("i64",) * 4, max_threads=MAX_THREADS)
def column_starts(
    starts: Any, sums: Any, totals: Any, spans: int, columns: int, threads_wanted: int, least: int
) -> None:
    """Where each column begins, and each span of it; how long chunks are. One block.

    Arguments of a launch: starts, words (columns + 1,); sums, words (spans, columns), overwritten;
    totals, words; spans; columns; in how many chunks all entries should be cut; the least of a
    chunk. Dynamic shared memory: a word a thread, a power of two of them.
    """
    shared = cuda.shared.array(0, uint32)
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    share = (columns + threads - 1) // threads
    first, last = min(columns, thread * share), min(columns, (thread + 1) * share)
    total = 0
    for column in range(first, last):
        for span in range(spans):
            total += int64(sums[span * columns + column])
    start = block_prefix(shared, 0, total)
    for column in range(first, last):
        starts[column] = start
        for span in range(spans):
            place = span * columns + column
            count = int64(sums[place])
            sums[place] = start
            start += count
    if thread == threads - 1:
        starts[columns] = start
        totals[TOTAL] = start
        totals[CHUNK] = max(least, (start + threads_wanted - 1) // threads_wanted)


@device_kernel("column_offsets", ("words", "words") + ("i64",) * 3, max_threads=256)
def column_offsets(counts: Any, sums: Any, tiles: int, columns: int, span: int) -> None:
    """Counts become offsets, a thread a column of a span.

    Arguments of a launch: those of `column_sums`, `sums` as `column_starts` left it.
    """
    i = cuda.grid(1)
    first = i // columns * span
    if first < tiles:
        column, offset = i % columns, int64(sums[i])
        for tile in range(first, min(tiles, first + span)):
            place = tile * columns + column
            count = int64(counts[place])
            counts[place] = offset
            offset += count


@device_kernel("bin_sort", ("words",) * 7 + ("i64",) * 5, max_threads=MAX_THREADS)
def bin_sort(
    entries: Any, starts: Any, chunk_buckets: Any, records: Any, offsets: Any, columns_at: Any,
    totals: Any, tiles: int, columns: int, places: int, log_tile: int, n: int,
) -> None:  # fmt: skip
    """The entries of a column in the order of its buckets: a block a column.

    Arguments of a launch: entries; starts, words (2 + bins·places,); chunk_buckets, the bucket in
    which each chunk begins; records; offsets; columns_at, words (columns + 1,), where each column
    begins; totals; tiles; columns; places of a bin; log_tile; n. Threads are a power of two, 32 or
    fewer, or a multiple of 32. Dynamic shared memory: places + threads + 1 words.
    """
    shared = cuda.shared.array(0, uint32)
    column, thread, threads = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
    begin, end = int64(columns_at[column]), int64(columns_at[column + 1])
    chunk = int64(totals[CHUNK])
    first_chunk = (begin + chunk - 1) // chunk
    if column == 0:  # one bucket, whose entries are in place
        if thread == 0:
            starts[0] = 0
        for i in range(first_chunk + thread, (end + chunk - 1) // chunk, threads):
            chunk_buckets[i] = 0
    else:
        for place in range(thread, places, threads):
            shared[place] = 0
        cuda.syncthreads()
        for i in range(begin + thread, end, threads):
            cuda.atomic.add(shared, record_place(records[i]), 1)
        cuda.syncthreads()
        share = (places + threads - 1) // threads
        first, last = min(places, thread * share), min(places, (thread + 1) * share)
        total = 0
        for place in range(first, last):
            total += int64(shared[place])
        start = begin + block_prefix(shared, places, total)
        bucket = 1 + (column - 1) * places
        for place in range(first, last):
            count = int64(shared[place])
            shared[place] = start
            starts[bucket + place] = start
            start += count
        if column == columns - 1 and thread == threads - 1:
            starts[bucket + places] = end
        cuda.syncthreads()
        # The last place that begins at or before the chunk does: the one before has entries there.
        for i in range(first_chunk + thread, (end + chunk - 1) // chunk, threads):
            low, high = 0, places
            while high - low > 1:
                middle = (low + high) >> 1
                if int64(shared[middle]) <= i * chunk:
                    low = middle
                else:
                    high = middle
            chunk_buckets[i] = bucket + low
        cuda.syncthreads()
        lanes = min(threads, 32)
        for tile in range(thread // lanes, tiles, threads // lanes):
            no_unroll()
            here = int64(offsets[tile * columns + column])
            after = int64(offsets[(tile + 1) * columns + column]) if tile + 1 < tiles else end
            for i in range(here + thread % lanes, after, lanes):
                record = records[i]
                entry = record_entry(record, tile, log_tile, n)
                entries[cuda.atomic.add(shared, record_place(record), 1)] = entry
