"""Ages as people write them: 12h, 30d, 4w."""

from __future__ import annotations

import re
from typing import Any

import click

_UNITS = {"h": 3_600, "d": 86_400, "w": 7 * 86_400}


class Age(click.ParamType):  # type: ignore[type-arg]
    """A number of hours, days or weeks, in seconds."""

    name = "age"

    def convert(self, value: Any, parameter: Any, context: Any) -> int:
        """The seconds of "30d"."""
        match = re.fullmatch(r"([0-9]{1,5})([hdw])", str(value), re.IGNORECASE)
        if match is None:
            self.fail(f"{value!r} is no age: write 12h, 30d or 4w", parameter, context)
        return int(match[1]) * _UNITS[match[2].lower()]
