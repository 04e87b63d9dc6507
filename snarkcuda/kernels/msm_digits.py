"""Kernels that cut scalars into signed digits, and bring the digits of a bin together.

    min(k, r − k) = Σ_w digit[w]·2^(c·w),   −2^(c−1) < digit ≤ 2^(c−1)

A negative digit, or one of a negated k, subtracts the point. Window w = j·groups + g adds multiple
j of its point (`msm_tables.py`) to bucket |digit| − 1 of group g. Of the digit's bits the low ones
are its bin, as those of a short highest window spread over all bins; group and high bits are its
place in the bin:

    |digit| − 1 = high·2^log_bins + bin,   place = g·2^(c − 1 − log_bins) + high

A tile of scalars is one block's. First each block counts the digits of its tile by bin; the counts,
added up bin by bin (`msm_group.py`), say where the block's digits of each bin go, so that the order
is the same each time, and a bin's digits lie tile by tile. Scalars that are 1 or −1 after all have
a column of their own before the bins: they need no sorting, and are what most of a circuit's
witness is.

Source: signed digits, eprint 2012/549, §4; min(k, r − k) and low bits first, as sppark and the
entries to ZPrize 2023 have them. The naive twin is in `tests/kernels/test_msm_group.py`.
"""

from __future__ import annotations

from typing import Any

from snarkcuda.field.params import PrimeField, limbs_of
from snarkcuda.jit import formula
from snarkcuda.kernels.launch import DeviceKernel, device_kernel
from snarkcuda.kernels.loops import no_unroll
from snarkcuda.kernels.target import cuda, int64, uint32

MAX_THREADS = 512
LOG_TILE = 12  # scalars of a tile, at most
# A record: place, 14 bits; multiple, 5; scalar of the tile, 12; sign, 1.
MAX_PLACES = 1 << 14
MAX_MULTIPLES = 1 << 5
MAX_WINDOW = 24
_SIGN, _LOCAL, _MULTIPLE, _PLACE = 0, 1, 1 + LOG_TILE, 6 + LOG_TILE
_WORD = 0xFFFFFFFF


@formula
def record_place(record: int) -> Any:
    """Its place in the bin."""
    return int64(record) >> _PLACE


@formula
def record_entry(record: int, tile: int, log_tile: int, n: int) -> Any:
    """The entry: 2·(row of the table of multiples) + sign."""
    word = int64(record)
    local = (word >> _LOCAL) & ((1 << LOG_TILE) - 1)
    multiple = (word >> _MULTIPLE) & (MAX_MULTIPLES - 1)
    return ((multiple * n + (tile << log_tile) + local) << 1) | (word & 1)


def _formulas(field: PrimeField) -> tuple[Any, Any]:
    """Words for kernels: halved(words, i) of a scalar, and shifted(scalar, c)."""
    r0, r1, r2, r3, r4, r5, r6, r7 = limbs_of(field.modulus, 8, 32)

    @formula
    def halved(words: Any, i: int) -> Any:
        """min(k, r − k), eight words, and whether it is r − k, 0 or 1."""
        k = 8 * i
        a0, a1, a2, a3 = (
            int64(words[k]),
            int64(words[k + 1]),
            int64(words[k + 2]),
            int64(words[k + 3]),
        )
        a4, a5, a6, a7 = (
            int64(words[k + 4]),
            int64(words[k + 5]),
            int64(words[k + 6]),
            int64(words[k + 7]),
        )
        # A word of the difference is its low 32 bits; the sign, shifted down, is the borrow.
        d0 = r0 - a0
        d1 = r1 - a1 + (d0 >> 32)
        d2 = r2 - a2 + (d1 >> 32)
        d3 = r3 - a3 + (d2 >> 32)
        d4 = r4 - a4 + (d3 >> 32)
        d5 = r5 - a5 + (d4 >> 32)
        d6 = r6 - a6 + (d5 >> 32)
        d7 = r7 - a7 + (d6 >> 32)
        d0, d1, d2, d3 = d0 & _WORD, d1 & _WORD, d2 & _WORD, d3 & _WORD
        d4, d5, d6, d7 = d4 & _WORD, d5 & _WORD, d6 & _WORD, d7 & _WORD
        less = (d0 - a0) >> 32
        less = (d1 - a1 + less) >> 32
        less = (d2 - a2 + less) >> 32
        less = (d3 - a3 + less) >> 32
        less = (d4 - a4 + less) >> 32
        less = (d5 - a5 + less) >> 32
        less = (d6 - a6 + less) >> 32
        less = (d7 - a7 + less) >> 32
        if less < 0:
            return (d0, d1, d2, d3, d4, d5, d6, d7), 1
        return (a0, a1, a2, a3, a4, a5, a6, a7), 0

    @formula
    def shifted(a: Any, c: int) -> Any:
        """The scalar without its low c bits, c < 32."""
        a0, a1, a2, a3, a4, a5, a6, a7 = a
        up = 32 - c
        return (
            (a0 >> c) | ((a1 << up) & _WORD),
            (a1 >> c) | ((a2 << up) & _WORD),
            (a2 >> c) | ((a3 << up) & _WORD),
            (a3 >> c) | ((a4 << up) & _WORD),
            (a4 >> c) | ((a5 << up) & _WORD),
            (a5 >> c) | ((a6 << up) & _WORD),
            (a6 >> c) | ((a7 << up) & _WORD),
            a7 >> c,
        )

    return halved, shifted


