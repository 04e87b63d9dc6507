"""Intervals against figures worked out by hand, verdicts against distributions that are known."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from snarkcuda.bench.statistics import (
    FASTER,
    NO_DIFFERENCE,
    SLOWER,
    Comparison,
    Interval,
    compare_pairs,
    compare_runs,
    median_interval,
)

Compare = Callable[..., Comparison]
BOTH = pytest.mark.parametrize("compare", [compare_runs, compare_pairs])


def times(
    random: np.random.Generator, count: int, scale: float = 1.0, share: float = 0.1
) -> list[float]:
    """Noise of 1 %, and a share of runs that something else has slowed, as on real machines."""
    disturbed = 1 + (random.random(count) < share) * random.random(count)
    found: list[float] = (scale * 50e6 * random.lognormal(0, 0.01, count) * disturbed).tolist()
    return found


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        # 1 − 2·(1 + 9)/512, and 1 − 2·(1 + 9 + 36)/512 would be 0.82
        (9, Interval(2, 8, 1 - 20 / 512)),
        (6, Interval(1, 6, 1 - 2 / 64)),
        (5, Interval(1, 5, 1 - 2 / 32)),  # too few for 95 %: the widest, and what it is worth
        (1, Interval(1, 1, 0)),
        (15, Interval(4, 12, 1 - 2 * (1 + 15 + 105 + 455) / 2**15)),
    ],
)
def test_median_interval_by_hand(n: int, expected: Interval) -> None:
    shuffled = np.random.Generator(np.random.PCG64(n)).permutation(np.arange(1, n + 1))
    found = median_interval(shuffled.tolist())
    assert (found.low, found.high) == (expected.low, expected.high)
    assert math.isclose(found.confidence, expected.confidence)


@pytest.mark.parametrize("n", [6, 9, 15, 40])
def test_median_interval_holds_the_median_as_often_as_it_says(n: int) -> None:
    """Of a skewed distribution, whose median is 1."""
    random = np.random.Generator(np.random.PCG64(n))
    samples = random.lognormal(0, 2, (2000, n)).tolist()
    found = [median_interval(sample) for sample in samples]
    share = np.mean([interval.low <= 1 <= interval.high for interval in found])
    assert abs(share - found[0].confidence) < 0.02
    assert found[0].confidence >= 0.95


@BOTH
@pytest.mark.parametrize("count", [9, 15])
def test_identical_distributions_do_not_differ(compare: Compare, count: int) -> None:
    random = np.random.Generator(np.random.PCG64(7))
    found = [compare(times(random, count), times(random, count), seed) for seed in range(100)]
    assert sum(each.verdict == NO_DIFFERENCE for each in found) >= 98


@BOTH
@pytest.mark.parametrize(("scale", "verdict"), [(1 / 1.05, FASTER), (1.05, SLOWER)])
def test_five_percent_are_seen(compare: Compare, scale: float, verdict: str) -> None:
    random = np.random.Generator(np.random.PCG64(8))
    found = [
        compare(times(random, 15, 1, 0.02), times(random, 15, scale, 0.02), seed)
        for seed in range(30)
    ]
    assert sum(each.verdict == verdict for each in found) >= 25
    assert all(abs(each.ratio * scale - 1) < 0.03 for each in found)


@BOTH
def test_half_a_percent_is_no_difference_however_sure(compare: Compare) -> None:
    old = [1000.0 + i / 100 for i in range(30)]
    found = compare(old, [x / 1.005 for x in old])
    assert found.p < 0.01
    assert found.verdict == NO_DIFFERENCE
    assert math.isclose(found.ratio, 1.005, rel_tol=1e-3)


@BOTH
@pytest.mark.parametrize("count", [1, 3])
def test_too_few_runs_say_nothing(compare: Compare, count: int) -> None:
    found = compare([100.0] * count, [50.0] * count)
    assert (found.verdict, found.ratio) == (NO_DIFFERENCE, 2.0)


@BOTH
def test_equal_times(compare: Compare) -> None:
    """Ties share a rank: they are no evidence for either order."""
    found = compare([5.0] * 12, [5.0] * 12)
    assert found == Comparison(1.0, 1.0, 1.0, 1.0, NO_DIFFERENCE)


def test_pairs_cancel_what_slows_both() -> None:
    """The machine's speed drifts by half; 3 % between the sides are seen in pairs alone."""
    random = np.random.Generator(np.random.PCG64(9))
    drift = np.linspace(1, 1.5, 15)
    old = drift * random.lognormal(0, 0.003, 15)
    new = drift * random.lognormal(0, 0.003, 15) / 1.03
    assert compare_pairs(old.tolist(), new.tolist()).verdict == FASTER
    assert compare_runs(old.tolist(), new.tolist()).verdict == NO_DIFFERENCE


@BOTH
def test_the_same_seed_gives_the_same_answer(compare: Compare) -> None:
    random = np.random.Generator(np.random.PCG64(10))
    old, new = times(random, 15), times(random, 15)
    assert compare(old, new, 3) == compare(old, new, 3)
