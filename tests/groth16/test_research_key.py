"""A research key is the naive twin's, point for point, and nothing of the waste stays."""

from __future__ import annotations

import dataclasses

import pytest

from snarkcuda.circuits.r1cs import check_size
from snarkcuda.cpu.ntt import domain_of_size
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.params import BLS12_381, BN254, Curve
from snarkcuda.errors import FormatError
from snarkcuda.formats.zkey import zkey_chunks
from snarkcuda.groth16 import research_key as setup
from snarkcuda.groth16.prover import Prover
from snarkcuda.groth16.timeline import Timeline
from snarkcuda.groth16.verify import verify
from tests.naive_groth16 import (
    CUBE,
    LINEAR,
    MUL,
    NO_PUBLIC,
    ORPHANS,
    Waste,
    assignment,
    chain,
    circuit,
    witness,
)
from tests.naive_groth16 import setup as naive_setup

CIRCUITS = [MUL, CUBE, NO_PUBLIC, ORPHANS, LINEAR, chain(6), chain(7), chain(8)]
CURVES = [BN254, BLS12_381]


@pytest.fixture(scope="module")
def pool():
    with Pool(2) as pool:
        yield pool


def of_waste(r1cs, waste: Waste, pool: Pool, two_adicity: int | None = None):
    secrets = setup.ToxicWaste(**dataclasses.asdict(waste))
    return setup.key_of_waste(r1cs, secrets, pool, Timeline(), two_adicity)


@pytest.mark.parametrize("r1cs", CIRCUITS, ids=lambda r1cs: r1cs.name)
@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_equals_the_naive_twin(curve: Curve, r1cs, pool: Pool) -> None:
    expected = naive_setup(curve, r1cs)
    assert of_waste(circuit(curve, r1cs), expected.waste, pool) == expected.key


def test_wires_of_several_tasks(pool: Pool) -> None:
    """A task sums 1,024 wires: here the second begins in the middle of a chain."""
    expected = naive_setup(BN254, chain(1100))
    assert of_waste(circuit(BN254, chain(1100)), expected.waste, pool) == expected.key


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_a_domain_of_full_two_adicity(curve: Curve, pool: Pool) -> None:
    """Without a root of order 2n the coset is shifted by 25."""
    expected = naive_setup(curve, CUBE, capped=True)
    log_n = CUBE.domain_size.bit_length() - 1
    key = of_waste(circuit(curve, CUBE), expected.waste, pool, two_adicity=log_n)
    assert key == expected.key


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_fresh_keys_prove_and_differ(curve: Curve, pool: Pool) -> None:
    r1cs = circuit(curve, CUBE)
    keys = [setup.research_key(r1cs, pool, Timeline()) for _ in range(2)]
    assert keys[0] != keys[1]
    z = assignment(CUBE, curve, 3)
    for key in keys:
        assert key.verifying_key.is_research
        with Prover(key) as prover:
            proved = prover.prove(witness(curve, z))
        assert verify(key.verifying_key, proved.public, proved.proof)
    assert not verify(keys[0].verifying_key, proved.public, proved.proof)


def test_a_seed_makes_the_same_key_again(pool: Pool) -> None:
    r1cs = circuit(BN254, MUL)
    first, again, other = (
        setup.research_key(r1cs, pool, Timeline(), seed) for seed in (b"one", b"one", b"two")
    )
    assert first == again
    assert first != other


def test_seeded_waste_is_of_its_curve() -> None:
    wastes = [setup.toxic_waste(curve, 8, b"seed") for curve in CURVES]
    assert wastes[0].tau != wastes[1].tau
    assert str(wastes[0].tau) not in repr(wastes[0])


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_fresh_waste_is_drawn_from_the_whole_field(
    curve: Curve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five secrets, each of its own, each below r and of any size up to it."""
    limits: list[int] = []

    def randbelow(limit: int) -> int:
        limits.append(limit)
        return limit - len(limits)

    monkeypatch.setattr(setup.secrets, "randbelow", randbelow)
    waste, p = setup.toxic_waste(curve, 8), curve.fr.modulus
    assert limits == [p] * 5
    assert dataclasses.astuple(waste) == (p - 1, p - 2, p - 3, p - 4, p - 5)


def test_tau_is_drawn_again_when_it_hits_the_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = domain_of_size(BN254.fr, 8)
    p = BN254.fr.modulus
    draws = iter([2, 3, 4, 5, domain.root, 2, 3, 4, 5, domain.shift, 2, 3, 4, 0, 7, 2, 3, 4, 5, 6])
    monkeypatch.setattr(setup.secrets, "randbelow", lambda limit: next(draws) % p)
    assert setup.toxic_waste(BN254, 8).tau == 6
    assert next(draws, None) is None


def test_too_many_rows() -> None:
    r1cs = circuit(BN254, MUL)
    huge = dataclasses.replace(r1cs, a=dataclasses.replace(r1cs.a, start=_Long(1 << 28)))
    with pytest.raises(FormatError, match=r"2\^28 rows"):
        check_size(huge)


class _Long:
    """Stands in for the row starts of a circuit that would not fit into memory."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n + 1


def test_nothing_of_the_waste_is_in_the_key(pool: Pool) -> None:
    r1cs = circuit(BN254, CUBE)
    waste = setup.toxic_waste(BN254, r1cs.domain_size, b"known")
    key = setup.research_key(r1cs, pool, Timeline(), b"known")
    written = b"".join(map(bytes, zkey_chunks(key)))
    for name, secret in vars(waste).items():
        for value in (secret, pow(secret, -1, BN254.fr.modulus)):
            for form in (value, BN254.fr.to_montgomery(value)):
                assert form.to_bytes(32, "little") not in written, name
