"""Arithmetic on rows of 32-bit limbs against Python integers: as plain Python, and compiled."""

import random

import numba
import numpy as np
import pytest

from snarkcuda.curve.params import CURVES
from snarkcuda.field.naive import naive
from snarkcuda.field.params import FIELDS, limbs_of
from snarkcuda.kernels.limbs import LimbElement, limb_words
from tests.field.values import edges, named, randoms, raw_samples


def row(value: int, n: int) -> np.ndarray:
    return np.array(limbs_of(value, n, 32), dtype=np.uint32)


def value_of(limbs: np.ndarray) -> int:
    return sum(int(limb) << (32 * i) for i, limb in enumerate(limbs))


def pairs(field) -> list[tuple[int, int]]:
    """Edges with the edges that carry or borrow furthest; random values with each other."""
    p = field.modulus
    found = [(a, b) for a in edges(field) for b in (0, 1, (p + 1) // 2, p - 1, a, p - a) if b < p]
    values = raw_samples(field, 20)
    return found + list(zip(values, reversed(values), strict=True))


@pytest.fixture(autouse=True)
def no_overflow():
    """A sum or product that does not fit its type is an error, where numpy sees it."""
    with np.errstate(over="raise"):
        yield


@pytest.mark.parametrize("compiled", [False, True], ids=["python", "compiled"])
@pytest.mark.parametrize("field", FIELDS, ids=named)
def test_words(field, compiled: bool) -> None:
    """Each word gives the one result below p, and leaves its operands alone."""
    w, p = limb_words(field), field.modulus
    assert w.n == 2 * field.limbs
    # numba's types, by the CPU's compiler: a literal of another sign would make floats.
    add, sub, mul = (numba.njit(f) if compiled else f for f in (w.add, w.sub, w.mul))
    scratch, out = np.full(w.n + 2, 0xFFFFFFFF, dtype=np.uint32), row((1 << 32 * w.n) - 1, w.n)
    for a, b in pairs(field):
        x, y = row(a, w.n), row(b, w.n)
        add(x, y, out)
        assert value_of(out) == (a + b) % p
        sub(x, y, out)
        assert value_of(out) == (a - b) % p
        mul(x, y, scratch, out)
        assert value_of(out) == a * b * field.montgomery_inverse % p
        assert (value_of(x), value_of(y)) == (a, b)


@pytest.mark.parametrize("field", FIELDS, ids=named)
def test_elements(field) -> None:
    """Operators and words of an element are those of `field/naive.py`, in Montgomery form."""
    draw = random.Random(field.name)
    n, values = 2 * field.limbs, [*edges(field), *randoms(field, 8)]

    def element(value: int) -> LimbElement:
        return LimbElement(field, row(field.to_montgomery(value), n))

    def same(found: LimbElement, expected) -> bool:
        return value_of(found.words) == field.to_montgomery(expected.value)

    for value in values:
        others = [value, *draw.sample(values, 3)]
        a, b, c, d = (element(v) for v in others)
        w, x, y, z = (naive(field, v) for v in others)
        assert same(a + c, w + y) and same(a - c, w - y) and same(a * c, w * y)
        assert same(-a, -w) and same(a.sqr(), w.sqr())
        assert same(a.mul_sub(b, c, d), w.mul_sub(x, y, z))
        assert a.is_zero() == w.is_zero() and (a - a).is_zero()
        assert same(a.constant(7), w.constant(7)) and same(a.constant(-1), w.constant(-1))


@pytest.mark.parametrize("field", [curve.fq for curve in CURVES], ids=named)
def test_extension(field) -> None:
    """The tower's formulas run on limbs."""
    n, draw = 2 * field.limbs, random.Random(f"extension {field.name}")
    for _ in range(5):
        (a, b), (c, d) = ([draw.choice(edges(field)) for _ in range(2)] for _ in range(2))
        of = {v: LimbElement(field, row(field.to_montgomery(v), n)) for v in (a, b, c, d)}
        found = of[a].extend((of[a], of[b])) * of[c].extend((of[c], of[d]))
        expected = naive(field.extension, (a, b)) * naive(field.extension, (c, d))
        assert [value_of(part.words) for part in found.parts] == [
            field.to_montgomery(part.value) for part in expected.parts
        ]
