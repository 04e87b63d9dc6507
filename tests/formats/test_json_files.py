"""proof.json, public.json, verification_key.json: text as snarkjs writes it, and strict reading."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from snarkcuda.curve.params import BLS12_381, BN254, CURVES, Curve
from snarkcuda.errors import FormatError, MismatchError, NotInFieldError, NotOnCurveError
from snarkcuda.field.arrays import to_ints
from snarkcuda.formats.proof_json import proof_to_json, read_proof, write_proof
from snarkcuda.formats.public_json import public_to_json, read_public, write_public
from snarkcuda.formats.vkey_json import (
    read_verifying_key,
    verifying_key_to_json,
    write_verifying_key,
)

VECTORS = Path(__file__).parents[1] / "vectors"
CASES = sorted(
    p.parent.name for p in VECTORS.glob("*/proof.json") if not p.parent.name.startswith("neg_")
)
Edit = Callable[[dict[str, Any]], object]


def curve_of(case: str) -> Curve:
    """The curve that a case's name says."""
    return BN254 if case.startswith("bn_") else BLS12_381


def edited(tmp_path: Path, name: str, edit: Edit, case: str = "bn_mul2") -> Path:
    """A corpus file with one thing changed."""
    value = json.loads((VECTORS / case / name).read_text())
    edit(value)
    path = tmp_path / name
    path.write_text(json.dumps(value))
    return path


