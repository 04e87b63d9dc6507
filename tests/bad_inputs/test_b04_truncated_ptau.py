"""iden3/snarkjs#622, #614, LFDT-Paladin/zeto#138: a cut ptau kept the tool busy for twelve hours.

Cut anywhere, a powers-of-tau file or a key is refused at once: the file, the section by name and
number, the bytes that are needed and those that are there. Keys cut at every length are in
`test_formats_truncated.py`.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from snarkcuda.errors import FormatError
from snarkcuda.formats.describe import describe
from snarkcuda.formats.ptau import read_ptau
from snarkcuda.formats.ptau_header import PTAU, read_ptau_header
from snarkcuda.formats.zkey import read_zkey
from snarkcuda.formats.zkey_header import ZKEY
from snarkcuda.groth16.prover import Prover

VECTORS = Path(__file__).parents[1] / "vectors"
PTAUS = ["pot3_bn128.ptau", "pot3_bls12381.ptau"]
KEYS = ["bn_mul2/circuit.zkey", "bls_mul2/circuit.zkey", "bn_poseidon2/circuit.zkey"]
READERS: list[tuple[str, Callable[[Path], object]]] = [
    *((name, read) for name in PTAUS for read in (read_ptau_header, read_ptau, describe)),
    *((name, read) for name in KEYS for read in (read_zkey, describe)),
]


def section_table(data: bytes) -> list[tuple[int, int, int]]:
    """Id, offset and length of each section, walked here."""
    table, at = [], 12
    while at < len(data):
        number, length = struct.unpack_from("<IQ", data, at)
        table.append((number, at + 12, length))
        at += 12 + length
    return table


def copy_of(name: str, folder: Path) -> Path:
    """A copy that may be cut."""
    path = Path(shutil.copyfile(VECTORS / name, folder / Path(name).name))
    assert path.stat().st_size == (VECTORS / name).stat().st_size
    return path


def cut_sizes(data: bytes) -> list[int]:
    """25 %, 50 %, 75 %, one byte less, and within, before and after each section's header."""
    size = len(data)
    sizes = {size // 4, size // 2, 3 * size // 4, size - 1}
    for _, offset, length in section_table(data):
        sizes |= {offset - 12 + i for i in range(13)} | {offset + length // 2, offset + length - 1}
    return sorted((cut for cut in sizes if 12 < cut < size), reverse=True)


@pytest.mark.parametrize("name, read", READERS)
def test_cut_files(name: str, read: Callable[[Path], object], tmp_path: Path) -> None:
    """Each cut is told as what it is; whole again, the file is read."""
    path = copy_of(name, tmp_path)
    data = path.read_bytes()
    table, layout = section_table(data), PTAU if name in PTAUS else ZKEY
    for cut in cut_sizes(data):
        os.truncate(path, cut)
        with pytest.raises(FormatError) as caught:
            read(path)
        told = str(caught.value)
        assert str(path) in told
        assert "cut short" in told
        within = next((s for s in table if s[1] <= cut < s[1] + s[2]), None)
        if f"has {len(table)} sections" in told:
            continue  # so short that the table alone does not fit
        if within is not None:
            number, offset, length = within
            label = f"section {number} ({layout.sections[number].name})"
            assert f"{label} at offset {offset} needs {length} bytes, {cut - offset} there" in told
        else:  # within a section's header, whose id may not be there: its place is told
            place, at = next((i, s[1]) for i, s in enumerate(table) if cut < s[1])
            assert f"section {place + 1} of {len(table)} in the file needs 12 bytes" in told
            assert f"at offset {at - 12}, {cut - at + 12} there" in told
    path.write_bytes(data)
    read(path)


@pytest.mark.parametrize("name", PTAUS)
@pytest.mark.parametrize("change", [-1, 1])
def test_sections_of_another_length(name: str, change: int, tmp_path: Path) -> None:
    """A consistent container whose section does not hold what the power needs: named, both sizes.

    Section 7 is the ceremony's record, which takes no part.
    """
    path = copy_of(name, tmp_path)
    data = path.read_bytes()
    for number, offset, length in section_table(data):
        if number in (1, 7):
            continue
        body = (data[offset : offset + length] + b"\0")[: length + change]
        header = struct.pack("<IQ", number, length + change)
        path.write_bytes(data[: offset - 12] + header + body + data[offset + length :])
        with pytest.raises(FormatError) as caught:
            read_ptau(path)
        told = str(caught.value)
        assert f"section {number} ({PTAU.sections[number].name})" in told
        assert re.search(rf"needs {length} bytes.* has {length + change}\b", told)


@pytest.mark.parametrize("quarter", [1, 2, 3])
def test_command_line(quarter: int, run_cli: Callable, tmp_path: Path) -> None:
    """`info` of a cut file: exit code 2, file, section and both sizes; no traceback."""
    for name in (PTAUS[0], KEYS[0]):
        path = copy_of(name, tmp_path)
        os.truncate(path, path.stat().st_size * quarter // 4)
        ended = run_cli("info", path)
        assert (ended.code, ended.stdout) == (2, "")
        assert re.search(
            rf"{re.escape(str(path))}: section \d+ \(.+\) .*needs \d+ bytes, \d+ there",
            ended.stderr,
        )


def test_cut_key_of_a_prover(prove_fails: Callable[..., str], tmp_path: Path) -> None:
    """`prove` with a key cut in half changes no file, and a good key proves next."""
    path = copy_of(KEYS[0], tmp_path)
    os.truncate(path, path.stat().st_size // 2)
    witness = VECTORS / "bn_mul2" / "witness.wtns"
    told = prove_fails(path, witness)
    assert re.search(r"section \d+ \(.* query\) .*needs \d+ bytes, \d+ there", told)
    with pytest.raises(FormatError):
        Prover(path)
    with Prover(VECTORS / KEYS[0]) as prover:
        assert prover.prove(witness).public == [33, 11]
