"""Sizes past every block, chunk and window of the kernels, against sums that can be known."""

import random

import numpy as np
import pytest

from snarkcuda.cpu import ntt
from snarkcuda.cpu.digits import sorted_digits
from snarkcuda.cpu.msm import msm
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.params import CURVES, Curve, Group
from snarkcuda.curve.points import encode, linear_combination
from snarkcuda.field import arrays

pytestmark = pytest.mark.slow
curves = pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
groups = pytest.mark.parametrize(
    "group", [g for c in CURVES for g in (c.g1, c.g2)], ids=lambda group: group.name
)


@pytest.fixture(scope="module")
def pool():
    with Pool() as threads:
        yield threads


@groups
@pytest.mark.parametrize("log_n", [14, 16])
@pytest.mark.parametrize("kind", ["dense", "bits", "equal", "largest"])
def test_msm(pool: Pool, group: Group, log_n: int, kind: str) -> None:
    """Σ kᵢ·(mᵢ·G) with mᵢ from a small table, infinity included, is (Σ kᵢ·mᵢ)·G."""
    rng, n, r = random.Random(log_n), (1 << log_n) + 1, group.order
    multiples = [0, 1, r - 1, *(rng.randrange(r) for _ in range(61))]
    generator = encode(group, [group.generator])[0]
    table = np.stack([linear_combination(group, [generator], [m]) for m in multiples])
    rows = [rng.randrange(64) for _ in range(n)]
    draw = {
        "dense": lambda: rng.randrange(r),
        "bits": lambda: rng.choice([0, 0, 0, 1, 1, rng.randrange(r)]),
        "equal": lambda: 12345,
        "largest": lambda: r - 1,
    }[kind]
    scalars = [draw() for _ in range(n)]
    digits = sorted_digits(pool, arrays.from_ints(scalars, 4), r.bit_length())
    result = msm(pool, group, arrays.packed(table[rows]), digits)
    expected = sum(k * multiples[row] for k, row in zip(scalars, rows, strict=True)) % r
    assert (result == linear_combination(group, [generator], [expected])).all()


@curves
@pytest.mark.parametrize("log_n", [16, 18])
def test_ntt(pool: Pool, curve: Curve, log_n: int) -> None:
    """The coset evaluations of a sparse polynomial, whose values are known at every point."""
    field, rng = curve.fr, random.Random(log_n)
    p, n = field.modulus, 1 << log_n
    domain = ntt.domain_of_size(field, n)
    terms = {rng.randrange(n): rng.randrange(p) for _ in range(3)}

    def at(x: int) -> int:
        return sum(c * pow(x, e, p) for e, c in terms.items()) % p

    values, point = [], 1
    for _ in range(n):
        values.append(field.to_montgomery(at(point)))
        point = point * domain.root % p
    x = arrays.from_ints(values, 4).reshape(1, n, 4)
    ntt.to_coset(pool, ntt.tables(pool, domain), x)
    for i in [0, 1, n // 2, n - 1, *(rng.randrange(n) for _ in range(200))]:
        expected = at(domain.shift * pow(domain.root, i, p) % p)
        assert field.from_montgomery(arrays.to_int(x[0, i : i + 1])) == expected
