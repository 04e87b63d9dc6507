"""JSON as an input from a stranger: bounded, without duplicate keys, every value checked.

A `Node` is a value with its place, so that each error says where: "proof.json: pi_b[1][0] ...".
Numbers are never Python floats: the digits are kept as text and read by one rule, `Node.scalar`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from snarkcuda.errors import FormatError, NotInFieldError
from snarkcuda.field.params import PrimeField
from snarkcuda.formats.opening import FilePath, read_input, shown

_DECIMAL = re.compile(r"0|[1-9][0-9]*")
_HEX = re.compile(r"0x(?:0|[1-9a-f][0-9a-f]*)")
_NEGATIVE = re.compile(r"-[0-9]+")
_MARKS = re.compile(r'["\\\[\]{}]')
_DEEPEST = 16
_LONGEST = 160  # characters of a number; a base field element has at most 115 digits


class _Integer(str):
    """The digits of a JSON number written without fraction or exponent."""


class _Refused(str):
    """The text of a JSON number that is no integer: 1.5, 1e3, NaN."""


@dataclass(frozen=True)
class Node:
    """A JSON value, the file it came from and its place in it ("pi_b[1][0]")."""

    file: str
    place: str
    value: Any

    @property
    def where(self) -> str:
        """File and place, for messages."""
        return f"{self.file}: {self.place}" if self.place else self.file

    def refuse(self, rule: str) -> NoReturn:
        """Raise a `FormatError`: the place, what should stand there, what does."""
        raise FormatError(f"{self.where} must be {rule}, not {_describe(self.value)}")

    def fields(self, *names: str) -> tuple[Node, ...]:
        """The values of an object's keys, all of which must be there; others are ignored."""
        if not isinstance(self.value, dict):
            self.refuse("an object")
        for name in names:
            if name not in self.value:
                raise FormatError(f"{self.where} has no key '{name}'")
        prefix = f"{self.place}." if self.place else ""
        return tuple(Node(self.file, prefix + name, self.value[name]) for name in names)

    def optional(self, name: str) -> Node | None:
        """The value of an object's key, None if there is no such key."""
        return self.fields(name)[0] if name in self.value else None

    def items(self, count: int | None = None, name: str = "") -> Iterator[Node]:
        """The entries of a list, of `count` entries if that is given.

        An entry's place is this one's and "[i]"; with a `name`, "name i".
        """
        if not isinstance(self.value, list):
            self.refuse("a list" if count is None else f"a list of {count}")
        if count is not None and len(self.value) != count:
            raise FormatError(f"{self.where} must have {count} entries, not {len(self.value)}")
        place = f"{name} {{}}" if name else f"{self.place}[{{}}]"
        return (Node(self.file, place.format(i), entry) for i, entry in enumerate(self.value))

    def text(self) -> str:
        """A string that is no number."""
        if type(self.value) is not str:
            self.refuse("a string")
        return self.value

    def integer(self) -> int:
        """An integer ≥ 0: JSON integer, or string of decimal digits or of 0x and hex digits.

        Signs, blanks, leading zeros, capitals, fractions and exponents are refused. What is unique
        is the value, not the file: 5, "5" and "0x5" are one number.

        Raises:
            FormatError: another spelling or another type (true, 1.0, null, ...).
            NotInFieldError: negative.
        """
        value = self.value
        if type(value) not in (str, _Integer):
            self.refuse("an integer in decimal digits")
        if len(value) > _LONGEST:
            raise NotInFieldError(f"{self.where} has {len(value)} characters: it is too large")
        if _DECIMAL.fullmatch(value):
            return int(value)
        if type(value) is str and _HEX.fullmatch(value):
            return int(value, 16)
        if _NEGATIVE.fullmatch(value):
            raise NotInFieldError(f"{self.where} is {value}: negative, not an element of a field")
        self.refuse("an integer in plain decimal digits (or 0x and hexadecimal digits)")

    def scalar(self, field: PrimeField, modulus_name: str) -> int:
        """A canonical element of `field`: an integer, see `integer`, below the modulus.

        Raises:
            FormatError: no integer.
            NotInFieldError: negative or not below the modulus; v and v + r would be one element.
        """
        value = self.integer()
        if value >= field.modulus:
            raise NotInFieldError(
                f"{self.where} is {value}, not below {modulus_name} = {field.modulus}"
            )
        return value


def _describe(value: Any) -> str:
    if isinstance(value, dict):
        return f"an object of {len(value)} keys"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, _Integer | _Refused):
        return str(value)[:60]
    if isinstance(value, str):
        return repr(value[:60])
    return {True: "true", False: "false", None: "null"}[value]


def _depth(text: str) -> int:
    """How deeply lists and objects are nested, found without recursion.

    The parser recurses; in a program that has raised Python's recursion limit (some libraries do)
    a deep file would overflow the stack and end the process.
    """
    depth = deepest = skip = 0
    in_string = False
    for match in _MARKS.finditer(text):
        place = match.start()
        mark = text[place]
        if place < skip:
            continue  # escaped
        if mark == "\\":
            skip = place + 2
        elif mark == '"':
            in_string = not in_string
        elif not in_string:
            depth += 1 if mark in "[{" else -1
            deepest = max(deepest, depth)
    return deepest


def read_json(path: FilePath, limit: int, what: str) -> Node:
    """Parse a JSON file of at most `limit` bytes; `what` names its kind in messages.

    Raises:
        FormatError: unreadable, too long, not UTF-8, bad syntax, a key that stands twice in an
            object, or nested too deeply.
    """
    file = shown(path)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise FormatError(f"{file}: key {key[:60]!r} stands twice in one object")
            found[key] = value
        return found

    try:
        text = read_input(path, limit, what).decode("utf-8")
        if _depth(text) > _DEEPEST:
            raise FormatError(f"{file}: its lists are nested too deeply for {what}")
        value = json.loads(
            text,
            object_pairs_hook=unique,
            parse_int=_Integer,
            parse_float=_Refused,
            parse_constant=_Refused,
        )
    except json.JSONDecodeError as error:
        raise FormatError(
            f"{file} is not JSON: {error.msg} in line {error.lineno}, column {error.colno}"
        ) from error
    except UnicodeDecodeError as error:
        raise FormatError(f"{file} is not JSON: byte {error.start} is not UTF-8") from error
    return Node(file, "", value)
