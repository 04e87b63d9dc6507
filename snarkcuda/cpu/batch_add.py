"""Sums of independent pairs of affine points, a batch at a time, one inversion for all of it.

    forward     dx = x₂ − x₁;  prefix[v] = dx₀ · … · dx_{v−1};          a pair in each lane
    inversion   of the lanes' products, as one number
    backward    1/dx_v = prefix[v] · (1/product);  λ = dy/dx
                x₃ = λ² − (x₁ + x₂);  y₃ = λ·(x₁ − x₃) − y₁

5 products and a squaring an addition, against 8 products (2 of them in a `mul_sub`) and 2 squarings
of the mixed XYZZ addition. Exceptional pairs are exact: where dx = 0 the
two points are equal, and dx, dy become 2y₁, 3x₁² (a tangent), or opposite, and the sum is infinity;
an infinite point (0, 0) leaves the other. They are found a vector at a time and are rare, or a key
is hostile.

Points are rows of 64-bit words (`field/vector_rows`), named by their addresses: in vector form,
and added eight at a time, or in Montgomery form where F is `Bundles` of a field.
Sources: Montgomery 1987 (simultaneous inversion); Botrel and El Housni, eprint 2022/1400, §4.1 (in
an MSM). The twin is `formulas.xyzz_add_affine`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint64

from snarkcuda.curve.formulas import tangent_numerator
from snarkcuda.field.vector import is_null, might_be_zero, shrunk
from snarkcuda.field.vector_inverse import inverse
from snarkcuda.field.vector_memory import (
    limb_words,
    load_limbs,
    load_loose,
    store_limbs,
    store_loose,
)
from snarkcuda.field.vector_rows import (
    gather_points,
    lane_count,
    prefetch_points,
    store_points,
)
from snarkcuda.field.vector_type import LANES
from snarkcuda.field.words import is_zero, one_like, select, sqr, zero_like
from snarkcuda.jit import formula

BATCH = (
    2048  # pairs that share an inversion, or fewer where their scratch would not stay in a cache
)
SCRATCH = 1 << 20  # bytes, at most
AHEAD = 4 * LANES  # pairs asked for before they are read: a miss takes as long as some additions
_PARTS = 6  # vectors kept a pair between the passes


@formula
def batch_memory(F: Any) -> Any:
    """What `add_pairs` keeps between its passes: allocated once, for any number of batches."""
    n = BATCH // lane_count(F)
    while 8 * _PARTS * limb_words(F) * n > SCRATCH:
        n //= 2
    scratch = np.empty(_PARTS * n * limb_words(F), dtype=np.uint64)
    special = np.empty((n, 3), dtype=np.uint64)
    return scratch, special


@formula
def batch_size(F: Any, memory: Any) -> Any:
    """How many pairs `add_pairs` takes at most: a power of two."""
    return len(memory[1]) * lane_count(F)


@formula
def add_pairs(
    F: Any, pairs: Any, first: int, count: int, target: int, row: int, memory: Any
) -> None:
    """Rows row, row + 1, … at `target` = the sums of the pairs first … first + count − 1.

    Args:
        F: field of the coordinates, or `Bundles` of it.
        pairs: int64, two addresses a pair, odd where a point is to be negated. Those up to the next
            multiple of the lanes are read too, and their sums written; and AHEAD more are looked
            at, which may name anything.
        first: a multiple of the lanes.
        count: at most `batch_size`.
        target: address of packed rows, none of them read by these pairs.
        row: the first row to write.
        memory: of `batch_memory`.
    """
    scratch, special = memory  # special: lanes whose sum is left, right or infinity
    lanes = lane_count(F)
    n = (count + lanes - 1) // lanes
    x1, y1 = gather_points(F, pairs, 2 * first, 2)
    product, zero = one_like(x1), zero_like(x1)
    dx, dy, total = x1 - x1, y1 - y1, x1 + x1  # for their types
    for v in range(n):
        at = 2 * (first + lanes * v)
        prefetch_points(F, pairs, at + 2 * AHEAD, 1)
        prefetch_points(F, pairs, at + 2 * AHEAD + lanes, 1)
        x1, y1 = gather_points(F, pairs, at, 2)
        x2, y2 = gather_points(F, pairs, at + 1, 2)
        dx, dy = x2 - x1, y2 - y1
        special[v, 0] = uint64(0)
        special[v, 1] = uint64(0)
        special[v, 2] = uint64(0)
        if might_be_zero(dx) | is_null(x1) | is_null(x2):
            # Infinity's y is 0, or 2p when negated, and its x the number 0.
            left_infinite = is_null(x1) & is_zero(y1)
            right_infinite = is_null(x2) & is_zero(y2)
            infinite = left_infinite | right_infinite
            same_x, doubled = is_zero(dx) & ~infinite, shrunk(y1 + y1)
            tangent = same_x & is_zero(dy) & ~is_zero(doubled)
            opposite = same_x & ~tangent
            dx = select(tangent, doubled, dx)
            dy = select(tangent, shrunk(tangent_numerator(x1)), dy)
            dx = select(opposite | infinite, one_like(dx), dx)
            special[v, 0] = right_infinite
            special[v, 1] = left_infinite & ~right_infinite
            special[v, 2] = opposite
        base = _PARTS * v
        store_limbs(product, scratch, base)
        store_limbs(dx, scratch, base + 1)
        store_limbs(dy, scratch, base + 2)
        store_limbs(x1, scratch, base + 3)
        store_loose(y1, scratch, base + 4)
        total = x1 + x2
        store_loose(total, scratch, base + 5)
        product = product * dx
    rest = inverse(product)
    for v in range(n - 1, -1, -1):
        base = _PARTS * v
        dx = load_limbs(dx, scratch, base + 1)
        slope = rest * load_limbs(product, scratch, base) * load_limbs(dy, scratch, base + 2)
        rest = rest * dx
        x1 = load_limbs(x1, scratch, base + 3)
        x3 = shrunk(sqr(slope) - load_loose(total, scratch, base + 5))
        y3 = shrunk(slope * (x1 - x3) - load_loose(y1, scratch, base + 4))
        if special[v, 0] | special[v, 1] | special[v, 2]:
            x2, y2 = gather_points(F, pairs, 2 * (first + lanes * v) + 1, 2)
            y1 = load_loose(y1, scratch, base + 4)
            x3, y3 = select(special[v, 0], x1, x3), select(special[v, 0], y1, y3)
            x3, y3 = select(special[v, 1], x2, x3), select(special[v, 1], y2, y3)
            x3, y3 = select(special[v, 2], zero, x3), select(special[v, 2], zero, y3)
        store_points(F, target, row + lanes * v, x3, y3)
