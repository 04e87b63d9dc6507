"""Consensys/gnark#2, BitVM/BitVM#109: points off the curve reached the pairing.

A pairing of a point off the curve, or of small order, is a number like any other: nothing notices
downstream. Coordinates not below q are refused by the readers (`test_formats_coordinates.py`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from snarkcuda.curve.params import BLS12_381, BN254, CURVES, Curve
from snarkcuda.curve.points import decode
from snarkcuda.errors import NotInFieldError, NotOnCurveError
from snarkcuda.formats.json_points import point_value
from snarkcuda.formats.proof_json import read_proof
from snarkcuda.formats.vkey_json import read_verifying_key
from snarkcuda.groth16.verify import verify
from tests.naive_groth16 import CUBE, outside_subgroup

curves = pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
names = pytest.mark.parametrize("name", ["pi_a", "pi_b", "pi_c"])
ONES = {"pi_a": ["1", "1", "1"], "pi_b": [["1", "0"], ["1", "0"], ["1", "0"]]}
INFINITY = {"pi_a": ["0", "1", "0"], "pi_b": [["0", "0"], ["1", "0"], ["0", "0"]]}
for table in (ONES, INFINITY):
    table["pi_c"] = table["pi_a"]


def changed_proof(path: Path, name: str, point: Any) -> None:
    """Write another point into proof.json."""
    proof = json.loads(path.read_text())
    proof[name] = point
    path.write_text(json.dumps(proof))


def plus(point: Any, place: int, difference: int) -> Any:
    """The point of proof.json with x (0) or y (1) changed, c0 of it in G2."""
    point = json.loads(json.dumps(point))
    if isinstance(point[place], list):
        point[place][0] = str(int(point[place][0]) + difference)
    else:
        point[place] = str(int(point[place]) + difference)
    return point


def verdict(files: Any) -> bool:
    """As the command does it: read all three, verify."""
    key = read_verifying_key(files.vk)
    return verify(key, files.signals, read_proof(files.proof, key.curve))


@curves
@names
def test_off_the_curve(curve: Curve, name: str, make_files: Callable) -> None:
    """With y + 1, x + 1, (1, 1): which point, and why; the good proof is still good."""
    files = make_files(curve, CUBE)
    text = files.proof.read_text()
    good = json.loads(text)[name]
    assert verdict(files)
    for bad in (plus(good, 1, 1), plus(good, 0, 1), ONES[name]):
        changed_proof(files.proof, name, bad)
        with pytest.raises(NotOnCurveError, match=rf"{name}.* does not satisfy the equation") as e:
            verdict(files)
        assert e.value.exit_code == 2
    files.proof.write_text(text)
    assert verdict(files)


@curves
@names
def test_coordinates_from_q_on(curve: Curve, name: str, make_files: Callable) -> None:
    """To the arithmetic x + q is x, and a second spelling of the proof: refused."""
    files = make_files(curve, CUBE)
    good = json.loads(files.proof.read_text())[name]
    for place in (0, 1):
        changed_proof(files.proof, name, plus(good, place, curve.fq.modulus))
        with pytest.raises(NotInFieldError, match=rf"{name}\[{place}\].* not below q"):
            verdict(files)


@pytest.mark.parametrize(
    "curve, name",
    [(BN254, "pi_b"), (BLS12_381, "pi_a"), (BLS12_381, "pi_b"), (BLS12_381, "pi_c")],
    ids=lambda value: getattr(value, "name", value),
)
def test_outside_the_subgroup(curve: Curve, name: str, make_files: Callable) -> None:
    """On the curve, of another order. (All of BN254's G1 has order r.)"""
    files = make_files(curve, CUBE)
    group = curve.g2 if name == "pi_b" else curve.g1
    stray = outside_subgroup(curve, group)
    assert decode(group, stray[None])[0] is not None
    changed_proof(files.proof, name, point_value(stray, curve))
    with pytest.raises(NotOnCurveError, match=rf"{name} is on the curve but outside"):
        verdict(files)


@curves
def test_infinity(curve: Curve, make_files: Callable) -> None:
    """A and B are refused, C is a point like others, and (0, 0) is never infinity in JSON."""
    files = make_files(curve, CUBE)
    text = files.proof.read_text()
    for name in ("pi_a", "pi_b"):
        changed_proof(files.proof, name, INFINITY[name])
        with pytest.raises(NotOnCurveError, match=rf"{name} is the point at infinity"):
            verdict(files)
        files.proof.write_text(text)
    changed_proof(files.proof, "pi_c", INFINITY["pi_c"])
    assert verdict(files) is False
    for name in ("pi_a", "pi_b", "pi_c"):
        files.proof.write_text(text)
        zero = ["0", "0"] if name == "pi_b" else "0"
        changed_proof(files.proof, name, [zero, zero, ["1", "0"] if name == "pi_b" else "1"])
        with pytest.raises(NotOnCurveError, match=rf"{name} is \(0, 0\)"):
            verdict(files)


@curves
@pytest.mark.parametrize("name", ["vk_alpha_1", "vk_beta_2", "vk_gamma_2", "vk_delta_2", "IC"])
def test_verifying_key(curve: Curve, name: str, make_files: Callable) -> None:
    """A verifying key is an input too."""
    files = make_files(curve, CUBE)
    good = json.loads(files.vk.read_text())
    key = json.loads(files.vk.read_text())
    key[name] = (
        [good["IC"][0], plus(good["IC"][1], 1, 1)] if name == "IC" else plus(good[name], 1, 1)
    )
    files.vk.write_text(json.dumps(key))
    word = r"IC\[1\]" if name == "IC" else name.split("_")[1]
    with pytest.raises(NotOnCurveError, match=rf"vk.json: {word} .*does not satisfy"):
        verdict(files)


@pytest.mark.parametrize(
    "name, bad, reason",
    [
        ("pi_a", "y + 1", "does not satisfy the equation"),
        ("pi_a", "x + q", "not below q"),
        ("pi_a", "infinity", "point at infinity"),
        ("pi_b", "y + 1", "does not satisfy the equation"),
        ("pi_b", "subgroup", "outside the subgroup"),
        ("pi_c", "(1, 1)", "does not satisfy the equation"),
    ],
)
def test_command_line(
    name: str, bad: str, reason: str, make_files: Callable, run_cli: Callable
) -> None:
    """Exit code 2, which point, and why."""
    files = make_files(BN254, CUBE)
    good = json.loads(files.proof.read_text())[name]
    point = {
        "y + 1": plus(good, 1, 1),
        "x + q": plus(good, 0, BN254.fq.modulus),
        "infinity": INFINITY[name],
        "(1, 1)": ONES[name],
        "subgroup": point_value(outside_subgroup(BN254, BN254.g2), BN254),
    }[bad]
    changed_proof(files.proof, name, point)
    ended = run_cli("verify", files.vk, files.public, files.proof)
    assert ended.code == 2
    assert name in ended.stderr
    assert reason in ended.stderr


def test_command_line_false_proof(make_files: Callable, run_cli: Callable) -> None:
    """C at infinity is well formed, so this is a verdict: exit code 1."""
    files = make_files(BN254, CUBE)
    changed_proof(files.proof, "pi_c", INFINITY["pi_c"])
    assert run_cli("verify", files.vk, files.public, files.proof).code == 1
