"""Cut files (reports: iden3/snarkjs#622, #614; LFDT-Paladin/zeto#138, a key that looped for hours).

Every way to cut a file ends at once in a `FormatError` that names the file, what is needed and what
is there. Cuts of a powers-of-tau file are cuts of the same container.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from snarkcuda.errors import FormatError
from snarkcuda.formats.describe import describe
from snarkcuda.formats.proof_json import read_proof
from snarkcuda.formats.section_writer import write_sections
from snarkcuda.formats.sections import SectionFile
from snarkcuda.formats.vkey_json import read_verifying_key
from snarkcuda.formats.wtns import WTNS, read_witness
from snarkcuda.formats.zkey import read_zkey
from snarkcuda.formats.zkey_header import ZKEY

VECTORS = Path(__file__).parents[1] / "vectors"
SMALL, LARGE = ["bn_mul2", "bn_mul2_fresh", "bls_mul2"], ["bn_poseidon2", "bls_num2bits64"]


@pytest.fixture(autouse=True)
def good_files_still_read() -> Iterator[None]:
    """After the bad input, good ones are read in the same process."""
    yield
    read_zkey(VECTORS / "bn_mul2" / "circuit.zkey")
    read_witness(VECTORS / "bn_mul2" / "witness.wtns")


def assert_cut_is_refused(path: Path, length: int, read: Callable[[Path], object]) -> None:
    """Shorten the file to `length` bytes; reading it names file, bytes needed and bytes there."""
    os.truncate(path, length)
    with pytest.raises(FormatError) as caught:
        read(path)
    message = str(caught.value)
    assert str(path) in message and caught.value.exit_code == 2
    if length == 0:
        assert "is empty" in message
        return
    if length >= 12:
        assert re.search(r"section \d+|\d+ sections", message), message
    assert re.search(r"needs? .*\d+ bytes|\d+ bytes needed", message), message
    assert "cut short" in message and "make it again" in message


@pytest.mark.parametrize("case", SMALL)
def test_small_key_cut_at_every_length(case: str, tmp_path: Path) -> None:
    """Each length, from one byte less down to nothing."""
    path = Path(shutil.copy(VECTORS / case / "circuit.zkey", tmp_path))
    for length in range(path.stat().st_size - 1, -1, -1):
        assert_cut_is_refused(path, length, read_zkey)


@pytest.mark.parametrize("case", SMALL)
def test_small_witness_cut_at_every_length(case: str, tmp_path: Path) -> None:
    """Each length, from one byte less down to nothing."""
    path = Path(shutil.copy(VECTORS / case / "witness.wtns", tmp_path))
    for length in range(path.stat().st_size - 1, -1, -1):
        assert_cut_is_refused(path, length, read_witness)


@pytest.mark.parametrize("case", LARGE)
@pytest.mark.parametrize("name", ["circuit.zkey", "witness.wtns"])
def test_large_files_cut_at_quarters_and_borders(case: str, name: str, tmp_path: Path) -> None:
    """25, 50, 75 %, one byte less, and around each section's header, start and end."""
    path = Path(shutil.copy(VECTORS / case / name, tmp_path))
    size, is_key = path.stat().st_size, name == "circuit.zkey"
    table = SectionFile(path, ZKEY if is_key else WTNS).table
    places = {size // 4, size // 2, 3 * size // 4, size}
    for offset, length in table.values():
        places |= {offset - 12, offset - 8, offset, offset + length // 2, offset + length}
    lengths = {place + d for place in places for d in (-1, 0, 1) if place + d < size}
    for length in sorted(lengths, reverse=True):
        assert_cut_is_refused(path, length, read_zkey if is_key else read_witness)


@pytest.mark.parametrize("case", ["bn_mul2", "bls_mul2"])
@pytest.mark.parametrize("name", ["proof.json", "verification_key.json", "public.json"])
def test_json_cut_at_every_length(case: str, name: str, tmp_path: Path) -> None:
    """A cut JSON text is never a shorter JSON text."""
    text = (VECTORS / case / name).read_bytes()
    path = tmp_path / name
    readers = {"proof.json": read_proof, "verification_key.json": read_verifying_key}
    for length in range(len(text)):
        path.write_bytes(text[:length])
        for read in (readers.get(name, describe), describe):
            with pytest.raises(FormatError, match=re.escape(str(path))):
                read(path)


@pytest.mark.parametrize("case", ["bn_mul2", "bls_mul2"])
@pytest.mark.parametrize("number", range(2, 10))
@pytest.mark.parametrize("change", [-32, -1, 1, 32])
def test_a_section_of_another_length(case: str, number: int, change: int, tmp_path: Path) -> None:
    """A consistent container whose section does not hold what the counts say: named, both sizes."""
    file = SectionFile(VECTORS / case / "circuit.zkey", ZKEY)
    sections = [(n, file.section(n).data.tobytes()) for n in sorted(file.table)]
    sections = [
        (n, (data + bytes(32))[: len(data) + change] if n == number else data)
        for n, data in sections
    ]
    path = tmp_path / "key.zkey"
    chunks = write_sections(b"zkey", 1, [(n, [data]) for n, data in sections])
    path.write_bytes(b"".join(bytes(chunk) for chunk in chunks))
    needed, there = file.table[number][1], file.table[number][1] + change
    with pytest.raises(FormatError) as caught:
        read_zkey(path)
    for word in (f"section {number} (", f"needs {needed} bytes", f"has {there}"):
        assert word in str(caught.value)
