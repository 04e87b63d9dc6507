"""Circuits: byte-equal round trips, a naive reader beside ours, and each rule of the format."""

from __future__ import annotations

import random
import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from snarkcuda.circuits.r1cs import R1cs, SparseRows
from snarkcuda.curve.params import BLS12_381, BN254, CURVES, Curve
from snarkcuda.errors import FormatError, NotInFieldError, SnarkcudaError
from snarkcuda.field.arrays import from_ints, to_ints
from snarkcuda.formats import r1cs as module
from snarkcuda.formats.r1cs import r1cs_chunks, read_r1cs, write_r1cs

VECTORS = Path(__file__).parents[1] / "vectors"
CASES = sorted(p.parent.name for p in VECTORS.glob("*/circuit.r1cs"))
R = BN254.fr.modulus
MOST = 2**32 - 1
List = list[tuple[int, int]]  # (wire, coefficient)
Rows = list[tuple[List, List, List]]

ROWS: Rows = [
    ([(1, 1), (2, R - 1)], [(2, 5), (2, 7)], [(3, 1)]),
    ([], [(0, 2)], []),
    ([(4, 0)], [], [(0, 1), (1, 1 << 64), (4, R - 2)]),
]
# Offsets in a file of ROWS: section 2 is the first, its bytes begin at 24.
B_OF_ROW_0 = 24 + 4 + 2 * 36
C_OF_ROW_2 = 24 + 8 * 4 + 7 * 36


def encode(rows: Rows) -> bytes:
    """Section 2, written out by hand."""
    data = b""
    for row in rows:
        for entries in row:
            data += struct.pack("<I", len(entries))
            data += b"".join(struct.pack("<I", w) + v.to_bytes(32, "little") for w, v in entries)
    return data


def decode(data: bytes) -> Rows:
    """The naive reader of a good section 2."""
    lists, at = [], 0
    while at < len(data):
        (count,) = struct.unpack_from("<I", data, at)
        at += 4
        entries = []
        for _ in range(count):
            value = int.from_bytes(data[at + 4 : at + 36], "little")
            entries.append((struct.unpack_from("<I", data, at)[0], value))
            at += 36
        lists.append(entries)
    return list(zip(lists[::3], lists[1::3], lists[2::3], strict=True))


def header(
    curve: Curve = BN254, wires: int = 5, public: tuple[int, int] = (1, 1), rows: int = len(ROWS)
) -> bytes:
    """Section 1, written out by hand; one private input, nine labels."""
    prime = struct.pack("<I", 32) + curve.fr.modulus.to_bytes(32, "little")
    return prime + struct.pack("<IIIIQI", wires, *public, 1, 9, rows)


def file_of(*sections: tuple[int, bytes]) -> bytes:
    """An r1cs file of these sections, in this order."""
    data = b"r1cs" + struct.pack("<II", 1, len(sections))
    for number, section in sections:
        data += struct.pack("<IQ", number, len(section)) + section
    return data


def circuit(content: Rows = ROWS, data: bytes | None = None, **sizes: object) -> bytes:
    """A file with these rows (or these bytes in their place) and header."""
    sizes = {"rows": len(content), **sizes}
    labels = struct.pack("<5Q", 0, 2, 3, 5, 8)
    section = encode(content) if data is None else data
    return file_of((2, section), (1, header(**sizes)), (3, labels))  # type: ignore[arg-type]


def rows_of(r1cs: R1cs) -> Rows:
    """The rows as Python integers."""

    def lists(m: SparseRows) -> Iterator[List]:
        entries = list(zip(m.wires.tolist(), to_ints(m.values), strict=True))
        return (entries[m.start[i] : m.start[i + 1]] for i in range(len(m)))

    return list(zip(lists(r1cs.a), lists(r1cs.b), lists(r1cs.c), strict=True))


def read(data: bytes, tmp_path: Path) -> R1cs:
    path = tmp_path / "c.r1cs"
    path.write_bytes(data)
    return read_r1cs(path)


