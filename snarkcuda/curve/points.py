"""Points as host arrays: membership checks and the few sums that are not an MSM.

Points are affine, Montgomery, uint64 `(…, 2, limbs)` in G1 and `(…, 2, 2, limbs)` in G2; (0, 0) is
infinity. Kernels see them as packed coordinates: element 2i is x, element 2i + 1 is y.

Subgroup membership costs a short multiplication instead of one by r, through an endomorphism whose
eigenvalue on the subgroup is known:

    BN254 G1       the whole curve has order r: on the curve is enough
    BLS12-381 G1   φ(x, y) = (β·x, y),  φ(P) = −x²·P
                   φ² + φ + 1 = 0, so that (x⁴ − x² + 1)·P = r·P = 0
    BLS12-381 G2   ψ = untwist, Frobenius, twist;  ψ(P) = x·P, x = t − 1, t the trace
                   ψ² − t·ψ + q = 0, so that (q + 1 − t)·P = h₁·r·P = 0; the twist's order is
                   h₂·r and gcd(h₁, h₂) = 1, so that r·P = 0
    BN254 G2       (x + 1)·P + ψ(x·P) + ψ²(x·P) = ψ³(2x·P), x the seed, of half the bits of t − 1;
                   such P is killed by the resultant of this polynomial in ψ and ψ² − t·ψ + q,
                   whose common divisor with h₂·r is r

Sources: Scott, eprint 2021/1130; El Housni, Guillevic and Piellard, eprint 2022/352; for BN curves
Dai, Lin, Zhao and Zhou, eprint 2022/348.

`tests/curve/test_points.py` compares both with multiplication by r, on points inside and outside.
`cpu/subgroup_vector.py` tests eight points at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from snarkcuda.curve.formulas import (
    curve_defect,
    xyzz_add,
    xyzz_add_affine,
    xyzz_double,
    xyzz_infinity,
)
from snarkcuda.curve.frobenius import frobenius_constants
from snarkcuda.curve.params import Curve, Group
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.element import load, store, zero
from snarkcuda.field.naive import canonical, flatten, naive
from snarkcuda.field.params import prime_of
from snarkcuda.field.words import conjugate, inverse, is_zero
from snarkcuda.jit import formula, kernel


@formula
def store_affine(F: Any, points: Any, index: int, p: Any) -> None:
    """Write an XYZZ point as affine point `index`; infinity becomes (0, 0), as 1/0 = 0."""
    x, y, zz, zzz = p
    store(F, points, 2 * index, x * inverse(zz))
    store(F, points, 2 * index + 1, y * inverse(zzz))


@formula
def multiple_of_affine(F: Any, points: Any, index: int, bits: Any, row: int) -> Any:
    """k·P by double and add, k = bits[row] in binary, most significant first: an XYZZ point."""
    x, y = load(F, points, 2 * index), load(F, points, 2 * index + 1)
    total = xyzz_infinity(x)
    for i in range(bits.shape[1]):
        total = xyzz_double(total)
        if bits[row, i] == 1:
            total = xyzz_add_affine(total, x, y)
    return total


@kernel
def _linear_combination(F: Any, points: Any, bits: Any, out: Any) -> None:
    total = xyzz_infinity(zero(F))
    for i in range(bits.shape[0]):
        total = xyzz_add(total, multiple_of_affine(F, points, i, bits, i))
    store_affine(F, out, 0, total)


@kernel
def _first_off_curve(F: Any, b: Any, points: Any, start: int, stop: int) -> int:
    b_element = load(F, b, 0)
    for i in range(start, stop):
        x, y = load(F, points, 2 * i), load(F, points, 2 * i + 1)
        if is_zero(x) and is_zero(y):
            continue
        if not is_zero(curve_defect(x, y, b_element)):
            return i
    return -1


@kernel
def _first_outside_subgroup(
    F: Any, points: Any, scale: Any, bits: Any, negative: bool, start: int, stop: int
) -> int:
    scale_x, scale_y = load(F, scale, 0), load(F, scale, 1)
    for i in range(start, stop):
        x, y = load(F, points, 2 * i), load(F, points, 2 * i + 1)
        if is_zero(x) and is_zero(y):
            continue
        image_x, image_y = conjugate(x) * scale_x, conjugate(y) * scale_y
        if negative:
            image_y = -image_y
        mx, my, zz, zzz = multiple_of_affine(F, points, i, bits, 0)
        if is_zero(zz) or not (mx == image_x * zz and my == image_y * zzz):
            return i
    return -1


@formula
def _psi(scale_x: Any, scale_y: Any, p: Any) -> Any:
    """ψ of an XYZZ point: the Frobenius of each coordinate, scaled."""
    x, y, zz, zzz = p
    return conjugate(x) * scale_x, conjugate(y) * scale_y, conjugate(zz), conjugate(zzz)


@kernel
def _first_outside_bn_g2(F: Any, points: Any, scale: Any, bits: Any, start: int, stop: int) -> int:
    scale_x, scale_y = load(F, scale, 0), load(F, scale, 1)
    for i in range(start, stop):
        x, y = load(F, points, 2 * i), load(F, points, 2 * i + 1)
        if is_zero(x) and is_zero(y):
            continue
        multiple = multiple_of_affine(F, points, i, bits, 0)
        # The relation by Horner's rule in ψ, all on one side.
        total = _psi(scale_x, -scale_y, xyzz_double(multiple))
        total = _psi(scale_x, scale_y, xyzz_add(multiple, total))
        total = _psi(scale_x, scale_y, xyzz_add(multiple, total))
        total = xyzz_add(xyzz_add_affine(multiple, x, y), total)
        if not is_zero(total[2]):
            return i
    return -1


# --- between integers and arrays --------------------------------------------------------------


def encode(group: Group, points: Sequence[tuple[Any, Any] | None]) -> U64Array:
    """Affine points of canonical integers (None for infinity) as an array (n, 2, …, limbs)."""
    field = prime_of(group.field)
    values: list[int] = []
    for point in points:
        for coordinate in point or (0, 0):
            values += [field.to_montgomery(v) for v in flatten(naive(group.field, coordinate))]
    return arrays.from_ints(values, field.limbs).reshape(-1, *point_shape(group))


def decode(group: Group, points: U64Array) -> list[Any]:
    """The inverse of `encode`: coordinates are ints in G1 and pairs of ints in G2."""
    field = prime_of(group.field)
    values = [field.from_montgomery(value) for value in arrays.to_ints(points)]
    level = group.field.level
    coordinates: list[Any] = values
    if level == 2:
        coordinates = list(zip(values[::2], values[1::2], strict=True))
    pairs = zip(coordinates[::2], coordinates[1::2], strict=True)
    zero = 0 if level == 1 else (0, 0)
    return [None if pair == (zero, zero) else pair for pair in pairs]


def point_shape(group: Group) -> tuple[int, ...]:
    """Shape of one affine point: (2, limbs) or (2, 2, limbs)."""
    limbs = prime_of(group.field).limbs
    return (2, 2, limbs) if group.is_g2 else (2, limbs)


def is_infinity(point: U64Array) -> bool:
    """True for the all-zero point."""
    return not point.any()


# --- sums and checks --------------------------------------------------------------------------


def linear_combination(
    group: Group, points: Sequence[U64Array], scalars: Sequence[int]
) -> U64Array:
    """Σ k·P for a handful of affine points; scalars are taken mod r, so they may be negative.

    Returns:
        uint64, one affine point, Montgomery; infinity is all zero.
    """
    stacked = np.ascontiguousarray(np.stack(points))
    out = np.empty(point_shape(group), dtype=np.uint64)
    bits = _bits([k % group.order for k in scalars])
    _linear_combination(group.field, stacked.reshape(-1), bits, out)
    return out


def first_off_curve(
    group: Group, points: U64Array, start: int = 0, stop: int | None = None
) -> int | None:
    """Index of the first point (infinity apart) that does not satisfy the curve's equation."""
    flat = arrays.packed(points)
    end = len(points) if stop is None else stop
    index = _first_off_curve(group.field, _element(group, group.b), flat, start, end)
    return None if index < 0 else int(index)


