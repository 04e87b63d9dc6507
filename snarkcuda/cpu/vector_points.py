"""Points of a key file in vector form, checked on the way: one pass over the file's pages.

task: 1,024 points     x·R₆₄ ──× R₅₂²/R₆₄──▶ x·R₅₂, every coefficient of every coordinate
                       y² − x³ − b = 0, of what has just been written: it is in the cache
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from snarkcuda.cpu.pool import Pool, Stop, claim
from snarkcuda.cpu.vector_form import vector_form_factor
from snarkcuda.curve.formulas import curve_defect
from snarkcuda.curve.params import Group
from snarkcuda.field import arrays, ifma
from snarkcuda.field.naive import flatten, naive
from snarkcuda.field.params import prime_of
from snarkcuda.field.vector import is_null, reduced
from snarkcuda.field.vector_memory import broadcast_vector, load_vector, store_vector, word_count
from snarkcuda.field.vector_rows import address_of, gather_points
from snarkcuda.field.vector_type import LANES
from snarkcuda.field.words import is_zero
from snarkcuda.jit import kernel

_CHUNK = 1 << 10  # points of one task: read twice, the second time from the cache
_EVERY_LANE = (1 << LANES) - 1


def point_bytes(group: Group) -> int:
    """Bytes of one packed affine point."""
    return 2 * 8 * group.field.words


def mark_bytes(n: int) -> int:
    """Bytes of one bit for each of n points."""
    return -(-n // LANES)


def points_in_vector_form(
    pool: Pool,
    group: Group,
    points: NDArray[np.uint8],
    out: NDArray[np.uint8],
    infinite: NDArray[np.uint8],
    stop: Stop | None = None,
) -> int | None:
    """Write packed points in Montgomery form as packed points in vector form, at most 2p.

    Args:
        pool: the threads to use.
        group: G1 or G2 of a curve.
        points: packed affine points (`arrays.packed`), all zero for infinity, perhaps a file's.
        out: uint8, as long, distinct.
        infinite: uint8, room for `mark_bytes`: bit i of the whole is set where point i is infinity.
        stop: ends the work early with `Cancelled`; `out` is then garbage.

    Returns:
        The index of the first point (infinity apart) that is not on the curve, or None.
    """
    n = len(points) // point_bytes(group)
    if n == 0:
        return None
    if n < LANES:  # a vector at either end would read and write past the other
        padded = np.zeros((2, LANES * point_bytes(group)), dtype=np.uint8)
        padded[0, : len(points)] = points
        source = arrays.packed(padded[0])
        bad = points_in_vector_form(pool, group, source, padded[1], infinite, stop)
        out[:] = padded[1, : len(points)]
        return bad
    prime = prime_of(group.field)
    b = [c * ifma.radix(prime) % prime.modulus for c in flatten(naive(group.field, group.b))]
    constants = arrays.from_ints([*b, vector_form_factor(prime)], prime.limbs)
    n_tasks = -(-n // _CHUNK)
    off_curve = np.full(n_tasks, n, dtype=np.int64)
    arguments = prime, group.field, points, constants, out, infinite, off_curve
    pool.run(_convert, n_tasks, *arguments, stop=stop)
    first = int(off_curve.min())
    return first if first < n else None


@kernel
def _convert(
    tasks: Any, P: Any, F: Any, points: Any, constants: Any, out: Any, infinite: Any, off_curve: Any
) -> None:
    """P is F's prime field; `constants` are b, in F, and the factor, in P; n at least the lanes."""
    per_point, row_bytes = 2 * word_count(F) // word_count(P), 16 * word_count(F)
    n = len(points) // row_bytes
    b, factor = broadcast_vector(F, constants, 0), broadcast_vector(P, constants, per_point // 2)
    rows = np.empty(LANES, dtype=np.int64)
    task = claim(tasks)
    while task >= 0:
        begin, end = task * _CHUNK, min(n, (task + 1) * _CHUNK)
        for i in range(begin * per_point, end * per_point, LANES):
            # The last vector ends with the array: some elements are written twice.
            at = min(i, n * per_point - LANES)
            store_vector(P, out, at, load_vector(P, points, at) * factor)
        for i in range(begin, end, LANES):
            for lane in range(LANES):
                rows[lane] = address_of(out) + min(i + lane, end - 1) * row_bytes
            x, y = gather_points(F, rows, 0, 1)
            nothing = is_null(x) & is_null(y)
            infinite[i // LANES] = np.uint8(nothing)
            right = is_zero(reduced(curve_defect(x, y, b))) | nothing
            if right != _EVERY_LANE:
                for lane in range(LANES - 1, -1, -1):
                    if not (right >> lane) & 1:
                        off_curve[task] = min(off_curve[task], min(i + lane, end - 1))
        task = claim(tasks)
