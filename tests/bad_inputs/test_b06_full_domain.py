"""arkworks-rs/groth16#60: BLS12-381 proofs were invalid for circuits over half of their domain.

The coset must be shifted by a primitive root of order 2n; where the field has none, by a shift of
its own.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from snarkcuda.cpu import ntt
from snarkcuda.cpu.backend import CpuBackend
from snarkcuda.curve.params import BLS12_381, CURVES, Curve
from snarkcuda.groth16.prove import prove_start
from snarkcuda.groth16.prover import Prover
from snarkcuda.groth16.timeline import Timeline
from snarkcuda.groth16.verify import verify
from tests import naive_groth16 as twin
from tests.naive_groth16 import chain

curves = pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
sizes = pytest.mark.parametrize("size", [2**k + d for k in (3, 4, 5, 6) for d in (-1, 0, 1)])


@curves
@sizes
def test_chain_around_a_power_of_two(curve: Curve, size: int) -> None:
    """Rows n + n_public + 1 one below, at and above: domain 2^k, 2^k and 2^(k+1); all verify."""
    keys = twin.setup(curve, chain(size - 2))
    z = twin.assignment(keys.r1cs, curve, 3)
    rows = len(keys.r1cs.rows) + keys.r1cs.n_public + 1
    assert rows == size <= keys.key.domain_size < 2 * size
    with Prover(keys.key) as prover:
        proved = prover.prove(twin.witness(curve, z), check=False)
    assert proved.public == z[1:2]
    assert verify(keys.verifying_key, z[1:2], proved.proof)
    assert not verify(keys.verifying_key, [(z[1] + 1) % curve.fr.modulus], proved.proof)


@curves
@sizes
def test_domain_of_the_full_two_adicity(curve: Curve, size: int) -> None:
    """As if the field had no root of order 2n: shift 25, as snarkjs has it in such keys."""
    keys = twin.setup(curve, chain(size - 2), capped=True)
    z = twin.assignment(keys.r1cs, curve, 3)
    log_n = keys.key.domain_size.bit_length() - 1
    with CpuBackend() as backend:
        resident = backend.load(keys.key, Timeline(), two_adicity=log_n)
        assert resident.tables.domain.shift == 25
        values = twin.witness(curve, z).values
        proof = prove_start(backend, resident, values, 5, 7, Timeline()).finish()
    assert verify(keys.verifying_key, z[1:2], proof)


@curves
def test_the_shift(curve: Curve) -> None:
    """Of order exactly 2n for each domain below the largest, and off the domain for that one."""
    p, most = curve.fr.modulus, curve.fr.two_adicity
    for log_n in range(1, most):
        shift = ntt.domain_of_size(curve.fr, 1 << log_n).shift
        assert pow(shift, 1 << log_n, p) == p - 1
        assert pow(shift, 2, p) == curve.fr.root_of_unity(log_n)
    largest = ntt.domain_of_size(curve.fr, 1 << most).shift
    assert largest == 25
    assert pow(largest, 1 << most, p) != 1


def test_command_line(make_files: Callable, run_cli: Callable, tmp_path: Path) -> None:
    """A full domain on the report's curve, by files."""
    files = make_files(BLS12_381, chain(30))
    proof, public = tmp_path / "proof.json", tmp_path / "public.json"
    assert run_cli("prove", files.key, files.witness, proof, public).code == 0
    assert public.read_bytes() == files.public.read_bytes()
    assert run_cli("verify", files.vk, public, proof).code == 0
