"""A key that has been checked whole, now or by this user before (`formats/checked_record`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone

from snarkcuda import __version__, jit
from snarkcuda.cli.report import Progress
from snarkcuda.cpu.pool import Pool
from snarkcuda.errors import FormatError, OutputError, SnarkcudaError
from snarkcuda.formats.checked_record import (
    CheckedRecord,
    KeyMac,
    read_record,
    record_path,
    user_secret,
    write_record,
)
from snarkcuda.formats.zkey import read_zkey
from snarkcuda.groth16.check_key import check_key
from snarkcuda.groth16.keys import ProvingKey
from snarkcuda.groth16.timeline import Timeline


@dataclass(frozen=True)
class CheckedKey:
    """A key, what its check found, and whether that was an earlier check.

    `notes` say why an earlier check did not count, or why this one will not.
    """

    key: ProvingKey
    record: CheckedRecord
    remembered: bool
    notes: list[str] = field(default_factory=list)


def read_checked_key(
    path: str,
    timeline: Timeline,
    progress: Progress,
    threads: int | None = None,
    again: bool = False,
) -> CheckedKey:
    """Read a key and check it whole, unless this user's record says that it was; write the record.

    Args:
        path: a zkey file.
        timeline: receives the stages.
        progress: shows how far they are.
        threads: worker threads; by default all processors that this process may use.
        again: check, whatever a record says.

    Raises:
        SnarkcudaError: what `read_zkey` and `check_key` raise.
        FormatError: the file changed meanwhile, so that what was checked is not what is there.
    """
    before = _state(path)
    with timeline.stage("read key"):
        key = read_zkey(path)
    size = os.path.getsize(path)
    notes: list[str] = []
    secret = _secret(notes)
    with Pool(threads) as pool, _shown(progress, pool) as share:
        mac = None
        if secret is not None and not again and (found := _found(path, notes)) is not None:
            with timeline.stage("digest of the key", size):
                mac = KeyMac(path, secret, share)
            if mac.accepts(*found):
                _require_unchanged(path, before)
                return CheckedKey(key, found[0], True, notes)
            notes.append(
                f"{record_path(path)} is for another file, or was made by somebody else or for "
                "another version of it: the key was checked anew"
            )
        counts = check_key(pool, key, timeline, share)
        date = datetime.now(timezone.utc).isoformat(timespec="seconds")
        record = CheckedRecord(__version__, date, size, counts.points, counts.infinity)
        if secret is not None and mac is None:
            with timeline.stage("digest of the key", size):
                mac = KeyMac(path, secret, share)
    _require_unchanged(path, before)
    if mac is not None:
        try:
            write_record(path, record, mac.of(record))
        except OutputError as error:
            notes.append(f"the check cannot be remembered: {error}")
    return CheckedKey(key, record, False, notes)


@contextmanager
def _shown(progress: Progress, pool: Pool) -> Iterator[Callable[[float], None]]:
    """Let the progress line show what the pool counts or else the share that it is told."""
    told = 0.0

    def share(value: float) -> None:
        nonlocal told
        told = value

    progress.fraction = lambda: pool.fraction() or (told if told < 1 else None)
    try:
        yield share
    finally:
        progress.fraction = lambda: None


def _state(path: str) -> tuple[int, ...] | None:
    """Differs when the file was replaced or written to; None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    times = status.st_mtime_ns, status.st_ctime_ns
    return status.st_dev, status.st_ino, status.st_size, *times


def _require_unchanged(path: str, before: tuple[int, ...] | None) -> None:
    if _state(path) != before:
        raise FormatError(f"{path} changed while it was checked: check it again")


def _secret(notes: list[str]) -> bytes | None:
    directory = jit.cache_directory()
    problem = jit.cache_problem(directory)
    try:
        if problem is None:
            return user_secret(directory)
    except OutputError as error:
        problem = str(error)
    notes.append(f"the check cannot be remembered: {problem}")
    return None


def _found(path: str, notes: list[str]) -> tuple[CheckedRecord, str] | None:
    try:
        return read_record(path)
    except SnarkcudaError as error:
        notes.append(f"{error}; the key was checked anew")
        return None
