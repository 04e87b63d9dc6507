"""Fp2, Fp6 and Fp12: multiplication, squaring, inversion, Frobenius, written once.

    Fp2 = Fp[u]/(u² + 1)     Fp6 = Fp2[v]/(v³ − ξ)     Fp12 = Fp6[w]/(w² − v)

Costs count operations of the field directly below (M multiplication, S squaring, I inversion,
P = `mul_sub`, one product pair with one reduction); additions are not counted. `Bound` runs every
formula and `tests/field/test_tower.py` compares the tally with these docstrings. Sources: Devegili,
Ó hÉigeartaigh, Scott and Dahab, eprint 2006/471; Beuchat et al., eprint 2010/354.
"""

from __future__ import annotations

from typing import Any

from snarkcuda.field.words import (
    Element,
    conjugate,
    extend,
    inverse,
    mul_by_xi,
    mul_sub,
    parts,
    sqr,
)
from snarkcuda.jit import formula

# --- Fp2 --------------------------------------------------------------------------------------


@formula
def fp2_mul(a: Element, b: Element) -> Element:
    """(a0 + a1·u)(b0 + b1·u). Cost: 2P."""
    a0, a1 = parts(a)
    b0, b1 = parts(b)
    return extend(mul_sub(a0, b0, a1, b1), mul_sub(a0, b1, -a1, b0))


@formula
def fp2_sqr(a: Element) -> Element:
    """(a0 + a1)(a0 − a1) + 2·a0·a1·u. Cost: 2M."""
    a0, a1 = parts(a)
    cross = a0 * a1
    return extend((a0 + a1) * (a0 - a1), cross + cross)


@formula
def fp2_inverse(a: Element) -> Element:
    """(a0 − a1·u)/(a0² + a1²). Cost: 1I + 1P + 2M."""
    a0, a1 = parts(a)
    over_norm = inverse(mul_sub(a0, a0, -a1, a1))
    return extend(a0 * over_norm, -(a1 * over_norm))


@formula
def fp2_mul_by_1_plus_u(a: Element) -> Element:
    """(1 + u)·a. Cost: 0."""
    a0, a1 = parts(a)
    return extend(a0 - a1, a0 + a1)


@formula
def fp2_mul_by_9_plus_u(a: Element) -> Element:
    """(9 + u)·a, nine by three doublings. Cost: 0."""
    a0, a1 = parts(a)
    double = a + a
    quadruple = double + double
    n0, n1 = parts(quadruple + quadruple + a)
    return extend(n0 - a1, n1 + a0)


# --- Fp6 --------------------------------------------------------------------------------------


@formula
def fp6_mul(a: Element, b: Element) -> Element:
    """Karatsuba on three terms. Cost: 6M."""
    a0, a1, a2 = parts(a)
    b0, b1, b2 = parts(b)
    t0, t1, t2 = a0 * b0, a1 * b1, a2 * b2
    c0 = t0 + mul_by_xi((a1 + a2) * (b1 + b2) - t1 - t2)
    c1 = (a0 + a1) * (b0 + b1) - t0 - t1 + mul_by_xi(t2)
    c2 = (a0 + a2) * (b0 + b2) - t0 + t1 - t2
    return extend(c0, c1, c2)


@formula
def fp6_sqr(a: Element) -> Element:
    """Chung and Hasan's SQR2 (2007). Cost: 2M + 3S."""
    a0, a1, a2 = parts(a)
    s0 = sqr(a0)
    ab = a0 * a1
    s1 = ab + ab
    s2 = sqr(a0 - a1 + a2)
    bc = a1 * a2
    s3 = bc + bc
    s4 = sqr(a2)
    return extend(s0 + mul_by_xi(s3), s1 + mul_by_xi(s4), s1 + s2 + s3 - s0 - s4)


@formula
def fp6_inverse(a: Element) -> Element:
    """The adjugate over the norm. Cost: 1I + 9M + 3S."""
    a0, a1, a2 = parts(a)
    c0 = sqr(a0) - mul_by_xi(a1 * a2)
    c1 = mul_by_xi(sqr(a2)) - a0 * a1
    c2 = sqr(a1) - a0 * a2
    norm = a0 * c0 + mul_by_xi(a2 * c1 + a1 * c2)
    over_norm = inverse(norm)
    return extend(c0 * over_norm, c1 * over_norm, c2 * over_norm)


@formula
def fp6_mul_by_v(a: Element) -> Element:
    """v·a, a rotation. Cost: 0."""
    a0, a1, a2 = parts(a)
    return extend(mul_by_xi(a2), a0, a1)


# --- Fp12 -------------------------------------------------------------------------------------


@formula
def fp12_mul(a: Element, b: Element) -> Element:
    """Karatsuba. Cost: 3M."""
    a0, a1 = parts(a)
    b0, b1 = parts(b)
    t0, t1 = a0 * b0, a1 * b1
    return extend(t0 + fp6_mul_by_v(t1), (a0 + a1) * (b0 + b1) - t0 - t1)


@formula
def fp12_sqr(a: Element) -> Element:
    """Complex squaring. Cost: 2M."""
    a0, a1 = parts(a)
    t = a0 * a1
    c0 = (a0 + a1) * (a0 + fp6_mul_by_v(a1)) - t - fp6_mul_by_v(t)
    return extend(c0, t + t)


@formula
def fp12_inverse(a: Element) -> Element:
    """(a0 − a1·w)/(a0² − v·a1²). Cost: 1I + 2M + 2S."""
    a0, a1 = parts(a)
    over_norm = inverse(sqr(a0) - fp6_mul_by_v(sqr(a1)))
    return extend(a0 * over_norm, -(a1 * over_norm))


@formula
def fp12_conjugate(a: Element) -> Element:
    """a^(p⁶) = a0 − a1·w; the inverse of a unitary element. Cost: 0."""
    a0, a1 = parts(a)
    return extend(a0, -a1)


@formula
def fp12_frobenius(a: Element, gamma: Any) -> Element:
    """a^p: conjugate each Fp2 coefficient, scale that of w^i by gamma[i] = ξ^(i·(p−1)/6). Cost: 0.

    The five products are two storeys down: 5 multiplications in Fp2.
    """
    a0, a1 = parts(a)
    x0, x2, x4 = parts(a0)
    x1, x3, x5 = parts(a1)
    return extend(
        extend(conjugate(x0), conjugate(x2) * gamma[2], conjugate(x4) * gamma[4]),
        extend(
            conjugate(x1) * gamma[1],
            conjugate(x3) * gamma[3],
            conjugate(x5) * gamma[5],
        ),
    )


MUL = {2: fp2_mul, 6: fp6_mul, 12: fp12_mul}
SQR = {2: fp2_sqr, 6: fp6_sqr, 12: fp12_sqr}
INVERSE = {2: fp2_inverse, 6: fp6_inverse, 12: fp12_inverse}
MUL_BY_XI = {1: fp2_mul_by_1_plus_u, 9: fp2_mul_by_9_plus_u}
