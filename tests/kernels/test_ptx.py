"""The text of each block against Python integers, with its ranges, on edge and random values."""

import random
from collections import Counter

import pytest

from snarkcuda.field.params import FIELDS, PrimeField
from snarkcuda.kernels.ptx import blocks, is_lazy
from tests.kernels.ptx_interpreter import run

# 2^61 − 1 fills two words but for three bits; 2^314 + 93 leaves six bits of ten words.
SMALL = PrimeField("mersenne_61", 2**61 - 1)
TEN = PrimeField("ten_words", next(p for p in [2**314 + k for k in range(1, 3000, 2)]
                                   if pow(3, p - 1, p) == 1 and pow(5, p - 1, p) == 1))  # fmt: skip
VARIANTS = [(f, lazy) for f in (*FIELDS, SMALL, TEN) for lazy in {is_lazy(f), False}]
RANDOM = 60


@pytest.fixture(params=VARIANTS, ids=lambda v: f"{v[0].name}-{'lazy' if v[1] else 'strict'}")
def variant(request: pytest.FixtureRequest) -> tuple[PrimeField, bool]:
    return request.param


def bound(variant: tuple[PrimeField, bool]) -> int:
    field, lazy = variant
    return (2 if lazy else 1) * field.modulus


def elements(below: int, p: int, seed: object) -> list[int]:
    """Edges of [0, below) and random values in it."""
    edges = {0, 1, 2, p - 1, p, p + 1, 2 * p - 1, below - 1, below // 2, (1 << 32) - 1, 1 << 32}
    draw = random.Random(repr(seed))
    return [v for v in sorted(edges) if v < below] + [draw.randrange(below) for _ in range(RANDOM)]


def pairs(below: int, p: int, seed: object) -> list[tuple[int, int]]:
    values = elements(below, p, seed)
    edges = values[:-RANDOM]
    return [(a, b) for a in edges for b in edges] + list(zip(values, reversed(values), strict=True))


def test_which_fields_are_lazy() -> None:
    assert [is_lazy(field) for field in FIELDS] == [True, True, True, False]


def test_products(variant) -> None:
    (field, lazy), m = variant, bound(variant)
    p, over = field.modulus, field.montgomery_inverse
    block = blocks(field, lazy)["mul"]
    for a, b in pairs(m, p, "mul"):
        found = run(block, a, b)
        assert found < m
        assert found % p == a * b * over % p


def test_loose_products(variant) -> None:
    """As loose as ab ≤ Rp and a ≤ R − p allow: short b of ones make the largest sums of rows."""
    (field, lazy), m = variant, bound(variant)
    p, R, over = field.modulus, field.montgomery, field.montgomery_inverse
    block, draw = blocks(field, lazy)["mul"], random.Random("loose products")
    for a in (R - p, R - p - 1, (R - p) // 2, m - 1):
        most = min(R * p // a, R - 1)
        ones = [(1 << (32 * k)) - 1 for k in range(1, 2 * field.limbs + 1)]
        for b in [most, *(b for b in ones if b <= most), *(draw.randrange(most) for _ in range(9))]:
            found = run(block, a, b)
            assert found < m and found % p == a * b * over % p


def test_squares(variant) -> None:
    (field, lazy), m = variant, bound(variant)
    for a in elements(m, field.modulus, "sqr"):
        found = run(blocks(field, lazy)["sqr"], a)
        assert found < m
        assert found % field.modulus == a * a * field.montgomery_inverse % field.modulus


def test_sums_and_differences(variant) -> None:
    (field, lazy), m, p = variant, bound(variant), variant[0].modulus
    table = blocks(field, lazy)
    for a, b in pairs(m, p, "sums"):
        for name, exact in (("add", a + b), ("sub", a - b)):
            found = run(table[name], a, b)
            assert found < m and found % p == exact % p
        assert run(table["sub_loose"], a, b) == a - b + m
    for a, b in pairs(m, p, "loose"):
        assert run(table["add_loose"], a, b) == a + b
    for a in elements(m, p, "neg"):
        found = run(table["neg"], a)
        assert found < m and found % p == -a % p
    for a in elements(2 * p, p, "canonical"):
        assert run(table["canonical"], a) == a % p


def test_wide(variant) -> None:
    (field, lazy), m, p = variant, bound(variant), variant[0].modulus
    table, R = blocks(field, lazy), field.montgomery
    for a, b in pairs(R, p, "wide"):
        assert run(table["mul_wide"], a, b) == a * b
    for a in elements(R, p, "square"):
        assert run(table["sqr_wide"], a) == a * a
    for t in elements(R * p, p, "reduce"):
        found = run(table["reduce_wide"], t)
        assert found < m and found * R % p == t % p
    for t, u in pairs(R * p, p, "sub_wide"):
        found = run(table["sub_wide"], t, u)
        assert found < R * p and found % p == (t - u) % p


def test_cross_term(variant) -> None:
    (field, lazy), m, p = variant, bound(variant), variant[0].modulus
    table, R = blocks(field, lazy), field.montgomery
    draw = random.Random("cross")
    for cross in elements(2 * m * m, p, "cross"):
        low, high = draw.randrange(m * m), draw.randrange(m * m)
        found = run(table["sub_two_wide"], cross + low + high, low, high)
        assert found < R * p and found % p == cross % p


def test_multiplier_instructions() -> None:
    """One wide product is mad.lo and madc.hi: n² a product and n² + n a reduction."""
    for field in FIELDS:
        n, counts = 2 * field.limbs, Counter()
        run(blocks(field)["mul"], 1, 1, counts=counts)
        multiplies = sum(k for op, k in counts.items() if op.startswith(("mul", "mad")))
        units = field.modulus % (1 << 32) == 1  # its low word is added, its factor is −1
        assert multiplies == 4 * n * n + (-2 * n if units else n)
