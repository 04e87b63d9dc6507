"""What the caches keep is listed by its last use, and what is not theirs is never deleted."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from snarkcuda import jit, kept
from snarkcuda.cpu.key_cache import MAGIC
from snarkcuda.errors import OutputError

DAY = 86_400
NAME = "0123456789abcdef" * 2


def put(path: Path, data: bytes, accessed: float, modified: float) -> Path:
    """A file with its times, in days before now."""
    path.write_bytes(data)
    now = time.time()
    os.utime(path, (now - accessed * DAY, now - modified * DAY))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A key cache."""
    (tmp_path / "keys").mkdir(mode=0o700)
    return tmp_path / "keys"


def test_last_use(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a key its mtime, whatever reads it; of a kernel the later of reading and writing."""
    monkeypatch.setenv(jit.CACHE_VARIABLE, str(folder))
    for i, times in enumerate([(1, 9), (9, 1), (9, 9)]):
        put(folder / f"{i}{NAME[1:]}.key", MAGIC + bytes(i), *times)
        put(folder / f"{i}.kernel", bytes(i), *times)
    for listed, days, sizes in (
        (kept.keys(folder), [9, 1, 9], [8, 9, 10]),
        (kept.keys(folder), [9, 1, 9], [8, 9, 10]),  # to look at them is no use
        (kept.kernels(), [1, 1, 9], [0, 1, 2]),
    ):
        assert [round((time.time() - entry.used) / DAY) for entry in listed] == days
        assert [entry.n_bytes for entry in listed] == sizes


def test_forget(folder: Path) -> None:
    """What was used since stays, and of what could not be deleted nothing is told."""
    old = put(folder / f"{NAME}.key", MAGIC, 31, 31)
    new = put(folder / f"f{NAME[1:]}.key", MAGIC, 31, 29)
    keys = kept.keys(folder)
    assert [key.path for key in kept.forget(keys, time.time() - 30 * DAY)] == [old]
    assert list(folder.iterdir()) == [new]
    assert kept.forget(keys, time.time() - 30 * DAY) == []


def test_what_is_not_ours_is_no_entry(folder: Path, tmp_path: Path) -> None:
    """Other names, other contents, links to files of either kind, folders, pipes."""
    target = put(tmp_path / f"{NAME}.key", MAGIC, 99, 99)
    put(folder / "mine.key", MAGIC, 99, 99)
    put(folder / f"{NAME}.key.old", MAGIC, 99, 99)
    put(folder / f"1{NAME[1:]}.key", b"-----BEGIN PRIVATE KEY-----", 99, 99)
    put(folder / f"2{NAME[1:]}.key", MAGIC[:-1], 99, 99)
    (folder / f"3{NAME[1:]}.key").symlink_to(target)
    (folder / f"4{NAME[1:]}.key").mkdir()
    os.mkfifo(folder / f"5{NAME[1:]}.key")
    assert kept.keys(folder) == []


def test_another_user_s_key_is_no_entry(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(folder / f"{NAME}.key", MAGIC, 99, 99)
    assert len(kept.keys(folder)) == 1
    monkeypatch.setattr(jit, "is_private", lambda status: True)
    monkeypatch.setattr(os, "getuid", lambda: os.stat(folder).st_uid + 1)
    assert kept.keys(folder) == []


def test_places(folder: Path) -> None:
    """One that is not there keeps nothing; one that others can write is refused."""
    assert kept.keys(folder / "none") == []
    folder.chmod(0o770)
    with pytest.raises(OutputError, match=r"is not this user's alone: chmod 700"):
        kept.keys(folder)
    file = put(folder / "file", b"", 0, 0)
    file.chmod(0o600)
    with pytest.raises(OutputError, match="cannot be read: Not a directory"):
        kept.keys(file)


def test_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links are not followed; records are apart, as they are no kernels."""
    monkeypatch.setenv(jit.CACHE_VARIABLE, str(tmp_path))
    kernel = put(tmp_path / "a.kernel", b"1", 40, 50)
    record = put(tmp_path / "b.warm", b"", 40, 40)
    (tmp_path / "c.kernel").symlink_to(kernel)
    (tmp_path / "d.warm").symlink_to(kernel)
    put(tmp_path / "check-secret", b"secret", 99, 99)
    assert [entry.path for entry in kept.kernels()] == [kernel]
    assert [entry.path for entry in kept.warm_records()] == [record]
