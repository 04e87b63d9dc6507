"""Membership of many points, on all threads; the kernels are `curve/points`'s."""

from __future__ import annotations

from snarkcuda.cpu.pool import Pool
from snarkcuda.curve import points
from snarkcuda.curve.params import Group
from snarkcuda.field.arrays import U64Array

_CHUNK = 1 << 14  # points checked by one call


def first_off_curve(pool: Pool, group: Group, query: U64Array) -> int | None:
    """Index of the first point (infinity apart) that does not satisfy the curve's equation."""

    def check(start: int) -> int | None:
        return points.first_off_curve(group, query, start, min(start + _CHUNK, len(query)))

    found = (index for index in pool.map(check, range(0, len(query), _CHUNK)) if index is not None)
    return next(found, None)
