"""Both paths of an MSM over points in memory give the sum of multiples."""

from __future__ import annotations

import random

import numpy as np
import pytest

from snarkcuda.cpu import msm_once as module
from snarkcuda.cpu.fixed_base import Multiples
from snarkcuda.cpu.msm_once import msm_once
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.params import BN254
from snarkcuda.curve.points import linear_combination
from snarkcuda.field.arrays import from_ints
from snarkcuda.field.vector_type import has_vectors

needs_vectors = pytest.mark.skipif(not has_vectors(), reason="no AVX-512 IFMA: scalar path")


@pytest.mark.parametrize("limit", [1 << 40, pytest.param(40, marks=needs_vectors)])
@pytest.mark.parametrize("bits", [128, 254])
def test_two_queries(limit: int, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two groups, one list of scalars; 39 terms are below the vectors' limit, 40 are not."""
    monkeypatch.setattr(module, "VECTOR_TERMS", limit)
    rng = random.Random(bits)
    with Pool(2) as pool:
        for n in (39, 40):
            scalars = [rng.randrange(min(1 << bits, BN254.g1.order)) for _ in range(n)]
            exponents = from_ints([0, 1, *(rng.randrange(1 << 200) for _ in range(n - 2))], 4)
            queries = [
                (group, Multiples(pool, group, n).of(exponents)) for group in (BN254.g1, BN254.g2)
            ]
            sums = msm_once(pool, from_ints(scalars, 4), bits, queries)
            for (group, points), total in zip(queries, sums, strict=True):
                assert np.array_equal(total, linear_combination(group, list(points), scalars))
