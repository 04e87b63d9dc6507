"""Medians with intervals that assume no distribution, and when two sets of times differ.

A verdict asks for two things at once: the whole 99 % interval of the ratio lies beyond ±1 %, and a
test at 1 % refuses that nothing but chance separates the two. Small differences, few runs and noise
all end in "no difference".

Sources: the median's interval from order statistics, David and Nagaraja, "Order Statistics", §7.1;
bootstrap and permutation tests, Efron and Tibshirani, "An Introduction to the Bootstrap", §13, §15;
ranks, Mann and Whitney 1947, Wilcoxon 1945.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MARGIN = 0.01  # smaller differences are none
LEVEL = 0.99  # of the interval of a ratio; the test's p is below 1 − LEVEL
_RESAMPLES = 5_000
FASTER, SLOWER, NO_DIFFERENCE = "faster", "slower", "no difference"


@dataclass(frozen=True)
class Interval:
    """Where a median lies, and how sure that is."""

    low: float
    high: float
    confidence: float


@dataclass(frozen=True)
class Comparison:
    """Old time over new time: above 1 the new one is faster.

    Attributes:
        ratio, low, high: the ratio and its interval.
        p: how probable so large a difference is if there is none.
        verdict: of the new one, see the module.
    """

    ratio: float
    low: float
    high: float
    p: float
    verdict: str


def median_interval(values: Sequence[float], level: float = 0.95) -> Interval:
    """The shortest interval [x₍ₖ₎, x₍ₙ₊₁₋ₖ₎] of order statistics that holds the median at `level`.

    It does with probability 1 − 2·P(Bin(n, ½) < k). Too few values (under 6 for 95 %) give the
    widest there is, with its lower confidence.
    """
    ordered, n = sorted(values), len(values)
    best, below = 1, 0
    for k in range(1, n // 2 + 1):
        below += math.comb(n, k - 1)
        if 1 - 2 * below / 2**n >= level:
            best = k
    outside = sum(math.comb(n, i) for i in range(best))
    return Interval(ordered[best - 1], ordered[n - best], max(0.0, 1 - 2 * outside / 2**n))


def compare_runs(old: Sequence[float], new: Sequence[float], seed: int = 0) -> Comparison:
    """Two sets of times that were taken one after the other.

    The interval is the bootstrap's, of the ratio of medians; the test permutes ranks.
    """
    random = np.random.Generator(np.random.PCG64(seed))
    medians = [
        np.median(random.choice(np.asarray(times, float), (_RESAMPLES, len(times))), axis=1)
        for times in (old, new)
    ]
    low, high = np.quantile(medians[0] / medians[1], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    ranks = _ranks(np.array([*old, *new], float))
    shuffled = random.permuted(np.tile(ranks, (_RESAMPLES, 1)), axis=1)[:, : len(old)].mean(axis=1)
    centre = (len(ranks) - 1) / 2
    p = _share_as_far(abs(shuffled - centre), abs(ranks[: len(old)].mean() - centre))
    if min(len(old), len(new)) < 6:
        p = 1.0  # too few runs for any verdict
    ratio = statistics.median(old) / statistics.median(new)
    return _judged(ratio, float(low), float(high), p)


def compare_pairs(old: Sequence[float], new: Sequence[float], seed: int = 0) -> Comparison:
    """Times taken in pairs, old and new in turn, so that what slows both cancels.

    The interval is that of the median of the pairs' ratios, from order statistics; the test is that
    of signed ranks (of the ratios' logarithms), by random signs.
    """
    logs = np.log(np.asarray(old, float) / np.asarray(new, float))
    interval = median_interval(logs.tolist(), LEVEL)
    random = np.random.Generator(np.random.PCG64(seed))
    signs = random.choice(np.array([-1.0, 1.0]), (_RESAMPLES, len(logs)))
    ranks = np.where(logs == 0, 0, _ranks(abs(logs)) + 1)
    p = _share_as_far(abs(signs @ ranks), abs(np.sign(logs) @ ranks))
    if interval.confidence < LEVEL:
        p = 1.0  # too few pairs for any verdict
    low, ratio, high = (math.exp(x) for x in (interval.low, np.median(logs), interval.high))
    return _judged(ratio, low, high, p)


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks from 0, equal values sharing the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: NDArray[np.float64] = (np.cumsum(counts) - (counts + 1) / 2)[place]
    return ranks


def _share_as_far(distances: NDArray[np.float64], observed: float) -> float:
    """The permutation test's p; what was observed counts as one of the permutations."""
    as_far = int(np.count_nonzero(distances >= observed * (1 - 1e-9)))
    return (as_far + 1) / (len(distances) + 1)


def _judged(ratio: float, low: float, high: float, p: float) -> Comparison:
    verdict = NO_DIFFERENCE
    if p < 1 - LEVEL and low > 1 + MARGIN:
        verdict = FASTER
    elif p < 1 - LEVEL and high < 1 / (1 + MARGIN):
        verdict = SLOWER
    return Comparison(ratio, low, high, p, verdict)
