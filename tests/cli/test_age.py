"""Ages on the command line."""

from __future__ import annotations

import click
import pytest

from snarkcuda.cli.age import Age


@pytest.mark.parametrize(
    "text, seconds", [("12h", 43_200), ("30d", 2_592_000), ("4W", 2_419_200), ("0d", 0)]
)
def test_ages(text: str, seconds: int) -> None:
    assert Age().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "30", "d", "-1d", "1.5d", "3 d", "1m", "٣d", "9" * 6 + "d"])
def test_not_ages(text: str) -> None:
    with pytest.raises(click.BadParameter, match="write 12h, 30d or 4w"):
        Age().convert(text, None, None)
