"""The group law, naive and compiled, against the textbook on every kind of pair; its costs."""

from __future__ import annotations

import inspect
import random
from itertools import product
from typing import Any

import numpy as np
import pytest

from snarkcuda.curve import formulas
from snarkcuda.curve.params import Curve, Group
from snarkcuda.curve.points import decode, encode
from snarkcuda.field import arrays
from snarkcuda.field.bound import Tally, bounded, strict
from snarkcuda.field.naive import naive, unflatten
from snarkcuda.field.params import prime_of
from tests.curve import textbook
from tests.curve.formula_kernels import SUMS, every_sum
from tests.curve.textbook import Point, add, integers, negate, random_points
from tests.field.stated_costs import counted, in_prime_operations, stated
from tests.field.stated_costs import formulas as formulas_of
from tests.field.values import GROUPS

groups = pytest.mark.parametrize("curve, group", GROUPS, ids=[g.name for _, g in GROUPS])


def pairs(group: Group) -> list[tuple[Point, Point]]:
    """Generic pairs, P + P, P − P, infinity on each side and on both."""
    points = random_points(group, 4)
    small = [textbook.generator(group), textbook.multiply(2, textbook.generator(group))]
    chosen = [None, *points, *small, negate(points[0]), negate(small[1])]
    return list(product(chosen, chosen))


def scales(group: Group, count: int) -> list[Any]:
    """Non-zero field elements."""
    source, p = random.Random(group.name), prime_of(group.field).modulus
    level = group.field.level
    return [
        unflatten(group.field, [source.randrange(1, p) for _ in range(level)]) for _ in range(count)
    ]


def affine_of_xyzz(point: Any) -> Any:
    """Canonical integers, None for infinity."""
    x, y, zz, zzz = point
    return None if zz.is_zero() else integers((x * zz.inverse(), y * zzz.inverse()))


def xyzz(like: Any, point: Point, scale: Any) -> Any:
    """XYZZ with ZZ = scale²."""
    if point is None:
        return formulas.xyzz_infinity(like)
    zz = scale * scale
    return point[0] * zz, point[1] * zz * scale, zz, zz * scale


def coefficients(group: Group) -> tuple[Any, Any]:
    """B and 3·b."""
    b: Any = naive(group.field, group.b)
    return b, b + b + b


@groups
def test_naive_formulas_agree_with_the_textbook(curve: Curve, group: Group) -> None:
    """Every formula on naive elements, every exceptional case of those that allow it."""
    b, b3 = coefficients(group)
    zero, one = b.constant(0), b.constant(1)
    both = pairs(group)
    for (p, q), s, t in zip(both, scales(group, len(both)), scales(group, len(both)), strict=True):
        wanted = integers(add(p, q))
        first, second = xyzz(b, p, s), xyzz(b, q, t)
        x2, y2 = q or (zero, zero)
        assert affine_of_xyzz(formulas.xyzz_add(first, second)) == wanted
        assert affine_of_xyzz(formulas.xyzz_add_affine(first, x2, y2)) == wanted
        assert affine_of_xyzz(formulas.xyzz_from_affine(x2, y2)) == integers(q)
        assert affine_of_xyzz(formulas.xyzz_double(first)) == integers(add(p, p))
        left, right = (
            (x * k, y * k, k) if (x, y) != (zero, zero) else (zero, k, zero)
            for (x, y), k in ((p or (zero, zero), s), ((x2, y2), t))
        )
        x, y, z = formulas.complete_add(left, right, b3)
        assert (None if z.is_zero() else integers((x * z.inverse(), y * z.inverse()))) == wanted
        if p is not None:
            assert formulas.curve_defect(*p, b).is_zero()
            assert not formulas.curve_defect(p[0], p[1] + one, b).is_zero()
            assert affine_of_xyzz(formulas.xyzz_double_affine(*p)) == integers(add(p, p))
        if p is not None and q is not None and add(p, q) is not None:
            (x1, y1), (x2, y2) = p, q
            slope = formulas.tangent_numerator(x1) * (y1 + y1).inverse()
            if x1 != x2:
                slope = (y2 - y1) * (x2 - x1).inverse()
            assert integers(formulas.affine_slope_sum(x1, y1, x2, slope)) == wanted


@groups
def test_kernels_agree_with_the_textbook(curve: Curve, group: Group) -> None:
    """The same formulas, compiled, with random Z coordinates."""
    both, field = pairs(group), prime_of(group.field)
    n = len(both)
    left, right = (encode(group, [integers(pair[i]) for pair in both]) for i in (0, 1))
    multipliers = encode(
        group, list(zip(scale_integers(group, n), scale_integers(group, n), strict=True))
    )
    b, b3 = (encode(group, [(textbook.canonical(v), 0)]) for v in coefficients(group))
    out = np.zeros((n, len(SUMS), *left.shape[1:]), dtype=np.uint64)
    defects = np.ones((n, group.field.level, field.limbs), dtype=np.uint64)
    every_sum(group.field, n, left, right, multipliers, b3, out, defects, b)
    for i, (p, q) in enumerate(both):
        found = dict(zip(SUMS, decode(group, out[i]), strict=True))
        total, double = integers(add(p, q)), integers(add(p, p))
        wanted = dict.fromkeys(SUMS[:4], total) | dict.fromkeys(SUMS[4:], double)
        if p is None or q is None or total is None:
            del found["chord"], wanted["chord"]
        assert found == wanted, (i, p, q)
        assert defects[i].any() == (p is None)
    assert max(arrays.to_ints(out)) < field.modulus


def scale_integers(group: Group, count: int) -> list[Any]:
    """Canonical integers of `scales`."""
    return [textbook.canonical(scale) for scale in scales(group, count)]


# --- costs ------------------------------------------------------------------------------------

CURVE_FORMULAS = formulas_of(formulas)
COORDINATES = {"Element": 1, "Projective": 3, "Xyzz": 4}


def test_every_formula_states_a_cost() -> None:
    """All but the one that computes nothing."""
    silent = {n for n, f in CURVE_FORMULAS.items() if "Cost:" not in (inspect.getdoc(f) or "")}
    assert silent == {"xyzz_infinity"}


@groups
@pytest.mark.parametrize("name", sorted({*CURVE_FORMULAS} - {"xyzz_infinity"}))
def test_stated_cost(curve: Curve, group: Group, name: str) -> None:
    """The tally of `Bound` on the generic path is the docstring's cost."""
    function, tally = CURVE_FORMULAS[name], Tally()
    representation = strict(curve.fq)

    def argument(annotation: str) -> Any:
        count = COORDINATES[annotation]
        values = tuple(bounded(group.field, representation, tally) for _ in range(count))
        return values if count > 1 else values[0]

    parameters = inspect.signature(function).parameters.values()
    function(*[argument(parameter.annotation) for parameter in parameters])
    assert counted(tally) == in_prime_operations(stated(function), group.field)
