"""Multi-scalar multiplication on a device: see `msm_plan.py` for the order of its launches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snarkcuda.cpu.xyzz_rows import load_xyzz
from snarkcuda.curve.formulas import xyzz_add, xyzz_double, xyzz_infinity
from snarkcuda.curve.params import Group
from snarkcuda.curve.points import point_shape, store_affine
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.element import zero
from snarkcuda.field.params import PrimeField
from snarkcuda.jit import kernel
from snarkcuda.kernels import msm_digits, msm_reduce, msm_sums
from snarkcuda.kernels.device import DeviceArray, Stream
from snarkcuda.kernels.field import DeviceField
from snarkcuda.kernels.group import point_field
from snarkcuda.kernels.launch import DeviceKernel
from snarkcuda.kernels.memory import Arena, Scope
from snarkcuda.kernels.msm_group import bin_sort, column_offsets, column_starts, column_sums
from snarkcuda.kernels.msm_plan import MsmShape
from snarkcuda.kernels.msm_reduce import row_weights
from snarkcuda.kernels.msm_tables import make_multiples
from snarkcuda.kernels.point_checks import first_off_curve


@cache
def _digit_kernels(field: PrimeField) -> tuple[DeviceKernel, DeviceKernel]:
    return msm_digits.digit_counts(field), msm_digits.digit_place(field)


@cache
def _point_kernels(F: DeviceField, cold: DeviceField) -> tuple[DeviceKernel, ...]:
    return (
        msm_sums.sum_chunks(F),
        msm_sums.sum_runs(cold),
        msm_reduce.reduce_runs(cold),
        msm_reduce.bit_rows(cold),
        msm_reduce.sum_rows(cold),
    )


def cold_field(group: Group, arithmetic: str | None = None) -> DeviceField:
    """The field of coordinates where products are calls: for code that runs little."""
    F = point_field(group, arithmetic)
    return DeviceField(F.field, F.arithmetic, calls=True)


@dataclass(frozen=True)
class Bases:
    """The points of a query on a device.

    Attributes:
        group: G1 or G2.
        F: the field of coordinates, as the sums of entries use it.
        table: multiples of the points, affine: row j·n + i.
        n: points.
    """

    group: Group
    F: DeviceField
    table: DeviceArray
    n: int


def load_bases(
    scope: Scope,
    group: Group,
    points: NDArray[Any],
    shape: MsmShape,
    arithmetic: str | None = None,
) -> tuple[Bases, int | None]:
    """Copy points to a device, look whether they are on their curve, and make their multiples.

    Args:
        scope: holds them.
        group: theirs.
        points: of any shape: affine, Montgomery, all zero is infinity. Where they are fewer than
            the shape's n, infinity comes before them.
        shape: of the MSMs.
        arithmetic: see `DeviceField`.

    Returns:
        The bases, and the index of the first point that is off its curve.
    """
    cold, g = cold_field(group, arithmetic), shape.geometry
    size = 2 * cold.words
    count = points.nbytes // (4 * size)
    before = shape.n - count
    if before < 0:
        raise ValueError(f"{count} points for MSMs of {shape.n}")
    table = scope.allocate(max(1, shape.multiples * shape.n) * size)
    if before:
        zeros = np.zeros(before * size, dtype=np.uint32)
        scope.stream.upload(zeros, table.part(0, len(zeros)))
    bad = None
    if count:
        there = table.part(before * size, count * size)
        scope.stream.upload(np.ascontiguousarray(points), there)
        bad = first_off_curve(scope, cold, group, there, count)
    if bad is None:
        make_multiples(scope, cold, table, shape.n, shape.multiples, shape.step, threads=g.sums)
    return Bases(group, point_field(group, arithmetic), table, shape.n), bad


@dataclass(frozen=True)
class Grouping:
    """Scalars' digits grouped by bucket: see `msm_group.py`."""

    shape: MsmShape
    entries: DeviceArray
    starts: DeviceArray
    chunk_buckets: DeviceArray
    totals: DeviceArray


