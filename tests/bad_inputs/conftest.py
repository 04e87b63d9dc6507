"""The command line as users run it, and the files of small circuits to run it on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from snarkcuda.curve.params import Curve
from snarkcuda.field.arrays import from_ints
from snarkcuda.formats.proof_json import write_proof
from snarkcuda.formats.public_json import write_public
from snarkcuda.formats.vkey_json import write_verifying_key
from snarkcuda.formats.wtns import write_witness
from snarkcuda.formats.zkey import write_zkey
from snarkcuda.groth16.keys import Witness
from tests import naive_groth16 as twin
from tests.naive_groth16 import R1cs, Setup

ROOT = Path(__file__).parents[2]
KEPT = b"bytes of an older run"


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Files:
    """A circuit's files: all good, made by the naive twin."""

    keys: Setup
    key: Path
    witness: Path
    vk: Path
    public: Path
    proof: Path
    signals: list[int]


RunCli = Callable[..., Ended]
MakeFiles = Callable[..., Files]


@pytest.fixture
def run_cli() -> RunCli:
    """`run_cli("verify", vk, public, proof)`, in a child process with a time limit."""

    def run(*arguments: str | Path) -> Ended:
        done = subprocess.run(
            [sys.executable, "-m", "snarkcuda", *map(str, arguments)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert "Traceback" not in done.stderr
        return Ended(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def prove_fails(run_cli: RunCli, tmp_path: Path) -> Callable[..., str]:
    """`prove_fails(key, witness)`: prove ends with exit code 2, and changes no file.

    Older outputs keep their bytes; where there were none there are none. Returns stderr.
    """

    def fails(key: Path, witness: Path) -> str:
        for existing in (False, True):
            folder = tmp_path / f"outputs-{existing}"
            folder.mkdir()
            outputs = [folder / "proof.json", folder / "public.json"]
            if existing:
                for path in outputs:
                    path.write_bytes(KEPT)
            ended = run_cli("prove", key, witness, *outputs)
            assert ended.code == 2, ended.stderr
            assert sorted(folder.iterdir()) == (outputs if existing else [])
            assert all(path.read_bytes() == KEPT for path in folder.iterdir())
        return ended.stderr

    return fails


@pytest.fixture
def make_files(tmp_path: Path) -> MakeFiles:
    """`make_files(curve, r1cs, x)`: key, witness, verifying key, proof and public signals."""

    def make(curve: Curve, r1cs: R1cs, x: int = 3) -> Files:
        folder = tmp_path / f"{curve.name} {r1cs.name} {x}"
        folder.mkdir()
        keys = twin.setup(curve, r1cs)
        z = twin.assignment(r1cs, curve, x, 4)
        signals = z[1 : r1cs.n_public + 1]
        names = ("circuit.zkey", "witness.wtns", "vk.json", "public.json", "proof.json")
        key, witness, vk, public, proof = (folder / name for name in names)
        write_zkey(key, keys.key)
        write_witness(witness, Witness(curve, from_ints(z, 4)))
        write_verifying_key(vk, keys.verifying_key)
        write_public(public, signals)
        write_proof(proof, twin.prove(keys, z, 5, 7))
        return Files(keys, key, witness, vk, public, proof, signals)

    return make
