"""`KEY.zkey.checked`: the record that a key was checked, so that it is checked once.

    {"format": 1, "snarkcuda": "0.1.0", "date": "2026-11-30T12:00:00+00:00", "size": 3021,
     "points": 26, "infinity": {"A": 0, …}, "mac": "64 hexadecimal digits"}

    mac = BLAKE2b-256(secret; u64 size | the key's bytes | the record without its mac)

The secret is this user's alone (`user_secret`): a record that came along with a downloaded key, or
that another user made, proves nothing and is told from our own. Nor does one of another version
count: its check may have been less strict.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from snarkcuda import __version__
from snarkcuda.errors import FormatError, OutputError
from snarkcuda.formats.opening import FilePath, U8Array, kind_of_mode, shown
from snarkcuda.formats.strict_json import read_json

FORMAT = 1
MAX_BYTES = 4096
QUERIES = ("IC", "A", "B1", "B2", "L", "H")
SECRET_NAME = "check-secret"
SECRET_BYTES = 32
_BLOCK = 1 << 24  # bytes hashed between two reports of progress
_PURPOSE = b"snarkcuda check"


@dataclass(frozen=True)
class CheckedRecord:
    """What a check of a key found.

    Attributes:
        snarkcuda: the version that checked.
        date: when, ISO 8601, UTC.
        size: of the key, bytes.
        points: points looked at.
        infinity: how many of each of `QUERIES` are infinity.
    """

    snarkcuda: str
    date: str
    size: int
    points: int
    infinity: dict[str, int]


class KeyMac:
    """The keyed digest of a key's bytes, which signs records of its check.

    Args:
        data: the key's bytes, all of them.
        secret: see `user_secret`.
        share: called with the share of the file that has been read.
    """

    def __init__(
        self, data: U8Array, secret: bytes, share: Callable[[float], None] = lambda _: None
    ) -> None:
        self.size = len(data)
        self._state = hashlib.blake2b(digest_size=32, key=secret, person=_PURPOSE)
        self._state.update(self.size.to_bytes(8, "little"))
        for start in range(0, self.size, _BLOCK):
            self._state.update(data[start : start + _BLOCK].data)
            share(min(1.0, (start + _BLOCK) / self.size))

    def of(self, record: CheckedRecord) -> str:
        """The mac of a record of this key, in hexadecimal digits."""
        state = self._state.copy()
        state.update(json.dumps(_fields(record), sort_keys=True).encode())
        return state.hexdigest()

    def accepts(self, record: CheckedRecord, mac: str) -> bool:
        """Whether the secret's owner made the record, with this version, for these bytes."""
        return record.snarkcuda == __version__ and hmac.compare_digest(
            self.of(record).encode(), mac.encode(errors="replace")
        )


def record_path(key: FilePath) -> str:
    """Where the record of a key is kept: beside it."""
    return f"{os.fspath(key)}.checked"


def read_record(key: FilePath) -> tuple[CheckedRecord, str] | None:
    """The record beside a key and its mac, both still to be verified; None if there is none.

    Raises:
        FormatError: it is no regular file (a link is not followed), too long, malformed, or of
            another format.
        NotInFieldError: a count is negative or of too many digits.
    """
    path = record_path(key)
    if not os.path.lexists(path):
        return None
    _check_place(path)
    node = read_json(path, MAX_BYTES, "the record of a check")
    format_, version, date, size, points, infinity, mac = node.fields(
        "format", "snarkcuda", "date", "size", "points", "infinity", "mac"
    )
    if format_.integer() != FORMAT:
        raise FormatError(f"{format_.where} is {format_.integer()}; this version knows {FORMAT}")
    # By the names that we know: a stranger's names are not for the terminal.
    counts = dict(zip(QUERIES, (n.integer() for n in infinity.fields(*QUERIES)), strict=True))
    record = CheckedRecord(version.text(), date.text(), size.integer(), points.integer(), counts)
    return record, mac.text()


def write_record(key: FilePath, record: CheckedRecord, mac: str) -> None:
    """Write the record beside its key, atomically.

    Whatever stands at the record's name is replaced and never written through: a link that came
    with a key would lead us to overwrite another file.

    Raises:
        OutputError: it cannot be written.
    """
    path = record_path(key)
    text = json.dumps({**_fields(record), "mac": mac}, indent=1) + "\n"
    try:
        _replace(Path(path), text.encode(), 0o666)
    except OSError as error:
        raise OutputError(f"cannot write {shown(path)}: {error.strerror}") from error


def user_secret(directory: Path) -> bytes:
    """The user's 32 secret bytes, made on first use and readable by nobody else.

    Args:
        directory: exists and passes `jit.cache_problem`: only this user can write there.

    Raises:
        OutputError: it cannot be read or made.
    """
    path = directory / SECRET_NAME
    try:
        secret = _read_secret(path)
        if secret is None:
            _replace(path, os.urandom(SECRET_BYTES), 0o600)
            secret = _read_secret(path)  # another process may have been the last to write
    except OSError as error:
        raise OutputError(f"cannot keep a secret in {path}: {error.strerror}") from error
    if secret is None:
        raise OutputError(f"cannot keep a secret in {path}: it is not ours alone; delete it")
    return secret


def _fields(record: CheckedRecord) -> dict[str, Any]:
    return {"format": FORMAT, **asdict(record)}


def _check_place(path: str) -> None:
    """Refuse whatever stands at `path`, unless it is a regular file or nothing."""
    with suppress(FileNotFoundError):
        mode = os.lstat(path).st_mode
        kind = "a symbolic link" if stat.S_ISLNK(mode) else kind_of_mode(mode)
        if kind is not None:
            raise FormatError(f"{shown(path)} is {kind}, not the record of a check; delete it")


def _read_secret(path: Path) -> bytes | None:
    """The secret, None if there is none or others could know or have made it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        private = stat.S_ISREG(status.st_mode) and not status.st_mode & 0o077
        secret = file.read(SECRET_BYTES + 1) if private and status.st_uid == os.getuid() else b""
    return secret if len(secret) == SECRET_BYTES else None


def _replace(path: Path, content: bytes, mode: int) -> None:
    """Write aside, with no more than `mode` from the first byte on, and rename."""
    temporary = path.with_name(f".snarkcuda-{secrets.token_hex(8)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