@pytest.mark.parametrize("case", CASES)
def test_circuit_of_the_corpus(case: str, tmp_path: Path) -> None:
    """Reading and writing gives circom's bytes; the rows are those of the naive reader."""
    source = VECTORS / case / "circuit.r1cs"
    r1cs = read_r1cs(source)
    write_r1cs(tmp_path / "again.r1cs", r1cs)
    data = source.read_bytes()
    assert (tmp_path / "again.r1cs").read_bytes() == data
    number, length = struct.unpack_from("<IQ", data, 12)
    assert number == 2
    assert rows_of(r1cs) == decode(data[24 : 24 + length])


def test_every_field_of_a_handmade_file(tmp_path: Path) -> None:
    r1cs = read(circuit(), tmp_path)
    assert rows_of(r1cs) == ROWS == decode(encode(ROWS))
    assert (r1cs.curve, r1cs.n_wires, r1cs.n_constraints) == (BN254, 5, 3)
    assert (r1cs.n_outputs, r1cs.n_public_inputs, r1cs.n_private_inputs) == (1, 1, 1)
    assert (r1cs.labels.tolist(), r1cs.n_labels) == ([0, 2, 3, 5, 8], 9)
    assert r1cs.source == str(tmp_path / "c.r1cs")
    assert b"".join(map(bytes, r1cs_chunks(r1cs))) == circuit()


