"""A sample of `tests/slow/test_three_paths.py`."""

from __future__ import annotations

import pytest

from snarkcuda.cpu.bucket_tree import GROUP
from snarkcuda.cpu.digits import MAX_WINDOW, sorted_digits
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.params import CURVES
from snarkcuda.field.arrays import from_ints
from tests.three_paths import Sum, Transform, check

BN_G1 = "bn254.g1"


def test_sums_and_transforms() -> None:
    """Carries at every window, adversarial points, a bucket larger than a group; transforms."""
    sums = [Sum(BN_G1, "any", "carries", 800, window) for window in range(1, MAX_WINDOW + 1)]
    sums += [Sum(BN_G1, points, "bits and others", 300) for points in ("opposites", "few")]
    sums += [Sum(BN_G1, "any", "1", GROUP + 1), Sum(BN_G1, "any", "any", 0)]
    transforms = [
        Transform("bn254", log_n, capped) for log_n in (6, 13) for capped in (False, True)
    ]
    with Pool(2) as pool:
        check(pool, [*sums, *transforms])


def test_more_threads_than_windows() -> None:
    """A window's buckets are then shared out among several tasks."""
    with Pool(9) as pool:
        check(pool, [Sum(BN_G1, "any", "carries", 800, window) for window in (10, 13)])


def test_few_large_scalars_choose_the_window() -> None:
    """Bits have a digit in one window: many of them do not make it larger."""
    bits, large = [1] * 5000, [CURVES[0].g1.order - 1] * 50
    with Pool(1) as pool:
        few, none, all_large = (
            sorted_digits(pool, from_ints(scalars, 4), 254).window
            for scalars in (bits + large, bits, large * 100)
        )
    assert none <= few < all_large


def test_windows_that_digits_do_not_fit() -> None:
    with Pool(1) as pool, pytest.raises(ValueError, match="1 to 16 bits, not 17"):
        sorted_digits(pool, from_ints([1], 4), 254, window=MAX_WINDOW + 1)
