"""Curves on the command line, and the rule for their names."""

from __future__ import annotations

import ast
from pathlib import Path

import click
import pytest

from snarkcuda.cli.curve_option import Curves
from snarkcuda.cli.main import commands
from snarkcuda.curve.params import BLS12_381, BN254, CURVES, Curve

SOURCES = Path(__file__).parents[2] / "snarkcuda"


@pytest.mark.parametrize(
    "word, expected",
    [
        ("bn254", (BN254,)),
        ("BN128", (BN254,)),
        ("bls12381", (BLS12_381,)),
        ("BLS12_381", (BLS12_381,)),
        ("Both", CURVES),
        (CURVES, CURVES),
    ],
)
def test_words(word: str | tuple[Curve, ...], expected: tuple[Curve, ...]) -> None:
    assert Curves(both=True).convert(word, None, None) == expected


@pytest.mark.parametrize("both, word", [(True, "ed25519"), (False, "both"), (True, "")])
def test_no_curve(both: bool, word: str) -> None:
    with pytest.raises(click.BadParameter, match=f"'{word}' is none of bn254, bn128") as error:
        Curves(both).convert(word, None, None)
    assert error.value.message.endswith(", both") == both


def all_options(command: click.Command) -> list[click.Parameter]:
    within = command.commands.values() if isinstance(command, click.Group) else ()
    return [*command.params, *(option for each in within for option in all_options(each))]


def test_every_curve_is_typed_so() -> None:
    """In each command that asks for one."""
    asked = [
        option
        for command in commands
        for option in all_options(command)
        if "--curve" in option.opts
    ]
    assert len(asked) > 5
    assert all(isinstance(option.type, Curves) for option in asked)


def test_snarkjs_s_names_are_for_its_json_files_alone() -> None:
    """`file_name` is read where those are written or refused; all else says `name`."""
    users = {
        path.name
        for path in SOURCES.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr == "file_name"
    }
    assert users == {"proof_json.py", "vkey_json.py", "json_points.py"}
