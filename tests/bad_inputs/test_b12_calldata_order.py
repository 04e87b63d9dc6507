"""iden3/snarkjs#13, #631, rlnjs#101: B reached the contract in the wrong order: always false.

JSON has an element of Fq2 as [re, im], EIP-197 as (im, re); a contract cannot tell the two apart.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from snarkcuda.formats.calldata import calldata
from snarkcuda.formats.proof_json import proof_to_json, read_proof
from snarkcuda.formats.public_json import read_public

CASE = Path(__file__).parents[1] / "vectors" / "bn_poseidon2"


def test_stored_vector() -> None:
    """A fixed proof gives the text that snarkjs gave."""
    proof = read_proof(CASE / "proof.json")
    text = calldata(proof, read_public(CASE / "public.json", proof.curve))
    assert f"{text}\n" == (CASE / "calldata.txt").read_text()


def test_swapped_in_calldata_alone() -> None:
    """[im, re] there, [re, im] in the JSON file, which is written as it was read."""
    proof = read_proof(CASE / "proof.json")
    assert proof_to_json(proof) == (CASE / "proof.json").read_text()
    _, b, _, _ = json.loads(f"[{calldata(proof, [])}]")
    pairs = json.loads(proof_to_json(proof))["pi_b"][:2]
    for (im, re), (c0, c1) in zip(b, pairs, strict=True):
        assert (int(re, 16), int(im, 16)) == (int(c0), int(c1))
        assert re != im


def test_command_line(run_cli: Callable) -> None:
    """To stdout, the stored text."""
    ended = run_cli("export", "calldata", CASE / "public.json", CASE / "proof.json")
    assert (ended.code, ended.stdout) == (0, (CASE / "calldata.txt").read_text())
