"""snarkjs accepts our proofs and we accept its: every case of the corpus, both ways.

Needs node and snarkjs (`SNARKJS` names the executable, or it is on PATH): pytest -m interop.
One node process verifies all statements; it uses snarkjs as a library, the code of its command.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from snarkcuda.curve.params import CURVES
from snarkcuda.errors import NotOnCurveError, NotZeroKnowledgeWarning
from snarkcuda.formats.proof_json import proof_to_json, read_proof, write_proof
from snarkcuda.formats.public_json import public_to_json, read_public, write_public
from snarkcuda.formats.vkey_json import read_verifying_key, write_verifying_key
from snarkcuda.formats.wtns import write_witness
from snarkcuda.formats.zkey import read_zkey, write_zkey
from snarkcuda.groth16.prover import Prover
from snarkcuda.groth16.verify import verify
from tests import naive_groth16 as twin

SNARKJS = os.environ.get("SNARKJS") or shutil.which("snarkjs")
NODE = shutil.which("node")
VECTORS = Path(__file__).parents[1] / "vectors"
CASES = sorted(p.name for p in VECTORS.iterdir() if p.is_dir() and not p.name.startswith("neg_"))
cases = pytest.mark.parametrize("case", CASES)

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(not SNARKJS, reason="no snarkjs: set SNARKJS, or put it on PATH"),
    pytest.mark.skipif(not NODE, reason="no node on PATH"),
]

# Reads [[vk, public, proof], …] from stdin; prints a list of true, false, or an error's text.
SCRIPT = """
const snarkjs = require(process.argv[1]);
const fs = require("fs");
(async () => {
    const results = [];
    for (const [key, signals, proof] of JSON.parse(fs.readFileSync(0, "utf8"))) {
        try {
            results.push(await snarkjs.groth16.verify(key, signals, proof));
        } catch (error) {
            results.push(String(error));
        }
    }
    console.log(JSON.stringify(results));
    process.exit(0);
})();
"""
Statement = list[Any]  # verifying key, public signals, proof: as JSON values


def package() -> Path:
    """The folder of the snarkjs package that the executable belongs to."""
    program = Path(str(SNARKJS)).resolve()
    return next(folder for folder in program.parents if (folder / "package.json").exists())


def snarkjs_verifies(statements: list[Statement]) -> list[Any]:
    """The verdicts of snarkjs, from one process."""
    done = subprocess.run(
        [str(NODE), "-e", SCRIPT, str(package())],
        input=json.dumps(statements),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def snarkjs(*arguments: str | Path) -> str:
    """Run the command; its output."""
    done = subprocess.run(
        [str(SNARKJS), *map(str, arguments)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@cache
def our_statement(case: str) -> tuple[Any, list[str], Any]:
    """With snarkjs' key and witness: our proof and public signals, as their JSON texts say."""
    folder = VECTORS / case
    with Prover(folder / "circuit.zkey") as prover:
        proved = prover.prove(folder / "witness.wtns")
    key = json.loads((folder / "verification_key.json").read_text())
    signals = json.loads(public_to_json(proved.public))
    return key, signals, json.loads(proof_to_json(proved.proof))


def doubled_c(statement: tuple[Any, list[str], Any]) -> Statement:
    """The statement with A in the place of C: well formed, and false."""
    key, signals, proof = statement
    return [key, signals, proof | {"pi_c": proof["pi_a"]}]


@cache
def verdicts() -> dict[str, list[Any]]:
    """What snarkjs says to each case: our proof, a wrong signal, a wrong C, an A off the curve."""
    statements = []
    for case in CASES:
        ours = key, signals, proof = our_statement(case)
        changed = [str(int(signals[0]) ^ 1), *signals[1:]] if signals else signals
        x, y, one = proof["pi_a"]
        off = proof | {"pi_a": [x, str(int(y) ^ 1), one]}
        statements += [[*ours], [key, changed, proof], doubled_c(ours), [key, signals, off]]
    told = snarkjs_verifies(statements)
    return {case: told[4 * i : 4 * i + 4] for i, case in enumerate(CASES)}


@cases
def test_our_proof_is_accepted(case: str) -> None:
    """With snarkjs' verifying key; public signals equal those that snarkjs wrote."""
    assert our_statement(case)[1] == json.loads((VECTORS / case / "public.json").read_text())
    assert verdicts()[case][0] is True