@formula
def _is_small(a: Any) -> Any:
    """Whether the scalar is 0 or 1."""
    a0, a1, a2, a3, a4, a5, a6, a7 = a
    return ((a0 >> 1) | a1 | a2 | a3 | a4 | a5 | a6 | a7) == 0


def digit_counts(field: PrimeField) -> DeviceKernel:
    """How many digits of each tile fall into each column.

    Arguments of a launch, a block a tile: counts, words, a row of `columns` a tile; scalars, words,
    eight each, canonical; n; log_tile; columns, which are one more than the bins; c; windows.
    Dynamic shared memory: columns words.
    """
    halved, shifted = _formulas(field)

    @device_kernel(
        f"digit_counts[{field.name}]", ("words", "words") + ("i64",) * 5, max_threads=MAX_THREADS
    )
    def digit_counts(
        counts: Any, scalars: Any, n: int, log_tile: int, columns: int, c: int, windows: int
    ) -> None:
        shared = cuda.shared.array(0, uint32)
        tile, thread, threads = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
        for column in range(thread, columns, threads):
            shared[column] = 0
        cuda.syncthreads()
        half, mask = 1 << (c - 1), columns - 2
        for i in range((tile << log_tile) + thread, min(n, (tile + 1) << log_tile), threads):
            no_unroll()
            a, _ = halved(scalars, i)
            if _is_small(a):
                if a[0] == 1:
                    cuda.atomic.add(shared, 0, 1)
            else:
                carry = 0
                for _ in range(windows):
                    no_unroll()
                    digit = (a[0] & (2 * half - 1)) + carry
                    carry = 1 if digit > half else 0
                    size = 2 * half - digit if carry else digit
                    if size:
                        cuda.atomic.add(shared, 1 + ((size - 1) & mask), 1)
                    a = shifted(a, c)
        cuda.syncthreads()
        for column in range(thread, columns, threads):
            counts[tile * columns + column] = shared[column]

    return digit_counts


def digit_place(field: PrimeField) -> DeviceKernel:
    """The digits' records, each bin's together; entries of the scalars 1 and −1, first of all.

    Arguments of a launch, a block a tile: records and entries, words; offsets, words, a row of
    `columns` a tile: where its digits of each column begin; scalars, words; n; log_tile; columns;
    log_bins; c; windows; groups. Dynamic shared memory: columns words.
    """
    halved, shifted = _formulas(field)

    @device_kernel(
        f"digit_place[{field.name}]", ("words",) * 4 + ("i64",) * 7, max_threads=MAX_THREADS
    )
    def digit_place(
        records: Any, entries: Any, offsets: Any, scalars: Any, n: int, log_tile: int,
        columns: int, log_bins: int, c: int, windows: int, groups: int,
    ) -> None:  # fmt: skip
        shared = cuda.shared.array(0, uint32)
        tile, thread, threads = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
        for column in range(thread, columns, threads):
            shared[column] = offsets[tile * columns + column]
        cuda.syncthreads()
        half, mask, log_high = 1 << (c - 1), columns - 2, c - 1 - log_bins
        first = tile << log_tile
        for i in range(first + thread, min(n, first + (1 << log_tile)), threads):
            no_unroll()
            a, negated = halved(scalars, i)
            if _is_small(a):
                if a[0] == 1:
                    entries[cuda.atomic.add(shared, 0, 1)] = (i << 1) | negated
            else:
                carry, group, multiple = 0, 0, 0
                for _ in range(windows):
                    no_unroll()
                    digit = (a[0] & (2 * half - 1)) + carry
                    carry = 1 if digit > half else 0
                    size = 2 * half - digit if carry else digit
                    if size:
                        place = (group << log_high) + ((size - 1) >> log_bins)
                        record = (place << _PLACE) | (multiple << _MULTIPLE)
                        record = record | ((i - first) << _LOCAL) | (carry ^ negated)
                        column = 1 + ((size - 1) & mask)
                        records[cuda.atomic.add(shared, column, 1)] = record
                    a = shifted(a, c)
                    group += 1
                    if group == groups:
                        group = 0
                        multiple += 1

    return digit_place
