"""Pippenger's sums against sums of multiples, on the inputs that have broken other MSMs."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import pytest

from snarkcuda.cpu.digits import MAX_WINDOW, SortedDigits, n_windows, sorted_digits
from snarkcuda.cpu.msm import LEAST_BUCKETS, TASKS, _part_count, msm
from snarkcuda.cpu.pool import Cancelled, Pool, Stop
from snarkcuda.cpu.vector_form import to_vector_form
from snarkcuda.curve.params import BLS12_381, BN254, CURVES, Group
from snarkcuda.curve.points import decode, encode, linear_combination, point_shape
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array, from_ints
from snarkcuda.field.params import prime_of
from snarkcuda.field.vector_type import has_vectors
from tests.cpu.test_digits import border_scalars

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


def digits_of(
    pool: Pool, group: Group, scalars: Sequence[int], window: int | None = None
) -> SortedDigits:
    """The scalars, cut and sorted."""
    bits = group.order.bit_length()
    return sorted_digits(pool, from_ints(scalars, 4), bits, window=window)


def check(
    pool: Pool,
    group: Group,
    points: U64Array,
    scalars: Sequence[int],
    window: int | None = None,
) -> None:
    """The MSM is the sum of multiples, for both forms of points, infinity marked and not."""
    expected = infinity(group)
    if len(points):
        expected = linear_combination(group, list(points), scalars)
    digits, packed = digits_of(pool, group, scalars, window), arrays.packed(points)
    marks = np.packbits(~points.any(axis=tuple(range(1, points.ndim))), bitorder="little")
    forms = {False: packed}
    if has_vectors():
        forms[True] = to_vector_form(pool, prime_of(group.field), packed)
    for vectors, form in forms.items():
        for infinite in (None, marks):
            found = msm(pool, group, form, digits, infinite=infinite, vectors=vectors)
            np.testing.assert_array_equal(found, expected)


def random_scalars(group: Group, n: int, seed: int = 1) -> list[int]:
    """Below r."""
    rng = random.Random(seed)
    return [rng.randrange(group.order) for _ in range(n)]


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
@pytest.mark.parametrize("c", range(1, MAX_WINDOW + 1))
def test_every_window(pool: Pool, group: Group, c: int) -> None:
    """Digits at their borders, in every window, for every window size."""
    scalars = border_scalars(group.order, c)
    step = max(1, len(scalars) // 60)
    scalars = scalars[c % step :: step]
    points = some_points(group)[: len(scalars)]
    check(pool, group, points, scalars, c)


@groups
def test_tails_of_digits(pool: Pool, group: Group) -> None:
    """As the L query takes the private part: digits from one on, with its own points."""
    scalars, points = random_scalars(group, 50), some_points(group)[:50]
    digits = digits_of(pool, group, scalars)
    for first in (0, 1, 2, 49, 50):
        part = digits.tail(first)
        assert len(part) == 50 - first
        result = msm(pool, group, arrays.packed(points[first:]), part)
        expected = infinity(group)
        if first < 50:
            expected = linear_combination(group, list(points[first:]), scalars[first:])
        np.testing.assert_array_equal(result, expected)
    again = msm(pool, group, arrays.packed(points[30:]), digits.tail(10).tail(20))
    expected = linear_combination(group, list(points[30:]), scalars[30:])
    np.testing.assert_array_equal(again, expected)


@groups
def test_points_at_any_address(pool: Pool, group: Group) -> None:
    """Sections of a mapped file need not be aligned, and are read-only."""
    points, scalars = some_points(group)[:9], random_scalars(group, 9)
    expected = linear_combination(group, list(points), scalars)
    for offset in range(8):
        buffer = np.frombuffer(bytes(offset) + points.tobytes(), dtype=np.uint8)[offset:]
        result = msm(pool, group, buffer, digits_of(pool, group, scalars))
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("group", [BN254.g1, BLS12_381.g1], ids=["bn254", "bls12_381"])
def test_many_points(pool: Pool, group: Group) -> None:
    """10,000; the first 300 repeated, so that the sum is one of 300 multiples."""
    n = 10_000
    points = np.concatenate([some_points(group)] * 34)[:n]
    scalars = random_scalars(group, n)
    folded = [sum(scalars[i::300]) for i in range(300)]
    expected = linear_combination(group, list(some_points(group)), folded)
    result = msm(pool, group, arrays.packed(points), digits_of(pool, group, scalars))
    np.testing.assert_array_equal(result, expected)


@groups
def test_any_number_of_threads(group: Group) -> None:
    """The same bytes."""
    scalars, points = random_scalars(group, 200), some_points(group)[:200]
    results = []
    for threads in (1, 2, 5, 33):
        with Pool(threads) as pool:
            digits = digits_of(pool, group, scalars)
            results.append(msm(pool, group, arrays.packed(points), digits).tobytes())
    assert len(set(results)) == 1


@groups
def test_cancelled(pool: Pool, group: Group) -> None:
    """A set stop ends both halves."""
    stop = Stop()
    digits = digits_of(pool, group, [1, 2, 3])
    stop.set()
    with pytest.raises(Cancelled):
        sorted_digits(pool, from_ints([1], 4), 254, stop)
    with pytest.raises(Cancelled):
        msm(pool, group, arrays.packed(some_points(group)[:3]), digits, stop)


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
        ours = msm(
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
            msm(pool, group, arrays.packed(some_points(group)[:n]), digits)


@pytest.mark.parametrize("threads", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("window", [2, 9, 10, 13, 15, 16])
def test_parts_of_a_window(threads: int, window: int) -> None:
    """Enough tasks that divide evenly, unless buckets are too few."""
    rows, n_buckets = n_windows(254, window), max(8, 1 << (window - 1))
    parts = _part_count(rows, n_buckets, threads)
    assert n_buckets % parts == 0
    tasks = rows * parts
    idle = -tasks % threads
    enough = tasks >= TASKS * threads and idle <= tasks / 32
    assert enough or n_buckets // parts <= LEAST_BUCKETS
    if parts > 1:  # half as many would not have done
        idle = -(tasks // 2) % threads
        assert tasks // 2 < TASKS * threads or idle > tasks / 64
