"""--key-cache: the directory that keeps loaded keys, which $SNARKCUDA_KEY_CACHE names too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def key_cache_option(words: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option, with what --help says of it."""
    return click.option(
        "--key-cache",
        metavar="DIR",
        envvar="SNARKCUDA_KEY_CACHE",
        callback=_named,
        help=f"{words} [$SNARKCUDA_KEY_CACHE]",
    )


def _named(_context: click.Context, _option: click.Parameter, folder: str | None) -> str | None:
    if folder == "":
        raise click.BadParameter("'' names no directory (the working directory is '.')")
    return folder
