"""`snarkcuda setup`: both kinds of key, their warnings, their refusals."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from snarkcuda.cli import first_run
from snarkcuda.cli.main import cli
from snarkcuda.errors import FormatError, MismatchError

VECTORS = Path(__file__).parents[1] / "vectors"
CIRCUIT = VECTORS / "bn_mul2" / "circuit.r1cs"
WITNESS = VECTORS / "bn_mul2" / "witness.wtns"
POWERS = VECTORS / "pot3_bn128.ptau"


def test_from_powers_of_tau(run, tmp_path) -> None:
    done = run("setup", CIRCUIT, POWERS, "key.zkey", "--json")
    assert done.returncode == 0, done.stderr
    stored = (VECTORS / "bn_mul2" / "pot3.zkey").read_bytes()
    assert (tmp_path / "key.zkey").read_bytes() == stored
    record = json.loads(done.stdout)
    assert record["circuit_hash"] == stored[-68:-4].hex()
    assert record["circuit_hash"] in done.stderr
    sizes = ("constraints", "wires", "public", "domain", "coefficients")
    assert [record[name] for name in sizes] == [1, 4, 2, 4, 5]
    assert (record["curve"], record["research"], record["key"]) == ("bn254", False, "key.zkey")
    assert {"circuit hash", "A query (G1)", "write"} <= {s["name"] for s in record["stages"]}
    assert any("nobody has contributed" in warning for warning in record["warnings"])
    assert done.stderr.count("WARNING") == len(record["warnings"]) == 1


def test_a_research_key_cannot_be_missed(run, tmp_path) -> None:
    """Said by setup, info, prove, export vk and verify, with --quiet too, and in the file."""

    def said(done, code: int = 0) -> None:
        assert done.returncode == code, done.stderr
        assert "WARNING" in done.stderr and "research key" in done.stderr, done.stderr
        assert "Traceback" not in done.stderr

    said(run("setup", CIRCUIT, "key.zkey", "--research", "-q"))
    assert b"RESEARCH KEY, NOT SECURE" in (tmp_path / "key.zkey").read_bytes()
    said(run("info", "key.zkey"))
    assert json.loads(run("info", "key.zkey", "--json").stdout)["warnings"]
    said(run("prove", "key.zkey", WITNESS, "proof.json", "public.json", "--quiet"))
    said(run("export", "vk", "key.zkey", "vk.json"))
    said(run("verify", "vk.json", "public.json", "proof.json"))
    said(run("info", "vk.json"))
    said(run("check", "key.zkey", "-q"))


def test_seed(run, tmp_path) -> None:
    for name, seed in (("a", "one"), ("b", "one"), ("c", "two")):
        assert run("setup", CIRCUIT, name, "--research", "--seed", seed, "-q").returncode == 0
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b != c


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([CIRCUIT, "key.zkey"], "CIRCUIT POWERS KEY, or CIRCUIT KEY --research is needed"),
        ([CIRCUIT, POWERS, "key.zkey", "--research"], "3 files were given; CIRCUIT KEY is needed"),
        ([CIRCUIT, POWERS, "key.zkey", "more"], "4 files were given"),
        ([CIRCUIT], "Missing argument"),
        ([CIRCUIT, POWERS, "key.zkey", "--seed", "x"], "--seed goes with --research"),
        ([POWERS, CIRCUIT, "key.zkey"], "is a powers-of-tau file (.ptau); a constraint system"),
        ([CIRCUIT, CIRCUIT, "key.zkey"], "is a constraint system (.r1cs); a powers-of-tau file"),
        (["none.r1cs", "key.zkey", "--research"], "cannot read none.r1cs"),
        ([VECTORS / "bls_mul2/circuit.r1cs", POWERS, "key.zkey"], "is over bls12_381 but"),
        ([VECTORS / "bn_poseidon2/circuit.r1cs", POWERS, "key.zkey"], "needs 2^8 rows but"),
        ([CIRCUIT, "no/such/key.zkey", "--research"], "no folder"),
    ],
)
def test_refused(run, tmp_path, arguments, words) -> None:
    done = run("setup", *arguments)
    assert done.returncode == 2, done.stderr
    assert words in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == "" and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("link", [None, os.symlink, os.link])
def test_an_input_as_the_output(run, tmp_path, link) -> None:
    """The circuit or the powers under the key's name, through a link too: refused, untouched."""
    for original, arguments in (
        (CIRCUIT, ["in", POWERS, "out"]),
        (POWERS, [CIRCUIT, "in", "out"]),
        (CIRCUIT, ["in", "out", "--research"]),
    ):
        (tmp_path / "in").write_bytes(original.read_bytes())
        if link is None:
            arguments = ["in" if argument == "out" else argument for argument in arguments]
        else:
            link(tmp_path / "in", tmp_path / "out")
        done = run("setup", *arguments)
        assert done.returncode == 2 and "same file" in done.stderr
        assert (tmp_path / "in").read_bytes() == original.read_bytes()
        (tmp_path / "out").unlink(missing_ok=True)


def test_an_existing_key_stays_when_setup_fails(run, tmp_path) -> None:
    (tmp_path / "key.zkey").write_bytes(b"precious")
    (tmp_path / "cut.r1cs").write_bytes(CIRCUIT.read_bytes()[:-5])
    assert run("setup", "cut.r1cs", "key.zkey", "--research").returncode == 2
    assert (tmp_path / "key.zkey").read_bytes() == b"precious"


def test_headers_are_compared_before_anything_is_compiled(monkeypatch, tmp_path) -> None:
    """Another curve, too few powers, and more rows than a key has."""

    def compile_missing(*_: object) -> None:
        raise AssertionError("it compiles")

    monkeypatch.setattr(first_run, "compile_missing", compile_missing)
    monkeypatch.chdir(tmp_path)
    many = bytearray(CIRCUIT.read_bytes())
    at = many.index(b"\x01\0\0\0" + (64).to_bytes(8, "little")) + 12 + 64 - 4
    many[at : at + 4] = b"\xff" * 4  # the number of constraints
    Path("many.r1cs").write_bytes(many)
    for error, words, *arguments in (
        (MismatchError, "is over bls12_381 but", VECTORS / "bls_mul2/circuit.r1cs", POWERS),
        (MismatchError, "needs 2\\^8 rows but", VECTORS / "bn_poseidon2/circuit.r1cs", POWERS),
        (FormatError, "at most 2\\^28 rows", "many.r1cs", "--research"),
    ):
        with pytest.raises(error, match=words):
            cli.main(["setup", "-q", *map(str, arguments), "key.zkey"], standalone_mode=False)
