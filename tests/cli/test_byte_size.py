"""Sizes on the command line."""

from __future__ import annotations

import click
import pytest

from snarkcuda.cli.byte_size import ByteSize


@pytest.mark.parametrize(
    "text, size",
    [("1K", 1024), ("500M", 500 << 20), ("12g", 12 << 30), ("3KiB", 3072), ("2TB", 2 << 40)],
)
def test_sizes(text: str, size: int) -> None:
    assert ByteSize().convert(text, None, None) == size


@pytest.mark.parametrize(
    "text", ["", "0", "500", "1B", "0M", "-1M", "1.5G", "G", "12 G", "1P", "٣M", "9" * 13]
)
def test_not_sizes(text: str) -> None:
    with pytest.raises(click.BadParameter, match="no size: write a whole number above zero"):
        ByteSize().convert(text, None, None)
