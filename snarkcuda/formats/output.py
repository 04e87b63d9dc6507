"""Writing results: all outputs appear complete, or none does and what was there stays.

    check → write each to a temporary file beside its target, fsync → rename all → remove backups

An output that is an input (by inode: also through symbolic and hard links) is refused before any
work, since circuit tools have destroyed users' keys that way. A symbolic link stays a link; the
file it points to is replaced. Devices and pipes (/dev/null, /dev/stdout) are written to directly.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, TypeVar

from snarkcuda.errors import OutputError
from snarkcuda.formats.opening import FilePath, kind_of_mode, shown
from snarkcuda.formats.section_writer import Chunk

Content = bytes | Iterable[Chunk]
PathT = TypeVar("PathT", bound=FilePath)

# Names of an open descriptor, which may be a regular file (`>> log`), yet must not be replaced.
_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr)|(?:/dev/fd|/proc/self/fd)/([0-9]+)")


@dataclass(frozen=True)
class _Target:
    """An output that has passed the checks."""

    path: FilePath
    real: str  # where the bytes go, links resolved
    direct: bool  # a device, pipe or descriptor: written to, not replaced
    descriptor: int | None  # the open descriptor that the path names
    mode: int | None  # permissions of the file that is there, None if there is none
    temporary: str
    backup: str

    @property
    def folder(self) -> str:
        return os.path.dirname(self.real)


def _resolve(path: FilePath) -> _Target:
    """The target of one output, checked by itself."""
    text = os.fspath(path)
    if not text or text == "-" or text.endswith(os.sep):
        raise OutputError(f"cannot write {shown(path)}: it names no file (stdout is /dev/stdout)")
    mode = None
    try:
        real = os.path.realpath(text)
        with contextlib.suppress(FileNotFoundError):
            mode = os.stat(text).st_mode
    except (OSError, ValueError) as error:  # the folder we stand in may have been deleted
        raise OutputError(f"cannot write {shown(path)}: {_reason(error)}") from error
    folder = os.path.dirname(real)
    stem = os.path.join(folder, f".snarkcuda-{secrets.token_hex(8)}")
    if mode is not None and stat.S_ISDIR(mode):
        raise OutputError(f"cannot write {shown(path)}: it is a directory; name a file in it")
    special = mode is not None and kind_of_mode(mode) is not None
    descriptor = _descriptor(text)
    direct = special or descriptor is not None
    if not direct:
        _check_place(path, real, folder, mode)
    permissions = None if mode is None else stat.S_IMODE(mode) & 0o777
    return _Target(path, real, direct, descriptor, permissions, stem + ".tmp", stem + ".old")


def _descriptor(text: str) -> int | None:
    match = _DESCRIPTOR.fullmatch(os.path.normpath(text))
    if match is None:
        return None
    return {"stdout": 1, "stderr": 2}[match[1]] if match[1] else int(match[2])


def _check_place(path: FilePath, real: str, folder: str, mode: int | None) -> None:
    if not os.path.isdir(folder):
        raise OutputError(f"cannot write {shown(path)}: there is no folder {shown(folder)}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"cannot write {shown(path)}: folder {shown(folder)} is not writable")
    if mode is not None and not os.access(real, os.W_OK):
        raise OutputError(f"cannot write {shown(path)}: the file there is read-only")


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def _identity(path: str) -> tuple[int, ...] | str:
    """Equal for two names of one file: its inode, or the name that it would get."""
    with contextlib.suppress(OSError, ValueError):
        status = os.stat(path)
        return status.st_dev, status.st_ino
    return os.path.realpath(path)


def _targets(paths: Iterable[FilePath], inputs: Sequence[FilePath]) -> list[_Target]:
    targets = [_resolve(path) for path in paths]
    taken = {_identity(os.fspath(path)): f"the input {shown(path)}" for path in inputs}
    for target in targets:
        if os.path.normpath(os.fspath(target.path)) == os.devnull:
            continue
        identity = _identity(os.fspath(target.path) if target.direct else target.real)
        if identity in taken:
            raise OutputError(
                f"cannot write {shown(target.path)}: it is the same file as {taken[identity]}; "
                "name another file"
            )
        taken[identity] = f"the output {shown(target.path)}"
    return targets


def check_outputs(paths: Iterable[FilePath], inputs: Sequence[FilePath] = ()) -> None:
    """Refuse outputs that could not be written, before long work is done for them.

    Raises:
        OutputError: an output is an input or another output, a directory or read-only, or its
            folder is missing or not writable.
    """
    _targets(paths, inputs)


def write_outputs(
    outputs: Mapping[PathT, Content],
    inputs: Sequence[FilePath] = (),
    committed: Callable[[], None] = lambda: None,
) -> None:
    """Write every output, or none.

    Args:
        outputs: the bytes of each output, whole or as chunks.
        inputs: the files read for them; none of them may be an output.
        committed: called when all are in place; from then on nothing is undone.

    Raises:
        OutputError: as `check_outputs`, or writing failed (disk full, ...). Then, and on any other
            exception, temporary files are gone and existing outputs are as they were. Only what
            went to a device or pipe stays written.
    """
    targets = _targets(outputs, inputs)
    contents = list(zip(targets, outputs.values(), strict=True))
    files = [target for target in targets if not target.direct]
    try:
        try:
            # Devices last: what a pipe has taken cannot be taken back.
            for target, content in sorted(contents, key=lambda pair: pair[0].direct):
                _write(target, content)
            _replace_all(files, committed)
        except OSError as error:
            names = ", ".join(shown(target.path) for target in targets)
            raise OutputError(
                f"cannot write {names}: {_reason(error)}; nothing was changed"
            ) from error
    finally:
        _remove(target.temporary for target in files)


def _write(target: _Target, content: Content) -> None:
    if target.direct:
        where = target.path if target.descriptor is None else os.dup(target.descriptor)
        with open(where, "wb") as file:
            _write_chunks(file, content)
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with os.fdopen(os.open(target.temporary, flags, 0o666), "wb") as file:
        if target.mode is not None:
            os.fchmod(file.fileno(), target.mode)
        _write_chunks(file, content)
        file.flush()
        os.fsync(file.fileno())


def _write_chunks(file: IO[bytes], content: Content) -> None:
    for chunk in (content,) if isinstance(content, bytes) else content:
        file.write(chunk if isinstance(chunk, bytes) else chunk.data)


def _remove(paths: Iterable[str]) -> None:
    for path in paths:
        with contextlib.suppress(OSError):
            os.unlink(path)


def _replace_all(files: Sequence[_Target], committed: Callable[[], None]) -> None:
    """Rename each temporary file onto its target; on failure put back what was there.

    What to undo is read from the folder, not from a record of steps: an interrupt may come between
    a step and its record. A backup goes only when its file is back, or all is done: a second
    interrupt may leave one behind, never lose what was there.
    """
    written = {target: os.stat(target.temporary).st_ino for target in files}
    with contextlib.ExitStack() as locks:
        for folder in sorted({target.folder for target in files}):
            locks.enter_context(_locked(folder))
        _replace_locked(files, written, committed)
    for folder in {target.folder for target in files}:
        _sync_folder(folder)


@contextlib.contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Two runs with the same outputs take turns, so that their files are never mixed.

    Where the system or the file system has no locks, they may be.
    """
    descriptor = None
    try:
        with contextlib.suppress(OSError, ImportError):
            import fcntl

            descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _replace_locked(
    files: Sequence[_Target], written: Mapping[_Target, int], committed: Callable[[], None]
) -> None:
    try:
        for target in files:
            if target.mode is not None and len(files) > 1:  # one rename alone is atomic
                _keep(target)
        for target in files:
            os.replace(target.temporary, target.real)
        committed()
    except BaseException:
        for target in files:
            with contextlib.suppress(OSError):
                if os.stat(target.real).st_ino != written[target]:
                    _remove([target.backup])  # not replaced yet; it may be half a copy
                elif target.mode is None:
                    os.unlink(target.real)
                elif len(files) > 1:
                    os.replace(target.backup, target.real)
        raise
    _remove(target.backup for target in files)


def _keep(target: _Target) -> None:
    """A second name for the file that is there, or a copy where the file system has no links."""
    try:
        os.link(target.real, target.backup)
    except OSError:
        shutil.copy2(target.real, target.backup)


def _sync_folder(folder: str) -> None:
    """Make the renames durable; some file systems cannot, and the files are complete anyway."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
