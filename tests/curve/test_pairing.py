"""The pairing: its twin, its algebra, its exponent, and two other libraries."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from snarkcuda.curve import pairing
from snarkcuda.curve.frobenius import frobenius_constants
from snarkcuda.curve.pairing import is_one, naive_pairing, pairing_product
from snarkcuda.curve.params import BLS12_381, CURVES, Curve
from snarkcuda.curve.points import encode
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.naive import Naive, canonical, naive, power, unflatten
from tests.curve import textbook
from tests.curve.textbook import Point, integers, multiply, negate
from tests.field.values import named

curves = pytest.mark.parametrize("curve", CURVES, ids=named)


def pair(curve: Curve, *pairs: tuple[Point, Point]) -> Naive:
    """Π e(P, Q) by the kernels."""
    g1 = encode(curve.g1, [integers(p) for p, _ in pairs])
    g2 = encode(curve.g2, [integers(q) for _, q in pairs])
    return element(curve, pairing_product(curve, g1, g2))


def fq12(curve: Curve) -> Any:
    """The field of values."""
    return curve.fq.extension.extension.extension


def element(curve: Curve, value: U64Array) -> Naive:
    """A value of `pairing_product` as a naive element."""
    numbers = arrays.to_ints(value)
    assert max(numbers) < curve.fq.modulus
    return unflatten(fq12(curve), [curve.fq.from_montgomery(number) for number in numbers])


def generators(curve: Curve) -> tuple[Point, Point]:
    """Of both groups."""
    return textbook.generator(curve.g1), textbook.generator(curve.g2)


@curves
def test_kernels_equal_the_naive_twin(curve: Curve) -> None:
    """One pair and a product of three, at generators and random multiples."""
    p, q = generators(curve)
    pairs = [(p, q), (multiply(12345, p), multiply(99, q)), (negate(p), multiply(7, q))]
    for chosen in (pairs[:1], pairs):
        assert pair(curve, *chosen) == naive_pairing(curve, chosen)


@curves
def test_bilinear_and_not_degenerate(curve: Curve) -> None:
    """e(a·P, b·Q) = e(P, Q)^(a·b) ≠ 1, of order r; opposites invert."""
    p, q = generators(curve)
    one = naive(fq12(curve), 1)
    value = pair(curve, (p, q))
    assert value != one
    assert power(value, curve.fr.modulus) == one
    source = random.Random(curve.name)
    for _ in range(2):
        a, b = (source.randrange(curve.fr.modulus) for _ in range(2))
        wanted = power(value, a * b % curve.fr.modulus)
        assert pair(curve, (multiply(a, p), multiply(b, q))) == wanted
        assert pair(curve, (multiply(b, p), multiply(a, q))) == wanted
        assert pair(curve, (multiply(a * b, p), q)) == wanted
    inverse = pair(curve, (negate(p), q))
    assert inverse == pair(curve, (p, negate(q))) == value.inverse()


@curves
def test_product(curve: Curve) -> None:
    """A product of pairs is the product of the pairings; pairs that cancel give 1; none give 1."""
    p, q = generators(curve)
    p5, q3 = multiply(5, p), multiply(3, q)
    separate: Any = pair(curve, (p5, q))
    assert pair(curve, (p5, q), (p, q3)) == separate * pair(curve, (p, q3))
    one = naive(fq12(curve), 1)
    assert pair(curve, (p5, q3), (multiply(-15, p), q)) == one
    assert pair(curve) == one


@curves
def test_infinity_on_either_side(curve: Curve) -> None:
    """It contributes 1, alone and among others."""
    p, q = generators(curve)
    one = naive(fq12(curve), 1)
    assert pair(curve, (None, q)) == pair(curve, (p, None)) == pair(curve, (None, None)) == one
    assert pair(curve, (None, q), (p, q), (p, None)) == pair(curve, (p, q))


@curves
def test_is_one(curve: Curve) -> None:
    """Only for 1, in Montgomery form."""
    one = arrays.from_ints([curve.fq.to_montgomery(1), *[0] * 11], curve.fq.limbs)
    assert is_one(curve, one)
    for place in range(12):
        other = one.copy()
        other[place, 0] ^= np.uint64(2)
        assert not is_one(curve, other)
    assert not is_one(curve, np.zeros_like(one))


@curves
def test_as_many_points_on_both_sides(curve: Curve) -> None:
    """Else the error names both counts."""
    g1, g2 = encode(curve.g1, [curve.g1.generator]), encode(curve.g2, [curve.g2.generator] * 2)
    with pytest.raises(ValueError, match="1 points of G1 cannot pair with 2 of G2"):
        pairing_product(curve, g1, g2)


@curves
def test_final_exponent_is_exact(curve: Curve) -> None:
    """easy and hard part together are the power (q¹² − 1)/r, of an arbitrary element."""
    q, r = curve.fq.modulus, curve.fr.modulus
    source = random.Random(curve.name)
    f: Any = unflatten(fq12(curve), [source.randrange(q) for _ in range(12)])
    gamma = frobenius_constants(curve)
    seed = [int(bit) for bit in bin(abs(curve.seed))[2:]]
    m = pairing.easy_part(f, gamma)
    if curve.family == "bn":
        value = pairing.hard_part_bn(m, seed, gamma)
    else:
        third = pairing.third_bits(curve)
        value = pairing.hard_part_bls12(m, seed, third, curve.seed < 0, gamma)
    assert value == power(f, (q**12 - 1) // r)


# --- other libraries --------------------------------------------------------------------------


def as_polynomial(curve: Curve, value: Any) -> list[int]:
    """Coefficients in Fq[w]: w⁶ = ξ = xi + u, so that u = w⁶ − xi."""
    result = [0] * 12
    for k, half in enumerate(canonical(value)):
        for j, (c0, c1) in enumerate(half):
            result[2 * j + k] += c0 - curve.fq.xi * c1
            result[2 * j + k + 6] += c1
    return [c % curve.fq.modulus for c in result]


@curves
def test_py_ecc_gives_the_same_values(curve: Curve) -> None:
    """Equal as elements of Fq[w]/(w¹² − 2·xi·w⁶ + xi² + 1), not only in equations."""
    if curve == BLS12_381:
        other = pytest.importorskip("py_ecc.optimized_bls12_381")
    else:
        other = pytest.importorskip("py_ecc.optimized_bn128")
    p, q = generators(curve)
    for a, b in ((1, 1), (3, 5)):
        value = other.pairing(other.multiply(other.G2, b), other.multiply(other.G1, a))
        ours: Any = pair(curve, (multiply(a, p), multiply(b, q)))
        if curve.seed < 0:  # py_ecc runs its loop over |x| and keeps the sign out of the value
            ours = ours.inverse()
        assert as_polynomial(curve, ours) == [int(c) for c in value.coeffs]


def test_py_arkworks_pairs_alike() -> None:
    """Products that are 1 there are 1 here, and those that are not, not."""
    arkworks = pytest.importorskip("py_arkworks_bls12381")
    p, q = generators(BLS12_381)
    source = random.Random(5)
    for _ in range(3):
        a, b, c = (source.randrange(BLS12_381.fr.modulus) for _ in range(3))
        for d in (-a * b * pow(c, -1, BLS12_381.fr.modulus), 1):
            d %= BLS12_381.fr.modulus
            theirs = arkworks.GT.multi_pairing(
                [arkworks.G1Point() * arkworks.Scalar(k) for k in (a, c)],
                [arkworks.G2Point() * arkworks.Scalar(k) for k in (b, d)],
            )
            ours = pair(
                BLS12_381, (multiply(a, p), multiply(b, q)), (multiply(c, p), multiply(d, q))
            )
            equal = ours == naive(fq12(BLS12_381), 1)
            assert equal == (theirs == arkworks.GT.one()) == (d != 1)
