"""`Vector(F, k)` against Python ints, on edge and random values at the ends of their ranges."""

from __future__ import annotations

import random

import numpy as np
import pytest

from snarkcuda.field import ifma
from snarkcuda.field.arrays import from_ints, to_ints
from snarkcuda.field.bound import Bound, BoundError, lazy
from snarkcuda.field.naive import canonical, naive
from snarkcuda.field.params import (
    BLS12_381_FQ,
    BN254_FQ,
    FIELDS,
    Field,
    PrimeField,
    prime_of,
)
from snarkcuda.field.vector_ranges import fit, fit_product
from snarkcuda.field.vector_type import has_vectors
from tests.field import vector_kernels as kernels

pytestmark = pytest.mark.skipif(not has_vectors(), reason="no AVX-512 IFMA: scalar path")
ALL: list[Field] = [*FIELDS, BN254_FQ.extension, BLS12_381_FQ.extension]
every_field = pytest.mark.parametrize("field", ALL, ids=lambda field: field.name)


def values(field: Field, rng: random.Random, count: int) -> list[int]:
    """Raw words of `count` elements, each coefficient in [0, 2p]."""
    p = prime_of(field).modulus
    edges = [0, 1, p - 1, p, p + 1, 2 * p - 1, 2 * p, (1 << 52) - 1, 1 << 52, (1 << 208) - 1]
    return [
        rng.choice(edges) if rng.random() < 0.5 else rng.randrange(2 * p + 1)
        for _ in range(count * field.level)
    ]


def rows(field: Field, raw: list[int]) -> np.ndarray:
    return from_ints(raw, prime_of(field).limbs).reshape(-1, field.words)


def elements(field: Field, raw: list[int]) -> list:
    """What raw words stand for: x/R modulo p, as `Residue` or `Extension`."""
    prime = prime_of(field)
    over_r = pow(ifma.radix(prime), -1, prime.modulus)
    plain = [x * over_r % prime.modulus for x in raw]
    if isinstance(field, PrimeField):
        return [naive(field, x) for x in plain]
    return [naive(field, pair) for pair in zip(plain[::2], plain[1::2], strict=True)]


def read(field: Field, array: np.ndarray) -> list[int]:
    raw = to_ints(array.reshape(-1, prime_of(field).limbs))
    assert max(raw) <= 2 * prime_of(field).modulus
    return raw


@every_field
def test_every_word(field: Field) -> None:
    rng = random.Random(field.name)
    for _ in range(40):
        raw = [values(field, rng, 8) for _ in range(4)]
        out = np.zeros((8 * len(kernels.WORDS), field.words), dtype=np.uint64)
        kernels.every_word(field, *(rows(field, r) for r in raw), out)
        found = elements(field, read(field, out))
        for lane, (x, y, z, w) in enumerate(zip(*(elements(field, r) for r in raw), strict=True)):
            p = x + y + z + w + x + y + z + w + x + y
            q = x - y - z - w - x - y - z - w - x - y
            expected = [x + y, x - y, -x, x * y, x * x, x * y - z * w]
            difference = q - p
            expected += [p * q - (p + p) * difference * difference, x.inverse()]
            expected += [x.constant(1), x.constant(0)]
            for word, value in enumerate(expected):
                got = found[8 * word + lane]
                assert canonical(got) == canonical(value), (kernels.WORDS[word], lane)


@every_field
def test_tests_and_reduction(field: Field) -> None:
    """Zero is any multiple of p; null is the number 0; reduced is below p."""
    prime, rng = prime_of(field), random.Random(1)
    p = prime.modulus
    zeros = [0, p, 2 * p]
    for _ in range(40):
        a, b = values(field, rng, 8), values(field, rng, 8)
        for lane in range(0, 8, 2):
            for k in range(field.level):
                b[lane * field.level + k] = rng.choice(zeros)
        masks, out = np.zeros(5, dtype=np.uint64), np.zeros((24, field.words), dtype=np.uint64)
        kernels.tests(field, rows(field, a), rows(field, b), masks, out)
        raw = read(field, out)
        n = 8 * field.level
        assert raw[:n] == [x % p for x in a]
        assert raw[n : 2 * n] == [(x - y) % p for x, y in zip(a, b, strict=True)]
        for lane in range(8):
            part = slice(lane * field.level, (lane + 1) * field.level)
            xs, ys, bit = a[part], b[part], 1 << lane
            is_zero = all(x % p == 0 for x in xs)
            same = all((x - y) % p == 0 for x, y in zip(xs, ys, strict=True))
            assert bool(int(masks[0]) & bit) == is_zero
            assert bool(int(masks[3]) & bit) == same
            assert bool(int(masks[2]) & bit) == all(x == 0 for x in xs)
            assert int(masks[1]) & bit or not is_zero
            assert int(masks[4]) & bit or not same
            chosen = xs if all(y % p == 0 for y in ys) else ys
            assert raw[2 * n :][part] == chosen


