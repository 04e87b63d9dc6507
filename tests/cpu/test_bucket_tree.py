"""Batches of affine additions and trees of them, on vectors and on bundles: adversarial points.

Whole sums: `tests/cpu/test_msm.py`.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from snarkcuda.cpu.batch_add import AHEAD, batch_memory
from snarkcuda.cpu.bucket_tree import (
    GROUP,
    add_all_pairs,
    no_marks,
    sum_buckets,
    tree_memory,
)
from snarkcuda.cpu.digits import sorted_digits
from snarkcuda.cpu.fixed_base import Multiples
from snarkcuda.cpu.msm import msm
from snarkcuda.cpu.pool import Cancelled, Pool, Stop
from snarkcuda.cpu.vector_form import to_vector_form
from snarkcuda.curve.params import BLS12_381, BN254, Group
from snarkcuda.curve.points import encode, linear_combination
from snarkcuda.field import ifma
from snarkcuda.field.arrays import U64Array, from_ints, packed, to_ints
from snarkcuda.field.bundle import Bundles
from snarkcuda.field.params import prime_of
from snarkcuda.field.vector_memory import word_count
from snarkcuda.field.vector_rows import address_of
from snarkcuda.field.vector_type import LANES, has_vectors
from snarkcuda.jit import kernel
from tests.naive_groth16 import times_generator
from tests.three_paths import POINTS, SCALARS, Sum, exponents, table

GROUPS = [BN254.g1, BN254.g2, BLS12_381.g1, BLS12_381.g2]
groups = pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)


needs_vectors = pytest.mark.skipif(not has_vectors(), reason="no AVX-512 IFMA")


@pytest.fixture(params=[pytest.param(True, marks=needs_vectors), False], ids=["vectors", "bundles"])
def vectors(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(2) as pool:
        yield pool


@cache
def multiples(group: Group) -> U64Array:
    """i·G for i < 64, and −i·G: infinity twice, and pairs of opposites."""
    r = group.order
    exponents = [*range(64), *(-i % r for i in range(64))]
    with Pool(1) as pool:
        return Multiples(pool, group, 128).of(from_ints(exponents, 4))


def exponent(index: int) -> int:
    return index if index < 64 else 64 - index


def in_form(pool: Pool, group: Group, points: U64Array, vectors: bool) -> np.ndarray:
    """Points as kernels read them."""
    return to_vector_form(pool, prime_of(group.field), points) if vectors else packed(points)


# --- one batch of additions -----------------------------------------------------------------------


@kernel
def _add_all(F: Any, source: Any, codes: Any, n: int, target: Any) -> None:
    """target[i] = source[codes[i, 0] >> 1] + source[codes[i, 1] >> 1], negated for odd codes."""
    size = 16 * word_count(F)
    pairs = np.zeros(2 * (n + 2 * LANES + AHEAD), dtype=np.int64)
    for i in range(n):
        for side in range(2):
            code = codes[i, side]
            pairs[2 * i + side] = address_of(source) + (code >> 1) * size + (code & 1)
    add_all_pairs(F, pairs, n, address_of(target), 0, batch_memory(F))


@groups
@pytest.mark.parametrize("n", [1, 7, 8, 9, 64, 1100])
def test_pairs(group: Group, n: int, vectors: bool, pool: Pool) -> None:
    """Equal, opposite and infinite pairs among others, of either sign, in more than one batch."""
    rng = random.Random(n)
    pairs = [(5, 5), (5, 69), (0, 7), (7, 64), (0, 64), (64, 0), (1, 2), (3, 3), (3, 67)]
    pairs += [(rng.randrange(128), rng.randrange(128)) for _ in range(n)]
    pairs = pairs[-n:] if n < 9 else pairs[:n]
    signs = [(rng.randrange(2), rng.randrange(2)) for _ in pairs]
    codes = [[2 * a + s, 2 * b + t] for (a, b), (s, t) in zip(pairs, signs, strict=True)]
    points = multiples(group)
    target = np.zeros((n + LANES, *points.shape[1:]), dtype=np.uint64)
    source = in_form(pool, group, points, vectors)
    lanes = group.field if vectors else Bundles(group.field)
    _add_all(lanes, source, np.array(codes, dtype=np.int64), n, target)
    prime = prime_of(group.field)
    factor = prime.montgomery * pow(ifma.radix(prime), -1, prime.modulus) if vectors else 1
    found = [x * factor % prime.modulus for x in to_ints(target[:n])]
    for i, ((a, b), (s, t)) in enumerate(zip(pairs, signs, strict=True)):
        total = exponent(a) * (-1) ** s + exponent(b) * (-1) ** t
        expected = points[total] if 0 <= total < 64 else None
        if expected is None:
            generator = encode(group, [group.generator])[0]
            expected = linear_combination(group, [generator], [total])
        n_coordinates = expected.size // prime.limbs
        assert found[i * n_coordinates : (i + 1) * n_coordinates] == to_ints(expected), i


# --- whole sums ----------------------------------------------------------------------------------


@pytest.mark.parametrize("points", POINTS)
@pytest.mark.parametrize("scalars", SCALARS)
@pytest.mark.parametrize("group", [BN254.g1, BLS12_381.g2], ids=lambda group: group.name)
def test_adversarial(group: Group, scalars: str, points: str, vectors: bool, pool: Pool) -> None:
    case = Sum(group.name, points, scalars, 300)
    case.judge(case.outcome(pool, vectors))


@groups
@pytest.mark.parametrize("scalars", ["equal", "bits", "any"])
def test_buckets_larger_than_a_group(group: Group, scalars: str, vectors: bool, pool: Pool) -> None:
    """A bucket of many groups' entries: its pieces join."""
    case = Sum(group.name, "any", scalars, 2 * GROUP + 4321)
    case.judge(case.outcome(pool, vectors))


