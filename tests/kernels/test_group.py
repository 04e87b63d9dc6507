"""The group law in kernels against the textbook: infinity, equal and opposite points too."""

import random

import pytest

from snarkcuda.field.naive import naive
from snarkcuda.kernels.group import group_add, group_add_affine, group_double, point_field
from snarkcuda.kernels.target import simulated
from tests.curve import textbook
from tests.field.values import GROUPS
from tests.kernels.arrays_there import back, montgomery, there, values

ARITHMETICS = ("ints", "limbs") if simulated() else ("ptx",)  # limbs: minutes to compile
RANDOM = 3 if simulated() else 200


def xyzz(point, field, draw):
    """A point with a random denominator; infinity with random x and y."""
    scale = naive(field, tuple(draw.randrange(1, 1 << 60) for _ in range(2)) if field.level == 2
                  else draw.randrange(1, 1 << 60))  # fmt: skip
    if point is None:
        return [scale, scale, scale.constant(0), scale.constant(0)]
    zz, zzz = scale * scale, scale * scale * scale
    return [point[0] * zz, point[1] * zzz, zz, zzz]


def affine(found, field):
    """The textbook point of four canonical coordinates."""
    x, y, zz, zzz = (naive(field, value) for value in found)
    if zz.is_zero():
        return None
    assert zz * zz * zz == zzz * zzz
    return x * zz.inverse(), y * zzz.inverse()


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("curve, group", GROUPS, ids=lambda v: v.name)
def test_group_law(device, arena, stream, curve, group, arithmetic) -> None:
    F = point_field(group, arithmetic)
    field, draw = group.field, random.Random(group.name)
    g = textbook.generator(group)
    some = [textbook.multiply(draw.randrange(1, 1000), g) for _ in range(3)]
    p, q = some[0], some[1]
    cases = [(None, None), (None, p), (p, None), (p, p), (p, textbook.negate(p)), (p, q)]
    cases += [tuple(draw.sample(some, 2)) for _ in range(RANDOM)]
    n, limbs = len(cases), F.prime.limbs
    left = [c for a, _ in cases for c in xyzz(a, field, draw)]
    right = [c for _, b in cases for c in xyzz(b, field, draw)]
    zero = g[0].constant(0)
    right_affine = [c for _, b in cases for c in (b or (zero, zero))]
    arrays = [there(arena, stream, montgomery(c), limbs) for c in (left, right, right_affine)]
    out = arena.allocate(4 * n * F.words, stream)

    def run(factory, *inputs):
        factory(F).launch(stream, -(-n // 8), 8, out, *inputs, n)
        found = values(field, back(stream, out, limbs))
        return [affine(found[4 * i : 4 * i + 4], field) for i in range(n)]

    sums = [textbook.add(a, b) for a, b in cases]
    assert run(group_add, arrays[0], arrays[1]) == sums
    assert run(group_add_affine, arrays[0], arrays[2]) == sums
    assert run(group_double, arrays[0], arrays[0]) == [textbook.add(a, a) for a, _ in cases]
    for array in (*arrays, out):
        arena.free(array, stream)