@pytest.mark.parametrize("n", [0, 1, 2, 63, 64, 65, 300])
@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_random_rows(curve: Curve, n: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of 0 to 40 entries; written in several blocks."""
    monkeypatch.setattr(module, "_BLOCK", 64)
    rng, r = random.Random(n), curve.fr.modulus

    def entries() -> List:
        count = rng.choice([0, 0, 1, 1, 2, 3, 40])
        return [
            (rng.randrange(5), rng.choice([0, 1, r - 1, rng.randrange(r)])) for _ in range(count)
        ]

    rows = [(entries(), entries(), entries()) for _ in range(n)]
    data = circuit(rows, curve=curve)
    r1cs = read(data, tmp_path)
    assert rows_of(r1cs) == rows
    assert b"".join(map(bytes, r1cs_chunks(r1cs))) == data


def test_sections_are_found_by_id(tmp_path: Path) -> None:
    """Another order, and sections for custom gates that hold none."""
    labels = struct.pack("<5Q", 0, 2, 3, 5, 8)
    data = file_of((1, header()), (5, bytes(4)), (3, labels), (4, b""), (2, encode(ROWS)))
    assert read(data, tmp_path) == read(circuit(), tmp_path)


def test_private_inputs_that_circom_dropped(tmp_path: Path) -> None:
    """circom --O1 keeps their number in the header when no wire is left of them."""
    rows: Rows = []
    data = file_of(
        (2, b""), (1, header(wires=2, public=(1, 0), rows=0)), (3, struct.pack("<2Q", 0, 1))
    )
    r1cs = read(data, tmp_path)
    assert (rows_of(r1cs), r1cs.n_wires, r1cs.n_private_inputs) == (rows, 2, 1)


def patched(at: int, value: int) -> bytes:
    """The handmade file with a u32 changed."""
    data = bytearray(circuit())
    struct.pack_into("<I", data, at, value)
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (circuit(ROWS[:2], data=encode(ROWS)), r"bytes after its 2 constraints, from offset"),
        (circuit(data=encode(ROWS) + b"\0"), r"has 1 bytes after its 3 constraints"),
        (circuit(data=encode(ROWS)[:-1]), r"within C of constraint 2, .* offset 308"),
        (circuit(data=encode(ROWS[:2]) + bytes(4)), r"within B of constraint 2"),
        (circuit(data=encode(ROWS[:1])), r"within A of constraint 1"),
        (circuit(data=bytes(35)), r"at least 36 bytes .3 constraints.* has 35"),
        (patched(B_OF_ROW_0, MOST), r"within B of constraint 0, .* offset 100"),
        (patched(B_OF_ROW_0 + 4, 5), r"entry 0 of B of constraint 0 at offset 104 names wire 5"),
        (patched(C_OF_ROW_2 + 4, MOST), r"C of constraint 2 at offset 312 names wire 4294"),
        (circuit(rows=(1 << 28) - 2), r"holds at most 2\^28 rows"),
        (circuit(rows=MOST), r"holds at most 2\^28 rows"),
        (circuit(wires=6), r"section 3 .* needs 48 bytes .6 labels.* has 40"),
        (circuit(wires=2), r"2 wires, fewer than the constant, 1 outputs and 1 public inputs"),
        (circuit(public=(MOST, MOST)), r"fewer than the constant, 4294967295 outputs"),
        (circuit(wires=0, public=(0, 0)), r"0 wires, fewer than"),
        (file_of((2, b""), (1, header())), r"no section 3 \(wire labels\)"),
        (file_of((1, header()), (3, bytes(40))), r"no section 2 \(constraints\)"),
        (file_of((2, b""), (3, bytes(40))), r"no section 1 \(header\)"),
        (circuit()[:-1], r"cut short"),
        (circuit().replace(b"r1cs", b"wtns"), r"a witness .* constraint system .* needed"),
    ],
)  # fmt: skip
def test_rules(data: bytes, words: str, tmp_path: Path) -> None:
    """Each broken rule is a FormatError that says which, and where."""
    with pytest.raises(FormatError, match=words) as error:
        read(data, tmp_path)
    assert str(tmp_path / "c.r1cs") in str(error.value)


@pytest.mark.parametrize("number", [4, 5])
def test_custom_gates_are_refused(number: int, tmp_path: Path) -> None:
    labels = struct.pack("<5Q", 0, 2, 3, 5, 8)
    data = file_of((2, encode(ROWS)), (1, header()), (3, labels), (number, b"\1\0\0\0gate\0"))
    with pytest.raises(FormatError, match="custom gates are for PLONK"):
        read(data, tmp_path)


@pytest.mark.parametrize("value", [R, R + 1, R + (1 << 64), 2**256 - 1])
def test_coefficient_not_below_r(value: int, tmp_path: Path) -> None:
    rows = [ROWS[0], ([(0, 1)], [(1, R - 1), (1, value)], [])]
    words = rf"entry 1 of B of constraint 1 at offset {24 + 5 * 4 + 7 * 36} has a coefficient"
    with pytest.raises(NotInFieldError, match=words):
        read(circuit(rows), tmp_path)


def test_cut_at_every_byte_of_section_2(tmp_path: Path) -> None:
    """The table tells the true length, so only the walk can notice."""
    data = encode(ROWS)
    for length in range(len(data)):
        with pytest.raises(FormatError, match=r"constraint"):
            read(circuit(data=data[:length]), tmp_path)


def test_changed_bytes_give_a_circuit_or_an_error(tmp_path: Path) -> None:
    """What is read can be written: nothing out of range gets in."""
    good = circuit()
    outcomes = set()
    for at in range(len(good)):
        for value in (0, 1, 0x7F, 0xFF):
            data = good[:at] + bytes([value]) + good[at + 1 :]
            try:
                r1cs = read(data, tmp_path)
            except SnarkcudaError:
                outcomes.add("error")
                continue
            outcomes.add("circuit")
            assert b"".join(map(bytes, r1cs_chunks(r1cs))) == data
    assert outcomes == {"error", "circuit"}


def test_rows_that_change_between_the_walks() -> None:
    """The second walk writes nothing beyond what the first counted, and says so."""
    data = np.frombuffer(encode(ROWS), dtype=np.uint8)
    first = np.array([0, 3, 6, 10])
    for at, value in ((0, 3), (0, 1), (0, MOST), (B_OF_ROW_0 - 24, 3), (B_OF_ROW_0 - 24, 1)):
        changed = data.copy()
        changed[at : at + 4] = np.frombuffer(struct.pack("<I", value), dtype=np.uint8)
        start = np.zeros((3, 4), dtype=np.int64)
        wires = np.full(12, 77, dtype=np.uint32)  # two more than the kernel may touch
        values = np.full((12, 4), 77, dtype=np.uint64)
        packed = module.arrays.packed(changed)
        assert not module._fill(BN254.fr, packed, first, start, wires, values)
        assert (wires[10:] == 77).all() and (values[10:] == 77).all()


def test_the_second_walk_ends_with_the_bytes() -> None:
    """A list within the totals but past the end: what lies beyond is not read."""
    data, first = np.frombuffer(encode(ROWS), dtype=np.uint8), np.array([0, 3, 6, 10])
    start, wires = np.zeros((3, 4), dtype=np.int64), np.full(10, 77, dtype=np.uint32)
    values = np.full((10, 4), 77, dtype=np.uint64)
    packed = module.arrays.packed(data)
    assert not module._fill(BN254.fr, packed[:-1], first, start, wires, values)
    assert wires[6] == 3  # C of row 0 is there, C of row 2 is not
    assert (wires[7:] == 77).all() and (values[7:] == 77).all()


def test_writing_checks_what_a_program_made(tmp_path: Path) -> None:
    """The kernel writes by what `start` says."""
    r1cs = read(circuit(), tmp_path)
    bad = replace(r1cs, a=replace(r1cs.a, start=np.array([0, 9, 0, 3])))
    with pytest.raises(FormatError, match=r"A.start must rise from 0"):
        write_r1cs(tmp_path / "out.r1cs", bad)
    assert not (tmp_path / "out.r1cs").exists()


def test_both_curves_round_trip_in_memory(tmp_path: Path) -> None:
    """Edge values survive; a circuit that a program made needs no file's name."""
    for curve in (BN254, BLS12_381):
        values = [0, 1, curve.fr.modulus - 1, (1 << 64) - 1, 1 << 64, 1 << 192]
        one = SparseRows(
            np.array([0, len(values)]), np.zeros(6, dtype=np.uint32), from_ints(values, 4)
        )
        r1cs = R1cs(curve, 1, 0, 0, 0, one, one, one, np.zeros(1, dtype=np.uint64), 1)
        write_r1cs(tmp_path / "c.r1cs", r1cs)
        assert read_r1cs(tmp_path / "c.r1cs") == r1cs


CHILD = """
import sys
from snarkcuda.errors import FormatError
from snarkcuda.formats.r1cs import read_r1cs

def peak():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

before = peak()
try:
    read_r1cs(sys.argv[1])
except FormatError as error:
    print(peak() - before, error)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is from /proc")
@pytest.mark.parametrize(
    ("data", "words"),
    [
        (circuit(rows=(1 << 28) - 3), "section 2"),  # with public rows, all that BN254 has
        (circuit(wires=MOST), "section 3"),
        (circuit(wires=MOST, public=(1 << 27, 0), rows=(1 << 27) - 1), "section 3"),
    ],
    ids=["constraints", "wires", "all"],
)
def test_length_bombs(data: bytes, words: str, tmp_path: Path) -> None:
    """A few hundred bytes that claim billions: refused by lengths, with little memory."""
    path = tmp_path / "c.r1cs"
    path.write_bytes(data)
    assert len(data) < 600
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(path)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    rise, message = done.stdout.split(maxsplit=1)
    assert words in message and "needs" in message
    assert int(rise) < 10_000


def test_info_does_not_load_numba() -> None:
    code = (
        "import sys; from snarkcuda.formats.describe import describe; describe(sys.argv[1])\n"
        "assert 'numba' not in sys.modules"
    )
    path = VECTORS / "bn_mul2" / "circuit.r1cs"
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
