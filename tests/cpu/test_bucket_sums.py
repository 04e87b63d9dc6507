"""Buckets of affine points, summed on vectors, are sums of multiples of the generator."""

from __future__ import annotations

import random

import numpy as np
import pytest

from snarkcuda.cpu.bucket_sums import NOTHING, bucket_sums, code_of
from snarkcuda.cpu.fixed_base import Multiples
from snarkcuda.cpu.pool import Pool
from snarkcuda.cpu.vector_form import to_vector_form
from snarkcuda.curve.params import BN254
from snarkcuda.field.arrays import from_ints
from snarkcuda.field.params import prime_of
from snarkcuda.field.vector_type import has_vectors

pytestmark = pytest.mark.skipif(not has_vectors(), reason="no AVX-512 IFMA: scalar path")
GROUP = BN254.g1  # the other groups: tests/cpu/test_fixed_base.py


@pytest.fixture(scope="module")
def pool():
    with Pool(2) as pool:
        yield pool


def check(pool: Pool, buckets: list[list[tuple[int, int] | None]]) -> None:
    """Entries are (exponent, sign) or None; points are i·G for i < 64, infinity among them."""
    table = Multiples(pool, GROUP, 64)
    points = to_vector_form(pool, prime_of(GROUP.field), table.of(from_ints(range(64), 4)))
    codes = [NOTHING if e is None else code_of(*e) for bucket in buckets for e in bucket]
    starts = np.cumsum([0, *map(len, buckets)])
    sums = [sum(e[0] * (-1) ** e[1] for e in bucket if e is not None) for bucket in buckets]
    expected = table.of(from_ints([k % GROUP.order for k in sums], 4))
    found = bucket_sums(pool, GROUP, points, np.array(codes, dtype=np.uint32), starts)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 4095, 4096, 4097, 9000])
def test_any_number_of_buckets(n: int, pool: Pool) -> None:
    """Odd numbers leave half a vector; more than 4,096 are several tasks; every kind of entry."""
    rng = random.Random(n)
    kinds = [None, (0, 0), (7, 0), (7, 1), *((rng.randrange(64), k % 2) for k in range(8))]
    check(pool, [[rng.choice(kinds) for _ in range(rng.randrange(5))] for _ in range(n)])


def test_exceptional_buckets(pool: Pool) -> None:
    """Nothing at all, infinity alone, equal and opposite points, one larger than a tree's group."""
    few = [[], [None], [None] * 20, [(0, 0)], [(0, 1), None], [(5, 1)], [(5, 0)] * 21]
    check(pool, [*few, [(9, 0), (9, 1)] * 10, [(3, 0)] * 17_000, [], [(1, 1), None, (2, 0)]])
