"""Opening an input: regular files only, read-only, and every failure a `FormatError`.

A FIFO would block, a directory or a device cannot be mapped, and a missing file is the user's most
common mistake: each is named instead of ending in an `OSError` traceback.
"""

from __future__ import annotations

import mmap
import os
import stat
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from snarkcuda.errors import FormatError

FilePath = str | os.PathLike[str]
U8Array = NDArray[np.uint8]

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISSOCK, "a socket"),
)


def shown(path: FilePath) -> str:
    """The path as messages show it (bytes that are no text, and line breaks, are escaped)."""
    text = os.fspath(path)
    return text if text.isprintable() and text else repr(text)


def kind_of_mode(mode: int) -> str | None:
    """What a file that is not a regular file is ("a directory"), None for a regular file."""
    if stat.S_ISREG(mode):
        return None
    return next((name for test, name in _KINDS if test(mode)), "no regular file")


def open_input(path: FilePath) -> BinaryIO:
    """A regular file, open for reading.

    Raises:
        FormatError: it is missing, may not be read, or is not a regular file.
    """
    try:
        # O_NONBLOCK: without it, opening a FIFO waits for a writer for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise FormatError(f"cannot read {shown(path)}: {reason}; check the path") from error
    kind = kind_of_mode(os.fstat(descriptor).st_mode)
    if kind is not None:
        os.close(descriptor)
        raise FormatError(f"cannot read {shown(path)}: it is {kind}; give a regular file")
    return os.fdopen(descriptor, "rb")


@dataclass(frozen=True)
class MappedFile:
    """A file's bytes, a read-only view of a memory map, and the `state_of` it when mapped."""

    path: FilePath
    data: U8Array
    state: tuple[int, ...]


def state_of(status: os.stat_result) -> tuple[int, ...]:
    """Differs when the file was replaced or written to: device, inode, size and both times, ns."""
    times = status.st_mtime_ns, status.st_ctime_ns
    return status.st_dev, status.st_ino, status.st_size, *times


def map_file(path: FilePath) -> MappedFile:
    """The file, mapped; nothing is read yet.

    The map lives as long as any view of it. A file that is overwritten in place or shortened while
    it is mapped changes the views or kills the process (SIGBUS): writers must replace, not rewrite.

    Raises:
        FormatError: as `open_input`, and when the file is empty or cannot be mapped.
    """
    with open_input(path) as file:
        status = os.fstat(file.fileno())
        if status.st_size == 0:
            raise FormatError(f"{shown(path)} is empty: download or make it again")
        try:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise FormatError(f"cannot map {shown(path)} into memory: {error}") from error
    return MappedFile(path, np.frombuffer(mapped, dtype=np.uint8), state_of(status))


def read_input(path: FilePath, limit: int, what: str) -> bytes:
    """The bytes of a small file; a file of more than `limit` bytes is refused before it is read.

    Raises:
        FormatError: as `open_input`, when it is too long, or when reading fails.
    """
    with open_input(path) as file:
        try:
            size = os.fstat(file.fileno()).st_size
            data = file.read(limit + 1) or b"" if size <= limit else b""
        except OSError as error:
            raise FormatError(f"cannot read {shown(path)}: {error.strerror}") from error
    if size > limit or len(data) > limit:
        raise FormatError(
            f"{shown(path)} has {max(size, len(data))} bytes; {what} has at most {limit}: "
            "it is another kind of file"
        )
    if not data:
        raise FormatError(f"{shown(path)} is empty: download or make it again")
    return data
