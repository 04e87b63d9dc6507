"""--key-cache: the directory that keeps loaded keys, which $SNARKCUDA_KEY_CACHE names too."""

from __future__ import annotations

import os
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
    if folder is not None and os.path.exists(folder) and not os.path.isdir(folder):
        raise click.BadParameter(f"{folder!r} is not a directory: name one, or a name that is free")
    return folder
