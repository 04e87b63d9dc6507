"""Signed windows of scalars, and their order by bucket."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

from snarkcuda.cpu.digits import (
    _CHUNK,
    MAX_WINDOW,
    n_windows,
    signed_digits,
    sorted_digits,
    window_bits,
)
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.params import BN254, CURVES
from snarkcuda.field.arrays import from_ints


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(3) as pool:
        yield pool


def border_scalars(order: int, c: int) -> list[int]:
    """Each border of a digit in every window, and repeated through all windows at once."""
    digits = [2 ** (c - 1), 2 ** (c - 1) - 1, 2 ** (c - 1) + 1, 2**c - 1, 1, 0]
    shifts = range(0, order.bit_length(), c)
    single = [digit << shift for digit in digits for shift in shifts]
    repeated = [sum(digit << shift for shift in shifts) for digit in digits]
    inside = [k for k in single if k < order] + [k % order for k in repeated]
    return [*inside, order - 1, order - 2, order // 2, order // 2 + 1, 1 << 253]


@pytest.mark.parametrize("order", [c.fr.modulus for c in CURVES], ids=["bn254", "bls12_381"])
@pytest.mark.parametrize("c", range(2, MAX_WINDOW + 1))
def test_digits(pool: Pool, order: int, c: int) -> None:
    """Σ digit·2^(c·w) is the scalar; digits end at ±2^(c−1); the last carry has a window."""
    rng = random.Random(c)
    scalars = border_scalars(order, c) + [rng.randrange(order) for _ in range(200)]
    digits = signed_digits(pool, from_ints(scalars, 4), order.bit_length(), c)
    assert digits.shape == (n_windows(order.bit_length(), c), len(scalars))
    columns = digits.T.astype(object)
    for scalar, column in zip(scalars, columns, strict=True):
        assert sum(int(digit) << (c * w) for w, digit in enumerate(column)) == scalar
    least = -(2 ** (c - 1)) + (c < 16)
    assert least <= int(digits.min())
    assert int(digits.max()) <= least + 2**c - 1


@pytest.mark.parametrize("n", [0, 1, _CHUNK - 1, _CHUNK, _CHUNK + 1, 9 * _CHUNK + 5])
def test_digits_of_many_scalars(pool: Pool, n: int) -> None:
    """Around the size of a task: every column is written."""
    rng = random.Random(n)
    scalars = [rng.randrange(BN254.fr.modulus) for _ in range(n)]
    total = np.zeros(n, dtype=object)
    for w, row in enumerate(signed_digits(pool, from_ints(scalars, 4), 254, 12)):
        total += row.astype(object) * (1 << (12 * w))
    assert total.tolist() == scalars


def test_window_choice() -> None:
    """Grows with n."""
    windows = [window_bits(1 << k, 254) for k in range(25)]
    assert windows == sorted(windows)
    assert windows[0] < windows[12] < windows[-1] == MAX_WINDOW


@pytest.mark.parametrize("c", [1, 2, 3, 4, 13, MAX_WINDOW])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0], ids=lambda share: f"{share} large")
def test_sorted(pool: Pool, c: int, share: float) -> None:
    """Each window's entries by |digit|, indices ascending within, zeros left out."""
    rng, most = random.Random(f"{c} {share}"), (1 << (c - 1)) - (c == MAX_WINDOW)
    large = [most + 1, 1 << 64, 1 << 128, 1 << 192, BN254.fr.modulus - 1]
    scalars = [
        rng.choice([*large, rng.randrange(BN254.fr.modulus)])
        if rng.random() < share
        else rng.choice([0, 1, most, rng.randrange(most + 1)])
        for _ in range(500)
    ]
    values = from_ints(scalars, 4)
    digits, cut = sorted_digits(pool, values, 254, window=c), signed_digits(pool, values, 254, c)
    for row, codes, starts in zip(cut.tolist(), digits.codes, digits.starts, strict=True):
        found = [
            (bucket, int(code))
            for bucket in range(1, len(starts) - 2)
            for code in codes[starts[bucket] : starts[bucket + 1]]
        ]
        expected = [(abs(digit), 2 * i + (digit < 0)) for i, digit in enumerate(row) if digit]
        assert found == sorted(expected)


@pytest.mark.parametrize("bits", [64, 65, 128, 254, 255])
def test_window_of_short_scalars(pool: Pool, bits: int) -> None:
    """Scalars of all their bits are large, however few these are."""
    scalars = from_ints([(1 << bits) - 1 - i for i in range(3000)], 4)
    assert sorted_digits(pool, scalars, bits).window == window_bits(3000, bits)
