"""The record of a key's check: signed with the user's secret, never taken from a stranger."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import stat
import threading
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from snarkcuda import __version__
from snarkcuda.errors import FormatError, NotInFieldError, OutputError
from snarkcuda.formats import checked_record as module
from snarkcuda.formats.checked_record import (
    MAX_BYTES,
    QUERIES,
    SECRET_NAME,
    CheckedRecord,
    KeyMac,
    read_record,
    record_path,
    user_secret,
    write_record,
)
from snarkcuda.formats.opening import map_file

SECRET = bytes(range(32))
DATA = bytes(range(256)) * 5
RECORD = CheckedRecord(
    __version__,
    "2026-11-30T12:00:00+00:00",
    len(DATA),
    26,
    {name: i for i, name in enumerate(QUERIES)},
)


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """A key as far as records go: bytes."""
    path = tmp_path / "circuit.zkey"
    path.write_bytes(DATA)
    return path


def remember(key: Path) -> None:
    write_record(key, RECORD, KeyMac(map_file(key).data, SECRET).of(RECORD))


def test_written_and_read_again(key: Path) -> None:
    """Beside the key, nothing else left; read back equal and accepted."""
    assert read_record(key) is None
    remember(key)
    assert sorted(p.name for p in key.parent.iterdir()) == ["circuit.zkey", "circuit.zkey.checked"]
    found = read_record(key)
    assert found is not None
    assert found[0] == RECORD
    assert KeyMac(map_file(key).data, SECRET).accepts(*found)
    assert Path(record_path(key)).stat().st_size < MAX_BYTES
    remember(key)  # an older record is replaced
    assert read_record(key) == found


def test_the_mac_is_of_all_bytes(key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However the file is cut into blocks; a byte changed, added or missing anywhere is seen."""
    mac = KeyMac(map_file(key).data, SECRET).of(RECORD)
    shares: list[float] = []
    monkeypatch.setattr(module, "_BLOCK", 100)
    assert KeyMac(map_file(key).data, SECRET, shares.append).of(RECORD) == mac
    assert len(shares) == 13
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    for place in (0, 99, 100, 640, len(DATA) - 1):
        key.write_bytes(DATA[:place] + bytes([DATA[place] ^ 1]) + DATA[place + 1 :])
        assert not KeyMac(map_file(key).data, SECRET).accepts(RECORD, mac)
    for changed in (DATA[:-1], DATA + b"\0", b"\0" + DATA):
        key.write_bytes(changed)
        assert not KeyMac(map_file(key).data, SECRET).accepts(RECORD, mac)
    key.write_bytes(DATA)
    assert KeyMac(map_file(key).data, SECRET).accepts(RECORD, mac)


@pytest.mark.parametrize(
    "change",
    [
        {"snarkcuda": "0.2.0"},
        {"date": ""},
        {"size": 1},
        {"points": 27},
        {"infinity": {**RECORD.infinity, "A": 9}},
    ],
)
def test_the_mac_is_of_the_record_too(key: Path, change: dict[str, Any]) -> None:
    mac, other = KeyMac(map_file(key).data, SECRET), replace(RECORD, **change)
    assert mac.of(other) != mac.of(RECORD)
    assert not mac.accepts(other, mac.of(RECORD))


def test_a_record_of_another_version(key: Path) -> None:
    """Our own, and still it does not count: that version may have checked less."""
    mac, other = KeyMac(map_file(key).data, SECRET), replace(RECORD, snarkcuda="0.0.9")
    assert mac.accepts(RECORD, mac.of(RECORD))
    assert not mac.accepts(other, mac.of(other))


def test_the_mac_is_the_documented_one(key: Path) -> None:
    """Of size, key and record, in this order, as docs/formats.md says."""
    text = json.dumps({"format": 1, **asdict(RECORD)}, sort_keys=True).encode()
    data = len(DATA).to_bytes(8, "little") + DATA + text
    mac = hashlib.blake2b(data, digest_size=32, key=SECRET, person=b"snarkcuda check")
    assert KeyMac(map_file(key).data, SECRET).of(RECORD) == mac.hexdigest()


def test_a_record_of_somebody_else(key: Path) -> None:
    """Another secret, no mac, one of another length, text that is no UTF-8: not accepted."""
    mac = KeyMac(map_file(key).data, SECRET)
    for foreign in (
        KeyMac(map_file(key).data, bytes(32)).of(RECORD),
        "",
        "00",
        mac.of(RECORD)[:-1],
        "\ud800",
        "é",
    ):
        assert not mac.accepts(RECORD, foreign)