@pytest.mark.parametrize("case", CASES)
def test_text_is_as_snarkjs_writes_it(case: str, tmp_path: Path) -> None:
    """Each file read and written again is the same, byte for byte."""
    folder, curve = VECTORS / case, curve_of(case)
    for expected in (curve, None):
        write_proof(tmp_path / "proof.json", read_proof(folder / "proof.json", expected))
    write_public(tmp_path / "public.json", read_public(folder / "public.json", curve))
    key = read_verifying_key(folder / "verification_key.json", curve)
    alphabeta = json.loads((folder / "verification_key.json").read_text())["vk_alphabeta_12"]
    write_verifying_key(tmp_path / "verification_key.json", key, alphabeta)
    for name in ("proof.json", "public.json", "verification_key.json"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()
    without = json.loads(verifying_key_to_json(key))
    assert "vk_alphabeta_12" not in without and without["nPublic"] == len(without["IC"]) - 1


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_points_are_montgomery(curve: Curve) -> None:
    """The gamma of a snarkjs key is the generator of G2."""
    case = "bn_mul2" if curve is BN254 else "bls_mul2"
    key = read_verifying_key(VECTORS / case / "verification_key.json")
    flat = [c for coordinate in curve.g2_generator for c in coordinate]
    assert to_ints(key.gamma_g2) == [curve.fq.to_montgomery(c) for c in flat]
    assert key.gamma_g2.shape == (2, 2, curve.fq.limbs)


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_curve_names(curve: Curve, tmp_path: Path) -> None:
    """Every alias is read; none is needed when the caller or the points tell the curve."""
    case = "bn_mul2" if curve is BN254 else "bls_mul2"
    other = BLS12_381 if curve is BN254 else BN254
    for name in (*curve.aliases, curve.file_name.upper(), None):

        def edit(value: dict[str, Any], name: str | None = name) -> None:
            del value["curve"]
            if name is not None:
                value["curve"] = name

        proof = edited(tmp_path, "proof.json", edit, case)
        key = edited(tmp_path, "verification_key.json", edit, case)
        for expected in (curve, None):
            assert read_proof(proof, expected).curve is curve
            assert read_verifying_key(key, expected).curve is curve
        assert json.loads(proof_to_json(read_proof(proof)))["curve"] == curve.file_name
        if name is not None:
            pattern = f"{curve.name}.*{other.name}"
            with pytest.raises(MismatchError, match=pattern):
                read_proof(proof, other)
            with pytest.raises(MismatchError, match=pattern):
                read_verifying_key(key, other)


@pytest.mark.parametrize(
    ("edit", "error", "words"),
    [
        (lambda v: v.pop("pi_b"), FormatError, "no key 'pi_b'"),
        (lambda v: v.pop("protocol"), FormatError, "no key 'protocol'"),
        (lambda v: v.update(protocol="plonk"), FormatError, "protocol must be 'groth16', not 'plo"),
        (lambda v: v.update(protocol=1), FormatError, "protocol must be a string, not 1"),
        (lambda v: v.update(curve="secp256k1"), FormatError, "bn128, bls12381, not 'secp256k1'"),
        (lambda v: v.update(curve=None), FormatError, "curve must be a string, not null"),
        (lambda v: v.update(pi_a="x"), FormatError, "pi_a must be a list of 3, not 'x'"),
        (lambda v: v["pi_a"].pop(), FormatError, "pi_a must have 3 entries, not 2"),
        (lambda v: v["pi_b"][1].append("1"), FormatError, r"pi_b\[1\] must have 2 entries, not 3"),
        (lambda v: v["pi_b"].__setitem__(1, "1"), FormatError, r"pi_b\[1\] must be a list of 2"),
        (lambda v: v["pi_b"][1].__setitem__(0, 1.5), FormatError, r"pi_b\[1\]\[0\] .* not 1.5"),
        (lambda v: v["pi_b"][1].__setitem__(0, True), FormatError, r"pi_b\[1\]\[0\] .* not true"),
        (lambda v: v["pi_b"][1].__setitem__(0, {}), FormatError, r"pi_b\[1\]\[0\] .* not an obj"),
        (lambda v: v["pi_b"][1].__setitem__(0, "-1"), NotInFieldError, r"pi_b\[1\]\[0\] is -1"),
        (lambda v: v["pi_a"].__setitem__(2, "2"), FormatError, r"pi_a\[2\] must be 1"),
        (lambda v: v["pi_a"].__setitem__(2, "0"), FormatError, r"pi_a\[2\] must be 1"),
        (lambda v: v["pi_b"][2].__setitem__(1, "1"), FormatError, r"pi_b\[2\] must be 1"),
        (lambda v: v.update(pi_a=["0", "1", "0"]), NotOnCurveError, "pi_a is the point at infin"),
        (lambda v: v.update(pi_c=["0", "0", "1"]), NotOnCurveError, r"pi_c is \(0, 0\)"),
        (lambda v: v.update(pi_c=["0", "0", "0"]), FormatError, r"pi_c\[2\] must be 1"),
        (lambda v: v.update(pi_c=["1", "1", "0"]), FormatError, r"pi_c\[2\] must be 1"),
        (
            lambda v: v.update(pi_b=[["0", "0"], ["1", "0"], ["0", "0"]]),
            NotOnCurveError,
            "pi_b is the point at infinity",
        ),
    ],
)
def test_proof_rules(edit: Edit, error: type[Exception], words: str, tmp_path: Path) -> None:
    """Each broken rule is named with its place in the file."""
    path = edited(tmp_path, "proof.json", edit)
    with pytest.raises(error, match=words) as caught:
        read_proof(path, BN254)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("case", ["bn_mul2", "bls_mul2"])
def test_c_may_be_infinity(case: str, tmp_path: Path) -> None:
    """It reads as zeros and is written as (0, 1, 0)."""
    path = edited(tmp_path, "proof.json", lambda v: v.update(pi_c=["0", "1", "0"]), case)
    proof = read_proof(path)
    assert not proof.c.any() and proof.c.shape == proof.a.shape
    assert json.loads(proof_to_json(proof)) == json.loads(path.read_text())


@pytest.mark.parametrize(
    ("edit", "error", "words"),
    [
        (lambda v: v.pop("IC"), FormatError, "no key 'IC'"),
        (lambda v: v.update(nPublic=3), FormatError, "IC has 3 points but nPublic is 3"),
        (lambda v: v["IC"].pop(), FormatError, "IC has 2 points but nPublic is 2"),
        (lambda v: v.update(nPublic=True), FormatError, "nPublic .* not true"),
        (lambda v: v.update(nPublic=2.0), FormatError, "nPublic .* not 2.0"),
        (lambda v: v.update(nPublic=-1), NotInFieldError, "nPublic is -1"),
        (lambda v: v.update(IC=[], nPublic=0), FormatError, "IC has 0 points"),
        (lambda v: v["IC"][2].pop(), FormatError, r"IC\[2\] must have 3 entries"),
        (lambda v: v.update(vk_alpha_1=["0", "1", "0"]), NotOnCurveError, "vk_alpha_1"),
        *(
            (
                lambda v, name=name: v.update({name: [["0", "0"], ["1", "0"], ["0", "0"]]}),
                NotOnCurveError,
                name,
            )
            for name in ("vk_beta_2", "vk_gamma_2", "vk_delta_2")
        ),
    ],
)
def test_verifying_key_rules(
    edit: Edit, error: type[Exception], words: str, tmp_path: Path
) -> None:
    """Each broken rule is named with its place in the file."""
    with pytest.raises(error, match=words):
        read_verifying_key(edited(tmp_path, "verification_key.json", edit))


def test_ic_points_may_be_infinity_and_alphabeta_is_ignored(tmp_path: Path) -> None:
    """A wire in no constraint has an IC point at infinity; the stored pairing may be nonsense."""

    def edit(value: dict[str, Any]) -> None:
        value["IC"][1] = ["0", "1", "0"]
        value["vk_alphabeta_12"] = [1.5, None]

    key = read_verifying_key(edited(tmp_path, "verification_key.json", edit))
    assert not key.ic[1].any() and key.ic[2].any()
    assert json.loads(verifying_key_to_json(key))["IC"][1] == ["0", "1", "0"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("{", "is not JSON: .* line 1, column 2"),
        ('["1",]', "is not JSON"),
        ("[NaN]", "signal 0 .* not NaN"),
        ('[{"a": 1, "a": 2}]', "key 'a' stands twice"),
        ("{}", "must be a list"),
        ("[" * 200_000, "nested too deeply"),
        ('{"a":' * 200_000, "nested too deeply"),
        ("[" * 200_000 + "]" * 200_000, "nested too deeply"),
        ("[" + "9" * 100_000 + "]", "signal 0 has 100000 characters"),
        ("[1] [2]", "is not JSON"),
    ],
)
def test_hostile_json(text: str, words: str, tmp_path: Path) -> None:
    """Syntax, depth, huge numbers, duplicates: clean errors."""
    path = tmp_path / "public.json"
    path.write_text(text)
    with pytest.raises((FormatError, NotInFieldError), match=words):
        read_public(path, BN254)


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 200_000])
def test_deep_json_under_a_raised_recursion_limit(text: str, tmp_path: Path) -> None:
    """The parser must not overflow the stack in a program that has raised the limit."""
    (tmp_path / "public.json").write_text(text)
    code = (
        "import sys; sys.setrecursionlimit(10**6)\n"
        "from snarkcuda import BN254, FormatError, read_public\n"
        "try: read_public('public.json', BN254)\n"
        "except FormatError as error: assert 'nested too deeply' in str(error)\n"
        "else: sys.exit(3)\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=60)


@pytest.mark.parametrize(
    "text", ['["' + '\\"' * 4_000_000, '["' * 4_000_000, '"' + "\\" * 8_000_001]
)
def test_many_quotes_take_linear_time(text: str, tmp_path: Path) -> None:
    """Eight megabytes of quotes and backslashes end in an error within the test's time limit."""
    path = tmp_path / "public.json"
    path.write_text(text)
    with pytest.raises(FormatError):
        read_public(path, BN254)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    """Not UTF-8, with the place of the byte."""
    path = tmp_path / "public.json"
    path.write_bytes(b'["\xff"]')
    with pytest.raises(FormatError, match="byte 2 is not UTF-8"):
        read_public(path, BN254)


@pytest.mark.parametrize("signals", [[], [0], [1, 2, BN254.fr.modulus - 1]])
def test_public_round_trip(signals: list[int], tmp_path: Path) -> None:
    """No signals included."""
    path = tmp_path / "public.json"
    path.write_text(public_to_json(signals))
    assert read_public(path, BN254) == signals
