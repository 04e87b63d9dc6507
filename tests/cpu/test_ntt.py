"""Transforms against the definition: interpolate naively, evaluate with Horner's rule."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from snarkcuda.cpu import ntt
from snarkcuda.cpu.pool import Cancelled, Pool, Stop
from snarkcuda.curve.params import CURVES, Curve
from snarkcuda.field.arrays import U64Array, from_ints, to_ints
from snarkcuda.field.params import PrimeField
from snarkcuda.field.vector_type import has_vectors
from tests.naive_groth16 import evaluate, interpolate, root_of_unity, value_at

curves = pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
adicity = pytest.mark.parametrize("capped", [False, True], ids=["root of 2n", "shift 25"])


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(3) as pool:
        yield pool


class Shifted(ntt.Domain):
    """A domain with any shift."""

    def __init__(self, field: PrimeField, log_n: int, shift: int) -> None:
        super().__init__(field, log_n, field.two_adicity)
        self.__dict__["shift"] = shift


def to_array(field: PrimeField, polynomials: Sequence[Sequence[int]]) -> U64Array:
    """Montgomery form, (k, n, limbs)."""
    values = [field.to_montgomery(v) for polynomial in polynomials for v in polynomial]
    return from_ints(values, field.limbs).reshape(len(polynomials), -1, field.limbs)


def to_lists(field: PrimeField, array: U64Array) -> list[list[int]]:
    """The inverse of `to_array`."""
    return [[field.from_montgomery(v) for v in to_ints(row)] for row in array]


def coset(curve: Curve, pool: Pool, domain: ntt.Domain, values: list[list[int]]) -> list[list[int]]:
    """What `to_coset` makes of them."""
    array = to_array(curve.fr, values)
    ntt.to_coset(pool, ntt.tables(pool, domain), array)
    if has_vectors():
        again = to_array(curve.fr, values)
        ntt.to_coset(pool, ntt.tables(pool, domain, vectors=True), again)
        assert np.array_equal(again, array)  # reduced, too
    return to_lists(curve.fr, array)


def shift_of(curve: Curve, n: int, capped: bool) -> int:
    """By the definition of a circom key's H query."""
    return 25 if capped else root_of_unity(curve, 2 * n)


@curves
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize(
    "log_n, capped", [(n, capped) for n in range(8) for capped in (False, True) if n or not capped]
)
def test_every_point_of_small_domains(
    pool: Pool, curve: Curve, k: int, log_n: int, capped: bool
) -> None:
    """Random values, zeros, ones, r − 1 everywhere, and a single 1."""
    p, n = curve.fr.modulus, 1 << log_n
    domain = ntt.domain_of_size(curve.fr, n, log_n if capped else None)
    root, shift = root_of_unity(curve, n), shift_of(curve, n, capped)
    assert (domain.n, domain.root, domain.shift) == (n, root, shift)
    rng = random.Random(n)
    rows = [[rng.randrange(p) for _ in range(n)] for _ in range(k)]
    rows[-1] = [[0] * n, [1] * n, [p - 1] * n, [*[0] * (n - 1), 1]][log_n % 4]
    points = [shift * pow(root, i, p) % p for i in range(n)]
    expected = []
    for row in rows:
        polynomial = interpolate(curve, row)
        expected.append([evaluate(polynomial, x, p) for x in points])
    assert coset(curve, pool, domain, rows) == expected


@curves
@adicity
@pytest.mark.parametrize("log_n", [ntt._LOG_BLOCK + d for d in (-1, 0, 1, 2)])
def test_sampled_points_of_larger_domains(
    pool: Pool, curve: Curve, capped: bool, log_n: int
) -> None:
    """Below, at and past the size of a block: stages over the whole array take part."""
    p, n = curve.fr.modulus, 1 << log_n
    rng = random.Random(log_n)
    rows = [[rng.randrange(p) for _ in range(n)] for _ in range(3)]
    domain = ntt.domain_of_size(curve.fr, n, log_n if capped else None)
    result = coset(curve, pool, domain, rows)
    root, shift = root_of_unity(curve, n), shift_of(curve, n, capped)
    for row, values in zip(rows, result, strict=True):
        for i in (0, 1, n // 2, n - 1, rng.randrange(n)):
            assert values[i] == value_at(curve, row, shift * pow(root, i, p) % p)


@curves
@pytest.mark.parametrize("log_n", [0, 1, 5, 12, 13])
def test_there_and_back(pool: Pool, curve: Curve, log_n: int) -> None:
    """Shift g, then shift 1/g, is the identity; so is shift 1."""
    p, n = curve.fr.modulus, 1 << log_n
    rng = random.Random(log_n)
    rows = [[rng.randrange(p) for _ in range(n)] for _ in range(2)]
    assert coset(curve, pool, Shifted(curve.fr, log_n, 1), rows) == rows
    there = coset(curve, pool, Shifted(curve.fr, log_n, 7), rows)
    assert log_n == 0 or there != rows
    assert coset(curve, pool, Shifted(curve.fr, log_n, pow(7, -1, p)), there) == rows


@curves
def test_constants_do_not_change(pool: Pool, curve: Curve) -> None:
    """A constant has one value everywhere, and x has the coset's points."""
    p, log_n = curve.fr.modulus, 6
    n, root = 1 << log_n, root_of_unity(curve, 1 << log_n)
    domain = ntt.domain_of_size(curve.fr, n)
    powers = [pow(root, i, p) for i in range(n)]
    constant, line = coset(curve, pool, domain, [[5] * n, powers])
    assert constant == [5] * n
    assert line == [domain.shift * power % p for power in powers]


@curves
def test_shift(curve: Curve) -> None:
    """Primitive of order 2n; at the full two-adicity the square of the least non-residue."""
    p, s = curve.fr.modulus, curve.fr.two_adicity
    for log_n in range(1, s):
        shift = ntt.Domain(curve.fr, log_n, s).shift
        assert pow(shift, 1 << log_n, p) == p - 1
    assert ntt.Domain(curve.fr, s, s).shift == 25
    assert pow(25, 1 << s, p) != 1  # the coset is not the domain


@curves
@pytest.mark.parametrize("threads", [1, 2, 7])
def test_any_number_of_threads(curve: Curve, threads: int) -> None:
    """The same bytes."""
    rng = random.Random(1)
    rows = [[rng.randrange(curve.fr.modulus) for _ in range(1 << 13)]]
    domain = ntt.domain_of_size(curve.fr, 1 << 13)
    with Pool(threads) as pool, Pool(3) as other:
        assert coset(curve, pool, domain, rows) == coset(curve, other, domain, rows)


@curves
def test_cancelled(pool: Pool, curve: Curve) -> None:
    """A set stop ends it before anything is done."""
    stop, array = Stop(), to_array(curve.fr, [[1, 2, 3, 4]])
    before = array.copy()
    stop.set()
    with pytest.raises(Cancelled):
        ntt.to_coset(pool, ntt.tables(pool, ntt.domain_of_size(curve.fr, 4)), array, stop)
    np.testing.assert_array_equal(array, before)
