"""snarkjs reads what we write. Needs node and snarkjs: SNARKJS=…/snarkjs pytest -m interop."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from snarkcuda.formats.proof_json import read_proof, write_proof
from snarkcuda.formats.public_json import read_public, write_public
from snarkcuda.formats.vkey_json import read_verifying_key, write_verifying_key
from snarkcuda.formats.wtns import read_witness, write_witness
from snarkcuda.formats.zkey import read_zkey, write_zkey

SNARKJS = os.environ.get("SNARKJS") or shutil.which("snarkjs") or ""
VECTORS = Path(__file__).parents[1] / "vectors"
CASES = ["bn_mul2", "bn_no_public", "bn_linear_O0", "bls_mul2_fresh", "bls_public_40"]

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(not SNARKJS, reason="SNARKJS names no snarkjs executable"),
]


def snarkjs(*arguments: str | Path) -> str:
    """Run snarkjs; its output."""
    done = subprocess.run(
        [SNARKJS, *map(str, arguments)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("case", CASES)
def test_snarkjs_takes_every_file_we_write(case: str, tmp_path: Path) -> None:
    """Check the witness, export the verifying key, prove, verify: all from rewritten files."""
    source = VECTORS / case
    zkey, wtns = tmp_path / "circuit.zkey", tmp_path / "witness.wtns"
    write_zkey(zkey, read_zkey(source / "circuit.zkey"))
    write_witness(wtns, read_witness(source / "witness.wtns"))
    assert "CORRECT" in snarkjs("wtns", "check", source / "circuit.r1cs", wtns)

    vkey = tmp_path / "verification_key.json"
    snarkjs("zkey", "export", "verificationkey", zkey, vkey)
    assert vkey.read_bytes() == (source / "verification_key.json").read_bytes()

    proof, public = tmp_path / "proof.json", tmp_path / "public.json"
    snarkjs("groth16", "prove", zkey, wtns, proof, public)
    assert json.loads(public.read_text()) == json.loads((source / "public.json").read_text())

    ours = tmp_path / "ours"
    ours.mkdir()
    key = read_verifying_key(vkey)
    write_verifying_key(ours / vkey.name, key)
    write_proof(ours / proof.name, read_proof(proof))
    write_public(ours / public.name, read_public(public, key.curve))
    told = snarkjs("groth16", "verify", *(ours / f.name for f in (vkey, public, proof)))
    assert "OK" in told


def test_snarkjs_contributes_to_a_key_we_wrote(tmp_path: Path) -> None:
    """The empty record of section 10 is a record that snarkjs can add to."""
    zkey, next_zkey = tmp_path / "circuit.zkey", tmp_path / "next.zkey"
    write_zkey(zkey, read_zkey(VECTORS / "bn_mul2_fresh" / "circuit.zkey"))
    snarkjs("zkey", "contribute", zkey, next_zkey, "--name=one", "-e=entropy for a test")
    key = read_zkey(next_zkey)
    assert not (key.delta_g1 == read_zkey(zkey).delta_g1).all()
