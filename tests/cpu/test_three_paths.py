"""A sample of `tests/slow/test_three_paths.py`."""

from __future__ import annotations

import pytest

from snarkcuda.cpu.bucket_tree import GROUP
from snarkcuda.cpu.msm import MAX_WINDOW, signed_digits
from snarkcuda.cpu.msm_affine import sorted_digits
from snarkcuda.cpu.pool import Pool
from snarkcuda.field.arrays import from_ints
from tests.three_paths import Sum, Transform, check


def test_sums_and_transforms() -> None:
    """Carries at every window, adversarial points, a bucket larger than a group; transforms."""
    group = "bn254.g1"
    sums = [Sum(group, "any", "carries", 800, window) for window in range(1, MAX_WINDOW + 1)]
    sums += [Sum(group, points, "bits and others", 300) for points in ("opposites", "few")]
    sums += [Sum(group, "any", "1", GROUP + 1), Sum(group, "any", "any", 0)]
    transforms = [
        Transform("bn254", log_n, capped) for log_n in (6, 13) for capped in (False, True)
    ]
    with Pool(2) as pool:
        check(pool, [*sums, *transforms])


@pytest.mark.parametrize("cut", [signed_digits, sorted_digits])
def test_windows_that_digits_do_not_fit(cut) -> None:
    with Pool(1) as pool, pytest.raises(ValueError, match="1 to 15 bits, not 16"):
        cut(pool, from_ints([1], 4), 254, window=MAX_WINDOW + 1)