def changed(**change: Any) -> str:
    fields = {**module._fields(RECORD), "mac": "00"}
    return json.dumps({**fields, **change})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        "\ud800".encode("utf-8", "surrogatepass"),
        changed(format=2),
        changed(format="x"),
        changed(format=True),
        changed(snarkcuda=1),
        changed(date=None),
        changed(size=-1),
        changed(size=1.5),
        changed(points="many"),
        changed(infinity=[]),
        changed(infinity={}),
        changed(infinity={**RECORD.infinity, "H": {}}),
        changed(mac=7),
        changed(mac="0" * MAX_BYTES),
        changed()[:-1] + ', "size": 1}',
        "[" * 1000,
    ],
)
def test_malformed_records(key: Path, text: str | bytes) -> None:
    data = text if isinstance(text, bytes) else text.encode()
    Path(record_path(key)).write_bytes(data)
    with pytest.raises((FormatError, NotInFieldError), match="checked"):
        read_record(key)


def test_a_strangers_words_do_not_reach_the_terminal(key: Path) -> None:
    """Control characters in names and values are not in the message."""
    for change in ({"infinity": {"\x1b[2J": "x"}}, {"format": "\x1b[2J"}, {"size": "\x1b[2J"}):
        Path(record_path(key)).write_text(changed(**change))
        with pytest.raises(FormatError) as caught:
            read_record(key)
        assert "\x1b" not in str(caught.value)


def link(path: Path) -> None:
    target = path.parent / "precious"
    target.write_text(changed())
    path.symlink_to(target)


def dangling(path: Path) -> None:
    path.symlink_to(path.parent / "nothing")


def listening(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # a socket's path must be short
    try:
        socket.socket(socket.AF_UNIX).bind(path.name)
    finally:
        os.chdir(here)


@pytest.mark.parametrize("make", [link, dangling, Path.mkdir, os.mkfifo, listening])
def test_what_is_no_regular_file(key: Path, make: Callable[[Path], None]) -> None:
    """Never read, and replaced, not written through: a link would lead us to another file."""
    path = Path(record_path(key))
    make(path)
    mode = path.lstat().st_mode
    with pytest.raises(FormatError, match=r"is a .*, not the record of a check; delete it"):
        read_record(key)
    if make is Path.mkdir:
        with pytest.raises(OutputError, match=r"cannot write .*checked"):
            remember(key)
        assert path.lstat().st_mode == mode
    else:
        remember(key)
        assert stat.S_ISREG(path.lstat().st_mode)
        assert read_record(key) is not None
    if make is link:
        assert (key.parent / "precious").read_text() == changed()
    assert not (key.parent / "nothing").exists()


# --- the secret -------------------------------------------------------------------------------


def test_secret_is_made_once(tmp_path: Path) -> None:
    secret = user_secret(tmp_path)
    assert len(secret) == 32
    assert len(set(secret)) > 1
    assert (tmp_path / SECRET_NAME).stat().st_mode & 0o777 == 0o600
    assert user_secret(tmp_path) == secret
    assert [p.name for p in tmp_path.iterdir()] == [SECRET_NAME]
    other = tmp_path / "other"
    other.mkdir()
    assert user_secret(other) != secret


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o777])
def test_a_secret_that_others_could_read_is_replaced(tmp_path: Path, mode: int) -> None:
    secret = user_secret(tmp_path)
    (tmp_path / SECRET_NAME).chmod(mode)
    assert user_secret(tmp_path) != secret
    assert (tmp_path / SECRET_NAME).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"", b"x" * 31, b"x" * 33])
def test_a_secret_of_another_length_is_replaced(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / SECRET_NAME
    path.write_bytes(content)
    path.chmod(0o600)
    secret = user_secret(tmp_path)
    assert len(secret) == 32
    assert path.read_bytes() == secret


def test_no_place_for_a_secret(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"cannot keep a secret in .*No such file"):
        user_secret(tmp_path / "nowhere")
    (tmp_path / SECRET_NAME).mkdir()
    with pytest.raises(OutputError, match=r"cannot keep a secret in .*[Dd]irectory"):
        user_secret(tmp_path)
    (tmp_path / SECRET_NAME).rmdir()
    (tmp_path / SECRET_NAME).symlink_to("elsewhere")
    with pytest.raises(OutputError, match="cannot keep a secret in"):
        user_secret(tmp_path)
    assert not list(tmp_path.glob(".check-secret*"))


def test_several_at_once_end_with_one_secret(tmp_path: Path) -> None:
    """Some may have met an older one; what stays is one whole secret."""
    found: list[bytes] = []
    workers = [threading.Thread(target=lambda: found.append(user_secret(tmp_path))) for _ in "1234"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert {len(secret) for secret in found} == {32}
    assert user_secret(tmp_path) in found
    assert [p.name for p in tmp_path.iterdir()] == [SECRET_NAME]
