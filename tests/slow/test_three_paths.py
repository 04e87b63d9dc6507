"""The whole matrix: definition, scalar path and vector path agree, on inputs chosen to break them.

A sample of it is in `tests/cpu/test_three_paths.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from snarkcuda.cpu.bucket_tree import GROUP
from snarkcuda.cpu.digits import MAX_WINDOW
from snarkcuda.cpu.pool import Pool
from tests.three_paths import (
    CURVE,
    GROUP_NAMED,
    POINTS,
    SCALARS,
    SHAPES,
    Sum,
    Transform,
    Whole,
    check,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
groups = pytest.mark.parametrize("group", GROUP_NAMED)
curves = pytest.mark.parametrize("curve", CURVE)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(2) as pool:
        yield pool


@groups
def test_points_and_scalars(group: str, pool: Pool) -> None:
    """Every kind of points with every kind of scalars."""
    check(pool, [Sum(group, points, scalars, 300) for points in POINTS for scalars in SCALARS])


@groups
@pytest.mark.parametrize("points", ["any", "opposites", "few"])
def test_carries_at_every_window(group: str, points: str, pool: Pool) -> None:
    windows = range(1, MAX_WINDOW + 1)
    check(pool, [Sum(group, points, "carries", 800, window) for window in windows])


@groups
@pytest.mark.parametrize("threads", [1, 9, 33])
def test_any_number_of_threads(group: str, threads: int) -> None:
    """With many, a window's buckets are shared out among several tasks."""
    with Pool(threads) as pool:
        check(pool, [Sum(group, "any", "carries", 800, window) for window in (9, 12, 15)])


@groups
def test_sizes(group: str, pool: Pool) -> None:
    sizes = sorted({0, *(max(1, (1 << k) + d) for k in range(13) for d in (-1, 0, 1))})
    check(pool, [Sum(group, "any", "any", n) for n in sizes])


@groups
@pytest.mark.parametrize("points", ["any", "one", "opposites"])
def test_buckets_larger_than_a_group(group: str, points: str, pool: Pool) -> None:
    """One with all points, at sizes around a group's; several; one in each window."""
    sizes = [GROUP + d for d in (-1, 0, 1)] + [2 * GROUP, 2 * GROUP + 1, 3 * GROUP - 1]
    cases = [Sum(group, points, "1", n) for n in sizes]
    cases += [Sum(group, points, "equal", 2 * GROUP + 4321)]
    cases += [Sum(group, points, "groups", 3 * GROUP + d) for d in (-1, 0, 1)]
    cases += [Sum(group, points, "12 bits", 8 * GROUP, window) for window in (2, 3, 4)]
    check(pool, cases)


@groups
@pytest.mark.parametrize("scalars", ["any", "bits and others"])
def test_many_points(group: str, scalars: str, pool: Pool) -> None:
    check(pool, [Sum(group, "any", scalars, (1 << 16) + d) for d in (-1, 1)])


@curves
def test_transforms(curve: str, pool: Pool) -> None:
    """Every size to 2^20, on the coset of a root of order 2n and on that of the shift 25."""
    cases = [Transform(curve, log_n) for log_n in range(21)]
    check(pool, cases + [Transform(curve, log_n, capped=True) for log_n in range(1, 21)])


@curves
@pytest.mark.parametrize("shape", SHAPES)
def test_whole_proofs(curve: str, shape: str, pool: Pool) -> None:
    """2^12 rows, where the backend takes the vectors by itself."""
    check(pool, [Whole(curve, shape, (1 << 12) - 2)])
