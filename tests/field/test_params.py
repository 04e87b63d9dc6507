"""The constants of `field/params.py`, derived again from the seeds of the curve families."""

from __future__ import annotations

import random

import pytest

from snarkcuda.field.params import (
    BLS12_381_FQ,
    BLS12_381_FR,
    BN254_FQ,
    BN254_FR,
    FIELDS,
    PrimeField,
    prime_of,
)
from tests.field.values import named

fields = pytest.mark.parametrize("field", FIELDS, ids=named)
T = 4965661367192848881
X = -0xD201000000010000


def is_prime(n: int) -> bool:
    """Miller and Rabin, 40 random bases."""
    source = random.Random(n)
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for _ in range(40):
        x = pow(source.randrange(2, n - 1), odd, n)
        if x in (1, n - 1):
            continue
        for _ in range(twos - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


def test_moduli_of_the_bn_family() -> None:
    """Both are the polynomials of Barreto and Naehrig at t."""
    assert BN254_FQ.modulus == 36 * T**4 + 36 * T**3 + 24 * T**2 + 6 * T + 1
    assert BN254_FR.modulus == 36 * T**4 + 36 * T**3 + 18 * T**2 + 6 * T + 1


def test_moduli_of_the_bls12_family() -> None:
    """Both are the polynomials of Barreto, Lynn and Scott at x."""
    assert BLS12_381_FR.modulus == X**4 - X**2 + 1
    assert 3 * (BLS12_381_FQ.modulus - X) == (X - 1) ** 2 * BLS12_381_FR.modulus


@fields
def test_modulus_is_prime(field: PrimeField) -> None:
    """And the test of primality knows a composite."""
    assert is_prime(field.modulus)
    assert not is_prime(field.modulus * (field.modulus + 2))


@fields
def test_limbs_leave_a_spare_bit(field: PrimeField) -> None:
    """2p < R = 2^(64·limbs), with no limb too many."""
    p, big = field.modulus, field.montgomery
    assert field.limbs == {254: 4, 255: 4, 381: 6}[field.bits]
    assert big == 1 << (64 * field.limbs)
    assert 2 * p < big
    assert big >> 64 <= p
    assert field.words == field.limbs


@fields
def test_montgomery_constants(field: PrimeField) -> None:
    """R·R⁻¹ = 1, p·(−1/p) = −1 mod 2^64, and the two conversions undo each other."""
    p = field.modulus
    assert field.montgomery * field.montgomery_inverse % p == 1
    assert 0 < field.neg_inverse_64 < 1 << 64
    assert (p * field.neg_inverse_64 + 1) % (1 << 64) == 0
    for value in (0, 1, p - 1, p // 2):
        assert field.from_montgomery(field.to_montgomery(value)) == value
        assert field.to_montgomery(value) == (value << (64 * field.limbs)) % p


@pytest.mark.parametrize(
    "field, adicity", [(BN254_FR, 28), (BLS12_381_FR, 32), (BN254_FQ, 1), (BLS12_381_FQ, 1)]
)
def test_two_adicity(field: PrimeField, adicity: int) -> None:
    """2^s divides p − 1 and 2^(s+1) does not."""
    assert field.two_adicity == adicity
    assert (field.modulus - 1) % (1 << adicity) == 0
    assert (field.modulus - 1) % (2 << adicity) != 0


@pytest.mark.parametrize("field", [BN254_FR, BLS12_381_FR], ids=named)
def test_non_residue_of_the_scalar_fields_is_five(field: PrimeField) -> None:
    """5 has no square root; 2, 3 and 4 have one."""
    p = field.modulus
    assert field.non_residue == 5
    assert pow(5, (p - 1) // 2, p) == p - 1
    assert all(pow(g, (p - 1) // 2, p) == 1 for g in (2, 3, 4))


@pytest.mark.parametrize(
    "field, root",
    [
        (BN254_FR, 19103219067921713944291392827692070036145651957329286315305642004821462161904),
        (BLS12_381_FR, 937917089079007706106976984802249742464848817460758522850752807661925904159),
    ],
    ids=["bn254", "bls12_381"],
)
def test_roots_of_unity_are_those_of_snarkjs(field: PrimeField, root: int) -> None:
    """The top root is the constant in snarkjs's keys; each root is the square of the next."""
    p, top = field.modulus, field.two_adicity
    assert field.root_of_unity(top) == root
    for log_n in range(top + 1):
        w = field.root_of_unity(log_n)
        assert pow(w, 1 << log_n, p) == 1
        if log_n:
            assert pow(w, 1 << (log_n - 1), p) == p - 1
            assert w * w % p == field.root_of_unity(log_n - 1)
    with pytest.raises(ValueError, match=f"no root of unity of order 2\\^{top + 1}"):
        field.root_of_unity(top + 1)


@pytest.mark.parametrize("field", [BN254_FQ, BLS12_381_FQ], ids=named)
def test_tower(field: PrimeField) -> None:
    """u² = −1 and v³ = ξ are irreducible, so that each storey is a field; sizes add up."""
    p = field.modulus
    assert pow(p - 1, (p - 1) // 2, p) == p - 1
    # ξ is a square or a cube in Fp2 if and only if its norm xi² + 1 is one in Fp.
    norm = field.xi**2 + 1
    assert (p - 1) % 3 == 0
    assert pow(norm, (p - 1) // 2, p) != 1
    assert pow(norm, (p - 1) // 3, p) != 1
    storey, levels = field.extension, []
    while True:
        levels.append((storey.level, storey.words, prime_of(storey)))
        if storey.level == 12:
            break
        storey = storey.extension
    assert levels == [(n, n * field.limbs, field) for n in (2, 6, 12)]
    with pytest.raises(ValueError, match="the tower ends"):
        _ = storey.extension


def test_no_tower_above_the_scalar_fields() -> None:
    """They carry no ξ."""
    for field in (BN254_FR, BLS12_381_FR):
        with pytest.raises(ValueError, match="no tower"):
            _ = field.extension
