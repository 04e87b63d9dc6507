"""Outputs: all or none, never over an input, and whatever goes wrong leaves no trace."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from snarkcuda.errors import OutputError
from snarkcuda.formats.output import check_outputs, write_outputs


def snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Names, permissions and contents of a folder."""
    return {
        path.name: (path.stat().st_mode, path.read_bytes())
        for path in sorted(folder.iterdir())
        if path.is_file()
    }


def test_writes_and_overwrites(tmp_path: Path) -> None:
    """New files get the umask's permissions, old ones keep theirs; chunks are joined."""
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_bytes(b"before, and longer")
    old.chmod(0o604)
    previous = os.umask(0o027)
    try:
        write_outputs({old: b"after", new: iter([b"two ", b"", b"chunks"])})
    finally:
        os.umask(previous)
    assert snapshot(tmp_path) == {
        "old": (stat.S_IFREG | 0o604, b"after"),
        "new": (stat.S_IFREG | 0o640, b"two chunks"),
    }


def test_relative_path_and_no_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bare name is in the working directory."""
    monkeypatch.chdir(tmp_path)
    write_outputs({"proof.json": b"x"})
    write_outputs({})
    assert (tmp_path / "proof.json").read_bytes() == b"x"


def test_an_output_that_is_an_input(tmp_path: Path) -> None:
    """By name, by another spelling, through links of both kinds: refused, unchanged."""
    (tmp_path / "folder").mkdir()
    key = tmp_path / "key"
    key.write_bytes(b"precious")
    (tmp_path / "symbolic").symlink_to("key")
    (tmp_path / "hard").hardlink_to(key)
    for name in ("key", "symbolic", "hard", "folder/../key"):
        for output, source in ((tmp_path / name, key), (key, tmp_path / name)):
            with pytest.raises(OutputError, match="same file as the input"):
                check_outputs([output], [source])
            with pytest.raises(OutputError, match="same file as the input"):
                write_outputs({output: b"x", tmp_path / "other": b""}, [source])
    assert key.read_bytes() == b"precious" and not (tmp_path / "other").exists()


def test_two_outputs_that_are_one_file(tmp_path: Path) -> None:
    """Also where neither exists yet."""
    (tmp_path / "link").symlink_to("target")
    for other in (tmp_path / "link", f"{tmp_path}/./target"):
        with pytest.raises(OutputError, match="same file as the output"):
            write_outputs({str(tmp_path / "target"): b"1", str(other): b"2"})
    assert os.listdir(tmp_path) == ["link"]


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    """Its target is replaced, or made."""
    (tmp_path / "there").write_bytes(b"old")
    for name in ("there", "not yet"):
        link = tmp_path / f"to {name}"
        link.symlink_to(name)
        write_outputs({link: b"new"})
        assert link.is_symlink() and (tmp_path / name).read_bytes() == b"new"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("folder", "is a directory"),
        ("folder/", "names no file"),
        ("", "names no file"),
        ("missing/proof.json", "there is no folder"),
        ("file/proof.json", "there is no folder|Not a directory"),
        ("loop", "cannot write"),
        ("nul\0", "null byte|null character"),
    ],
)
def test_places_that_cannot_be(name: str, words: str, tmp_path: Path) -> None:
    """Refused before anything is written."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    path = f"{tmp_path}/{name}" if name else ""
    with pytest.raises(OutputError, match=words):
        check_outputs([path])
    with pytest.raises(OutputError, match=words):
        write_outputs({str(tmp_path / "good"): b"x", path: b"y"})
    assert not (tmp_path / "good").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_places_that_may_not_be(tmp_path: Path) -> None:
    """A folder or a file without write permission."""
    folder, file = tmp_path / "folder", tmp_path / "file"
    folder.mkdir(mode=0o555)
    file.touch(mode=0o444)
    for path in (folder / "proof.json", file):
        with pytest.raises(OutputError, match=r"not writable|read-only"):
            check_outputs([path])


def broken_chunks() -> Iterator[bytes]:
    """Some bytes, then a failure, as when a computation behind the chunks breaks."""
    yield b"half"
    raise ZeroDivisionError


def fail_at(call: int, error: BaseException, real: Callable[..., object]) -> Callable[..., object]:
    """`real`, raising at its n-th call."""
    calls = 0

    def wrapped(*arguments: object) -> object:
        nonlocal calls
        calls += 1
        if calls == call:
            raise error
        return real(*arguments)

    return wrapped