@pytest.mark.parametrize(
    "scalars", [lambda i: 1, lambda i: 1 + (i >= GROUP - 1), lambda i: 1 + i // 2, lambda i: 1 + i]
)
@pytest.mark.parametrize(
    "points",
    [
        lambda i, n, rng: rng.randrange(255),
        lambda i, n, rng: rng.choice([0, 0, 0, rng.randrange(255)]),
        lambda i, n, rng: 7 if i >= n - 3 else 0,
        lambda i, n, rng: 7 if i < 3 else 0,
        lambda i, n, rng: 1 + i % 2,
    ],
)
def test_pieces_and_tails(
    points: Callable[..., int], scalars: Callable[[int], int], vectors: bool, pool: Pool
) -> None:
    """Buckets that end with a group or go on in the next, from any index on; marks or none.

    With marks a piece may be empty, and its bucket's sum so far stands alone.
    """
    group, rng = BN254.g1, random.Random(7)
    n, logs = 2 * GROUP + 3, exponents(group)
    rows, values = [points(i, n, rng) for i in range(n)], [scalars(i) for i in range(n)]
    digits = sorted_digits(pool, from_ints(values, 4), 254, window=15)
    for first in (0, 1, GROUP - 1, GROUP, n - 1):
        chosen = table(group)[rows[first:]]
        form = in_form(pool, group, chosen, vectors)
        infinite = np.packbits(~chosen.any(axis=(1, 2)), bitorder="little")
        total = sum(k * logs[row] for k, row in zip(values[first:], rows[first:], strict=True))
        expected = times_generator(group, [total])[0]
        for marks in (None, infinite):
            found = msm(pool, group, form, digits.tail(first), infinite=marks, vectors=vectors)
            assert np.array_equal(found, expected), (first, marks is None)


def test_points_whose_x_is_0(vectors: bool, pool: Pool) -> None:
    """(0, ±2) is on BLS12-381, of order 3; only its y tells it from infinity.

    A key may hold it: points of a query are checked against the curve when it is loaded. Sums of
    few points each, as errors of that order cancel in long ones.
    """
    group = BLS12_381.g1
    edges = encode(group, [(0, 2), (0, group.field.modulus - 2)])
    points = np.concatenate([edges, multiples(group)[:2]])  # infinity and G
    digits = sorted_digits(pool, from_ints([1, 1], 4), group.order.bit_length())
    for pair in product(points, repeat=2):
        form = in_form(pool, group, np.stack(pair), vectors)
        found = msm(pool, group, form, digits, vectors=vectors)
        assert np.array_equal(found, linear_combination(group, list(pair), [1, 1]))


def test_stopped_in_the_middle(vectors: bool, pool: Pool) -> None:
    """A kernel that runs sees the flag, and the next sum on the pool is right."""
    group, n = BN254.g1, 1 << 18
    points = in_form(pool, group, multiples(group)[np.arange(n) % 128], vectors)
    scalars = np.random.default_rng(1).integers(0, 1 << 60, size=(n, 4), dtype=np.uint64)
    digits = sorted_digits(pool, scalars, 254, window=13)
    stop = Stop()

    def press() -> None:
        while not pool.fraction():  # a task has begun
            pass
        stop.set()

    thread = threading.Thread(target=press)
    thread.start()
    with pytest.raises(Cancelled):
        msm(pool, group, points, digits, stop, vectors=vectors)
    thread.join()
    case = Sum(group.name, "any", "any", 300)
    case.judge(case.outcome(pool, vectors))


def test_a_stopped_tree_ends_early(vectors: bool, pool: Pool) -> None:
    """One task with all entries in one bucket: it ends between two groups of entries."""
    group, n = BN254.g1, 40 * GROUP
    points = in_form(pool, group, multiples(group)[np.ones(n, dtype=np.int64)], vectors)
    lanes = group.field if vectors else Bundles(group.field)
    sums = np.zeros((8, *multiples(group).shape[1:]), dtype=np.uint64)
    for stopped in (0, 1):
        tasks = np.array([0, 1, stopped], dtype=np.int64)
        sums[:] = 0
        _one_bucket(tasks, lanes, points, np.arange(0, 2 * n, 2, dtype=np.uint32), sums)
        assert sums.any() == (not stopped)


@kernel
def _one_bucket(tasks: Any, F: Any, points: Any, codes: Any, sums: Any) -> None:
    starts = np.array([0, len(codes)])
    tree = tree_memory(F)
    sum_buckets(
        tasks, F, address_of(points), codes, starts, 0, 0, 1, no_marks(), address_of(sums), tree
    )


# --- vector form ---------------------------------------------------------------------------------


@needs_vectors
@groups
@pytest.mark.parametrize("n", [0, 1, 3, 8, 65])
def test_vector_form(group: Group, n: int, pool: Pool) -> None:
    """x·R₅₂ for x·R₆₄, whatever the alignment; infinity stays all zero."""
    prime, points = prime_of(group.field), multiples(group)[:n]
    raw = np.frombuffer(b"\0\0\0\0" + points.tobytes(), dtype=np.uint8)[4:]
    words = to_vector_form(pool, prime, raw).view(np.uint64).reshape(-1, prime.limbs)
    factor = ifma.radix(prime) * pow(prime.montgomery, -1, prime.modulus)
    expected = [x * factor % prime.modulus for x in to_ints(points)] if n else []
    found = to_ints(words) if n else []
    assert [x % prime.modulus for x in found] == expected
    assert all(x <= 2 * prime.modulus for x in found)
    assert [x == 0 for x in found] == [x == 0 for x in expected]
