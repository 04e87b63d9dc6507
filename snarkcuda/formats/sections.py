"""The container that zkey, wtns, r1cs and ptau files share: a list of numbered sections.

    magic (4 bytes) | u32 version | u32 number of sections |
    u32 id | u64 length | bytes …      once for each section, in any order; all little-endian

A file is memory-mapped and its table walked once; each length is compared with the bytes that are
there before anything is allocated. Offsets are Python integers, so files over 4 GiB are ordinary.
Sections are found by id, never by place: circom, snarkjs' setup and snarkjs' contributions each
write another order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from snarkcuda.errors import FormatError
from snarkcuda.field.arrays import U64Array
from snarkcuda.formats.opening import FilePath, U8Array, map_file, shown

FILE_HEADER = 12
TABLE_ENTRY = 12
MAX_SECTIONS = 1000  # the largest real format (fflonk keys) has 17
CUT_SHORT = "the file is probably cut short; download or make it again"

MAGIC_NAMES = {
    b"zkey": "a proving key (.zkey)",
    b"wtns": "a witness (.wtns)",
    b"r1cs": "a constraint system (.r1cs)",
    b"ptau": "a powers-of-tau file (.ptau)",
}


def foreign(start: bytes) -> str:
    """What a file is that starts with these bytes, if it is no section file."""
    if start.lstrip()[:1] in (b"{", b"["):
        return "JSON (circom's witness calculator makes a witness of a circuit's inputs)"
    if start in (b"prag", b"temp", b"incl"):
        return "a circom source, it seems (compile it with `circom --r1cs --wasm`)"
    return f"no file of this kind (it starts with {start!r})"


@dataclass(frozen=True)
class SectionKind:
    """What a section is called in messages, and what it is for."""

    name: str
    purpose: str


@dataclass(frozen=True)
class Layout:
    """A format: its magic, the one version that is read, and its sections by id."""

    magic: bytes
    version: int
    sections: Mapping[int, SectionKind]


@dataclass(frozen=True)
class Section:
    """One section: its bytes (a read-only view of the map) and where they stand in the file."""

    file: str
    label: str  # "section 5 (A query)"
    offset: int
    data: U8Array

    def __len__(self) -> int:
        return len(self.data)

    def error(self, text: str) -> FormatError:
        """A `FormatError` that names the file, the section and its offset."""
        return FormatError(f"{self.file}: {self.label} at offset {self.offset} {text}")

    def require_length(self, length: int, why: str) -> None:
        """Refuse the section unless it has exactly `length` bytes."""
        if len(self) != length:
            advice = CUT_SHORT if len(self) < length else "the file is damaged; make it again"
            raise self.error(f"needs {length} bytes ({why}) but has {len(self)}: {advice}")

    def uint(self, at: int, size: int, what: str) -> int:
        """The little-endian integer of `size` bytes at byte `at`."""
        if at + size > len(self):
            raise self.error(
                f"ends before its field '{what}': {at + size} bytes needed, {len(self)} there: "
                f"{CUT_SHORT}"
            )
        return int.from_bytes(self.data[at : at + size].tobytes(), "little")

    def elements(self, shape: tuple[int, ...], at: int = 0) -> U64Array:
        """The 64-bit words from byte `at`: a read-only view of the file, shape as asked.

        It may be unaligned: a table entry has 12 bytes, so about every second section is off by 4.
        Kernels take such arrays as bytes (`arrays.packed`). Callers have compared the length.
        """
        raw = self.data[at : at + 8 * math.prod(shape)]
        words = raw.view("<u8").astype(np.uint64, copy=False)  # swaps bytes on big-endian hosts
        words.flags.writeable = False
        return words.reshape(shape)


class SectionFile:
    """A section file, mapped read-only, with its table checked.

    Attributes:
        file: its name as messages show it.
        mapped: the map, and the file's state when it was made.
        data: its bytes, a read-only view of the map.
        size: its length in bytes.
        table: (offset, length) of each section's bytes by id, in the order of the file.
    """

    def __init__(self, path: FilePath, layout: Layout) -> None:
        """Map the file and walk its table.

        Raises:
            FormatError: no regular file, another format or version, a section that is cut short or
                stands twice, more sections than fit, or bytes after the last one.
        """
        self.file = shown(path)
        self.layout = layout
        self.mapped = map_file(path)
        self.data = self.mapped.data
        self.size = len(self.data)
        count = self._file_header()
        self.table: dict[int, tuple[int, int]] = {}
        end = FILE_HEADER
        for place in range(count):
            end = self._table_entry(place, count, end)
        if end != self.size:
            raise FormatError(
                f"{self.file}: {self.size - end} bytes follow its last section, which ends at "
                f"offset {end}: the file is damaged; download or make it again"
            )

    def _integer(self, offset: int, size: int) -> int:
        return int.from_bytes(self.data[offset : offset + size].tobytes(), "little")

    def _file_header(self) -> int:
        """Check magic, version and the number of sections; return the latter."""
        magic = self.data[:4].tobytes()
        wanted = MAGIC_NAMES[self.layout.magic]
        if magic != self.layout.magic[: len(magic)] or not magic:
            what = MAGIC_NAMES.get(magic) or foreign(magic)
            raise FormatError(f"{self.file} is {what}; {wanted} is needed here")
        if self.size < FILE_HEADER:
            raise FormatError(
                f"{self.file}: {FILE_HEADER} bytes needed for the file's header, {self.size} "
                f"there: {CUT_SHORT}"
            )
        version = self._integer(4, 4)
        if version != self.layout.version:
            raise FormatError(
                f"{self.file} has version {version} of its format; snarkcuda reads version "
                f"{self.layout.version}"
            )
        count = self._integer(8, 4)
        if count > MAX_SECTIONS or FILE_HEADER + count * TABLE_ENTRY > self.size:
            raise FormatError(
                f"{self.file} says it has {count} sections, which need at least "
                f"{FILE_HEADER + count * TABLE_ENTRY} bytes, and has {self.size}: {CUT_SHORT}"
            )
        return count

    def _table_entry(self, place: int, count: int, start: int) -> int:
        """Check the table entry at offset `start`; return the offset after its section."""
        which = f"section {place + 1} of {count} in the file"
        if start + TABLE_ENTRY > self.size:
            raise FormatError(
                f"{self.file}: the header of {which} needs {TABLE_ENTRY} bytes at offset {start}, "
                f"{self.size - start} there: {CUT_SHORT}"
            )
        number, length = self._integer(start, 4), self._integer(start + 4, 8)
        offset = start + TABLE_ENTRY
        if number in self.table:
            raise FormatError(
                f"{self.file}: {self.label(number)} stands twice, at offsets "
                f"{self.table[number][0]} and {offset}: the file is damaged; make it again"
            )
        if length > self.size - offset:
            raise FormatError(
                f"{self.file}: {self.label(number)} at offset {offset} needs {length} bytes, "
                f"{self.size - offset} there: {CUT_SHORT}"
            )
        self.table[number] = (offset, length)
        return offset + length

    def raw(self, offset: int, count: int) -> bytes:
        """`count` bytes from an offset of the file on, fewer at its end."""
        return self.data[offset : offset + count].tobytes()

    def label(self, number: int) -> str:
        """A section's number and name: "section 5 (A query)"."""
        kind = self.layout.sections.get(number)
        return f"section {number} ({kind.name if kind else 'unknown'})"

    def section(self, number: int) -> Section:
        """The section with this id.

        Raises:
            FormatError: there is none; the message says what it is for.
        """
        if number not in self.table:
            raise FormatError(
                f"{self.file} has no {self.label(number)}, {self.layout.sections[number].purpose}: "
                "the file is probably unfinished; make it again"
            )
        offset, length = self.table[number]
        return Section(self.file, self.label(number), offset, self.data[offset : offset + length])
