"""Σ kᵢ·Pᵢ over points that stay in the key's file, for keys whose copies do not fit in memory.

    for each block of points:   file ──vector form, checked──▶ buffer ──msm──▶ sum
    at the end:                 Σ sums

The digits of a block are cut when it is summed, so nothing grows with the key. A block's sum is a
point like any other: the result is that of one MSM, for any block size.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

import numpy as np

from snarkcuda.cpu.digits import sorted_digits
from snarkcuda.cpu.msm import msm
from snarkcuda.cpu.pool import Pool, Stop
from snarkcuda.cpu.resident_key import Query
from snarkcuda.cpu.vector_points import mark_bytes, point_bytes, points_in_vector_form
from snarkcuda.curve.points import linear_combination, point_shape
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array


@dataclass(frozen=True)
class PlainScalars:
    """Scalars that are cut into digits block by block: uint64 (n, 4), canonical."""

    values: U64Array
    bits: int  # of the scalar field's modulus

    def __len__(self) -> int:
        return len(self.values)

    def tail(self, first: int) -> PlainScalars:
        """The scalars from index `first` on; nothing is copied."""
        return PlainScalars(self.values[first:], self.bits)


def msm_blocks(
    pool: Pool, query: Query, scalars: PlainScalars, stop: Stop | None = None
) -> U64Array:
    """Σ kᵢ·Pᵢ.

    Args:
        pool: the threads to use; `Pool.fraction` counts the blocks.
        query: the points, Montgomery, one for each scalar, and the size of a block.
        scalars: the scalars.
        stop: ends the work early with `Cancelled`.

    Returns:
        uint64 (2, limbs) or (2, 2, limbs): affine, Montgomery; infinity is all zero.

    Raises:
        NotOnCurveError: a point is not on its curve.
    """
    group, points, block = query.group, query.points, query.block
    n, size = len(scalars), point_bytes(group)
    if len(points) != size * n:
        raise ValueError(f"{len(points)} bytes of {group.name} points do not go with {n} scalars")
    buffer = arrays.aligned_bytes(size * min(n, block))
    infinite = np.empty(mark_bytes(min(n, block)), dtype=np.uint8)
    sums = [np.zeros(point_shape(group), dtype=np.uint64)]
    with closing(pool.steps(-(-n // block))) as steps:
        for step in steps:
            start, end = step * block, min(n, (step + 1) * block)
            source, part = points[size * start : size * end], buffer[: size * (end - start)]
            bad = points_in_vector_form(pool, group, source, part, infinite, stop)
            if bad is not None:
                raise query.off_curve(start + bad)
            digits = sorted_digits(pool, scalars.values[start:end], scalars.bits, stop)
            sums.append(msm(pool, group, arrays.packed(part), digits, stop, infinite, vectors=True))
    return linear_combination(group, sums, [1] * len(sums))
