"""h against its definition on Python ints."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

from snarkcuda.cpu.pool import Cancelled, Pool, Stop
from snarkcuda.cpu.quotient import quotient_scalars
from snarkcuda.curve.params import CURVES
from snarkcuda.field.arrays import from_ints, to_ints
from snarkcuda.field.params import PrimeField
from snarkcuda.field.vector_type import has_vectors

fields = pytest.mark.parametrize("field", [c.fr for c in CURVES], ids=lambda field: field.name)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(3) as pool:
        yield pool


@fields
@pytest.mark.parametrize(
    "n, vectors", [(1, False), (4, False), (1024, False), (2048, False), (8, True), (2048, True)]
)
def test_quotient_scalars(pool: Pool, field: PrimeField, n: int, vectors: bool) -> None:
    """a·b − c, out of Montgomery form and canonical, edge values included."""
    if vectors and not has_vectors():
        pytest.skip("no AVX-512 IFMA")
    p, rng = field.modulus, random.Random(n)
    edges = [0, 1, p - 1]
    rows = [
        [rng.choice(edges) if rng.random() < 0.3 else rng.randrange(p) for _ in range(n)]
        for _ in range(3)
    ]
    array = from_ints([field.to_montgomery(v) for row in rows for v in row], 4).reshape(3, n, 4)
    expected = [(a * b - c) % p for a, b, c in zip(*rows, strict=True)]
    assert to_ints(quotient_scalars(pool, field, array, vectors)) == expected


@fields
def test_cancelled(pool: Pool, field: PrimeField) -> None:
    """A set stop ends it."""
    stop = Stop()
    stop.set()
    with pytest.raises(Cancelled):
        quotient_scalars(pool, field, np.zeros((3, 4, 4), dtype=np.uint64), stop=stop)