def interrupt_after(call: int, real: Callable[..., object]) -> Callable[..., object]:
    """`real`, with Ctrl-C coming just after its n-th call has done its work."""
    calls = 0

    def wrapped(*arguments: object) -> object:
        nonlocal calls
        calls += 1
        result = real(*arguments)
        if calls == call:
            raise KeyboardInterrupt
        return result

    return wrapped


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("call", [1, 2, 3])
@pytest.mark.parametrize("name", ["replace", "fsync", "link", "open"])
@pytest.mark.parametrize("error", [FULL, KeyboardInterrupt(), None])
def test_failure_midway_leaves_everything_as_it_was(
    call: int,
    name: str,
    error: BaseException | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whichever step fails or is interrupted (None: just after it): old contents, no leftovers."""
    for old in ("one", "three"):
        (tmp_path / old).write_bytes(old.encode())
    before = snapshot(tmp_path)
    real = getattr(os, name)
    wrapped = fail_at(call, error, real) if error else interrupt_after(call, real)
    outputs = {tmp_path / part: b"new" for part in ("one", "two", "three")}
    with monkeypatch.context() as patched:
        patched.setattr(os, name, wrapped)
        try:
            write_outputs(outputs)
        except (OutputError, KeyboardInterrupt):
            done = False
        else:
            done = True  # a failing link is replaced by a copy; there are but two links
    after = snapshot(tmp_path)
    assert after == before or (done and {v[1] for v in after.values()} == {b"new"})
    write_outputs(outputs)
    assert {value[1] for value in snapshot(tmp_path).values()} == {b"new"}


@pytest.mark.parametrize("error", [FULL, KeyboardInterrupt()])
def test_failure_of_a_backup_without_links(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the file system has no hard links: half a backup never takes the old file's place."""

    def half_a_copy(source: str, target: str) -> None:
        Path(target).write_bytes(Path(source).read_bytes()[:2])
        raise error

    (tmp_path / "one").write_bytes(b"precious")
    before = snapshot(tmp_path)
    monkeypatch.setattr(os, "link", fail_at(1, OSError(errno.EPERM, "no links"), os.link))
    monkeypatch.setattr(shutil, "copy2", half_a_copy)
    with pytest.raises((OutputError, KeyboardInterrupt)):
        write_outputs({tmp_path / "one": b"new", tmp_path / "two": b"new"})
    assert snapshot(tmp_path) == before


def test_failure_of_the_content(tmp_path: Path) -> None:
    """An exception from behind the chunks passes through; nothing is written."""
    (tmp_path / "old").write_bytes(b"old")
    before = snapshot(tmp_path)
    with pytest.raises(ZeroDivisionError):
        write_outputs({tmp_path / "new": b"x", tmp_path / "old": broken_chunks()})
    assert snapshot(tmp_path) == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has /dev/full")
def test_disk_full_on_one_output(tmp_path: Path) -> None:
    """The other output is not written either."""
    with pytest.raises(OutputError, match="No space left"):
        write_outputs({str(tmp_path / "proof.json"): b"x", "/dev/full": b"y"})
    assert not list(tmp_path.iterdir())


def test_devices_and_pipes_are_written_to(tmp_path: Path) -> None:
    """They are not replaced by files; /dev/null may even be given twice."""
    write_outputs({"/dev/null": b"x"}, ["/dev/null"])
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    reader, writer = os.pipe()
    if Path(f"/dev/fd/{writer}").exists():
        write_outputs({f"/dev/fd/{writer}": b"through a pipe", "/dev/null": b""})
        assert os.read(reader, 100) == b"through a pipe"
    os.close(reader)
    os.close(writer)


def test_dev_stdout_redirected_to_a_file(tmp_path: Path) -> None:
    """`prove ... /dev/stdout > file`: the open file is written, not replaced."""
    path = tmp_path / "file"
    with path.open("wb") as file:
        if not Path(f"/dev/fd/{file.fileno()}").exists():
            pytest.skip("no /dev/fd here")
        inode = path.stat().st_ino
        write_outputs({f"/dev/fd/{file.fileno()}": b"text"})
    assert path.read_bytes() == b"text" and path.stat().st_ino == inode


def test_two_writers_of_the_same_outputs_take_turns(tmp_path: Path) -> None:
    """The proof of one run never stands beside the public signals of another."""
    outputs = [tmp_path / "proof", tmp_path / "public"]
    for name in outputs:
        name.write_bytes(b"old")
    start = threading.Barrier(3)

    def write(tag: bytes) -> None:
        for _ in range(40):
            start.wait(30)
            write_outputs(dict.fromkeys(outputs, tag))
            start.wait(30)

    writers = [threading.Thread(target=write, args=(tag,)) for tag in (b"first", b"second")]
    for writer in writers:
        writer.start()
    for _ in range(40):
        start.wait(30)
        start.wait(30)
        proof, public = (name.read_bytes() for name in outputs)
        assert proof == public
    for writer in writers:
        writer.join()
    assert sorted(tmp_path.iterdir()) == sorted(outputs)
