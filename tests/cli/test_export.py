"""`export`: files equal to snarkjs's, warnings on stderr, and nothing written when it fails."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from snarkcuda.errors import FormatError
from snarkcuda.formats.vkey_json import (
    read_verifying_key,
    verifying_key_to_json,
    write_verifying_key,
)
from snarkcuda.formats.zkey import read_zkey, write_zkey
from snarkcuda.groth16.alphabeta import alphabeta_12

SNARKJS = os.environ.get("SNARKJS") or shutil.which("snarkjs") or ""
VECTORS = Path(__file__).parents[1] / "vectors"
CASES = sorted(p.parent.name for p in VECTORS.glob("b*/verification_key.json"))
MARK = "snarkcuda_research_key"


def research_key(folder: Path) -> Path:
    """bn_mul2's key, marked."""
    key = read_zkey(VECTORS / "bn_mul2" / "circuit.zkey")
    path = folder / "research.zkey"
    write_zkey(path, replace(key, verifying_key=replace(key.verifying_key, is_research=True)))
    return path


@pytest.mark.parametrize("case", CASES)
def test_text_of_snarkjs(case: str) -> None:
    """Byte for byte, e(α, β) included."""
    key = read_zkey(VECTORS / case / "circuit.zkey").verifying_key
    expected = (VECTORS / case / "verification_key.json").read_text()
    assert verifying_key_to_json(key, alphabeta_12(key)) == expected


@pytest.mark.parametrize(("case", "fresh"), [("bn_mul2", False), ("bls_mul2_fresh", True)])
def test_export_vk(run, tmp_path, case, fresh):
    key = VECTORS / case / "circuit.zkey"
    done = run("export", "vk", key, "vk.json", "--json")
    assert done.returncode == 0
    expected = (VECTORS / case / "verification_key.json").read_bytes()
    assert (tmp_path / "vk.json").read_bytes() == expected
    record = json.loads(done.stdout)
    assert (record["vk"], record["public"], bool(record["warnings"])) == ("vk.json", 2, fresh)
    assert [line for line in done.stderr.splitlines() if line.startswith("WARNING")] == [
        f"WARNING: {key}: {warning}" for warning in record["warnings"]
    ]


def test_research_key_stays_marked(run, tmp_path):
    """From zkey to JSON to `verify`: warned of at each step, and with --quiet too."""
    key, case = research_key(tmp_path), VECTORS / "bn_mul2"
    done = run("export", "vk", key, "vk.json")
    assert done.returncode == 0
    assert done.stderr.count("WARNING: ") == 1 and "toxic waste was known" in done.stderr
    value = json.loads((tmp_path / "vk.json").read_text())
    assert value.pop(MARK) is True
    assert value == json.loads((case / "verification_key.json").read_text())
    assert read_verifying_key(tmp_path / "vk.json").is_research

    done = run("prove", key, case / "witness.wtns", "p.json", "q.json", "--quiet", "--json")
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1 and done.stderr.startswith(f"WARNING: {key}: ")
    assert "toxic waste" in json.loads(done.stdout)["warnings"][0]
    done = run("verify", "vk.json", "q.json", "p.json", "--json")
    assert done.returncode == 0 and "WARNING: vk.json: " in done.stderr
    assert len(json.loads(done.stdout)["warnings"]) == 1
    for file in (key, "vk.json"):
        done = run("info", file, "--json")
        assert f"WARNING: {file}: " in done.stderr
        assert len(json.loads(done.stdout)["warnings"]) == 1


@pytest.mark.parametrize("value", [1, 0, "true", None, [], {}])
def test_a_mark_that_is_no_boolean_is_refused(tmp_path, value):
    """True and false say what they say."""
    key = json.loads((VECTORS / "bn_mul2" / "verification_key.json").read_text())
    path = tmp_path / "vk.json"
    for mark in (True, False):
        path.write_text(json.dumps(key | {MARK: mark}))
        assert read_verifying_key(path).is_research is mark
    path.write_text(json.dumps(key | {MARK: value}))
    with pytest.raises(FormatError, match=f"{MARK} must be true or false"):
        read_verifying_key(path)


@pytest.mark.interop
@pytest.mark.skipif(not SNARKJS, reason="SNARKJS names no snarkjs executable")
def test_snarkjs_takes_a_marked_key(run, tmp_path):
    case = VECTORS / "bn_mul2"
    key = read_verifying_key(case / "verification_key.json")
    write_verifying_key(tmp_path / "vk.json", replace(key, is_research=True))
    assert MARK in (tmp_path / "vk.json").read_text()
    files = [tmp_path / "vk.json", case / "public.json", case / "proof.json"]
    command = [SNARKJS, "groth16", "verify", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "OK" in done.stdout


def test_export_vk_refuses(run, tmp_path):
    """A header point off its curve, another kind of file, an output that is the input."""
    key = read_zkey(VECTORS / "bn_mul2" / "circuit.zkey")
    off = key.verifying_key.alpha_g1.copy()
    off[1, 0] ^= 1
    write_zkey(
        tmp_path / "bad", replace(key, verifying_key=replace(key.verifying_key, alpha_g1=off))
    )
    good = VECTORS / "bn_mul2"
    for file, words in (
        ("bad", "alpha (G1) does not satisfy the equation"),
        (good / "witness.wtns", "zkey"),
        (VECTORS / "neg_plonk_key" / "circuit.zkey", "PLONK"),
    ):
        done = run("export", "vk", file, "vk.json")
        assert (done.returncode, done.stdout) == (2, "")
        assert words in done.stderr and "Traceback" not in done.stderr
    done = run("export", "vk", "bad", "bad")
    assert done.returncode == 2 and "same file" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["bad"]


def test_export_calldata(run, tmp_path):
    """To a file or to stdout, checked or not."""
    case = VECTORS / "bn_poseidon2"
    files, expected = (
        (case / "public.json", case / "proof.json"),
        (case / "calldata.txt").read_text(),
    )
    for arguments in ([], ["-"], ["--vk", case / "verification_key.json"]):
        done = run("export", "calldata", *files, *arguments)
        assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")
    done = run("export", "calldata", *files, "out.txt")
    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "out.txt").read_text() == expected


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["{bn}/proof.json", "{bn}/public.json"],
            "where a public file belongs; the order is PUBLIC",
        ),
        (["{bls}/public.json", "{bls}/proof.json"], "BN254 alone"),
        (["large.json", "{bn}/proof.json"], "signal 0"),
        (
            ["other.json", "{bn}/proof.json", "out", "--vk", "{bn}/verification_key.json"],
            "does not",
        ),
        (
            ["short.json", "{bn}/proof.json", "out", "--vk", "{bn}/verification_key.json"],
            "expects 2",
        ),
        (["other.json", "{bn}/proof.json", "other.json"], "same file"),
        (["other.json", "{bn}/proof.json", "no/such/folder"], "no folder"),
    ],
)
def test_export_calldata_refuses(run, tmp_path, arguments, words):
    r = 21888242871839275222246405745257275088548364400416034343698204186575808495617
    inputs = {"large.json": [str(r)], "other.json": ["1", "2"], "short.json": ["1"]}
    for name, value in inputs.items():
        (tmp_path / name).write_text(json.dumps(value))
    names = {"bn": VECTORS / "bn_mul2", "bls": VECTORS / "bls_mul2"}
    done = run("export", "calldata", *(argument.format(**names) for argument in arguments))
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr and "Traceback" not in done.stderr
    assert {path.name: json.loads(path.read_text()) for path in tmp_path.iterdir()} == inputs
