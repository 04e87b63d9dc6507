"""The first test to run: c = a·b from a key to a verified proof, on both curves, in seconds."""

import pytest

from snarkcuda import Prover, prove, read_verifying_key, read_witness, read_zkey, verify


@pytest.mark.parametrize("case", ["bn_mul2", "bls_mul2"])
def test_prove_and_verify(vectors, case):
    folder = vectors / case
    proved = prove(folder / "circuit.zkey", folder / "witness.wtns")
    key = read_verifying_key(folder / "verification_key.json")
    assert verify(key, proved.public, proved.proof)
    assert not verify(key, [proved.public[0] + 1, *proved.public[1:]], proved.proof)


def test_a_prover_takes_files_or_values(vectors):
    folder = vectors / "bn_mul2"
    key, witness = read_zkey(folder / "circuit.zkey"), read_witness(folder / "witness.wtns")
    with Prover(key, threads=1) as prover:
        assert prover.prove(witness).public == prover.prove(folder / "witness.wtns").public
