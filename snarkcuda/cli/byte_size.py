"""Sizes as people write them: 500M, 12G."""

from __future__ import annotations

import re
from typing import Any

import click

_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class ByteSize(click.ParamType):  # type: ignore[type-arg]
    """A number of bytes with a unit; K, M, G and T are powers of 1024."""

    name = "size"

    def convert(self, value: Any, parameter: Any, context: Any) -> int:
        """The bytes of "500M"."""
        match = re.fullmatch(r"([0-9]{1,12})([KMGT])(i?B)?", str(value), re.IGNORECASE)
        if match is None or not int(match[1]):
            rule = "write a whole number above zero and K, M, G or T, as 500M or 12G"
            self.fail(f"{value!r} is no size: {rule}", parameter, context)
        return int(match[1]) * _UNITS[match[2].upper()]
