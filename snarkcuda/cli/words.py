"""What the commands say: words on stderr, which fail no proof; answers on stdout, which must."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable
from contextlib import suppress

import click

from snarkcuda.errors import OutputError


def say(text: str, end: str = "\n") -> None:
    """Words for a person, on stderr; if nobody can read them, that is no reason to stop."""
    with suppress(OSError, ValueError):
        click.echo(text + end, nl=False, err=True)


def warn(file: str, warnings: Iterable[str]) -> None:
    """What `trust.key_warnings` says of the key in `file`: on stderr, with --quiet too."""
    for warning in warnings:
        say(f"WARNING: {file}: {warning}")


def answer(text: str) -> None:
    """The result of a command or its record, on stdout.

    Raises:
        BrokenPipeError: the reader has gone away.
        OutputError: it cannot be written (a full disk, a closed stdout).
    """
    try:
        if sys.stdout is None:
            raise OSError("stdout is closed")
        click.echo(text)
        sys.stdout.flush()
    except OSError as error:
        _discard_stdout()
        if isinstance(error, BrokenPipeError):
            raise
        raise OutputError(f"cannot write to stdout: {error.strerror or error}") from error


def _discard_stdout() -> None:
    """What Python still holds for stdout must not fail again when it exits."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def open_standard_streams() -> None:
    """Give closed descriptors 0, 1 and 2 to /dev/null.

    Else the next file that is opened takes one, and what a library prints lands in it.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free descriptor: this one
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A file's name need not be text; a strict stdout would end in a traceback.
        sys.stdout.reconfigure(errors="backslashreplace")
