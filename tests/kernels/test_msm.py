"""Sums on a device against the textbook: random, exceptional and lopsided bases and scalars."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from snarkcuda.curve.points import decode, encode
from snarkcuda.field import arrays
from snarkcuda.kernels.msm import load_bases, msm
from snarkcuda.kernels.msm_plan import SMALL, Geometry, msm_shape
from snarkcuda.kernels.target import simulated
from tests.curve import textbook
from tests.field.values import GROUPS

GEOMETRY = SMALL if simulated() else Geometry()


def expected(points, scalars):
    total = None
    for point, k in zip(points, scalars, strict=True):
        total = textbook.add(total, textbook.multiply(k, point))
    return textbook.integers(total)


def some_points(group, n, draw):
    """Multiples of the generator, infinity, equal and opposite points among them."""
    g = textbook.generator(group)
    pool = [textbook.multiply(draw.randrange(1, 1 << 40), g) for _ in range(max(1, n // 3))]
    kinds = [None, pool[0], textbook.negate(pool[0])]
    return [draw.choice(pool) if draw.random() < 0.7 else draw.choice(kinds) for _ in range(n)]


def edge_scalars(r, n, draw, c):
    """0, 1, −1, what carries through every window, and random ones."""
    carries = sum(((1 << c) - 1) << (c * w) for w in range(256 // c)) % r
    edges = [0, 1, r - 1, 2, r - 2, (r - 1) // 2, (r + 1) // 2, 1 << (c - 1), (1 << c) - 1, carries]
    return [draw.choice(edges) if draw.random() < 0.5 else draw.randrange(r) for _ in range(n)]


def on_device(arena, scope, stream, curve, group, points, scalars, **shape):
    s = msm_shape(curve.fr, len(points), geometry=GEOMETRY, **shape)
    bases, bad = load_bases(scope, group, encode(group, [textbook.integers(p) for p in points]), s)
    assert bad is None
    found = msm(arena, stream, bases, s, arrays.from_ints(scalars, 4))
    return decode(group, found[None])[0]


@pytest.mark.parametrize("n", [0, 1, 2, 9, 17])
@pytest.mark.parametrize("curve, group", GROUPS, ids=lambda v: v.name)
def test_against_the_textbook(device, arena, scope, stream, curve, group, n) -> None:
    draw = random.Random(f"{group.name} {n}")
    points = some_points(group, n, draw)
    scalars = edge_scalars(curve.fr.modulus, n, draw, 7)
    found = on_device(arena, scope, stream, curve, group, points, scalars, window=7)
    assert found == expected(points, scalars)


@pytest.mark.parametrize("kind", ["equal", "opposite", "ones", "minus ones", "one scalar"])
def test_lopsided(device, arena, scope, stream, kind) -> None:
    """Buckets of equal points, of points that cancel, and of all points."""
    curve, group = GROUPS[0]
    draw, n = random.Random(kind), 21
    point = textbook.multiply(12345, textbook.generator(group))
    points = [textbook.multiply(k + 1, point) for k in range(n)]
    scalars = [draw.randrange(curve.fr.modulus)] * n
    if kind == "equal":
        points = [point] * n
    elif kind == "opposite":
        points = [textbook.negate(point) if i % 2 else point for i in range(n)]
    elif kind in ("ones", "minus ones"):
        scalars = [1 if kind == "ones" else curve.fr.modulus - 1] * n
    found = on_device(arena, scope, stream, curve, group, points, scalars, window=7)
    assert found == expected(points, scalars)


@pytest.mark.slow
@pytest.mark.parametrize("multiples", [None, 4, 1])
@pytest.mark.parametrize("window", [2, 3, 5, 8])
@pytest.mark.parametrize("curve, group", GROUPS, ids=lambda v: v.name)
def test_windows(device, arena, scope, stream, curve, group, window, multiples) -> None:
    """With all multiples resident, some, and none but the points."""
    draw = random.Random(f"{group.name} {window} {multiples}")
    points = some_points(group, 12, draw)
    scalars = edge_scalars(curve.fr.modulus, 12, draw, window)
    shape = {"window": window, "multiples": multiples}
    found = on_device(arena, scope, stream, curve, group, points, scalars, **shape)
    assert found == expected(points, scalars)


def test_bases_and_scalars_that_do_not_match(device, arena, scope, stream) -> None:
    curve, group = GROUPS[0]
    points = encode(group, [group.generator] * 3)
    shape = msm_shape(curve.fr, 3, window=7, geometry=GEOMETRY)
    with pytest.raises(ValueError, match="3 points for MSMs of 2"):
        load_bases(scope, group, points, replace(shape, n=2))
    bases, _ = load_bases(scope, group, points, shape)
    with pytest.raises(ValueError, match="16 words for 3 scalars"):
        msm(arena, stream, bases, shape, np.zeros((2, 4), dtype=np.uint64))
    with pytest.raises(ValueError, match="3 points, 2 scalars"):
        msm(arena, stream, bases, replace(shape, n=2), np.zeros((2, 4), dtype=np.uint64))


def test_fewer_points_than_scalars(device, arena, scope, stream) -> None:
    """Infinity comes before them, as for the public wires of an L query."""
    curve, group = GROUPS[0]
    g = textbook.generator(group)
    points = [textbook.multiply(k, g) for k in (5, 6, 7)]
    shape = msm_shape(curve.fr, 5, window=7, geometry=GEOMETRY)
    encoded = encode(group, [textbook.integers(p) for p in points])
    bases, _ = load_bases(scope, group, encoded, shape)
    scalars = [11, 12, 13, 14, 15]
    found = msm(arena, stream, bases, shape, arrays.from_ints(scalars, 4))
    assert decode(group, found[None])[0] == expected(points, scalars[2:])


@pytest.mark.parametrize("curve, group", GROUPS, ids=lambda v: v.name)
def test_points_off_their_curve(device, arena, scope, stream, curve, group) -> None:
    points = encode(group, [None, *[group.generator] * 9])
    shape = msm_shape(curve.fr, 10, window=7, multiples=1, geometry=GEOMETRY)
    assert load_bases(scope, group, points, shape)[1] is None
    for at in (7, 4):
        points[at].reshape(-1)[0] ^= np.uint64(1)
        assert load_bases(scope, group, points, shape)[1] == at
