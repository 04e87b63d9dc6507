"""Membership of many points, on all threads or on vectors; `curve/points` defines it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from snarkcuda.cpu import subgroup_vector
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve import points
from snarkcuda.curve.params import Curve, Group
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.vector_type import has_vectors

VECTOR_POINTS = 1 << 12  # with fewer, loading the vector kernel takes longer than it saves
_CHUNK = 1 << 14  # points checked by one call


def first_off_curve(
    pool: Pool, group: Group, query: U64Array, infinite: NDArray[np.uint8] | None = None
) -> int | None:
    """Index of the first point (infinity apart) that does not satisfy the curve's equation.

    `infinite`, uint8 of `mark_bytes`, receives the points at infinity: bit i of the whole, point i.
    """

    def check(start: int) -> int | None:
        stop = min(start + _CHUNK, len(query))
        if infinite is not None:
            is_zero = ~query[start:stop].any(axis=tuple(range(1, query.ndim)))
            marks = np.packbits(is_zero, bitorder="little")
            infinite[start // 8 : start // 8 + len(marks)] = marks
        return points.first_off_curve(group, query, start, stop)

    found = (index for index in pool.map(check, range(0, len(query), _CHUNK)) if index is not None)
    return next(found, None)


def first_outside_subgroup(
    curve: Curve, group: Group, query: U64Array, start: int, stop: int
) -> int | None:
    """Index of the first point from start to stop (infinity apart) that is not of order r.

    The points are on the curve. One call runs on one thread, and callers cut a query into several;
    the whole query's length decides whether they run on vectors.
    """
    on_vectors = len(query) >= VECTOR_POINTS and points.has_cofactor(curve, group) and has_vectors()
    if on_vectors:
        return subgroup_vector.first_outside_subgroup(curve, group, query, start, stop)
    return points.first_outside_subgroup(curve, group, query, start, stop)
