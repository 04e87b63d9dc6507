"""Differences, coordinates and curve checks of many points, past every block's border."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from snarkcuda.cpu import point_checks
from snarkcuda.cpu.affine import differences, leave_montgomery
from snarkcuda.cpu.fixed_base import Multiples
from snarkcuda.cpu.point_checks import first_off_curve
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.params import BLS12_381, BN254, Group
from snarkcuda.field.arrays import from_ints, to_ints
from snarkcuda.field.params import prime_of

N = 600  # more than two blocks
GROUPS = [BN254.g1, BN254.g2, BLS12_381.g1]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(2) as pool:
        yield pool


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_differences(group: Group, pool: Pool) -> None:
    """(3i)·G − i·G = 2i·G; the same point leaves infinity, and so do two infinities."""
    table = Multiples(pool, group, N)
    triple, single, double = (table.of(from_ints(range(0, k * N, k), 4)) for k in (3, 1, 2))
    assert np.array_equal(differences(pool, group, triple, single), double)
    assert not differences(pool, group, single, single).any()
    minus = table.of(from_ints([-i % group.order for i in range(N)], 4))
    assert np.array_equal(differences(pool, group, single, minus), double)  # tangents


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_coordinates_leave_montgomery_form(group: Group, pool: Pool) -> None:
    field = prime_of(group.field)
    points = Multiples(pool, group, N).of(from_ints(range(N), 4))
    canonical = to_ints(leave_montgomery(pool, field, points))
    assert canonical == [field.from_montgomery(value) for value in to_ints(points)]


def test_the_first_point_off_the_curve(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(point_checks, "_CHUNK", 64)
    group = BN254.g1
    points = Multiples(pool, group, N).of(from_ints(range(N), 4))
    assert first_off_curve(pool, group, points) is None
    for bad in ([N - 1], [64], [63, 64], [130, 500]):
        broken = points.copy()
        broken[bad, 0, 0] ^= np.uint64(1)
        assert first_off_curve(pool, group, broken) == bad[0]
