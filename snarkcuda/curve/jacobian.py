"""Jacobian points (X, Y, Z) for multiples of many points by one constant, without branches.

    x = X/Z², y = Y/Z³;  Z = 0 is infinity

Doubling is exact on curves without points of order 2, which ours are. Additions are exact but for
the exceptional cases (Z = 0 on a side, equal, opposite), which all give Z = 0, and so does
whatever is computed from that: a Z that is not 0 at the end proves every step before it. The twins
are the XYZZ formulas of `curve/formulas.py`, which branch and are always exact.

Names after the Explicit-Formulas Database (hyperelliptic.org/EFD, short Weierstrass, jacobian-0).
"""

from __future__ import annotations

from snarkcuda.field.words import Element, mul_sub, sqr
from snarkcuda.jit import formula

Jacobian = tuple[Element, Element, Element]


@formula
def jacobian_double(p: Jacobian) -> Jacobian:
    """2·p: dbl-2009-l, with 8·Y⁴ as a part of `mul_sub`. Cost: 2M + 3S + 1P."""
    x, y, z = p
    yy = sqr(y)
    xyy = x * yy
    d = xyy + xyy
    d = d + d
    xx = sqr(x)
    m = xx + xx + xx
    x3 = sqr(m) - d - d
    yy2 = yy + yy
    yz = y * z
    return x3, mul_sub(m, d - x3, yy2 + yy2, yy2), yz + yz


@formula
def jacobian_add_affine(p: Jacobian, x2: Element, y2: Element) -> Jacobian:
    """p + (x2, y2), not infinity, unless exceptional: madd. Cost: 6M + 3S + 1P."""
    x1, y1, z1 = p
    zz1 = sqr(z1)
    dx = x2 * zz1 - x1
    dy = y2 * (z1 * zz1) - y1
    return _chord(x1, y1, dx, dy, z1)


@formula
def jacobian_add(p: Jacobian, q: Jacobian) -> Jacobian:
    """p + q unless exceptional: add. Cost: 10M + 4S + 1P."""
    x1, y1, z1 = p
    x2, y2, z2 = q
    zz1, zz2 = sqr(z1), sqr(z2)
    u1 = x1 * zz2
    s1 = y1 * (z2 * zz2)
    dx = x2 * zz1 - u1
    dy = y2 * (z1 * zz1) - s1
    return _chord(u1, s1, dx, dy, z1 * z2)


@formula
def _chord(x1: Element, y1: Element, dx: Element, dy: Element, z: Element) -> Jacobian:
    """The sum of two points brought to one denominator z, at (x1, y1) and (x1 + dx, y1 + dy).

    Cost: 3M + 2S + 1P.
    """
    dx2 = sqr(dx)
    dx3 = dx * dx2
    v = x1 * dx2
    x3 = sqr(dy) - dx3 - v - v
    return x3, mul_sub(dy, v - x3, y1, dx3), z * dx
