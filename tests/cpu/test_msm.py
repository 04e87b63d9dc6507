"""Pippenger's sums against sums of multiples, on the inputs that have broken other MSMs."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np
import pytest

from snarkcuda.cpu import msm
from snarkcuda.cpu.pool import Cancelled, Pool, Stop
from snarkcuda.curve.params import BLS12_381, BN254, CURVES, Group
from snarkcuda.curve.points import decode, encode, linear_combination, point_shape
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array, from_ints

GROUPS = [group for curve in CURVES for group in (curve.g1, curve.g2)]
groups = pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(3) as pool:
        yield pool


@cache
def some_points(group: Group, n: int = 300) -> U64Array:
    """Points with nothing in common: i-th powers of 3 times the generator, read-only."""
    generator = encode(group, [group.generator])[0]
    exponents = [pow(3, 5 + i, group.order) for i in range(n)]
    result = np.stack([linear_combination(group, [generator], [k]) for k in exponents])
    result.flags.writeable = False
    return result


def multiple(group: Group, point: U64Array, k: int) -> U64Array:
    """k·point."""
    return linear_combination(group, [point], [k])


def infinity(group: Group) -> U64Array:
    """All zero."""
    return np.zeros(point_shape(group), dtype=np.uint64)


def digits_of(pool: Pool, group: Group, scalars: Sequence[int]) -> msm.Digits:
    """The scalars, cut."""
    return msm.signed_digits(pool, from_ints(scalars, 4), group.order.bit_length())


def check(pool: Pool, group: Group, points: U64Array, scalars: Sequence[int]) -> None:
    """The MSM is the sum of multiples."""
    result = msm.msm(pool, group, arrays.packed(points), digits_of(pool, group, scalars))
    expected = infinity(group)
    if len(points):
        expected = linear_combination(group, list(points), scalars)
    np.testing.assert_array_equal(result, expected)


def random_scalars(group: Group, n: int, seed: int = 1) -> list[int]:
    """Below r."""
    rng = random.Random(seed)
    return [rng.randrange(group.order) for _ in range(n)]


@pytest.fixture
def force_window(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Makes `signed_digits` use windows of c bits."""
    return lambda c: monkeypatch.setattr(msm, "window_bits", lambda n, bits: c)


# --- digits -----------------------------------------------------------------------------------


def border_scalars(order: int, c: int) -> list[int]:
    """Each border of a digit in every window, and repeated through all windows at once."""
    digits = [2 ** (c - 1), 2 ** (c - 1) - 1, 2 ** (c - 1) + 1, 2**c - 1, 1, 0]
    shifts = range(0, order.bit_length(), c)
    single = [digit << shift for digit in digits for shift in shifts]
    repeated = [sum(digit << shift for shift in shifts) for digit in digits]
    inside = [k for k in single if k < order] + [k % order for k in repeated]
    return [*inside, order - 1, order - 2, order // 2, order // 2 + 1, 1 << 253]


@pytest.mark.parametrize("order", [c.fr.modulus for c in CURVES], ids=["bn254", "bls12_381"])
@pytest.mark.parametrize("c", range(2, msm.MAX_WINDOW + 1))
def test_digits(pool: Pool, force_window: Callable[[int], None], order: int, c: int) -> None:
    """Σ digit·2^(c·w) is the scalar; digits end at ±2^(c−1); the last carry has a window."""
    force_window(c)
    rng = random.Random(c)
    scalars = border_scalars(order, c) + [rng.randrange(order) for _ in range(200)]
    digits = msm.signed_digits(pool, from_ints(scalars, 4), order.bit_length())
    assert (digits.window, len(digits)) == (c, len(scalars))
    assert digits.values.shape[0] == msm.n_windows(order.bit_length(), c)
    columns = digits.values.T.astype(object)
    for scalar, column in zip(scalars, columns, strict=True):
        assert sum(int(digit) << (c * w) for w, digit in enumerate(column)) == scalar
    least = -(2 ** (c - 1)) + (c < 16)
    assert least <= int(digits.values.min())
    assert int(digits.values.max()) <= least + 2**c - 1


@pytest.mark.parametrize("n", [0, 1, 4095, 4096, 4097, 9000])
def test_digits_of_many_scalars(pool: Pool, n: int) -> None:
    """Around the size of a task: every column is written."""
    scalars = random_scalars(BN254.g1, n)
    digits = digits_of(pool, BN254.g1, scalars)
    total = np.zeros(n, dtype=object)
    for w, row in enumerate(digits.values):
        total += row.astype(object) * (1 << (digits.window * w))
    assert total.tolist() == scalars


def test_window_choice() -> None:
    """Grows with n."""
    windows = [msm.window_bits(1 << k, 254) for k in range(25)]
    assert windows == sorted(windows)
    assert windows[0] < windows[12] < windows[-1] == msm.MAX_WINDOW


# --- sums -------------------------------------------------------------------------------------


@groups
@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 127, 128, 129, 255, 256, 257])
def test_sizes(pool: Pool, group: Group, n: int) -> None:
    """Random scalars; the empty sum is infinity."""
    check(pool, group, some_points(group)[:n], random_scalars(group, n))


