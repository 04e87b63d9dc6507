"""snarkjs reads the circuits that we write. Needs node: SNARKJS=…/snarkjs pytest -m interop."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from snarkcuda.circuits.mimc_chain import mimc_chain
from snarkcuda.circuits.random_sparse import random_sparse
from snarkcuda.circuits.sha_like import sha_like
from snarkcuda.curve.params import CURVES, Curve
from snarkcuda.formats.r1cs import write_r1cs
from snarkcuda.formats.wtns import write_witness

SNARKJS = os.environ.get("SNARKJS") or shutil.which("snarkjs") or ""
INFO_NAMES = {"bn254": "bn-128", "bls12_381": "bls12-381"}

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(not SNARKJS, reason="no snarkjs: set SNARKJS, or put it on PATH"),
]


def snarkjs(*arguments: str | Path) -> str:
    """Run snarkjs; what it says, whatever its exit code."""
    done = subprocess.run(
        [SNARKJS, *map(str, arguments)], capture_output=True, text=True, timeout=120
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("make", [mimc_chain, sha_like, random_sparse], ids=lambda m: m.__name__)
@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
@pytest.mark.parametrize("n", [1, 700])
def test_synthetic_circuits(make: object, curve: Curve, n: int, tmp_path: Path) -> None:
    """Its counts are ours, the witness is correct, and with a wire changed it is not."""
    assert callable(make)
    r1cs, witness = make(curve, n, "seed")
    circuit, wtns = tmp_path / "c.r1cs", tmp_path / "w.wtns"
    write_r1cs(circuit, r1cs)
    write_witness(wtns, witness)
    told = snarkjs("r1cs", "info", circuit)
    for name, value in (
        ("Curve", INFO_NAMES[curve.name]),
        ("# of Wires", r1cs.n_wires),
        ("# of Constraints", n),
        ("# of Outputs", 1),
        ("# of Private Inputs", r1cs.n_private_inputs),
        ("# of Labels", r1cs.n_wires),
    ):
        assert re.search(rf"{name}: {value}$", told, re.MULTILINE), told
    assert "WITNESS IS CORRECT" in snarkjs("wtns", "check", circuit, wtns)

    witness.values[1, 0] ^= 1
    write_witness(wtns, witness)
    assert "WITNESS IS NOT CORRECT" in snarkjs("wtns", "check", circuit, wtns)
