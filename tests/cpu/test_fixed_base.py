"""Multiples from a table are those of double-and-add, on edge and random scalars."""

from __future__ import annotations

import random

import numpy as np
import pytest

from snarkcuda.cpu import fixed_base
from snarkcuda.cpu.fixed_base import Multiples
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.params import BLS12_381, BN254, Group
from snarkcuda.curve.points import encode, linear_combination
from snarkcuda.field.arrays import from_ints
from snarkcuda.field.vector_type import has_vectors

GROUPS = [BN254.g1, BN254.g2, BLS12_381.g1, BLS12_381.g2]
needs_vectors = pytest.mark.skipif(not has_vectors(), reason="no AVX-512 IFMA: scalar path")


@pytest.fixture(scope="module")
def pool():
    with Pool(2) as pool:
        yield pool


@pytest.fixture(params=[False, pytest.param(True, marks=needs_vectors)], ids=["scalar", "vector"])
def vectors(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Sums on scalars or on vectors, whatever the number."""
    monkeypatch.setattr(fixed_base, "VECTOR_MULTIPLES", 0 if request.param else 1 << 40)
    return bool(request.param)


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_equals_double_and_add(group: Group, vectors: bool, pool: Pool) -> None:
    r, rng = group.order, random.Random(group.name)
    edges = [0, 1, 2, 3, r - 1, r - 2, r // 2, r // 2 + 1, 1 << 253, (1 << 253) - 1]
    scalars = [k % r for k in edges] + [rng.randrange(r) for _ in range(10)]
    generator = encode(group, [group.generator])[0]
    expected = [linear_combination(group, [generator], [k]) for k in scalars]
    for n in (1, 1 << 12):  # small and large windows
        table = Multiples(pool, group, n)
        assert np.array_equal(table.of(from_ints(scalars, 4)), expected)


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 600])
def test_any_number_of_scalars(
    n: int, vectors: bool, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks and slices may end anywhere; the i-th multiple of i is the i-th of all."""
    monkeypatch.setattr(fixed_base, "_SLICE", 512)
    group = BN254.g1
    table = Multiples(pool, group, n)
    points = table.of(from_ints(range(n), 4))
    assert points.shape == (n, 2, 4)
    everything = Multiples(pool, group, 4000).of(from_ints(range(600), 4))
    assert np.array_equal(points, everything[:n])


def test_every_digit_of_the_table_is_used(vectors: bool, pool: Pool) -> None:
    """Sums over all table entries of the lowest window, of both signs."""
    group = BN254.g1
    table = Multiples(pool, group, 64)
    half = 1 << (table.window - 1)
    points = table.of(from_ints(range(2 * half), 4))
    generator = encode(group, [group.generator])[0]
    for k in (half - 1, half, half + 1, 2 * half - 1):
        assert np.array_equal(points[k], linear_combination(group, [generator], [k]))
