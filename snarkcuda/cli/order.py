"""Swapped arguments are the usual mistake: say which file is of which kind."""

from __future__ import annotations

from contextlib import suppress

from click import UsageError

from snarkcuda.errors import FormatError


def check_order(files: dict[str, str], order: str) -> None:
    """Raise UsageError, if an argument is another kind of file than the one that belongs there.

    Args:
        files: the path of each kind that is wanted (`identify.file_kind`'s words).
        order: the arguments in their order, for the message.
    """
    from snarkcuda.formats.identify import file_kind

    for wanted, path in files.items():
        with suppress(FormatError):
            kind = file_kind(path)
            if kind != wanted:
                message = f"{path} is a {kind} file, where a {wanted} file belongs"
                raise UsageError(f"{message}; the order is {order}")
