"""What the caches keep, compiled kernels and loaded keys, by their last use; forgetting it.

Nothing is followed and nothing foreign is touched: an entry is a regular file, no link, of this
user, with the name that its cache gives; a key's begins with the magic of its format.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from snarkcuda import jit
from snarkcuda.cpu import key_cache
from snarkcuda.errors import OutputError
from snarkcuda.formats.opening import FilePath, shown

_KEY = re.compile(rf"[0-9a-f]{{32}}{re.escape(key_cache.SUFFIX)}")
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class Entry:
    """One file of a cache; `used` is when it was last used, or made (Unix time)."""

    path: Path
    n_bytes: int
    used: float


def kernels() -> list[Entry]:
    """The compiled kernels, whatever version of the project made them."""
    return _entries(jit.cache_entries(), _accessed)


def warm_records() -> list[Entry]:
    """The records of `warmup/records`, which `jit.clear_cache` deletes too."""
    return _entries(jit.cache_directory().glob(f"*{jit.RECORD_SUFFIX}"), _accessed)


def keys(folder: FilePath) -> list[Entry]:
    """The loaded keys in a key cache; none where there is no such directory.

    Raises:
        OutputError: the directory is not this user's alone, or cannot be read.
    """
    place = Path(folder)
    try:
        if not jit.is_private(place.stat()):
            raise OutputError(f"the key cache {shown(folder)} is not this user's alone: chmod 700")
        paths = [path for path in sorted(place.iterdir()) if _KEY.fullmatch(path.name)]
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OutputError(f"the key cache {shown(folder)} cannot be read: {reason}") from error
    # Not the time of access: to look at the magic is one.
    ours = (path for path in paths if _begins_as_a_key(path))
    return _entries(ours, lambda status: status.st_mtime)


def forget(entries: Iterable[Entry], before: float) -> list[Entry]:
    """Delete the entries last used before a time; returns those that are gone."""
    gone = []
    for entry in entries:
        if entry.used < before:
            with suppress(OSError):
                entry.path.unlink()
                gone.append(entry)
    return gone


def _accessed(status: os.stat_result) -> float:
    return max(status.st_atime, status.st_mtime)


def _entries(paths: Iterable[Path], used: Callable[[os.stat_result], float]) -> list[Entry]:
    found = []
    for path in paths:
        with suppress(OSError):  # another process may delete it
            status = path.lstat()
            if stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid():
                found.append(Entry(path, status.st_size, used(status)))
    return found


def _begins_as_a_key(path: Path) -> bool:
    with suppress(OSError), os.fdopen(os.open(path, _READ), "rb") as file:
        return file.read(len(key_cache.MAGIC)) == key_cache.MAGIC
    return False
