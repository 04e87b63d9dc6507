"""Calldata: every number where a contract expects it, and what no contract takes is refused."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from snarkcuda.curve.params import BN254
from snarkcuda.errors import MismatchError, NotInFieldError
from snarkcuda.formats.calldata import calldata
from snarkcuda.formats.proof_json import read_proof
from snarkcuda.formats.public_json import read_public

SNARKJS = os.environ.get("SNARKJS") or shutil.which("snarkjs") or ""
VECTORS = Path(__file__).parents[1] / "vectors"
CASES = sorted(p.parent.name for p in VECTORS.glob("bn_*/proof.json"))
R = BN254.fr.modulus


def of_case(case: str) -> str:
    """The calldata of a vector's proof."""
    folder = VECTORS / case
    return calldata(read_proof(folder / "proof.json"), read_public(folder / "public.json", BN254))


@pytest.mark.parametrize("case", CASES)
def test_numbers_of_the_json_files(case: str) -> None:
    """a, b with swapped coefficients, c, the signals: the integers of the JSON files."""
    proof = json.loads((VECTORS / case / "proof.json").read_text())
    signals = json.loads((VECTORS / case / "public.json").read_text())
    a, b, c, public = json.loads(f"[{of_case(case)}]")
    numbers = [*a, *b[0], *b[1], *c, *public]
    assert all(len(number) == 66 and number.startswith("0x") for number in numbers)
    (x0, x1), (y0, y1) = proof["pi_b"][:2]
    expected = [*proof["pi_a"][:2], x1, x0, y1, y0, *proof["pi_c"][:2], *signals]
    assert [int(number, 16) for number in numbers] == [int(number) for number in expected]


@pytest.mark.interop
@pytest.mark.skipif(not SNARKJS, reason="SNARKJS names no snarkjs executable")
@pytest.mark.parametrize("case", CASES)
def test_text_of_snarkjs(case: str) -> None:
    """Byte for byte what its command prints."""
    files = [str(VECTORS / case / name) for name in ("public.json", "proof.json")]
    command = [SNARKJS, "zkey", "export", "soliditycalldata", *files]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert of_case(case) + "\n" == done.stdout


def test_infinity_is_zero() -> None:
    """EIP-196 writes infinity as (0, 0)."""
    proof = read_proof(VECTORS / "bn_mul2" / "proof.json")
    _, _, c, public = json.loads(f"[{calldata(replace(proof, c=np.zeros_like(proof.c)), [])}]")
    assert (c, public) == ([f"0x{0:064x}"] * 2, [])


@pytest.mark.parametrize("value", [R, R + 35, -1, 1 << 256])
def test_signals_out_of_range_are_refused(value: int) -> None:
    """By index; 0 and r − 1 are in range."""
    proof = read_proof(VECTORS / "bn_mul2" / "proof.json")
    assert f'"0x{R - 1:064x}"' in calldata(proof, [0, R - 1])
    with pytest.raises(NotInFieldError, match=f"public signal 1 is {value}, not in"):
        calldata(proof, [0, value])


def test_another_curve_is_refused() -> None:
    """With the reason."""
    proof = read_proof(VECTORS / "bls_mul2" / "proof.json")
    with pytest.raises(MismatchError, match=r"bls12_381.*EIP-197.*BN254 alone"):
        calldata(proof, [])


def test_nothing_here_imports_numba() -> None:
    """An export without --vk starts fast."""
    code = "import sys, snarkcuda.formats.calldata; sys.exit('numba' in sys.modules)"
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, timeout=60).returncode == 0