def group_digits(scope: Scope, shape: MsmShape, scalars: DeviceArray) -> Grouping:
    """Cut scalars into digits and group them.

    Args:
        scope: holds the result, and has the stream.
        shape: the MSM's.
        scalars: n of eight words, canonical.
    """
    s, g, stream = shape, shape.geometry, scope.stream
    if scalars.size < 8 * s.n:
        raise ValueError(f"{scalars.size} words for {s.n} scalars")
    counting, placing = _digit_kernels(s.field)
    entries, starts, chunk_buckets, totals = map(scope.allocate, s.group_words())
    span, spans = s.span, s.spans
    with scope.arena.scope(stream) as work:
        records, counts, sums, columns_at = map(work.allocate, s.sorting_words())
        sizes = s.n, s.log_tile, s.columns
        threads = min(g.digits, 1 << s.log_tile)
        shared = 4 * s.columns
        counting.launch(
            stream, s.tiles, threads, counts, scalars, *sizes, s.window, s.windows, shared=shared
        )
        flat = -(-spans * s.columns // min(g.sort, 256)), min(g.sort, 256)
        column_sums.launch(stream, *flat, sums, counts, s.tiles, s.columns, span)
        column_starts.launch(
            stream, 1, g.sort, columns_at, sums, totals, spans, s.columns, g.chunks,
            g.least_chunk, shared=4 * g.sort,
        )  # fmt: skip
        column_offsets.launch(stream, *flat, counts, sums, s.tiles, s.columns, span)
        placing.launch(
            stream, s.tiles, threads, records, entries, counts, scalars, *sizes, s.log_bins,
            s.window, s.windows, s.groups, shared=shared,
        )  # fmt: skip
        bin_sort.launch(
            stream, s.columns, g.sort, entries, starts, chunk_buckets, records, counts,
            columns_at, totals, s.tiles, s.columns, s.places, s.log_tile, s.n,
            shared=4 * (s.places + g.sort + 1),
        )  # fmt: skip
    return Grouping(s, entries, starts, chunk_buckets, totals)


def msm_rows(
    arena: Arena,
    stream: Stream,
    bases: Bases,
    grouping: Grouping,
    mark: Callable[[str], None] = lambda part: None,
) -> DeviceArray:
    """The rows that are left of Σ kᵢ·Pᵢ: points in XYZZ, below p, that `weighted` sums.

    Args:
        arena: where they are allocated, and what is needed on the way.
        stream: where.
        bases: as many points as scalars.
        grouping: the scalars'.
        mark: called with the name of each part that has been launched.
    """
    s, g, F = grouping.shape, grouping.shape.geometry, bases.F
    if bases.n != s.n:
        raise ValueError(f"{bases.n} points, {s.n} scalars")
    cold = cold_field(bases.group, F.arithmetic)
    sum_chunks, sum_runs, reduce_runs, bit_rows, sum_rows = _point_kernels(F, cold)
    words, levels, log_runs, rows = 4 * F.words, s.level_sizes(), s.log_runs, s.rows
    of_group = 1 << (log_runs + s.log_bins)
    runs = s.groups * of_group
    with arena.scope(stream) as work:
        result, sums, run_sums, partial, scratch, *keys = map(work.allocate, s.sum_words(words))
        arguments = bases.table, grouping.entries, grouping.starts, grouping.chunk_buckets
        sum_chunks.launch(
            stream, -(-s.chunks // g.sums), g.sums, sums, keys[0], *arguments, grouping.totals,
            s.buckets,
        )  # fmt: skip
        mark("points to buckets")
        here, log_sums = s.buckets, g.sums.bit_length() - 1
        for level, size in enumerate(levels):
            last = level == len(levels) - 1
            sum_runs.launch(
                stream, -(-size // g.sums), g.sums, sums, keys[level],
                keys[level if last else level + 1], grouping.totals, here, here + size, level,
                log_sums, int(last), shared=(words + 1) * 4 * g.sums,
            )  # fmt: skip
            here += size
        mark("chunks' ends")
        reduce_runs.launch(
            stream, -(-runs // g.reduce), g.reduce, run_sums, sums, grouping.starts, runs,
            s.log_run, log_runs, s.groups,
        )  # fmt: skip
        mark("buckets")
        bit_rows.launch(
            stream, rows * g.share, g.reduce, partial, run_sums, scratch, of_group,
            log_runs + s.log_bins, s.groups, g.share,
        )  # fmt: skip
        sum_rows.launch(
            stream, 1 + rows, g.reduce, result, partial, scratch, sums, grouping.starts, g.share,
            rows,
        )  # fmt: skip
        mark("rows")
        return work.keep(result)


def weighted(group: Group, shape: MsmShape, rows: U64Array) -> U64Array:
    """Σ 2^weight·row, on the host: uint64, one affine point, Montgomery; infinity is all zero."""
    s = shape
    of_group = row_weights(s.log_bins, s.log_runs, s.log_run)
    weights = [g * s.window + weight for g in range(s.groups) for weight in of_group] + [0]
    order = sorted(range(len(weights)), key=lambda i: -weights[i])
    steps = [weights[i] for i in order] + [0]
    doublings = [a - b for a, b in pairwise(steps)]
    out = np.empty(point_shape(group), dtype=np.uint64)
    table = np.ascontiguousarray(rows).view(np.uint64).reshape(len(weights), -1)
    _weighted(group.field, table, np.array(order), np.array(doublings), out)
    return out


@kernel
def _weighted(F: Any, rows: Any, order: Any, doublings: Any, out: Any) -> None:
    total = xyzz_infinity(zero(F))
    for i in range(len(order)):
        total = xyzz_add(total, load_xyzz(F, rows, order[i]))
        for _ in range(doublings[i]):
            total = xyzz_double(total)
    store_affine(F, out, 0, total)


def msm(arena: Arena, stream: Stream, bases: Bases, shape: MsmShape, scalars: U64Array) -> U64Array:
    """Σ kᵢ·Pᵢ: uint64, one affine point, Montgomery; infinity is all zero.

    Args:
        arena: the device's memory.
        stream: where.
        bases: the points.
        shape: for which their multiples were made.
        scalars: uint64 (n, 4), canonical.
    """
    with arena.scope(stream) as work:
        there = work.upload(scalars) if len(scalars) else work.allocate(8)
        rows = work.adopt(msm_rows(arena, stream, bases, group_digits(work, shape, there)))
        host = np.empty(rows.size // 2, dtype=np.uint64)
        stream.download(rows, host)
    return weighted(bases.group, shape, host)
