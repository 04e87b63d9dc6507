"""The optimal ate pairing: a Miller loop for each pair, one final exponentiation for a product.

    e(P, Q) = f^((q¹² − 1)/r)        f = Π of the lines met while computing λ·Q, evaluated at P

    BN254       λ = 6t + 2, then the two lines through π(Q) and −π²(Q)      Vercauteren 2010
    BLS12-381   λ = x < 0: loop over |x|, then conjugate

Lines are affine: a chord or tangent of the twist needs one inversion, which safegcd makes as cheap
as the dozen products that projective lines cost. With (x, y) on the twist and its slope s,
untwisting gives (up to a factor that the final exponentiation kills):

    D-type, (x·w², y·w³):     y_P        − s·x_P·w   + (s·x − y)·w³
    M-type, (x/w², y/w³):     (s·x − y)  − s·x_P·w²  + y_P·w³           (times w³)

The exponent is the exact one, not a multiple, so values equal those of other exact libraries.
Formulas run on naive elements too: that twin is what `tests/curve/test_pairing.py` compares with.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from snarkcuda.curve.formulas import affine_slope_sum, tangent_numerator
from snarkcuda.curve.frobenius import frobenius_constants
from snarkcuda.curve.params import Curve
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.element import load, one, store
from snarkcuda.field.naive import flatten, naive
from snarkcuda.field.tower import fp12_conjugate, fp12_frobenius
from snarkcuda.field.words import (
    Element,
    conjugate,
    extend,
    inverse,
    is_zero,
    parts,
    sqr,
    zero_like,
)
from snarkcuda.jit import formula, kernel

# --- Miller loop ------------------------------------------------------------------------------


@formula
def line_value(
    divisive: bool, x: Element, y: Element, slope: Element, px: Element, py: Element
) -> Element:
    """The line of the twist through (x, y), untwisted, at P: a sparse element of Fp12."""
    constant = slope * x - y
    s0, s1 = parts(slope)
    scaled = extend(-(s0 * px), -(s1 * px))
    lifted = extend(py, zero_like(py))
    zero = zero_like(x)
    if divisive:
        return extend(extend(lifted, zero, zero), extend(scaled, constant, zero))
    return extend(extend(constant, scaled, zero), extend(zero, lifted, zero))


@formula
def miller_loop(
    one12: Element,
    bits: Any,
    divisive: bool,
    ends_with_frobenius: bool,
    negative: bool,
    gamma: Any,
    p: tuple[Element, Element],
    q: tuple[Element, Element],
) -> Element:
    """f_{λ,Q}(P), before the final exponentiation.

    Args:
        one12: 1 in Fp12.
        bits: |λ| in binary, most significant first.
        divisive: a D-type twist.
        ends_with_frobenius: BN's two last lines.
        negative: λ < 0.
        gamma: gamma[i] = ξ^(i·(q−1)/6), i < 6.
        p, q: affine, neither infinity, both in their subgroups.
    """
    px, py = p
    qx, qy = q
    x, y = qx, qy
    f = one12
    for i in range(1, len(bits)):
        slope = tangent_numerator(x) * inverse(y + y)
        f = sqr(f) * line_value(divisive, x, y, slope, px, py)
        x, y = affine_slope_sum(x, y, x, slope)
        if bits[i] == 1:
            slope = (qy - y) * inverse(qx - x)
            f = f * line_value(divisive, x, y, slope, px, py)
            x, y = affine_slope_sum(x, y, qx, slope)
    if ends_with_frobenius:
        for i in range(2):
            qx = conjugate(qx) * gamma[2]
            qy = conjugate(qy) * gamma[3]
            target = qy if i == 0 else -qy
            slope = (target - y) * inverse(qx - x)
            f = f * line_value(divisive, x, y, slope, px, py)
            x, y = affine_slope_sum(x, y, qx, slope)
    if negative:
        f = fp12_conjugate(f)
    return f


# --- final exponentiation ---------------------------------------------------------------------


@formula
def power_of_bits(f: Element, bits: Any, negative: bool) -> Element:
    """f^±e for a unitary f, e in binary, most significant bit first."""
    result = f
    for i in range(1, len(bits)):
        result = sqr(result)
        if bits[i] == 1:
            result = result * f
    if negative:
        result = fp12_conjugate(result)
    return result


@formula
def easy_part(f: Element, gamma: Any) -> Element:
    """f^((q⁶ − 1)(q² + 1)): unitary, so that its inverse is its conjugate."""
    unitary = fp12_conjugate(f) * inverse(f)
    return fp12_frobenius(fp12_frobenius(unitary, gamma), gamma) * unitary


@formula
def hard_part_bn(m: Element, seed_bits: Any, gamma: Any) -> Element:
    """m^((q⁴ − q² + 1)/r) for q, r of the BN family at t.

    q³ + (6t² + 1)·q² − (36t³ + 18t² + 12t − 1)·q − (36t³ + 30t² + 18t + 2): with the y's below,
    y0·y1²·y2⁶·y3¹²·y4¹⁸·y5³⁰·y6³⁶. Scott, Benger, Charlemagne, Dominguez Perez and Kachisa,
    eprint 2008/490.
    """
    mt = power_of_bits(m, seed_bits, False)
    mt2 = power_of_bits(mt, seed_bits, False)
    mt3 = power_of_bits(mt2, seed_bits, False)
    mq = fp12_frobenius(m, gamma)
    mq2 = fp12_frobenius(mq, gamma)
    mt2q = fp12_frobenius(mt2, gamma)
    y0 = mq * mq2 * fp12_frobenius(mq2, gamma)
    y1 = fp12_conjugate(m)
    y2 = fp12_frobenius(mt2q, gamma)
    y3 = fp12_conjugate(fp12_frobenius(mt, gamma))
    y4 = fp12_conjugate(mt * mt2q)
    y5 = fp12_conjugate(mt2)
    y6 = fp12_conjugate(mt3 * fp12_frobenius(mt3, gamma))
    t0 = sqr(y6) * y4 * y5
    t1 = y3 * y5 * t0
    t0 = t0 * y2
    t1 = sqr(sqr(t1) * t0)
    return sqr(t1 * y1) * (t1 * y0)


@formula
def hard_part_bls12(
    m: Element, seed_bits: Any, third_bits: Any, negative: bool, gamma: Any
) -> Element:
    """m^((q⁴ − q² + 1)/r) for q, r of the BLS12 family at x.

    (x − 1)²/3 · (x + q) · (x² + q² − 1) + 1, where 3 divides (x − 1)². Hayashida, Hayasaka and
    Teruya, eprint 2020/875.
    """
    a = power_of_bits(m, third_bits, False)
    b = power_of_bits(a, seed_bits, negative) * fp12_frobenius(a, gamma)
    bx2 = power_of_bits(power_of_bits(b, seed_bits, negative), seed_bits, negative)
    bq2 = fp12_frobenius(fp12_frobenius(b, gamma), gamma)
    return bx2 * bq2 * fp12_conjugate(b) * m


# --- on arrays --------------------------------------------------------------------------------


@kernel
def _multiply_miller(
    Fq: Any, Fq2: Any, Fq12: Any, bits: Any, flags: Any, gammas: Any, g1: Any, g2: Any, out: Any
) -> None:
    gamma = _load_gammas(Fq2, gammas)
    divisive, ends_with_frobenius, negative = flags[0] == 1, flags[1] == 1, flags[2] == 1
    f = one(Fq12)
    for i in range(len(g1)):
        px, py = load(Fq, g1, 2 * i), load(Fq, g1, 2 * i + 1)
        qx, qy = load(Fq2, g2, 2 * i), load(Fq2, g2, 2 * i + 1)
        # A pair with infinity on either side contributes e = 1.
        if (is_zero(px) and is_zero(py)) or (is_zero(qx) and is_zero(qy)):
            continue
        f = f * miller_loop(
            one(Fq12), bits, divisive, ends_with_frobenius, negative, gamma, (px, py), (qx, qy)
        )
    store(Fq12, out, 0, f)


@kernel
def _final_exponentiation_bn(Fq2: Any, Fq12: Any, seed: Any, gammas: Any, f: Any) -> None:
    gamma = _load_gammas(Fq2, gammas)
    m = easy_part(load(Fq12, f, 0), gamma)
    store(Fq12, f, 0, hard_part_bn(m, seed, gamma))


@kernel
def _final_exponentiation_bls12(
    Fq2: Any, Fq12: Any, seed: Any, third: Any, negative: bool, gammas: Any, f: Any
) -> None:
    gamma = _load_gammas(Fq2, gammas)
    m = easy_part(load(Fq12, f, 0), gamma)
    store(Fq12, f, 0, hard_part_bls12(m, seed, third, negative, gamma))


@formula
def _load_gammas(Fq2: Any, gammas: Any) -> Any:
    return (
        load(Fq2, gammas, 0),
        load(Fq2, gammas, 1),
        load(Fq2, gammas, 2),
        load(Fq2, gammas, 3),
        load(Fq2, gammas, 4),
        load(Fq2, gammas, 5),
    )


def loop_bits(curve: Curve) -> list[int]:
    """|λ| of the Miller loop in binary, most significant bit first."""
    length = 6 * curve.seed + 2 if curve.family == "bn" else curve.seed
    return _binary(abs(length))


def third_bits(curve: Curve) -> list[int]:
    """(x − 1)²/3 in binary, for the BLS12 family."""
    return _binary((curve.seed - 1) ** 2 // 3)


def _binary(value: int) -> list[int]:
    return [int(bit) for bit in bin(value)[2:]]


@cache
def _tables(curve: Curve) -> tuple[Any, Any, Any, Any, U64Array]:
    """Loop bits, flags, seed bits, third bits, gammas: what the kernels take as arrays."""
    flags = [curve.divisive_twist, curve.family == "bn", curve.seed < 0]
    coefficients = [value for gamma in frobenius_constants(curve) for value in flatten(gamma)]
    gammas = arrays.from_ints(map(curve.fq.to_montgomery, coefficients), curve.fq.limbs)
    bits = (loop_bits(curve), flags, _binary(abs(curve.seed)), third_bits(curve))
    loop, flag, seed, third = (np.array(values, dtype=np.int8) for values in bits)
    return loop, flag, seed, third, gammas.reshape(6, 2, -1)


def pairing_product(curve: Curve, g1: U64Array, g2: U64Array) -> U64Array:
    """Π e(P_i, Q_i), with one final exponentiation.

    Args:
        curve: the curve.
        g1: uint64 (n, 2, limbs), affine, Montgomery; on the curve, in the subgroup, or infinity.
        g2: uint64 (n, 2, 2, limbs), likewise.

    Returns:
        uint64 (12, limbs), Montgomery: the coefficients of Fq12 down the tower, that of 1 first.
    """
    return final_exponentiation(curve, miller_product(curve, g1, g2))


def miller_product(curve: Curve, g1: U64Array, g2: U64Array) -> U64Array:
    """The product of the Miller loops alone; arguments and shape as of `pairing_product`."""
    fq = curve.fq
    loop, flags, _, _, gammas = _tables(curve)
    f = np.empty((12, fq.limbs), dtype=np.uint64)
    g1 = np.array(g1).reshape(-1, 2 * fq.limbs)
    g2 = np.array(g2).reshape(-1, 4 * fq.limbs)
    if len(g1) != len(g2):
        raise ValueError(f"{len(g1)} points of G1 cannot pair with {len(g2)} of G2")
    fq12 = fq.extension.extension.extension
    _multiply_miller(fq, fq.extension, fq12, loop, flags, gammas, g1, g2, f)
    return f


def final_exponentiation(curve: Curve, f: U64Array) -> U64Array:
    """f^((q¹² − 1)/r), in place: uint64 (12, limbs), Montgomery; f is not 0."""
    fq2 = curve.fq.extension
    fq12 = fq2.extension.extension
    _, _, seed, third, gammas = _tables(curve)
    if curve.family == "bn":
        _final_exponentiation_bn(fq2, fq12, seed, gammas, f)
    else:
        _final_exponentiation_bls12(fq2, fq12, seed, third, curve.seed < 0, gammas, f)
    return f


def is_one(curve: Curve, value: U64Array) -> bool:
    """True if an element of Fq12 from `pairing_product` is 1."""
    numbers = arrays.to_ints(value)
    return numbers == [curve.fq.to_montgomery(1), *[0] * 11]


def naive_pairing(curve: Curve, pairs: Sequence[tuple[Any, Any]]) -> Any:
    """The twin: the same product on naive elements; pairs of affine points, none infinity."""
    fq12 = curve.fq.extension.extension.extension
    gamma = frobenius_constants(curve)
    one12 = naive(fq12, 1)
    f: Any = one12
    for p, q in pairs:
        f = f * miller_loop(
            one12,
            loop_bits(curve),
            curve.divisive_twist,
            curve.family == "bn",
            curve.seed < 0,
            gamma,
            p,
            q,
        )
    m = easy_part(f, gamma)
    seed = _binary(abs(curve.seed))
    if curve.family == "bn":
        return hard_part_bn(m, seed, gamma)
    return hard_part_bls12(m, seed, third_bits(curve), curve.seed < 0, gamma)
