"""Digits on a device against Python's: what each bucket holds, and in which bucket chunks begin."""

from __future__ import annotations

import random

import numpy as np
import pytest

from snarkcuda.field import arrays
from snarkcuda.field.params import BLS12_381_FR, BN254_FR
from snarkcuda.kernels.msm import group_digits
from snarkcuda.kernels.msm_digits import MAX_WINDOW
from snarkcuda.kernels.msm_group import CHUNK, TOTAL, TOTALS
from snarkcuda.kernels.msm_plan import SMALL, Geometry, msm_shape, n_windows
from snarkcuda.kernels.target import simulated

FIELDS = (BN254_FR, BLS12_381_FR)
GEOMETRY = SMALL if simulated() else Geometry()


def digits_of(k, r, c):
    """(window, digit) of k, by the definition: none of them 0."""
    sign, k = (1, k) if k <= (r - 1) // 2 else (-1, r - k)
    window = 0
    while k:
        digit = k % (1 << c)
        if digit > 1 << (c - 1):
            digit -= 1 << c
        k = (k - digit) >> c
        if digit:
            yield window, sign * digit
        window += 1


def buckets_of(s, scalars):
    """Bucket → the set of its entries, as `msm_digits` and `msm_group` number both."""
    found: dict[int, set[int]] = {}
    for i, k in enumerate(scalars):
        if min(k, s.field.modulus - k) == 1:
            found.setdefault(0, set()).add(2 * i + (k != 1))
            continue
        for window, digit in digits_of(k, s.field.modulus, s.window):
            multiple, group = divmod(window, s.groups)
            high, bin_ = divmod(abs(digit) - 1, 1 << s.log_bins)
            place = (group << (s.window - 1 - s.log_bins)) + high
            bucket = 1 + bin_ * s.places + place
            found.setdefault(bucket, set()).add(2 * (multiple * s.n + i) + (digit < 0))
    return found


def words(stream, array):
    found = np.empty(array.size, dtype=np.uint32)
    stream.download(array, found)
    return found.astype(np.int64)


def check(arena, scope, stream, s, scalars):
    there = scope.upload(arrays.from_ints(scalars or [0], 4))
    grouping = group_digits(scope, s, there)
    entries, starts = words(stream, grouping.entries), words(stream, grouping.starts)
    expected = buckets_of(s, scalars)
    totals = words(stream, grouping.totals)
    assert len(totals) == TOTALS and totals[TOTAL] == sum(map(len, expected.values()))
    assert len(starts) == s.buckets + 1 and starts[0] == 0 and starts[-1] == totals[TOTAL]
    for bucket in range(s.buckets):
        lies = entries[starts[bucket] : starts[bucket + 1]]
        assert len(set(lies)) == len(lies) and set(lies) == expected.get(bucket, set()), bucket
    chunk = totals[CHUNK]
    assert chunk == max(s.geometry.least_chunk, -(-totals[TOTAL] // s.geometry.chunks))
    firsts = range(0, totals[TOTAL], chunk)
    assert len(firsts) <= s.chunks
    begins = words(stream, grouping.chunk_buckets)[: len(firsts)]
    for first, bucket in zip(firsts, begins, strict=True):
        assert starts[bucket] <= first < starts[bucket + 1]


def edges(field, c, draw):
    """What has no digits, one, all, or carries through every window."""
    r = field.modulus
    carries = [sum(d << (c * w) for w in range(-(-255 // c))) % r
               for d in ((1 << c) - 1, 1 << (c - 1), (1 << (c - 1)) + 1)]  # fmt: skip
    few = [0, 1, r - 1, 2, r - 2, (r - 1) // 2, (r + 1) // 2, 1 << (c - 1), (1 << c) - 1, 1 << c]
    return [*few, *carries, *(draw.randrange(r) for _ in range(8))]


@pytest.mark.parametrize("multiples", [None, 3, 1])
@pytest.mark.parametrize("window", [2, 5, 7])
@pytest.mark.parametrize("field", FIELDS, ids=lambda f: f.name)
def test_every_digit_is_in_its_bucket(device, arena, scope, stream, field, window, multiples):
    draw = random.Random(f"{field.name} {window}")
    scalars = edges(field, window, draw)
    draw.shuffle(scalars)
    s = msm_shape(field, len(scalars), multiples, window, GEOMETRY)
    assert s.tiles > 1 or not simulated()
    check(arena, scope, stream, s, scalars)


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 17])
def test_sizes(device, arena, scope, stream, n) -> None:
    draw = random.Random(n)
    scalars = [draw.randrange(BN254_FR.modulus) for _ in range(n)]
    check(arena, scope, stream, msm_shape(BN254_FR, n, window=6, geometry=GEOMETRY), scalars)


@pytest.mark.parametrize("kind", ["zeros", "ones", "minus ones", "equal", "bits"])
def test_lopsided(device, arena, scope, stream, kind) -> None:
    """One bucket with all there is, or none."""
    field, n, draw = BLS12_381_FR, 30, random.Random(kind)
    r = field.modulus
    scalars = {
        "zeros": [0] * n,
        "ones": [1] * n,
        "minus ones": [r - 1] * n,
        "equal": [draw.randrange(r)] * n,
        "bits": [draw.choice((0, 0, 1, 1, draw.randrange(r))) for _ in range(n)],
    }[kind]
    check(arena, scope, stream, msm_shape(field, n, window=6, geometry=GEOMETRY), scalars)


@pytest.mark.parametrize("field", FIELDS, ids=lambda f: f.name)
def test_windows_hold_every_scalar(field) -> None:
    """And none is too many: of every size, as `digits_of` cuts the largest scalars."""
    r = field.modulus
    for c in range(2, MAX_WINDOW + 1):
        large = [(r - 1) // 2 - i for i in range(3)] + [(r + 1) // 2]
        large.append(((1 << (c * (n_windows(field, c) - 1))) - 1) % ((r + 1) // 2))
        highest = max(window for k in large for window, _ in digits_of(k, r, c))
        assert highest == n_windows(field, c) - 1
        assert all(abs(d) <= 1 << (c - 1) for k in large for _, d in digits_of(k, r, c))


def test_shapes() -> None:
    """What the layout can hold, at every size and budget that a proof may have."""
    for field in FIELDS:
        for log_n in range(28):
            for multiples in (None, 6, 2, 1):
                n = 1 << log_n
                if multiples != 1 and log_n > 26:
                    continue
                s = msm_shape(field, n, multiples)
                assert s.log_run >= 0 and s.places << s.log_bins == s.buckets - 1
                assert s.step * s.multiples >= s.windows * s.window
                assert s.level_sizes()[-1] <= s.geometry.sums


@pytest.mark.parametrize("n, window", [(100, 1), (100, 25), (1 << 27, 8)])
def test_shapes_that_there_are_not(n, window) -> None:
    with pytest.raises(ValueError, match=f"no shape for {n} scalars, windows of {window} bits"):
        msm_shape(BN254_FR, n, window=window)
