"""Subgroup tests on vectors give the scalar tests' answers, on hostile mixtures too."""

from __future__ import annotations

import random
from itertools import islice

import numpy as np
import pytest

from snarkcuda.cpu import point_checks, subgroup_vector
from snarkcuda.curve import points
from snarkcuda.curve.params import Curve, Group
from snarkcuda.curve.points import encode, first_off_curve, has_cofactor
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.vector_type import LANES, has_vectors
from tests.curve import textbook
from tests.curve.textbook import Point, add, integers, multiply, negate, random_points
from tests.field.values import GROUPS

pytestmark = pytest.mark.skipif(not has_vectors(), reason="no AVX-512 IFMA: scalar path")
WITH_COFACTOR = [pair for pair in GROUPS if has_cofactor(*pair)]
groups = pytest.mark.parametrize(
    "curve, group", WITH_COFACTOR, ids=[group.name for _, group in WITH_COFACTOR]
)


def array_of(group: Group, chosen: list[Point]) -> U64Array:
    return encode(group, [integers(point) for point in chosen])


def inside(group: Group) -> list[Point]:
    """Infinity, the generator, its small multiples that come up on the way, and random points."""
    g = textbook.generator(group)
    few = [multiply(k, g) for k in (2, 3, group.order - 1)]
    return [None, g, *few, negate(g), *random_points(group, 4)]


def outside(curve: Curve, group: Group) -> list[Point]:
    """Random points of the curve, of each small order, and these with a part of order r."""
    chosen = list(islice(textbook.curve_points(group), 3))
    for prime in textbook.small_factors(textbook.cofactor(curve, group)):
        chosen += islice(textbook.points_of_order(curve, group, prime), 2)
    if group.name == "bls12_381.g1":  # x = 0, of order 3
        zero, two = chosen[0][0].constant(0), chosen[0][0].constant(2)  # type: ignore[index]
        chosen += [(zero, two), (zero, -two)]
    (part,) = random_points(group, 1)
    return [*chosen, *(negate(p) for p in chosen), *(add(part, p) for p in chosen)]


@groups
def test_every_kind_in_every_lane(curve: Curve, group: Group) -> None:
    """One bad point among good ones: its index, whatever it is and wherever it stands."""
    good = array_of(group, inside(group))
    bad = array_of(group, outside(curve, group))
    assert first_off_curve(group, bad) is None
    for row in bad:
        assert points.first_outside_subgroup(curve, group, row[None]) == 0
    find = subgroup_vector.first_outside_subgroup
    n = len(good)
    assert find(curve, group, good, 0, n) is None
    for k, row in enumerate(bad):
        mixed, place = good.copy(), k % n
        mixed[place] = row
        assert find(curve, group, mixed, 0, n) == place
        assert find(curve, group, mixed, 0, place) is None
        assert find(curve, group, mixed, place, n) == place
        assert find(curve, group, mixed, place + 1, n) is None


@groups
def test_mixtures(curve: Curve, group: Group) -> None:
    """The scalar test's answer for random mixtures of any length, from any start."""
    rng = random.Random(group.name)
    good, bad = array_of(group, inside(group)), array_of(group, outside(curve, group))
    for n in [0, 1, LANES - 1, LANES, LANES + 1, 30, 30, 30]:
        chosen = [rng.choice(bad if rng.random() < 0.1 else good) for _ in range(n)]
        query = np.array(chosen, dtype=np.uint64).reshape(n, *good.shape[1:])
        start = rng.randrange(n + 1)
        for first, stop in ((0, n), (start, n), (0, start)):
            expected = points.first_outside_subgroup(curve, group, query, first, stop)
            found = subgroup_vector.first_outside_subgroup(curve, group, query, first, stop)
            assert found == expected


@groups
def test_long_queries_take_the_vectors(
    curve: Curve, group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def seen(*arguments: object) -> None:
        calls.append(len(arguments[2]))  # type: ignore[arg-type]

    monkeypatch.setattr(point_checks, "VECTOR_POINTS", 9)
    monkeypatch.setattr(subgroup_vector, "first_outside_subgroup", seen)
    good = array_of(group, inside(group))
    for n in (8, 9, 10):
        assert point_checks.first_outside_subgroup(curve, group, good[:n], 0, n) is None
    assert calls == [9, 10]
