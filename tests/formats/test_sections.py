"""The container: its own rules, and inputs that are no regular files."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from snarkcuda.errors import FormatError, SnarkcudaError
from snarkcuda.formats.describe import describe
from snarkcuda.formats.identify import file_kind
from snarkcuda.formats.proof_json import read_proof
from snarkcuda.formats.section_writer import write_sections
from snarkcuda.formats.sections import SectionFile
from snarkcuda.formats.vkey_json import read_verifying_key
from snarkcuda.formats.wtns import WTNS, read_witness
from snarkcuda.formats.zkey import read_zkey

READERS: list[Callable[[Path], object]] = [
    read_zkey,
    read_witness,
    read_proof,
    read_verifying_key,
    file_kind,
    describe,
]


def container(*sections: tuple[int, bytes], magic: bytes = b"wtns", version: int = 2) -> bytes:
    """A section file."""
    chunks = write_sections(magic, version, [(number, [data]) for number, data in sections])
    return b"".join(bytes(chunk) for chunk in chunks)


def test_written_sections_are_read_by_id(tmp_path: Path) -> None:
    """Any order, empty and unknown sections included."""
    path = tmp_path / "file"
    path.write_bytes(container((2, b"two"), (99, b"other"), (1, b"")))
    file = SectionFile(path, WTNS)
    assert file.section(2).data.tobytes() == b"two"
    assert file.section(1).data.tobytes() == b""
    assert list(file.table) == [2, 99, 1]
    assert file.table[2] == (24, 3)
    assert not file.section(2).data.flags.writeable


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"w", "12 bytes needed for the file's header, 1 there"),
        (b"wtns\2\0\0\0", "12 bytes needed for the file's header, 8 there"),
        (b"abcd" + bytes(20), "no file of this kind .* witness"),
        (container((1, b""), magic=b"ptau"), "powers-of-tau .* witness .* needed"),
        (container((1, b""), version=3), "version 3 .* reads version 2"),
        (container((1, b"x"), (1, b"y")), r"section 1 \(header\) stands twice, at offsets 24 and"),
        (
            container((1, b"x")) + b"tail",
            "4 bytes follow its last section, which ends at offset 25",
        ),
        (b"wtns" + struct.pack("<II", 2, 2**32 - 1) + bytes(600), "4294967295 sections"),
        (b"wtns" + struct.pack("<II", 2, 10) + bytes(30), "10 sections, which need at least 132"),
        (b"wtns" + struct.pack("<IIIQ", 2, 1, 2, 2**64 - 1) + b"abc", r"section 2 \(values\) at "),
        (container((1, b"x"))[:-1], r"section 1 \(header\) at offset 24 needs 1 bytes, 0 there"),
    ],
)
def test_rules(data: bytes, words: str, tmp_path: Path) -> None:
    """Each broken rule is named, with what is needed and what is there."""
    path = tmp_path / "w.wtns"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=words) as caught:
        SectionFile(path, WTNS)
    assert str(path) in str(caught.value)


def test_missing_section_says_what_it_is_for(tmp_path: Path) -> None:
    """Number, name and purpose."""
    path = tmp_path / "w.wtns"
    path.write_bytes(container((1, b"x")))
    with pytest.raises(FormatError, match=r"no section 2 \(values\), the witness itself"):
        SectionFile(path, WTNS).section(2)


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_what_is_no_regular_file(reader: Callable[[Path], object], tmp_path: Path) -> None:
    """Missing, directory, FIFO, socket, device, loop, bad names: clean errors, nothing blocks."""
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "empty").touch()
    here = Path.cwd()
    os.chdir(tmp_path)  # a socket's path must be short
    try:
        server = socket.socket(socket.AF_UNIX)
        server.bind("socket")
        server.close()
    finally:
        os.chdir(here)
    names = ["missing", "missing/file", "directory", "fifo", "loop", "empty", "socket", "x" * 300]
    for path in [*(tmp_path / name for name in names), Path("/dev/zero"), Path("nul\0byte")]:
        with pytest.raises(FormatError) as caught:
            reader(path)
        assert caught.value.exit_code == 2
        assert "\0" not in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_permission_denied(reader: Callable[[Path], object], tmp_path: Path) -> None:
    """A file that may not be read."""
    path = tmp_path / "secret"
    path.write_bytes(container((1, b"x")))
    path.chmod(0)
    with pytest.raises(SnarkcudaError, match="Permission denied"):
        reader(path)


def test_descriptors_do_not_leak(tmp_path: Path) -> None:
    """A thousand failed reads leave no descriptor open."""
    path = tmp_path / "w.wtns"
    path.write_bytes(container((1, b"x"))[:-1])
    if not Path("/proc/self/fd").exists():
        pytest.skip("descriptors are counted through /proc")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(1000):
        with pytest.raises(FormatError):
            SectionFile(path, WTNS)
    assert len(os.listdir("/proc/self/fd")) <= before + 1
