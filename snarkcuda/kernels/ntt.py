"""Kernels of number-theoretic transforms: one pass over memory does up to nine levels.

An array of 2^log_n elements (or several, one behind the other) is transformed in place, as on the
CPU (`cpu/ntt.py`), without a pass that reverses bits:

    dif      natural order in, bit-reversed out      spans from 2^log_n down to 2
    dit      bit-reversed in, natural out            spans from 2 up to 2^log_n

A pass of k levels splits the array into lines of 2^k elements, 2^log_stride apart. Element r of
the line that starts at offset c < 2^log_stride of its group:

    group g:   [ c = 0 1 2 … 2^log_stride − 1 | r = 1 … | … | r = 2^k − 1 … ]

The 2^k-point transform runs along r. Between two passes, of strides 2^s and less, an element is
multiplied by root^(c·brev(r)), where r and c are its row and its column in the pass of stride 2^s:
in a dif the pass that has just ended, in a dit the one to come. Either way the product is made as
a pass stores, by a table that lies as a group does, so that the factor of place i is factors[i mod
2^(k + s)]; powers of a coset's shift and 1/n are in the tables too (`kernels/ntt_plan.py`). The
pass at stride 1 can do dif and dit in one: there an inverse transform meets a forward one, and the
factors of its rows are applied in between.

A block of threads has a tile, 2^log_columns neighbouring lines; a thread has eight elements of a
line in registers. A step does three levels on them (`butterflies`); between steps the elements
change hands through shared memory, each thread writing to the places that it read:

    step of span 2^q:   rows  (slot div 2^(q−3))·2^q + (slot mod 2^(q−3)) + i·2^(q−3),   i < 8

k mod 3 levels that are left over act on rows 8·slot + i, in pairs or fours. Lines shorter than
eight share a thread: a super-line is then 8/2^k lines.

The naive twin is Horner's rule in `tests/kernels/test_ntt.py`.
"""

from __future__ import annotations

from typing import Any

from snarkcuda.jit import formula
from snarkcuda.kernels.butterflies import dif4x2, dif8, dit4x2, dit8, pairs
from snarkcuda.kernels.field import DeviceField
from snarkcuda.kernels.launch import DeviceKernel, device_kernel
from snarkcuda.kernels.loops import no_unroll
from snarkcuda.kernels.target import cuda, uint32

MAX_LEVELS = 9  # of a pass: two lines of 2^9 are 37 KiB of shared memory
# Four blocks of so many threads a multiprocessor, of 128 registers a thread, for which some 60
# bytes of indices spill. Without, three blocks fit, and 2^20 elements take 4 % longer.
MAX_THREADS = 128

Tile = tuple[int, int, int, int]  # a super-line's first line, the lines, levels, log_stride


@formula
def _row(slot: int, q: int, i: int) -> int:
    """Row of place i in a step of span 2^q."""
    stride = q - 3
    return ((slot >> stride) << q) + (slot & ((1 << stride) - 1)) + (i << stride)


@formula
def _column_size(rows: int) -> int:
    """Places of a line of 2^rows elements in shared memory; ≡ 2 mod 8 from 64 elements on."""
    return (1 << rows) + (1 << (rows - 3)) + 2


@formula
def _place(column: int, rows: int, row: int) -> int:
    """Where an element is in shared memory: padded, so that no step meets bank conflicts."""
    return column * _column_size(rows) + row + (row >> 3)


@formula
def _row_of(tile: Tile, row: int) -> int:
    """Row of its line that a row of a super-line is."""
    return row & ((1 << tile[2]) - 1)


@formula
def _index(tile: Tile, row: int) -> int:
    """Where a row of a super-line lies in the array; −1 for a line beyond the last."""
    first, lines, levels, log_stride = tile
    line = first + (row >> levels)
    group, column = line >> log_stride, line & ((1 << log_stride) - 1)
    index = (((group << levels) + _row_of(tile, row)) << log_stride) + column
    return index if line < lines else -1


def shared_bytes(F: DeviceField, levels: int, log_columns: int) -> int:
    """Dynamic shared memory of a pass."""
    return (_column_size(max(3, levels)) << log_columns) * 4 * F.words


