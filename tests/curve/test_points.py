"""Points as arrays: sums, membership of curve and subgroup, integers there and back."""

from __future__ import annotations

import random
from itertools import islice
from math import gcd

import numpy as np
import pytest

from snarkcuda.curve import points
from snarkcuda.curve.params import BLS12_381, BN254, Curve, Group
from snarkcuda.curve.points import decode, encode, first_off_curve, first_outside_subgroup
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.params import prime_of
from tests.curve import textbook
from tests.curve.textbook import Point, add, integers, multiply, negate, random_points
from tests.field.values import GROUPS

groups = pytest.mark.parametrize("curve, group", GROUPS, ids=[g.name for _, g in GROUPS])


def array_of(group: Group, chosen: list[Point]) -> U64Array:
    """Points as an array."""
    return encode(group, [integers(point) for point in chosen])


# --- arrays -----------------------------------------------------------------------------------


@groups
def test_encode_and_decode(curve: Curve, group: Group) -> None:
    """Montgomery coordinates in memory order; infinity is zero; decode is the inverse."""
    chosen = [None, *random_points(group, 3), None, textbook.generator(group)]
    rows = array_of(group, chosen)
    limbs = curve.fq.limbs
    assert rows.shape == ((6, 2, 2, limbs) if group.is_g2 else (6, 2, limbs))
    assert rows.shape[1:] == points.point_shape(group)
    assert decode(group, rows) == [integers(point) for point in chosen]
    assert [points.is_infinity(row) for row in rows] == [point is None for point in chosen]
    assert decode(group, rows[:0]) == []
    first = arrays.to_ints(rows[1])
    flat = np.array(integers(chosen[1]), dtype=object).reshape(-1)
    assert first == [value * (1 << 64 * limbs) % curve.fq.modulus for value in flat]


# --- linear combinations ----------------------------------------------------------------------


@groups
def test_one_multiple(curve: Curve, group: Group) -> None:
    """k·P for edge scalars, reduced mod r first: negative, 0, r − 1, r, r + 1, 2^256 − 1."""
    (point,) = random_points(group, 1)
    rows, r = array_of(group, [point]), group.order
    wanted = {0: None, 1: point, 2: add(point, point), -1: negate(point), r - 1: negate(point)}
    wanted |= {r: None, r + 1: point, -r: None, -2: negate(add(point, point)), 2 * r: None}
    wanted |= {-2 * r + 1: point, (1 << 256) - 1: multiply(((1 << 256) - 1) % r, point)}
    for k, result in wanted.items():
        found = points.linear_combination(group, list(rows), [k])
        assert decode(group, found[None]) == [integers(result)], k


@groups
@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_linear_combination(curve: Curve, group: Group, n: int) -> None:
    """Σ k·P with infinities, repeated and opposite points, small, zero and negative scalars."""
    source = random.Random(n)
    base = random_points(group, n, seed=n)
    for chosen in (base, [None, *base[1:]], [base[0]] * n, [*base[:-1], negate(base[0])]):
        scalars = [source.choice([0, 1, -1, 2, -5, source.randrange(1 << 64)]) for _ in chosen]
        scalars[0] = source.randrange(group.order)
        total: Point = None
        for k, point in zip(scalars, chosen, strict=True):
            total = add(total, multiply(k, point))
        found = points.linear_combination(group, list(array_of(group, chosen)), scalars)
        assert decode(group, found[None]) == [integers(total)]


@groups
def test_infinity_does_not_spoil_a_sum(curve: Curve, group: Group) -> None:
    """[G, ∞, 2G] by [3, 5, 7] is 17·G; all-infinity and cancelling sums are infinity."""
    g = textbook.generator(group)
    rows = list(array_of(group, [g, None, add(g, g)]))
    found = points.linear_combination(group, rows, [3, 5, 7])
    assert decode(group, found[None]) == [integers(multiply(17, g))]
    assert points.is_infinity(points.linear_combination(group, [rows[1]] * 3, [1, 2, 3]))
    assert points.is_infinity(points.linear_combination(group, rows, [2, 9, -1]))