@every_field
def test_loose_limbs(field: Field) -> None:
    """Values at the borders where the highest limb decides: multiples of p, of a limb, all ones."""
    prime, level, rng = prime_of(field), field.level, random.Random(7)
    p, high = prime.modulus, 52 * (ifma.limb_count(prime) - 1)
    edges = [
        0,
        1,
        p - 1,
        p,
        p + 1,
        2 * p - 1,
        2 * p,
        (p >> high) << high,
        ((p >> high) << high) - 1,
    ]
    edges += [(((m * p) >> high) + d << high) - e for m in (1, 2) for d in (0, 1) for e in (0, 1)]
    edges += [m * p // 3 + e for m in (1, 2, 3, 4, 5) for e in (0, 1)]  # 3x and 6x near multiples
    edges = [x for x in edges if 0 <= x <= 2 * p]
    over = pow(ifma.radix(prime), -1, p)
    for _ in range(40):
        a, b = ([rng.choice(edges) for _ in range(8 * level)] for _ in range(2))
        out = np.zeros((64, field.words), dtype=np.uint64)
        kernels.loose(field, rows(field, a), rows(field, b), out)
        found = read(field, out)
        n = 8 * level
        assert found[:n] == [3 * x % p for x in a]
        assert found[n : 2 * n] == found[2 * n : 3 * n] == [6 * x % p for x in a]
        differences = [(x - y) % p for x, y in zip(a, b, strict=True)]
        assert found[3 * n : 4 * n] == found[5 * n : 6 * n] == differences
        if level == 1:
            expected = [(x * y * over + 2 * x - y) % p for x, y in zip(a, b, strict=True)]
            assert found[4 * n : 5 * n] == expected
        lane = [a[3 * level : 4 * level], b[3 * level : 4 * level]]
        assert found[6 * n : 7 * n] == [x for i in range(8) for x in lane[i % 2]]
        assert found[7 * n :] == a


@every_field
def test_memory(field: Field) -> None:
    rng, level = random.Random(2), field.level
    raw = values(field, rng, 40)
    for x in range(4 * level):
        raw[x] = 0  # point 0 is infinity
    indices = np.array([2 * 3, 2 * 5 + 1, 0, 1, 2 * 7, 2 * 9 + 1, 2 * 2, 2 * 4 + 1], dtype=np.int64)
    out = np.zeros((80, field.words), dtype=np.uint64)
    kernels.memory(field, rows(field, raw), indices, out)
    found, p = read(field, out), prime_of(field).modulus

    def at(array: list[int], index: int) -> list[int]:
        return array[level * index : level * (index + 1)]

    for lane, code in enumerate(indices.tolist()):
        assert at(found, lane) == at(raw, code + 1)
        assert at(found, 8 + lane) == at(raw, 3)
        assert at(found, 16 + lane) == at(raw, lane)
        x, y = at(raw, 2 * (code >> 1)), at(raw, 2 * (code >> 1) + 1)
        if code & 1:
            y = [2 * p - value for value in y]
        assert at(found, 24 + lane) == x
        assert at(found, 32 + lane) == y
    written = {code >> 1: lane for lane, code in enumerate(indices.tolist())}
    for row, lane in written.items():
        assert at(found, 40 + 2 * row) == at(found, 24 + lane)
        assert at(found, 41 + 2 * row) == at(found, 32 + lane)


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_ranges_are_proved(field: PrimeField) -> None:
    """What operands are brought down to fits one reduction, by `Bound`'s rules."""
    for factor in (1, 2, 4):
        for ka in (1, 2, 3, 5, 8, 17, 33):
            for kb in (1, 2, 4, 9, 33):
                ((a, b),) = fit_product(field, factor, [(ka, kb)])
                product = Bound(lazy(field), a * factor) * Bound(lazy(field), b)
                assert product.k <= 2
    most = ifma.product_slack(field)
    assert (Bound(lazy(field), 1) * Bound(lazy(field), most)).k <= 2
    with pytest.raises(BoundError, match="Montgomery"):
        Bound(lazy(field), 1) * Bound(lazy(field), most + 1)
    for ks in ([2, 2], [30, 30], [80, 80], [33, 2]):
        assert sum(fit(field, ks)) <= lazy(field).slack