@groups
def test_edge_scalars(pool: Pool, group: Group) -> None:
    """Each alone, all equal, all at the top, mostly 0 and 1."""
    points, r = some_points(group)[:64], group.order
    edges = [0, 1, 2, 3, r - 1, r - 2, r // 2, 1 << 64, (1 << 64) - 1, (1 << 128) - 1, 1 << 253]
    for k in edges:
        check(pool, group, points[:1], [k])
        check(pool, group, points, [k] * 64)
    rng = random.Random(1)
    check(pool, group, points, [rng.choice(edges) for _ in range(64)])
    check(pool, group, points, [rng.choice([0, 0, 0, 1]) for _ in range(64)])
    check(pool, group, points, [*[0] * 63, r - 1])


@groups
def test_infinity_among_the_points(pool: Pool, group: Group) -> None:
    """First, last, several, all of them; with any scalar."""
    good, r = some_points(group)[:20], group.order
    for where in ([0], [19], [0, 1, 2], [5, 10, 19], range(0, 20, 2), range(1, 20), range(20)):
        points = good.copy()
        points[list(where)] = 0
        check(pool, group, points, random_scalars(group, 20))
        check(pool, group, points, [1] * 20)
        check(pool, group, points, [r - 1] * 20)


@groups
def test_equal_and_opposite_points(pool: Pool, group: Group) -> None:
    """They meet in one bucket: doublings and sums that are infinity on the way."""
    p, r = some_points(group)[0], group.order
    minus = multiple(group, p, -1)
    check(pool, group, np.stack([p] * 50), [3] * 50)
    check(pool, group, np.stack([p] * 50), random_scalars(group, 50))
    check(pool, group, np.stack([p, minus]), [7, 7])  # infinity
    check(pool, group, np.stack([p, minus] * 20), [7] * 40)
    check(pool, group, np.stack([p, minus, p]), [7, 7, 7])
    check(pool, group, np.stack([p, p]), [5, r - 5])  # infinity, by opposite digits
    check(pool, group, np.stack([p, minus] * 20), random_scalars(group, 40))
    doubled = multiple(group, p, 2)
    check(pool, group, np.stack([p, p, doubled, minus]), [1, 1, 1, 1])
    # Buckets b and b + 1 hold multiples that make the two running sums equal or opposite.
    check(pool, group, np.stack([p, p, minus]), [1, 2, 3])


@groups
@pytest.mark.parametrize("c", range(2, msm.MAX_WINDOW + 1))
def test_every_window(
    pool: Pool, force_window: Callable[[int], None], group: Group, c: int
) -> None:
    """Digits at their borders, in every window, for every window size."""
    force_window(c)
    scalars = border_scalars(group.order, c)
    step = max(1, len(scalars) // 60)
    scalars = scalars[c % step :: step]
    points = some_points(group)[: len(scalars)]
    assert digits_of(pool, group, scalars).window == c
    check(pool, group, points, scalars)


@groups
def test_points_split_into_groups(force_window: Callable[[int], None], group: Group) -> None:
    """Many threads and few windows: each window's points are split, and the parts add up."""
    force_window(5)
    rows = msm.n_windows(group.order.bit_length(), 5)
    with Pool(40) as pool:
        for n in (128, 200, 255, 256, 257, 300):
            assert msm._group_count(n, rows, 5, pool.threads) > 1
            check(pool, group, some_points(group)[:n], random_scalars(group, n))
            check(pool, group, some_points(group)[:n], [group.order - 1] * n)
        assert msm._group_count(63, rows, 5, pool.threads) == 1
        check(pool, group, some_points(group)[:63], random_scalars(group, 63))


@groups
@pytest.mark.parametrize("n_groups", [2, 3, 7, 64])
def test_any_number_of_groups(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, group: Group, n_groups: int
) -> None:
    """Also more groups than points: empty ones add infinity."""
    monkeypatch.setattr(msm, "_group_count", lambda *_: n_groups)
    for n in (1, 2, 5, 63, 64, 65):
        check(pool, group, some_points(group)[:n], random_scalars(group, n))


@groups
def test_tails_of_digits(pool: Pool, group: Group) -> None:
    """As the L query takes the private part: digits from one on, with its own points."""
    scalars, points = random_scalars(group, 50), some_points(group)[:50]
    digits = digits_of(pool, group, scalars)
    for first in (0, 1, 2, 49, 50):
        part = digits.tail(first)
        assert len(part) == 50 - first
        result = msm.msm(pool, group, arrays.packed(points[first:]), part)
        expected = infinity(group)
        if first < 50:
            expected = linear_combination(group, list(points[first:]), scalars[first:])
        np.testing.assert_array_equal(result, expected)
    again = msm.msm(pool, group, arrays.packed(points[30:]), digits.tail(10).tail(20))
    expected = linear_combination(group, list(points[30:]), scalars[30:])
    np.testing.assert_array_equal(again, expected)


@groups
def test_points_at_any_address(pool: Pool, group: Group) -> None:
    """Sections of a mapped file need not be aligned, and are read-only."""
    points, scalars = some_points(group)[:9], random_scalars(group, 9)
    expected = linear_combination(group, list(points), scalars)
    for offset in range(8):
        buffer = np.frombuffer(bytes(offset) + points.tobytes(), dtype=np.uint8)[offset:]
        result = msm.msm(pool, group, buffer, digits_of(pool, group, scalars))
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("group", [BN254.g1, BLS12_381.g1], ids=["bn254", "bls12_381"])
def test_more_points_than_a_chunk(pool: Pool, group: Group) -> None:
    """10,000 points; the first 300 repeated, so that the sum is one of 300 multiples."""
    n = 10_000
    points = np.concatenate([some_points(group)] * 34)[:n]
    scalars = random_scalars(group, n)
    folded = [sum(scalars[i::300]) for i in range(300)]
    expected = linear_combination(group, list(some_points(group)), folded)
    result = msm.msm(pool, group, arrays.packed(points), digits_of(pool, group, scalars))
    np.testing.assert_array_equal(result, expected)


@groups
def test_any_number_of_threads(group: Group) -> None:
    """The same bytes."""
    scalars, points = random_scalars(group, 200), some_points(group)[:200]
    results = []
    for threads in (1, 2, 5, 33):
        with Pool(threads) as pool:
            digits = digits_of(pool, group, scalars)
            results.append(msm.msm(pool, group, arrays.packed(points), digits).tobytes())
    assert len(set(results)) == 1


@groups
def test_cancelled(pool: Pool, group: Group) -> None:
    """A set stop ends both halves."""
    stop = Stop()
    digits = digits_of(pool, group, [1, 2, 3])
    stop.set()
    with pytest.raises(Cancelled):
        msm.signed_digits(pool, from_ints([1], 4), 254, stop)
    with pytest.raises(Cancelled):
        msm.msm(pool, group, arrays.packed(some_points(group)[:3]), digits, stop)


# --- another implementation -------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 300])
def test_arkworks(pool: Pool, n: int) -> None:
    """BLS12-381 against arkworks' own multi-exponentiation, G1 and G2."""
    arkworks = pytest.importorskip("py_arkworks_bls12381")
    scalars = random_scalars(BLS12_381.g1, n, seed=n)
    theirs = [arkworks.Scalar.from_le_bytes(k.to_bytes(32, "little")) for k in scalars]
    for group, kind in ((BLS12_381.g1, arkworks.G1Point), (BLS12_381.g2, arkworks.G2Point)):
        multiples = [pow(3, 5 + i, group.order) for i in range(n)]
        generator = kind()
        points = [
            generator * arkworks.Scalar.from_le_bytes(k.to_bytes(32, "little")) for k in multiples
        ]
        expected = bytes(kind.multiexp_unchecked(points, theirs).to_xy_bytes_be())
        ours = msm.msm(
            pool, group, arrays.packed(some_points(group)[:n]), digits_of(pool, group, scalars)
        )
        ((x, y),) = decode(group, ours[None])
        flat = [x, y] if group is BLS12_381.g1 else [*x, *y]
        assert b"".join(c.to_bytes(48, "big") for c in flat) == expected


@groups
def test_points_and_scalars_of_different_numbers(pool: Pool, group: Group) -> None:
    """Refused, not cut to the shorter, and nothing is read past the end."""
    digits = digits_of(pool, group, random_scalars(group, 5))
    for n in (4, 6):
        with pytest.raises(ValueError, match="do not go with 5 scalars"):
            msm.msm(pool, group, arrays.packed(some_points(group)[:n]), digits)