# --- the curve --------------------------------------------------------------------------------


@groups
def test_first_off_curve(curve: Curve, group: Group) -> None:
    """The first bad index; infinity is on the curve; start and stop bound the search."""
    good = array_of(group, [None, *random_points(group, 4), textbook.generator(group)])
    assert first_off_curve(group, good) is None
    assert first_off_curve(group, good[:0]) is None
    for place in range(6):
        # y + 1, y = 0, x and y swapped, x of another point, one coordinate zero: all off the curve.
        for change in ("increment", "zero y", "swap", "zero x"):
            bad = good.copy()
            if place == 0:
                bad[0] = encode(group, [((1, 1), (1, 1)) if group.is_g2 else (1, 1)])[0]
            elif change == "increment":
                x, y = decode(group, good)[place]  # type: ignore[misc]
                bumped = ((y[0] + 1) % curve.fq.modulus, y[1]) if group.is_g2 else y + 1
                bad[place] = encode(group, [(x, bumped)])[0]
            elif change == "swap":
                bad[place] = bad[place, ::-1]
            else:
                bad[place, 1 if change == "zero y" else 0] = 0
            assert first_off_curve(group, bad) == place, change
            assert first_off_curve(group, bad, place) == place
            assert first_off_curve(group, bad, place + 1) is None
            assert first_off_curve(group, bad, 0, place) is None
    bad = good[:, ::-1].copy()
    assert first_off_curve(group, bad) == 1


