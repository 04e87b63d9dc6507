"""A key that has been checked whole, now or by this user before (`formats/checked_record`)."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timezone

from snarkcuda import __version__, jit
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
from snarkcuda.formats.opening import state_of
from snarkcuda.formats.sections import SectionFile
from snarkcuda.formats.zkey import zkey_in
from snarkcuda.formats.zkey_header import ZKEY
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
    pool: Pool,
    again: bool = False,
    share: Callable[[float], None] = lambda _: None,
    around: Callable[[ProvingKey], AbstractContextManager[None]] = lambda _: nullcontext(),
) -> CheckedKey:
    """Read a key and check it whole, unless this user's record says that it was; write the record.

    Args:
        path: a zkey file.
        timeline: receives the stages.
        pool: the threads to use.
        again: check, whatever a record says.
        share: called, from any thread, with the share of the present stage that is done.
        around: what the check of the key, if there is one, is made within.

    Raises:
        SnarkcudaError: what `read_zkey` and `check_key` raise.
        FormatError: the file changed meanwhile, so that what was checked is not what is there.
    """
    before = _state(path)
    with timeline.stage("read key"):
        # One map for reading, checking and the digest: the name may lead to another file meanwhile.
        file = SectionFile(path, ZKEY)
        key = zkey_in(file)
    notes: list[str] = []
    secret = _secret(notes)
    mac = None
    if secret is not None and not again and (found := _found(path, notes)) is not None:
        with timeline.stage("digest of the key", file.size):
            mac = KeyMac(file.data, secret, share)
        if mac.accepts(*found):
            _require_unchanged(path, before)
            return CheckedKey(key, found[0], True, notes)
        notes.append(
            f"{record_path(path)} does not count (it is for another file, by somebody else, by "
            "another version, or with another cache directory): the key was checked anew"
        )
    with around(key):
        counts = check_key(pool, key, timeline, share)
    date = datetime.now(timezone.utc).isoformat(timespec="seconds")
    record = CheckedRecord(__version__, date, file.size, counts.points, counts.infinity)
    if secret is not None and (problem := _changeable(path)) is not None:
        notes.append(f"the check cannot be remembered: {problem}")
    elif secret is not None:
        with timeline.stage("digest of the key", file.size):
            mac = KeyMac(file.data, secret, share)
        _require_unchanged(path, before)
        try:
            write_record(path, record, mac.of(record))
        except OutputError as error:
            notes.append(f"the check cannot be remembered: {error}")
    return CheckedKey(key, record, False, notes)


def _state(path: str) -> tuple[int, ...] | None:
    """Differs when the file was replaced or written to; None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return state_of(status)


def _changeable(path: str) -> str | None:
    """Why the bytes that were checked may not be those of the digest: others can write the file.

    Whoever can store into a mapped file can show the check one key and the digest another.
    """
    status = os.stat(path)
    by_group = status.st_mode & 0o020 and status.st_gid != os.getgid()
    if status.st_mode & 0o002 or by_group or status.st_uid not in (os.getuid(), 0):
        return f"others can write {path}; make it yours alone (chmod go-w, or a copy)"
    return None


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
