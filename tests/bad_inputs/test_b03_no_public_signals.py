"""iden3/snarkjs#447: the verifier threw when a circuit had no public signals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from snarkcuda.curve.params import BN254, CURVES, Curve
from snarkcuda.errors import MismatchError
from snarkcuda.formats.proof_json import read_proof, write_proof
from snarkcuda.formats.public_json import read_public, write_public
from snarkcuda.formats.vkey_json import read_verifying_key
from snarkcuda.groth16.prover import Prover
from snarkcuda.groth16.verify import verify
from tests.naive_groth16 import NO_PUBLIC

VECTORS = Path(__file__).parents[1] / "vectors"
curves = pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)


@curves
def test_proves_and_verifies(curve: Curve, make_files: Callable, tmp_path: Path) -> None:
    """Secret factors of 6; files written and read again; IC has the constant's point alone."""
    files = make_files(curve, NO_PUBLIC)
    key = read_verifying_key(files.vk)
    assert (len(key.ic), key.n_public) == (1, 0)
    with Prover(files.key) as prover:
        proved = prover.prove(files.witness)
    assert proved.public == []
    proof, public = tmp_path / "proof.json", tmp_path / "public.json"
    write_proof(proof, proved.proof)
    write_public(public, proved.public)
    assert read_public(public, curve) == []
    assert verify(key, [], read_proof(proof))


@curves
def test_false_and_refused(curve: Curve, make_files: Callable) -> None:
    """An empty statement is not true by itself, and takes no signal."""
    files, other = make_files(curve, NO_PUBLIC), make_files(curve, NO_PUBLIC, 2)
    key, proof = read_verifying_key(files.vk), read_proof(files.proof)
    assert verify(key, [], proof)
    assert verify(key, [], read_proof(other.proof))
    mixed = type(proof)(curve, proof.a, read_proof(other.proof).b, proof.c)
    assert not verify(key, [], mixed)
    for signals in ([0], [1], [6]):
        with pytest.raises(MismatchError, match=r"^1 public signals .* expects 0\b"):
            verify(key, signals, proof)


@pytest.mark.parametrize("case", ["bn_no_public", "bls_no_public"])
def test_snarkjs_files(case: str) -> None:
    """There the empty list is "[", a line break and "]"."""
    folder = VECTORS / case
    key = read_verifying_key(folder / "verification_key.json")
    assert read_public(folder / "public.json", key.curve) == []
    assert verify(key, [], read_proof(folder / "proof.json"))
    with Prover(folder / "circuit.zkey") as prover:
        assert verify(key, [], prover.prove(folder / "witness.wtns").proof)


def test_command_line(make_files: Callable, run_cli: Callable, tmp_path: Path) -> None:
    """Proves, verifies, and says false to a proof of another key."""
    files = make_files(BN254, NO_PUBLIC)
    proof, public = tmp_path / "proof.json", tmp_path / "public.json"
    assert run_cli("prove", files.key, files.witness, proof, public).code == 0
    assert run_cli("verify", files.vk, public, proof).code == 0
    other = VECTORS / "bn_no_public" / "verification_key.json"
    assert run_cli("verify", other, public, proof).code == 1
    public.write_text('["6"]')
    assert run_cli("verify", files.vk, public, proof).code == 2
