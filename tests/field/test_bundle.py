"""Bundles: every word is `Element`'s in each lane, and masks have a bit a lane."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import numpy as np
import pytest

from snarkcuda.curve.params import BLS12_381, BN254
from snarkcuda.field import vector, words
from snarkcuda.field.arrays import from_ints, packed, to_ints
from snarkcuda.field.bundle import COUNT, Bundles
from snarkcuda.field.naive import flatten, unflatten
from snarkcuda.field.params import Field, prime_of
from snarkcuda.field.vector_memory import (
    broadcast_vector,
    limb_words,
    load_limbs,
    load_vector,
    store_limbs,
    store_vector,
)
from snarkcuda.field.vector_rows import lane_count
from snarkcuda.jit import kernel

FIELDS = [BN254.fq, BLS12_381.fq, BN254.g2.field]
N_RESULTS = 13


@kernel
def _words(F: Any, operands: Any, mask: int, out: Any, masks: Any) -> None:
    """Bundles of words of a, b, c, d, which are bundles 0 to 3 of `operands`."""
    n = lane_count(F)
    a, b = load_vector(F, operands, 0), load_vector(F, operands, n)
    c, d = load_vector(F, operands, 2 * n), load_vector(F, operands, 3 * n)
    store_vector(F, out, 0, a + b)
    store_vector(F, out, n, a - b)
    store_vector(F, out, 2 * n, -a)
    store_vector(F, out, 3 * n, a * b)
    store_vector(F, out, 4 * n, words.sqr(a))
    store_vector(F, out, 5 * n, words.mul_sub(a, b, c, d))
    store_vector(F, out, 6 * n, words.inverse(a))
    store_vector(F, out, 7 * n, words.select(np.uint64(mask), a, b))
    store_vector(F, out, 8 * n, words.zero_like(a))
    store_vector(F, out, 9 * n, words.one_like(a))
    store_vector(F, out, 10 * n, vector.shrunk(vector.reduced(vector.settled(a))))
    store_vector(F, out, 11 * n, broadcast_vector(F, operands, 1))
    scratch = np.empty(2 * limb_words(F), dtype=np.uint64)
    store_limbs(b, scratch, 0)
    store_limbs(a, scratch, 1)
    store_vector(F, out, 12 * n, load_limbs(a, scratch, 1))
    masks[0], masks[1] = words.is_zero(a), vector.might_be_zero(a)
    masks[2] = vector.is_null(a)


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_words(field: Field) -> None:
    prime, rng = prime_of(field), random.Random(field.name)
    p = prime.modulus
    edges = [0, 1, p - 1, p - 2]
    for mask, zeros in product(range(1 << COUNT), range(1 << COUNT)):
        n = 4 * COUNT * field.level
        numbers = [rng.choice([*edges, *(rng.randrange(p) for _ in range(4))]) for _ in range(n)]
        for lane in range(COUNT):
            if zeros >> lane & 1:
                numbers[lane * field.level : (lane + 1) * field.level] = [0] * field.level
        raw = from_ints([prime.to_montgomery(x) for x in numbers], prime.limbs)
        out = np.zeros((N_RESULTS * COUNT * field.level, prime.limbs), dtype=np.uint64)
        masks = np.zeros(3, dtype=np.uint64)
        _words(Bundles(field), packed(raw), mask, out, masks)
        back = pow(prime.montgomery, -1, p)
        found = [x * back % p for x in to_ints(out)]

        parts = (numbers[i : i + field.level] for i in range(0, len(numbers), field.level))
        elements = [unflatten(field, part) for part in parts]
        a, b, c, d = (elements[i * COUNT : (i + 1) * COUNT] for i in range(4))
        one = words.one_like(a[0])
        expected = [
            *(x + y for x, y in zip(a, b, strict=True)),
            *(x - y for x, y in zip(a, b, strict=True)),
            *(-x for x in a),
            *(x * y for x, y in zip(a, b, strict=True)),
            *(x * x for x in a),
            *(x * y - z * w for x, y, z, w in zip(a, b, c, d, strict=True)),
            *(words.inverse(x) for x in a),
            *(x if mask >> i & 1 else y for i, (x, y) in enumerate(zip(a, b, strict=True))),
            *[one - one] * COUNT,
            *[one] * COUNT,
            *a,
            *[elements[1]] * COUNT,
            *a,
        ]
        assert found == [x for element in expected for x in flatten(element)]
        of_zeros = sum(1 << i for i, x in enumerate(a) if words.is_zero(x))
        assert masks.tolist() == [of_zeros] * 3
