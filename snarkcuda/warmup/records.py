"""Which parts have left their kernels in the cache: an empty file each, named by a digest.

The digest is that of all that the kernels depend on. A record says "compiled once" and no more:
where kernels are gone they are compiled when needed, and without a record they are found.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from snarkcuda import jit
from snarkcuda.sources import source_digest
from snarkcuda.warmup.parts import Part


def missing(parts: Iterable[Part]) -> list[Part]:
    """Those that have no record; a record's time is that of its last use."""
    return [part for part in parts if not (path := _record(part)) or not _exists(path)]


def remember(parts: Iterable[Part]) -> None:
    """Make their records, where the cache can be used."""
    for part in parts:
        if path := _record(part):
            with suppress(OSError):
                path.touch()
    oldest = time.time() - 30 * 86_400  # as kernels are forgotten
    with suppress(OSError):  # a cache that we may not look into
        for path in jit.cache_directory().glob(f"*{jit.RECORD_SUFFIX}"):
            if path.stat().st_mtime < oldest:
                path.unlink(missing_ok=True)


def _exists(path: Path) -> bool:
    with suppress(OSError):  # none, or not ours
        os.utime(path)
    with suppress(OSError):  # a cache that we may not look into
        return path.exists()
    return False


def _record(part: Part) -> Path | None:
    """None where a source file has changed since this process began, see `source_digest`."""
    stamp = source_digest(part.module)
    if stamp is None:
        return None
    depends_on = (str(part), stamp, jit.versions_and_settings(), jit.processor())
    digest = hashlib.sha256(repr(depends_on).encode()).hexdigest()[:32]
    return jit.cache_directory() / f"{digest}{jit.RECORD_SUFFIX}"
