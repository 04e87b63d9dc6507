"""The group law of y² = x³ + b, written once for every element type.

Three kinds of point:

    affine       (x, y)             (0, 0) is infinity; it lies on neither curve, as b ≠ 0
    XYZZ         (X, Y, ZZ, ZZZ)    x = X/ZZ, y = Y/ZZZ, ZZ³ = ZZZ²; ZZ = 0 is infinity
    projective   (X, Y, Z)          x = X/Z, y = Y/Z; (0, 1, 0) is infinity

The XYZZ formulas branch on the exceptional cases (infinity, equal, opposite) and are exact; the
complete addition and the affine chord and tangent do not branch. Costs count field operations: M
multiplication, S squaring, P `mul_sub` (two products, one reduction). `Bound` runs every formula
and `tests/curve/test_formulas.py` compares its tally with these docstrings.

Names after the Explicit-Formulas Database (hyperelliptic.org/EFD, short Weierstrass, xyzz).
"""

from __future__ import annotations

from typing import Any

from snarkcuda.field.words import Element, is_zero, mul_sub, one_like, sqr, zero_like
from snarkcuda.jit import formula

Affine = tuple[Element, Element]
Xyzz = tuple[Element, Element, Element, Element]
Projective = tuple[Element, Element, Element]


# --- XYZZ, with branches ----------------------------------------------------------------------


@formula
def xyzz_infinity(like: Element) -> Xyzz:
    """The neutral element, in the field of `like`."""
    zero = zero_like(like)
    return zero, zero, zero, zero


@formula
def xyzz_from_affine(x: Element, y: Element) -> Xyzz:
    """An affine point, (0, 0) included. Cost: 0."""
    if is_zero(x) and is_zero(y):
        return xyzz_infinity(x)
    one = one_like(x)
    return x, y, one, one


@formula
def xyzz_double_affine(x: Element, y: Element) -> Xyzz:
    """2·(x, y) for y ≠ 0: mdbl-2008-s-1. Cost: 2M + 3S + 1P."""
    u = y + y
    v = sqr(u)
    w = u * v
    s = x * v
    xx = sqr(x)
    m = xx + xx + xx
    x3 = sqr(m) - s - s
    return x3, mul_sub(m, s - x3, w, y), v, w


@formula
def xyzz_double(p: Xyzz) -> Xyzz:
    """2·p: dbl-2008-s-1. Cost: 4M + 3S + 1P.

    Infinity stays infinity (ZZ = 0); no point of odd order has y = 0.
    """
    x, y, zz, zzz = p
    u = y + y
    v = sqr(u)
    w = u * v
    s = x * v
    xx = sqr(x)
    m = xx + xx + xx
    x3 = sqr(m) - s - s
    return x3, mul_sub(m, s - x3, w, y), v * zz, w * zzz


@formula
def xyzz_add_affine(p: Xyzz, x2: Element, y2: Element) -> Xyzz:
    """p + (x2, y2): madd-2008-s. Cost: 6M + 2S + 1P.

    Exact for infinity on either side, equal points and opposite points.
    """
    x1, y1, zz1, zzz1 = p
    if is_zero(x2) and is_zero(y2):
        return p
    if is_zero(zz1):
        return xyzz_from_affine(x2, y2)
    dx = x2 * zz1 - x1
    dy = y2 * zzz1 - y1
    if is_zero(dx):
        if is_zero(dy):
            return xyzz_double_affine(x2, y2)
        return xyzz_infinity(x1)
    dx2 = sqr(dx)
    dx3 = dx * dx2
    q = x1 * dx2
    zz3, zzz3 = zz1 * dx2, zzz1 * dx3  # here, as a GPU's registers are few
    x3 = sqr(dy) - dx3 - q - q
    return x3, mul_sub(dy, q - x3, y1, dx3), zz3, zzz3


@formula
def xyzz_add(p: Xyzz, q: Xyzz) -> Xyzz:
    """p + q: add-2008-s. Cost: 10M + 2S + 1P.

    Exact for infinity on either side, equal points and opposite points.
    """
    x1, y1, zz1, zzz1 = p
    x2, y2, zz2, zzz2 = q
    if is_zero(zz1):
        return q
    if is_zero(zz2):
        return p
    u1 = x1 * zz2
    s1 = y1 * zzz2
    dx = x2 * zz1 - u1
    dy = y2 * zzz1 - s1
    if is_zero(dx):
        if is_zero(dy):
            return xyzz_double(p)
        return xyzz_infinity(x1)
    dx2 = sqr(dx)
    dx3 = dx * dx2
    t = u1 * dx2
    x3 = sqr(dy) - dx3 - t - t
    return x3, mul_sub(dy, t - x3, s1, dx3), zz1 * zz2 * dx2, zzz1 * zzz2 * dx3


# --- without branches -------------------------------------------------------------------------


@formula
def complete_add(p: Projective, q: Projective, b3: Element) -> Projective:
    """p + q for any two points of odd order, b3 = 3·b. Cost: 8M + 3P.

    Renes, Costello and Batina, eprint 2015/1060, algorithm 7, its last six products paired.
    """
    x1, y1, z1 = p
    x2, y2, z2 = q
    t0 = x1 * x2
    t1 = y1 * y2
    t2 = z1 * z2
    t3 = (x1 + y1) * (x2 + y2) - t0 - t1
    t4 = (y1 + z1) * (y2 + z2) - t1 - t2
    t5 = (x1 + z1) * (x2 + z2) - t0 - t2
    t0 = t0 + t0 + t0
    t2 = b3 * t2
    z = t1 + t2
    t1 = t1 - t2
    y = b3 * t5
    return mul_sub(t3, t1, t4, y), mul_sub(y, t0, -t1, z), mul_sub(z, t4, -t0, t3)


@formula
def affine_slope_sum(x1: Element, y1: Element, x2: Element, slope: Element) -> Affine:
    """The third point of the line through (x1, y1) with this slope, negated. Cost: 1M + 1S.

    The sum of two points on a chord of slope (y2 − y1)/(x2 − x1), or twice one (x2 = x1) on a
    tangent of slope 3·x1²/(2·y1). The caller inverts, one inversion for a whole batch.
    """
    x3 = sqr(slope) - x1 - x2
    return x3, slope * (x1 - x3) - y1


@formula
def tangent_numerator(x: Element) -> Element:
    """3·x². Cost: 1S."""
    xx = sqr(x)
    return xx + xx + xx


@formula
def curve_defect(x: Element, y: Element, b: Element) -> Any:
    """y² − x³ − b: zero exactly on the curve. Cost: 1S + 1P."""
    return mul_sub(y, y, sqr(x), x) - b
