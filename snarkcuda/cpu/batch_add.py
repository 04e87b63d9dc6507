"""Sums of independent pairs of affine points, a batch at a time, one inversion for all of it.

    forward     dx = x₂ − x₁;  prefix[v] = dx₀ · … · dx_{v−1};          eight pairs a vector
    inversion   of the eight lanes' products, as one number
    backward    1/dx_v = prefix[v] · (1/product);  λ = dy/dx
                x₃ = λ² − (x₁ + x₂);  y₃ = λ·(x₁ − x₃) − y₁

6 products and a squaring an addition (5M + 1S and M for the product), against 8 products, 2
squarings and a `mul_sub` of the mixed XYZZ addition. Exceptional pairs are exact: where dx = 0 the
two points are equal, and dx, dy become 2y₁, 3x₁² (a tangent), or opposite, and the sum is infinity;
an infinite point (0, 0) leaves the other. They are found a vector at a time and are rare, or a key
is hostile.

Points are rows of 64-bit words in vector form (`field/vector_memory`), named by codes 2·row + sign.
Sources: Montgomery 1987 (simultaneous inversion); Botrel and El Housni, eprint 2022/1400, §4.1 (in
an MSM). The twin is `formulas.xyzz_add_affine`.
"""

from __future__ import annotations

from typing import Any

from numba import uint64

from snarkcuda.curve.formulas import tangent_numerator
from snarkcuda.field.vector import is_null, might_be_zero, shrunk
from snarkcuda.field.vector_inverse import inverse
from snarkcuda.field.vector_memory import (
    gather_points,
    prefetch_points,
    load_limbs,
    scatter_points,
    store_limbs,
    store_loose,
)
from snarkcuda.field.vector_type import LANES
from snarkcuda.field.words import is_zero, one_like, select, sqr, zero_like
from snarkcuda.jit import formula

BATCH = 1024  # pairs that share an inversion: scratch of 250 kB (G1, 254 bits) stays in the cache
AHEAD = 32
PARTS = 6  # vectors kept a pair between the passes


@formula
def add_pairs(
    F: Any, source: Any, left: Any, right: Any, first: int, count: int,
    target: Any, results: Any, scratch: Any, special: Any,
) -> None:  # fmt: skip
    """target[results[i]] = source[left[i]] + source[right[i]] for first ≤ i < first + count.

    Args:
        F: field of the coordinates.
        source, target: packed rows of affine points, vector form; distinct memory.
        left, right, results: int64 codes; those up to the next multiple of the lanes are read too,
            and must name a pair whose sum may be written: repeat the last.
        first: a multiple of the lanes.
        count: at most BATCH.
        scratch: uint64, PARTS·BATCH/lanes vectors.
        special: uint64 (BATCH/lanes, 3): lanes whose sum is left, right or infinity.
    """
    n = (count + LANES - 1) // LANES
    x1, y1 = gather_points(F, source, left, first)
    product, zero = one_like(x1), zero_like(x1)
    dx, dy, total = x1 - x1, x1 - x1, x1 + x1  # for their types
    for v in range(n):
        at = first + LANES * v
        x1, y1 = gather_points(F, source, left, at)
        x2, y2 = gather_points(F, source, right, at)
        prefetch_points(F, source, left, at + AHEAD)
        prefetch_points(F, source, right, at + AHEAD)
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
        base = PARTS * v
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
        base, at = PARTS * v, first + LANES * v
        dx = load_limbs(dx, scratch, base + 1)
        slope = rest * load_limbs(product, scratch, base) * load_limbs(dy, scratch, base + 2)
        rest = rest * dx
        x1 = load_limbs(x1, scratch, base + 3)
        x3 = shrunk(sqr(slope) - load_limbs(total, scratch, base + 5))
        y3 = shrunk(slope * (x1 - x3) - load_limbs(y1, scratch, base + 4))
        if special[v, 0] | special[v, 1] | special[v, 2]:
            x2, y2 = gather_points(F, source, right, at)
            y1 = load_limbs(y1, scratch, base + 4)
            x3, y3 = select(special[v, 0], x1, x3), select(special[v, 0], y1, y3)
            x3, y3 = select(special[v, 1], x2, x3), select(special[v, 1], y2, y3)
            x3, y3 = select(special[v, 2], zero, x3), select(special[v, 2], zero, y3)
        scatter_points(F, target, results, at, x3, y3)
