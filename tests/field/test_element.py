"""`Element(F)` against the naive twin: every operator and word, on edges and at random."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from snarkcuda.field import arrays
from snarkcuda.field.naive import Naive, flatten, unflatten
from snarkcuda.field.params import FIELDS, ExtensionField, Field, PrimeField, prime_of
from tests.field.element_kernels import (
    RESULTS,
    change_form,
    copy_reversed,
    every_word,
    fp2_words,
    invert_all,
)
from tests.field.values import ALL_FIELDS, edges, named, randoms, raw_samples, towers

PAIRS = 3000


def pairs_of(field: Field) -> tuple[list[int], list[int]]:
    """Raw prime coefficients of the two operands of each case."""
    prime = prime_of(field)
    samples = raw_samples(prime, 40)
    if isinstance(field, PrimeField):
        both = list(product(samples, samples))[:: max(1, len(samples) ** 2 // PAIRS)]
        both += [(x, x) for x in samples] + [
            (x, (prime.modulus - x) % prime.modulus) for x in samples
        ]
        return [x for x, _ in both], [y for _, y in both]
    one = [prime.to_montgomery(1), *[0] * (field.level - 1)]
    zero = [0] * field.level
    top = [prime.modulus - 1] * field.level
    unit = [*[0] * (field.level - 1), prime.to_montgomery(1)]
    special = [x for pair in product([zero, one, top, unit], repeat=2) for x in pair]
    count = 60 * field.level
    left = [x for row in special[0::2] for x in row] + (samples * count)[:count]
    right = [x for row in special[1::2] for x in row] + randoms(prime, count // 2, 2)
    return left, right + (samples[::-1] * count)[: len(left) - len(right)]


def elements(field: Field, raw: list[int]) -> list[Naive]:
    """Naive elements of raw Montgomery coefficients."""
    prime = prime_of(field)
    values = [prime.from_montgomery(value) for value in raw]
    return [unflatten(field, values[i : i + field.level]) for i in range(0, len(raw), field.level)]


def raw_of(element: Naive, prime: PrimeField) -> list[int]:
    """The opposite: raw Montgomery coefficients of one naive element."""
    return [prime.to_montgomery(value) for value in flatten(element)]


def expected(x: Any, y: Any, z: Any, w: Any) -> dict[str, Naive]:
    """What each result of `every_word` is by definition."""
    zero, one = x.constant(0), x.constant(1)
    return {
        "add": x + y,
        "sub": x - y,
        "neg": -x,
        "mul": x * y,
        "sqr": x * x,
        "mul_sub": x * y - z * w,
        "inverse": x.inverse(),
        "select": x if y.is_zero() else y,
        "zero_like": zero,
        "one_like": one,
        "zero": zero,
        "one": one,
    }


@pytest.mark.parametrize("field", ALL_FIELDS, ids=named)
def test_every_word(field: Field) -> None:
    """All results equal the naive ones, limb by limb: reduced, in Montgomery form."""
    prime = prime_of(field)
    left, right = pairs_of(field)
    a, b = (arrays.from_ints(raw, prime.limbs) for raw in (left, right))
    xs, ys = elements(field, left), elements(field, right)
    n = len(xs)
    out = np.zeros((n, len(RESULTS), field.level, prime.limbs), dtype=np.uint64)
    flags = np.zeros((n, 3), dtype=np.bool_)
    every_word(field, n, a, b, out, flags)
    for i in range(n):
        twin = expected(xs[i], ys[i], ys[n - 1 - i], xs[n - 1 - i])
        for j, name in enumerate(RESULTS):
            got = arrays.to_ints(out[i, j])
            assert got == raw_of(twin[name], prime), (name, xs[i], ys[i])
        assert list(flags[i]) == [xs[i].is_zero(), xs[i] == ys[i], True]


@pytest.mark.parametrize("field", towers()[::3], ids=named)
def test_words_of_fp2(field: ExtensionField) -> None:
    """Conjugation, ξ, parts and extend."""
    prime = field.prime
    raw = raw_samples(prime, 101)
    raw = raw[: len(raw) // 2 * 2]
    a = arrays.from_ints(raw, prime.limbs)
    n = len(raw) // 2
    out = np.zeros((n, 4, 2, prime.limbs), dtype=np.uint64)
    fp2_words(prime, field, n, a, out)
    for i, x in enumerate(elements(field, raw)):
        x0, x1 = x.parts  # type: ignore[union-attr]
        twins = [x.conjugate(), x.mul_by_xi(), x0.extend((x1, x0)), x0.extend((x0, x0 * x1))]  # type: ignore[union-attr]
        assert [arrays.to_ints(row) for row in out[i]] == [raw_of(twin, prime) for twin in twins]


@pytest.mark.parametrize("field", FIELDS, ids=named)
def test_montgomery_form(field: PrimeField) -> None:
    """Entering and leaving it, and the constants that do."""
    raw = raw_samples(field, 200)
    out = np.zeros((len(raw), 3, field.limbs), dtype=np.uint64)
    change_form(field, len(raw), arrays.from_ints(raw, field.limbs), out)
    p, big = field.modulus, field.montgomery
    for value, row in zip(raw, out, strict=True):
        into, back, cubed = arrays.to_ints(row)
        assert into == value * big % p == field.to_montgomery(value)
        assert back == value * pow(big, -1, p) % p == field.from_montgomery(value)
        assert cubed == value * big * big % p


@pytest.mark.parametrize("field", FIELDS, ids=named)
def test_inverse(field: PrimeField) -> None:
    """Thousands of values against Python's pow, extreme ones for safegcd among them; 1/0 is 0."""
    p = field.modulus
    powers = [sign % p for k in range(field.bits) for sign in (1 << k, -(1 << k))]
    near = [p // k for k in range(1, 200)] + [p // k + 1 for k in range(2, 200)]
    raw = [*edges(field), *powers, *near, *range(300), *randoms(field, 4000)]
    raw = [value % p for value in raw]
    a = arrays.from_ints(raw, field.limbs)
    out = np.zeros_like(a)
    invert_all(field, len(raw), a, out)
    square = field.montgomery**2 % p
    wanted = [pow(value, -1, p) * square % p if value else 0 for value in raw]
    assert arrays.to_ints(out) == wanted


def test_inverse_of_an_extension_is_zero_only_for_zero() -> None:
    """1/0 = 0 up the tower, in kernels as in the definition."""
    for field in towers():
        prime = field.prime
        rows = np.zeros((2, field.level, prime.limbs), dtype=np.uint64)
        rows[1, -1] = arrays.from_ints([prime.to_montgomery(1)], prime.limbs)[0]
        out = np.ones_like(rows)
        invert_all(field, 2, rows, out)
        assert not out[0].any()
        assert out[1].any()


@pytest.mark.parametrize("field", ALL_FIELDS, ids=named)
def test_arrays_of_bytes_at_any_alignment(field: Field) -> None:
    """`load` and `store` move an element unchanged from and to any address."""
    prime, n = prime_of(field), 5
    rows = arrays.from_ints(randoms(prime, n * field.level), prime.limbs)
    size = rows.nbytes
    wanted = rows.reshape(n, -1)[::-1].tobytes()
    for offset in (0, 1, 7):
        source = np.zeros(size + 8, dtype=np.uint8)[offset : offset + size]
        source[:] = rows.reshape(-1).view(np.uint8)
        target = np.zeros(size + 9, dtype=np.uint8)
        view = target[offset : offset + size]
        assert copy_reversed(field, n, arrays.packed(source), view) == prime.limbs
        assert view.tobytes() == wanted
        assert not target[offset + size :].any()
        assert not target[:offset].any()


def test_a_field_of_another_size() -> None:
    """Nothing is tied to the four fields: 2^128 − 159 in three limbs."""
    field = PrimeField("test_128", (1 << 128) - 159)
    raw = raw_samples(field, 50)
    a = arrays.from_ints(raw, field.limbs)
    out = np.zeros_like(a)
    invert_all(field, len(raw), a, out)
    for value, inverse in zip(raw, arrays.to_ints(out), strict=True):
        product = field.from_montgomery(value) * field.from_montgomery(inverse)
        assert product % field.modulus == (value != 0)
