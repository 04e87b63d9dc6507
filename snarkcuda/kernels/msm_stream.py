"""Sums over points that stay in the host's memory: slice by slice, two tables in turn.

For keys of which not even the points themselves fit on a device. One stream copies a slice while
another sums the one before; each slice's scalars are grouped by themselves, with no multiples.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snarkcuda.curve.params import Group
from snarkcuda.kernels.device import DeviceArray, Event, Stream
from snarkcuda.kernels.field import DeviceField
from snarkcuda.kernels.group import point_field
from snarkcuda.kernels.memory import Arena, Scope
from snarkcuda.kernels.msm import Bases, cold_field, group_digits, msm_rows
from snarkcuda.kernels.msm_plan import MsmShape
from snarkcuda.kernels.point_checks import first_off_curve


@dataclass(frozen=True)
class StreamedBases:
    """The points of a query in the host's memory.

    Attributes:
        group: G1 or G2.
        F: the field of coordinates, as the sums of entries use it.
        points: packed: affine, Montgomery, all zero is infinity.
        n: scalars of a sum; where they are more than the points, the first have none.
        shape: of the sum of a slice, with one multiple.
    """

    group: Group
    F: DeviceField
    points: NDArray[np.uint8]
    n: int
    shape: MsmShape

    @property
    def point_bytes(self) -> int:
        """Of one, affine."""
        return 8 * self.F.words

    @property
    def before(self) -> int:
        """Scalars that have no point."""
        return self.n - len(self.points) // self.point_bytes

    def slices(self) -> Iterator[tuple[int, NDArray[np.uint8]]]:
        """The first point of each, and its points."""
        size = self.shape.n * self.point_bytes
        for first in range(0, len(self.points), size):
            yield first // self.point_bytes, self.points[first : first + size]

    @property
    def n_slices(self) -> int:
        """How many."""
        return -(-len(self.points) // (self.shape.n * self.point_bytes))


def stream_bases(
    scope: Scope, group: Group, points: NDArray[np.uint8], n: int, shape: MsmShape
) -> tuple[StreamedBases, int | None]:
    """Look at points slice by slice, and leave them where they are.

    Returns:
        The bases, and the index of the first point that is off its curve.
    """
    bases = StreamedBases(group, point_field(group), points, n, shape)
    with scope.arena.scope(scope.stream) as work:
        table = work.allocate(shape.n * bases.point_bytes // 4)
        for first, some in bases.slices():
            scope.stream.upload(np.ascontiguousarray(some), table)
            count = len(some) // bases.point_bytes
            bad = first_off_curve(scope, cold_field(group), group, table, count)
            if bad is not None:
                return bases, first + bad
    return bases, None


def streamed_rows(
    arena: Arena, stream: Stream, copies: Stream, bases: StreamedBases, scalars: DeviceArray
) -> list[DeviceArray]:
    """The rows of each slice's sum, as `msm.msm_rows` leaves them.

    Args:
        arena: where they are allocated, and what is needed on the way.
        stream: where sums are made.
        copies: where points are copied.
        bases: the points.
        scalars: as many as `bases.n`, canonical.
    """
    found: list[DeviceArray] = []
    with arena.scope(stream) as result, arena.scope(stream) as work:
        # One table's last use ends before it is written again, and its copy before it is read.
        words = bases.shape.n * bases.point_bytes // 4
        tables = [work.allocate(words) for _ in range(2)]
        copies.wait_for(stream.record())
        used: list[Event | None] = [None, None]
        for i, (first, some) in enumerate(bases.slices()):
            if (event := used[i % 2]) is not None:
                copies.wait_for(event)
            table, count = tables[i % 2], len(some) // bases.point_bytes
            copies.upload(np.ascontiguousarray(some), table)
            stream.wait_for(copies.record())
            shape = replace(bases.shape, n=count)
            part: Any = scalars.part(8 * (bases.before + first), 8 * count)
            with arena.scope(stream) as slice_:
                grouping = group_digits(slice_, shape, part)
                resident = Bases(bases.group, bases.F, table, count)
                found.append(result.adopt(msm_rows(arena, stream, resident, grouping)))
            used[i % 2] = stream.record()
        for rows in found:
            result.keep(rows)
    return found