def has_cofactor(curve: Curve, group: Group) -> bool:
    """Whether the curve has points outside the subgroup of order r."""
    return group == curve.g2 or curve.family != "bn"


def first_outside_subgroup(
    curve: Curve, group: Group, points: U64Array, start: int = 0, stop: int | None = None
) -> int | None:
    """Index of the first point on the curve (infinity apart) that is not of order r."""
    if not has_cofactor(curve, group):
        return None
    scale, bits, negative = endomorphism(curve, group)
    flat = arrays.packed(points)
    end = len(points) if stop is None else stop
    if curve.family == "bn":
        index = _first_outside_bn_g2(group.field, flat, scale, bits, start, end)
    else:
        index = _first_outside_subgroup(group.field, flat, scale, bits, negative, start, end)
    return None if index < 0 else int(index)


def _bits(scalars: Sequence[int]) -> Any:
    """One row of binary digits a scalar, most significant first, rows of equal length."""
    width = max([1, *(k.bit_length() for k in scalars)])
    rows = [[int(bit) for bit in bin(k)[2:].zfill(width)] for k in scalars]
    return np.array(rows, dtype=np.int8)


def _element(group: Group, *values: Any) -> U64Array:
    field = prime_of(group.field)
    coefficients = [c for value in values for c in flatten(naive(group.field, value))]
    return arrays.from_ints(map(field.to_montgomery, coefficients), field.limbs)


@cache
def endomorphism(curve: Curve, group: Group) -> tuple[U64Array, Any, bool]:
    """Scales of x and y, the multiple in binary, and whether the image is to be negated.

    The multiple is |eigenvalue|, or x in G2 of a BN curve.
    """
    q = curve.fq.modulus
    if group == curve.g1:
        # Of the two primitive cube roots of unity, β is the one with φ(P) = −x²·P.
        root = next(c for c in (pow(g, (q - 1) // 3, q) for g in range(2, q)) if c != 1)
        times_seed_squared = _naive_multiple(group, curve.seed**2)
        x = curve.g1_generator[0]
        beta = next(c for c in (root, root * root % q) if c * x % q == times_seed_squared)
        return _element(group, beta, 1), _bits([curve.seed**2]), True
    gamma_x, gamma_y = frobenius_constants(curve)[2:4]
    if not curve.divisive_twist:
        gamma_x, gamma_y = gamma_x.inverse(), gamma_y.inverse()
    scales = _element(group, canonical(gamma_x), canonical(gamma_y))
    # The eigenvalue t − 1 of a BLS12 curve is its seed.
    return scales, _bits([abs(curve.seed)]), curve.seed < 0


def _naive_multiple(group: Group, k: int) -> Any:
    """The x coordinate of k times the generator."""
    x, y = (naive(group.field, value) for value in group.generator)
    total = xyzz_infinity(x)
    for bit in bin(k)[2:]:
        total = xyzz_double(total)
        if bit == "1":
            total = xyzz_add_affine(total, x, y)
    return canonical(total[0] * total[2].inverse())
