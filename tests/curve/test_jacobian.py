"""Jacobian formulas against the textbook, on naive elements: exact, or Z = 0 for good; costs."""

from __future__ import annotations

import inspect
from itertools import product
from typing import Any

import pytest

from snarkcuda.curve import jacobian
from snarkcuda.curve.jacobian import jacobian_add, jacobian_add_affine, jacobian_double
from snarkcuda.curve.params import Curve, Group
from snarkcuda.field.bound import Tally, bounded, strict
from snarkcuda.field.naive import naive, unflatten
from tests.curve.textbook import Point, add, integers, negate, random_points
from tests.field.stated_costs import counted, formulas, in_prime_operations, stated
from tests.field.values import GROUPS

groups = pytest.mark.parametrize("curve, group", GROUPS, ids=[g.name for _, g in GROUPS])


def with_z(like: Any, point: Point, z: Any) -> Any:
    """Jacobian coordinates with this Z, 0 for infinity."""
    if point is None:
        return like.constant(1), like.constant(1), like.constant(0)
    return point[0] * z * z, point[1] * z * z * z, z


def affine(p: Any) -> Any:
    """Canonical integers, None where Z = 0."""
    x, y, z = p
    if z.is_zero():
        return None
    over = z.inverse()
    return integers((x * over * over, y * over * over * over))


@groups
def test_agree_with_the_textbook(curve: Curve, group: Group) -> None:
    """Generic pairs; equal and opposite ones and infinity give Z = 0, whatever the sum is."""
    b: Any = naive(group.field, group.b)
    points = random_points(group, 3)
    chosen = [None, *points, negate(points[0])]
    z1, z2 = (unflatten(group.field, [k + i for i in range(group.field.level)]) for k in (3, 77))
    for p, q in product(chosen, chosen):
        first, second = with_z(b, p, z1), with_z(b, q, z2)
        assert affine(jacobian_double(first)) == integers(add(p, p))
        exceptional = p is None or q is None or p == q or p == negate(q)
        wanted = None if exceptional else integers(add(p, q))
        assert affine(jacobian_add(first, second)) == wanted
        if q is not None:
            assert affine(jacobian_add_affine(first, *q)) == wanted


@groups
@pytest.mark.parametrize("name", sorted(formulas(jacobian)))
def test_stated_cost(curve: Curve, group: Group, name: str) -> None:
    """The tally of `Bound` is the docstring's cost."""
    function, tally = formulas(jacobian)[name], Tally()
    representation = strict(curve.fq)

    def argument(annotation: str) -> Any:
        count = {"Element": 1, "Jacobian": 3}[annotation]
        values = tuple(bounded(group.field, representation, tally) for _ in range(count))
        return values if count > 1 else values[0]

    function(*[argument(p.annotation) for p in inspect.signature(function).parameters.values()])
    assert counted(tally) == in_prime_operations(stated(function), group.field)
