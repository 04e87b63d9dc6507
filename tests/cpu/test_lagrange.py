"""The Lagrange basis at a point, against its definition."""

from __future__ import annotations

import pytest

from snarkcuda.cpu.lagrange import lagrange_basis
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.params import BLS12_381, BN254, Curve
from snarkcuda.field.arrays import to_ints
from tests.naive_groth16 import lagrange_at


@pytest.fixture(scope="module")
def pool():
    with Pool(2) as pool:
        yield pool


@pytest.mark.parametrize("log_n", [0, 1, 5, 10, 11])
@pytest.mark.parametrize("curve", [BN254, BLS12_381], ids=lambda curve: curve.name)
def test_equals_the_definition(curve: Curve, log_n: int, pool: Pool) -> None:
    fr, x = curve.fr, 0xC0FFEE
    expected = lagrange_at(curve, 1 << log_n, x)
    basis = to_ints(lagrange_basis(pool, fr, log_n, x))
    assert [fr.from_montgomery(value) for value in basis] == expected
    scaled = to_ints(lagrange_basis(pool, fr, log_n, x, factor=5, canonical=True))
    assert scaled == [5 * value % fr.modulus for value in expected]


def test_the_values_sum_to_one(pool: Pool) -> None:
    fr = BN254.fr
    basis = to_ints(lagrange_basis(pool, fr, 12, fr.modulus - 2, canonical=True))
    assert sum(basis) % fr.modulus == 1


def test_a_point_of_the_domain_is_refused(pool: Pool) -> None:
    with pytest.raises(ValueError, match="point of its domain"):
        lagrange_basis(pool, BN254.fr, 3, BN254.fr.root_of_unity(3))