def ntt_pass(F: DeviceField) -> DeviceKernel:
    """The kernel of a pass: dif steps if asked, then dit steps if asked, then factors if any.

    Arguments of a launch, a thread for eight elements: x, words, transformed in place; the roots of
    the dif and of the dit steps, words, root^e for e < 2^levels; middle, words, 2^levels factors of
    rows, read between dif and dit; factors, words, read at mask + 1 places where mask ≥ 0; levels,
    log_columns, log_stride, the number of lines; dif, dit, 0 or 1; mask, or −1.
    """
    load, store, get, put = F.load, F.store, F.load_shared, F.store_shared

    @formula
    def exchange(x: Any, shared: Any, column: int, slot: int, rows: int, q: int, then: int) -> Any:
        """Hand on the elements of a step of span 2^q, take those of a step of span 2^then."""
        n = _column_size(rows) * (cuda.blockDim.x >> (rows - 3))
        put(shared, _place(column, rows, _row(slot, q, 0)), n, x[0])
        put(shared, _place(column, rows, _row(slot, q, 1)), n, x[1])
        put(shared, _place(column, rows, _row(slot, q, 2)), n, x[2])
        put(shared, _place(column, rows, _row(slot, q, 3)), n, x[3])
        put(shared, _place(column, rows, _row(slot, q, 4)), n, x[4])
        put(shared, _place(column, rows, _row(slot, q, 5)), n, x[5])
        put(shared, _place(column, rows, _row(slot, q, 6)), n, x[6])
        put(shared, _place(column, rows, _row(slot, q, 7)), n, x[7])
        cuda.syncthreads()
        return (
            get(shared, _place(column, rows, _row(slot, then, 0)), n),
            get(shared, _place(column, rows, _row(slot, then, 1)), n),
            get(shared, _place(column, rows, _row(slot, then, 2)), n),
            get(shared, _place(column, rows, _row(slot, then, 3)), n),
            get(shared, _place(column, rows, _row(slot, then, 4)), n),
            get(shared, _place(column, rows, _row(slot, then, 5)), n),
            get(shared, _place(column, rows, _row(slot, then, 6)), n),
            get(shared, _place(column, rows, _row(slot, then, 7)), n),
        )

    @formula
    def turned(x: Any, roots: Any, j: int, shift: int) -> Any:
        """x[i]·root^(j·brev(i)·2^shift)."""
        return (
            x[0],
            x[1] * load(roots, (4 * j) << shift),
            x[2] * load(roots, (2 * j) << shift),
            x[3] * load(roots, (6 * j) << shift),
            x[4] * load(roots, j << shift),
            x[5] * load(roots, (5 * j) << shift),
            x[6] * load(roots, (3 * j) << shift),
            x[7] * load(roots, (7 * j) << shift),
        )

    @formula
    def at(x: Any, tile: Tile, row: int) -> Any:
        """The element in a row; of a line beyond the last, some other, which nothing keeps."""
        return load(x, max(_index(tile, row), 0))

    @formula
    def taken(x: Any, tile: Tile, slot: int, q: int) -> Any:
        """The thread's elements of a step of span 2^q, from global memory."""
        return (
            at(x, tile, _row(slot, q, 0)),
            at(x, tile, _row(slot, q, 1)),
            at(x, tile, _row(slot, q, 2)),
            at(x, tile, _row(slot, q, 3)),
            at(x, tile, _row(slot, q, 4)),
            at(x, tile, _row(slot, q, 5)),
            at(x, tile, _row(slot, q, 6)),
            at(x, tile, _row(slot, q, 7)),
        )

    @formula
    def scaled(e: Any, factors: Any, tile: Tile, slot: int) -> Any:
        """The elements of a step of span 8, each by the factor of its row."""
        return (
            e[0] * load(factors, _row_of(tile, 8 * slot + 0)),
            e[1] * load(factors, _row_of(tile, 8 * slot + 1)),
            e[2] * load(factors, _row_of(tile, 8 * slot + 2)),
            e[3] * load(factors, _row_of(tile, 8 * slot + 3)),
            e[4] * load(factors, _row_of(tile, 8 * slot + 4)),
            e[5] * load(factors, _row_of(tile, 8 * slot + 5)),
            e[6] * load(factors, _row_of(tile, 8 * slot + 6)),
            e[7] * load(factors, _row_of(tile, 8 * slot + 7)),
        )

    @formula
    def put_back(x: Any, index: int, element: Any, factors: Any, mask: int) -> None:
        if index >= 0:
            store(x, index, element if mask < 0 else element * load(factors, index & mask))

    @formula
    def give(
        x: Any, tile: Tile, slot: int, q: int, e: Any, factors: Any, mask: int
    ) -> None:  # fmt: skip
        """The inverse of `taken`, each element times its factor, if mask ≥ 0."""
        put_back(x, _index(tile, _row(slot, q, 0)), e[0], factors, mask)
        put_back(x, _index(tile, _row(slot, q, 1)), e[1], factors, mask)
        put_back(x, _index(tile, _row(slot, q, 2)), e[2], factors, mask)
        put_back(x, _index(tile, _row(slot, q, 3)), e[3], factors, mask)
        put_back(x, _index(tile, _row(slot, q, 4)), e[4], factors, mask)
        put_back(x, _index(tile, _row(slot, q, 5)), e[5], factors, mask)
        put_back(x, _index(tile, _row(slot, q, 6)), e[6], factors, mask)
        put_back(x, _index(tile, _row(slot, q, 7)), e[7], factors, mask)

    signature = (*("words",) * 5, *("i32",) * 7)

    @device_kernel(
        f"ntt_pass[{F.key}]", signature, max_threads=MAX_THREADS, min_blocks=4, may_spill=True
    )
    def ntt_pass(
        x: Any, dif_roots: Any, dit_roots: Any, middle: Any, factors: Any, levels: int,
        log_columns: int, log_stride: int, lines: int, dif: int, dit: int, mask: int,
    ) -> None:  # fmt: skip
        shared = cuda.shared.array(0, uint32)
        column = cuda.threadIdx.x & ((1 << log_columns) - 1)
        slot = cuda.threadIdx.x >> log_columns
        rows = max(levels, 3)
        first = ((cuda.blockIdx.x << log_columns) + column) << (rows - levels)
        tile = first, lines, levels, log_stride
        e = taken(x, tile, slot, rows if dif else 3)
        if dif:
            q = levels
            while q >= 3:
                no_unroll()
                eighth = 1 << (levels - 3)
                w1, w2 = load(dif_roots, eighth), load(dif_roots, 2 * eighth)
                e = dif8(e, w1, w2, load(dif_roots, 3 * eighth))
                if q > 3:
                    e = turned(e, dif_roots, slot & ((1 << (q - 3)) - 1), levels - q)
                    e = exchange(e, shared, column, slot, rows, q, max(q - 3, 3))
                q -= 3
            if q == 2:
                e = dif4x2(e, load(dif_roots, 1 << (levels - 2)))
            elif q == 1:
                e = pairs(e)
        if dif and dit:
            e = scaled(e, middle, tile, slot)
        if dit:
            q = levels % 3
            if q == 2:
                e = dit4x2(e, load(dit_roots, 1 << (levels - 2)))
            elif q == 1:
                e = pairs(e)
            while q < levels:
                no_unroll()
                if q > 0:
                    e = exchange(e, shared, column, slot, rows, max(q, 3), q + 3)
                    e = turned(e, dit_roots, slot & ((1 << q) - 1), levels - q - 3)
                eighth = 1 << (levels - 3)
                w1, w2 = load(dit_roots, eighth), load(dit_roots, 2 * eighth)
                e = dit8(e, w1, w2, load(dit_roots, 3 * eighth))
                q += 3
        give(x, tile, slot, rows if dit else 3, e, factors, mask)

    return ntt_pass


def ntt_factors(F: DeviceField) -> DeviceKernel:
    """Fill a pass's table: root^(c·brev(r))·row[r] at place r·2^log_stride + c.

    Arguments of a launch: out, words; low, root^e for e < 2^log_low; high, root^(e·2^log_low);
    row, 2^levels factors; levels, log_stride, log_low.
    """
    load, store = F.load, F.store

    @device_kernel(f"ntt_factors[{F.key}]", ("words",) * 4 + ("i32",) * 3, max_threads=MAX_THREADS)
    def ntt_factors(
        out: Any, low: Any, high: Any, row: Any, levels: int, log_stride: int, log_low: int
    ) -> None:
        place = cuda.grid(1)
        if place < 1 << (levels + log_stride):
            r, c = place >> log_stride, place & ((1 << log_stride) - 1)
            reverse = 0
            for bit in range(levels):
                reverse |= ((r >> bit) & 1) << (levels - 1 - bit)
            e = c * reverse
            power = load(low, e & ((1 << log_low) - 1)) * load(high, e >> log_low)
            store(out, place, power * load(row, r))

    return ntt_factors