@pytest.mark.parametrize("group", [BN254.g1, BLS12_381.g1], ids=lambda g: g.name)
def test_a_point_of_another_curve(group: Group) -> None:
    """A point of the curve with b + 1 is off this one, though sums would not show it."""
    p = prime_of(group.field).modulus
    b = int(group.b) + 1  # type: ignore[arg-type]
    x = next(x for x in range(1, p) if pow(x**3 + b, (p - 1) // 2, p) == 1)
    y = pow(x**3 + b, (p + 1) // 4, p)
    assert first_off_curve(group, encode(group, [(x, y)])) == 0


# --- the subgroup -----------------------------------------------------------------------------


def check(curve: Curve, group: Group, chosen: list[Point]) -> None:
    """The endomorphism's answer, point by point and for all, is that of multiplication by r."""
    rows = array_of(group, chosen)
    assert first_off_curve(group, rows) is None
    outside = [multiply(group.order, point) is not None for point in chosen]
    for i, answer in enumerate(outside):
        assert first_outside_subgroup(curve, group, rows[i : i + 1]) == (0 if answer else None)
    wanted = outside.index(True) if any(outside) else None
    assert first_outside_subgroup(curve, group, rows) == wanted


@groups
def test_points_inside(curve: Curve, group: Group) -> None:
    """The generator, its multiples, infinity, and any point times the cofactor."""
    h = textbook.cofactor(curve, group)
    cleared = [multiply(h, point) for point in islice(textbook.curve_points(group), 3)]
    g = textbook.generator(group)
    inside = [g, negate(g), multiply(2, g), multiply(group.order - 1, g), None, *cleared]
    check(curve, group, inside)
    assert first_outside_subgroup(curve, group, array_of(group, inside)) is None


@groups
def test_points_of_the_whole_curve(curve: Curve, group: Group) -> None:
    """Random points, their parts in the cofactor alone, and sums of inside and outside ones."""
    chosen = list(islice(textbook.curve_points(group), 8))
    cofactor_parts = [multiply(group.order, point) for point in chosen[:4]]
    inside = random_points(group, 4)
    mixed = [add(a, b) for a, b in zip(inside, cofactor_parts, strict=True)]
    check(curve, group, [*inside, *chosen, *cofactor_parts, *mixed])
    if textbook.cofactor(curve, group) > 1:
        outside = chosen + cofactor_parts + mixed
        assert first_outside_subgroup(curve, group, array_of(group, [*inside, *outside])) == 4


SMALL = [
    (curve, group, prime)
    for curve, group in GROUPS
    for prime in textbook.small_factors(textbook.cofactor(curve, group))
]


def test_small_orders_exist() -> None:
    """The primes below 20000 that divide the cofactors: nothing to test would be a mistake."""
    found: dict[str, list[int]] = {}
    for _, group, prime in SMALL:
        found.setdefault(group.name, []).append(prime)
    assert found == {
        "bn254.g2": [10069],
        "bls12_381.g1": [3, 11, 10177],
        "bls12_381.g2": [13, 23, 2713, 11953],
    }


@pytest.mark.parametrize(
    "curve, group, prime", SMALL, ids=[f"{group.name}-{prime}" for _, group, prime in SMALL]
)
def test_points_of_small_order(curve: Curve, group: Group, prime: int) -> None:
    """Points of a small prime order, alone and added to points inside."""
    for point in islice(textbook.points_of_order(curve, group, prime), 3):
        assert point is not None
        assert multiply(prime, point) is None
        (inside,) = random_points(group, 1)
        check(curve, group, [point, negate(point), add(point, inside), inside])


@pytest.mark.parametrize("group", [BLS12_381.g1, BLS12_381.g2], ids=lambda g: g.name)
def test_the_eigenvalue_kills_no_point_outside(group: Group) -> None:
    """It shares no factor with the cofactor, so that its multiple of a point is never infinity."""
    curve = BLS12_381
    assert curve.trace - 1 == curve.seed
    eigenvalue = curve.seed if group.is_g2 else curve.seed**2
    assert gcd(eigenvalue, textbook.cofactor(curve, group) * group.order) == 1


def test_the_relation_on_the_twist_of_bn254() -> None:
    """(x + 1) + x·ψ + x·ψ² − 2x·ψ³: 0 at ψ = q, and its norm kills no point outside."""
    curve, x = BN254, BN254.seed
    q, t, r = curve.fq.modulus, curve.trace, curve.fr.modulus
    assert (x + 1 + x * q + x * q**2 - 2 * x * q**3) % r == 0
    # With ψ² = t·ψ − q it is c + d·ψ, whose norm is c² + c·d·t + d²·q.
    c = x + 1 - x * q + 2 * x * t * q
    d = x + x * t - 2 * x * (t * t - q)
    assert gcd(c * c + c * d * t + d * d * q, textbook.cofactor(curve, curve.g2) * r) == r


WITH_COFACTOR = [pair for pair in GROUPS if textbook.cofactor(*pair) > 1]


@pytest.mark.parametrize("curve, group", WITH_COFACTOR, ids=[g.name for _, g in WITH_COFACTOR])
def test_subgroup_between_start_and_stop(curve: Curve, group: Group) -> None:
    """The bounds of the search, with a point outside at each place."""
    outside = next(textbook.curve_points(group))
    for place in range(4):
        chosen = random_points(group, 4)
        chosen[place] = outside
        rows = array_of(group, chosen)
        assert first_outside_subgroup(curve, group, rows, place) == place
        assert first_outside_subgroup(curve, group, rows, place + 1) is None
        assert first_outside_subgroup(curve, group, rows, 0, place) is None
        assert first_outside_subgroup(curve, group, rows, 0, place + 1) == place


def test_the_point_of_order_three() -> None:
    """(0, 2) on BLS12-381: β·0 = 0, so that φ fixes it."""
    rows = encode(BLS12_381.g1, [(0, 2), (0, BLS12_381.fq.modulus - 2)])
    assert first_off_curve(BLS12_381.g1, rows) is None
    for row in rows:
        assert first_outside_subgroup(BLS12_381, BLS12_381.g1, row[None]) == 0