@cases
def test_tampered_proofs_are_refused_by_both(case: str, tmp_path: Path) -> None:
    """A changed signal and an exchanged point: false; a point off the curve: refused."""
    ours = key_json, signals, proof = our_statement(case)
    _, wrong_signal, wrong_c, off_curve = verdicts()[case]
    assert wrong_signal is (not signals)  # there is none to change where there are none
    assert wrong_c is False
    assert off_curve is not True

    key = read_verifying_key(VECTORS / case / "verification_key.json")
    values, path = [int(signal) for signal in signals], tmp_path / "proof.json"
    path.write_text(json.dumps(proof))
    assert verify(key, values, read_proof(path))
    if values:
        assert not verify(key, [values[0] ^ 1, *values[1:]], read_proof(path))
    path.write_text(json.dumps(doubled_c(ours)[2]))
    assert not verify(key, values, read_proof(path))
    x, y, one = proof["pi_a"]
    path.write_text(json.dumps(proof | {"pi_a": [x, str(int(y) ^ 1), one]}))
    with pytest.raises(NotOnCurveError):
        verify(key, values, read_proof(path))
    assert key_json["nPublic"] == key.n_public


@pytest.mark.parametrize(
    "case", ["bn_mul2", "bn_no_public", "bn_linear_O0", "bls_mul2_fresh", "bls_full_domain"]
)
def test_fresh_proof_of_snarkjs_is_accepted(case: str, tmp_path: Path) -> None:
    """Made now by its command; the committed ones are checked in `test_corpus.py`."""
    folder, proof, public = VECTORS / case, tmp_path / "proof.json", tmp_path / "public.json"
    snarkjs("groth16", "prove", folder / "circuit.zkey", folder / "witness.wtns", proof, public)
    key = read_verifying_key(folder / "verification_key.json")
    signals = read_public(public, key.curve)
    assert verify(key, signals, read_proof(proof))
    assert proof.read_bytes() != (folder / "proof.json").read_bytes()


@pytest.mark.parametrize("case", ["bn_poseidon2", "bls_poseidon2"])
def test_the_command_accepts_our_files(case: str, tmp_path: Path) -> None:
    """`snarkjs groth16 verify` on files as we write them."""
    folder = VECTORS / case
    with Prover(folder / "circuit.zkey") as prover:
        proved = prover.prove(folder / "witness.wtns")
    write_proof(tmp_path / "proof.json", proved.proof)
    write_public(tmp_path / "public.json", proved.public)
    vk = folder / "verification_key.json"
    told = snarkjs("groth16", "verify", vk, tmp_path / "public.json", tmp_path / "proof.json")
    assert "OK" in told


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
@pytest.mark.parametrize(
    "r1cs", [twin.CUBE, twin.NO_PUBLIC, twin.chain(14), twin.chain(15)], ids=lambda r: r.name
)
def test_keys_of_the_naive_twin(curve: Any, r1cs: twin.R1cs, tmp_path: Path) -> None:
    """With the twin's key snarkjs makes a proof that we accept, and accepts ours."""
    keys = twin.setup(curve, r1cs)
    zkey, wtns, vk = (tmp_path / name for name in ("c.zkey", "w.wtns", "vk.json"))
    proof, public = tmp_path / "proof.json", tmp_path / "public.json"
    witness = twin.witness(curve, twin.assignment(r1cs, curve, 3))
    write_zkey(zkey, keys.key)
    write_witness(wtns, witness)
    write_verifying_key(vk, keys.verifying_key)
    snarkjs("groth16", "prove", zkey, wtns, proof, public)
    signals = read_public(public, curve)
    assert verify(keys.verifying_key, signals, read_proof(proof))

    with Prover(read_zkey(zkey)) as prover, warnings.catch_warnings():
        warnings.simplefilter("ignore", NotZeroKnowledgeWarning)
        ours = prover.prove(witness, seed=b"one")
    assert ours.public == signals
    statement = [
        json.loads(vk.read_text()),
        json.loads(public_to_json(ours.public)),
        json.loads(proof_to_json(ours.proof)),
    ]
    assert snarkjs_verifies([statement]) == [True]
