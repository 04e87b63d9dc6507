"""One number, one meaning (reports: iden3/snarkjs#480, #479, #26, #359: v and v + r both passed).

Every scalar that enters must be canonical and plainly spelled, or is refused with its index.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snarkcuda.curve.params import CURVES, Curve
from snarkcuda.errors import FormatError, NotInFieldError
from snarkcuda.formats.public_json import read_public
from snarkcuda.formats.strict_json import Node

curves = pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)


def read(tmp_path: Path, curve: Curve, *raw: str) -> list[int]:
    """Read a public.json with these JSON texts as its signals."""
    path = tmp_path / "public.json"
    path.write_text("[" + ",".join(raw) + "]")
    return read_public(path, curve)


@curves
def test_accepted(curve: Curve, tmp_path: Path) -> None:
    """Decimal strings, 0x-hexadecimal strings, JSON integers."""
    top = curve.fr.modulus - 1
    raw = [
        '"0"',
        '"35"',
        "35",
        f'"{top}"',
        str(top),
        f'"{top:#x}"',
        '"0x23"',
        '"0x0"',
    ]
    assert read(tmp_path, curve, *raw) == [0, 35, 35, top, top, top, 35, 0]


@curves
@pytest.mark.parametrize("raw", ['"0x023"', '"0x2A"', '"0X23"', '"0x"', '"0x00"'])
def test_other_hexadecimal_spellings_are_refused(curve: Curve, raw: str, tmp_path: Path) -> None:
    """No leading zeros, no capitals: one value, one hexadecimal spelling."""
    with pytest.raises(FormatError):
        read(tmp_path, curve, raw)


@curves
@pytest.mark.parametrize("small", [0, 1, 35])
def test_aliases(curve: Curve, small: int, tmp_path: Path) -> None:
    """The alias v + k·r is not below r, however it is spelled."""
    r = curve.fr.modulus
    for value in (small + r, small + 2 * r, small + (r << 256)):
        for raw in (f'"{value}"', str(value), f'"{value:#x}"'):
            with pytest.raises(
                NotInFieldError, match=r"public.json: signal 1 .*(not below r|large)"
            ):
                read(tmp_path, curve, '"1"', raw, '"2"')
    for raw in ("-1", '"-1"', f'"-{r - 1}"', "-0", '"-0"'):
        with pytest.raises(NotInFieldError, match=r"signal 1 is .*negative"):
            read(tmp_path, curve, '"1"', raw)


TEXTS = (
    " |0x23 | 35|35\n|3.5e1|35.0|1e3|+35|035|00|0x|0X23|0xg|-0x1|3_5|0b11|0o7|35\0|NaN|one|1,2|--1"
)
OTHERS = [35.0, 3.5, True, False, None, [], ["35"], {}, {"0": "35"}, float("inf"), float("nan")]


@pytest.mark.parametrize("value", ["", *TEXTS.split("|"), "\u0663\u0665", *OTHERS], ids=repr)
def test_other_spellings(value: Any, tmp_path: Path) -> None:
    """Blanks, signs, zeros in front, exponents, other scripts, other types: refused by index."""
    with pytest.raises(FormatError, match="signal 2 must be an integer"):
        read(tmp_path, CURVES[0], '"1"', '"2"', json.dumps(value))
    assert read(tmp_path, CURVES[0], '"35"') == [35]


@given(st.text(max_size=12))
def test_only_digits_are_integers(text: str) -> None:
    """What is read is what Python prints again: no two decimal spellings of one number."""
    try:
        value = Node("file", "place", text).integer()
    except (FormatError, NotInFieldError):
        return
    assert text.isascii() and (text == str(value) or int(text, 16) == value)


@given(st.integers(min_value=0, max_value=2**400))
def test_every_integer_is_read(value: int) -> None:
    """Decimal and hexadecimal, whatever the size of a field element."""
    for text in (str(value), hex(value)):
        assert Node("file", "place", text).integer() == value
