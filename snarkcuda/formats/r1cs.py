"""Circuits as circom writes them: r1cs version 1, sections in the order 2, 1, 3.

    1 header        see `r1cs_header`
    2 constraints   for each row A, B, C, each a list: u32 count, then count · (u32 wire, value)
    3 wire labels   wires · u64

Values are plain integers below r (not Montgomery), 32 bytes, little-endian. Lists have any length,
so the bytes are walked twice: once to count entries and compare every length with the bytes that
are there, once to fill arrays of the exact size.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from snarkcuda.circuits.checks import check_r1cs
from snarkcuda.circuits.r1cs import R1cs, SparseRows, check_rows
from snarkcuda.errors import FormatError, NotInFieldError
from snarkcuda.field import arrays
from snarkcuda.field.arrays import first_not_canonical, from_ints
from snarkcuda.field.element import load, store
from snarkcuda.field.packed import load_u32
from snarkcuda.field.params import PrimeField
from snarkcuda.formats.opening import FilePath, U8Array
from snarkcuda.formats.output import write_outputs
from snarkcuda.formats.r1cs_header import R1CS, CircuitHeader, circuit_header
from snarkcuda.formats.section_writer import Chunk, words, write_section
from snarkcuda.formats.sections import Section, SectionFile
from snarkcuda.jit import formula, kernel

MATRICES = "ABC"
DAMAGED = "the file is damaged; compile the circuit again"
ENTRY = 36  # bytes: wire and value, in a field of four limbs
_BLOCK = 1 << 16  # rows written at a time: bounds the temporary memory


def read_r1cs(path: FilePath) -> R1cs:
    """Read a circuit.

    Args:
        path: an r1cs file, version 1.

    Returns:
        The circuit, independent of the file from then on; values are uint64 (entries, 4),
        little-endian limbs, canonical, not Montgomery.

    Raises:
        FormatError: the file breaks its format, its prime is no known scalar field, it has custom
            gates, a length is not that of its count, or an entry names a wire that is not there.
        NotInFieldError: a coefficient is not below r.

    Cost: walks section 2 twice; the arrays need at most twice the section's bytes.
    Source: iden3/r1csfile, doc/r1cs_bin_format.md.
    """
    file = SectionFile(path, R1CS)
    header = circuit_header(file)
    n_public = header.n_outputs + header.n_public_inputs
    check_rows(header.curve, header.n_constraints, n_public, file.file)
    for number in (4, 5):
        if number in file.table and file.section(number).data.any():
            raise file.section(number).error(
                "is not empty: custom gates are for PLONK, and Groth16 has none; compile the "
                "circuit without custom templates"
            )
    labels = file.section(3)
    labels.require_length(8 * header.n_wires, f"{header.n_wires} labels of 8 bytes")
    a, b, c = _read_matrices(file.section(2), header)
    return R1cs(
        header.curve,
        header.n_wires,
        header.n_outputs,
        header.n_public_inputs,
        header.n_private_inputs,
        a,
        b,
        c,
        labels=labels.elements((header.n_wires,)).copy(),
        n_labels=header.n_labels,
        source=file.file,
    )


def _read_matrices(section: Section, header: CircuitHeader) -> list[SparseRows]:
    rows, fr = header.n_constraints, header.curve.fr
    if 12 * rows > len(section):
        raise section.error(
            f"needs at least {12 * rows} bytes ({rows} constraints of three counts) but has "
            f"{len(section)}: {DAMAGED}"
        )
    data, entries = arrays.packed(section.data), np.zeros(3, dtype=np.int64)
    lists, end = _count(data, rows, entries)
    if lists < 3 * rows:
        raise section.error(
            f"ends within {MATRICES[lists % 3]} of constraint {lists // 3}, whose entries begin at "
            f"offset {section.offset + end}: {DAMAGED}"
        )
    if end < len(section):
        raise section.error(
            f"has {len(section) - end} bytes after its {rows} constraints, from offset "
            f"{section.offset + end} on: {DAMAGED}"
        )
    first = np.concatenate([[0], np.cumsum(entries)])
    start = np.zeros((3, rows + 1), dtype=np.int64)
    wires = np.empty(first[3], dtype=np.uint32)
    values = np.empty((first[3], fr.limbs), dtype=np.uint64)
    if not _fill(fr, data, first, start, wires, values):
        raise section.error("was changed while it was read; read it again")
    matrices = [
        SparseRows(start[m], wires[first[m] : first[m + 1]], values[first[m] : first[m + 1]])
        for m in range(3)
    ]
    _check_entries(section, matrices, header.n_wires, fr)
    return matrices


def _check_entries(
    section: Section, matrices: Sequence[SparseRows], n_wires: int, fr: PrimeField
) -> None:
    """Every wire and value, in our copy of them: what is checked can no longer change."""
    for m, matrix in enumerate(matrices):
        if len(matrix.wires) and matrix.wires.max() >= n_wires:
            bad = int(np.argmax(matrix.wires >= n_wires))
            raise FormatError(
                f"{section.file}: {_place(section, matrices, m, bad)} names wire "
                f"{matrix.wires[bad]}, not below {n_wires}: {DAMAGED}"
            )
        bad_value = first_not_canonical(fr, matrix.values)
        if bad_value is not None:
            raise NotInFieldError(
                f"{section.file}: {_place(section, matrices, m, bad_value)} has a coefficient that "
                f"is not below r: {DAMAGED}"
            )


def _place(section: Section, matrices: Sequence[SparseRows], m: int, entry: int) -> str:
    """Where an entry of matrix m stands, in words."""
    row = int(np.searchsorted(matrices[m].start, entry, side="right")) - 1
    in_list = entry - int(matrices[m].start[row])
    before = sum(int(x.start[row + (i < m)]) for i, x in enumerate(matrices)) + in_list
    offset = section.offset + 4 * (3 * row + m + 1) + ENTRY * before
    return f"entry {in_list} of {MATRICES[m]} of constraint {row} at offset {offset}"


@kernel
def _count(data: Any, rows: int, entries: Any) -> tuple[int, int]:
    """Add up each matrix's entries; the lists that are there whole, and the offset after them."""
    at, size = 0, len(data)
    for i in range(3 * rows):
        if size - at < 4:
            return i, at
        count = load_u32(data, at)
        if count > (size - at - 4) // ENTRY:
            return i, at
        entries[i % 3] += count
        at += 4 + ENTRY * count
    return 3 * rows, at


@kernel
def _fill(F: Any, data: Any, first: Any, start: Any, wires: Any, values: Any) -> bool:
    """Spread the lists; False if they are not those that were counted (the file is mapped)."""
    at, size = 0, len(data)
    place = first[:3].copy()
    for row in range(start.shape[1] - 1):
        for m in range(3):
            if size - at < 4:
                return False
            count = load_u32(data, at)
            at += 4
            if count > (size - at) // ENTRY or count > first[m + 1] - place[m]:
                return False
            for i in range(place[m], place[m] + count):
                wires[i] = np.uint32(load_u32(data, at))
                store(F, values, i, load(F, data[at + 4 :], 0))
                at += ENTRY
            place[m] += count
            start[m, row + 1] = place[m] - first[m]
    return bool(at == size)


def write_r1cs(path: FilePath, r1cs: R1cs, inputs: Sequence[FilePath] = ()) -> None:
    """Write a circuit, atomically; byte for byte as circom does.

    Raises:
        OutputError: see `output.write_outputs`.
    """
    write_outputs({path: r1cs_chunks(r1cs)}, inputs)


def r1cs_chunks(r1cs: R1cs) -> Iterator[Chunk]:
    """The bytes of an r1cs file, in order, as chunks.

    Raises:
        FormatError, NotInFieldError: see `check_r1cs`.
    """
    check_r1cs(r1cs)
    fr, n = r1cs.curve.fr, r1cs.n_constraints
    header: list[Chunk] = [
        struct.pack("<I", 8 * fr.limbs),
        words(from_ints([fr.modulus], fr.limbs)),
        struct.pack(
            "<IIIIQI",
            r1cs.n_wires,
            r1cs.n_outputs,
            r1cs.n_public_inputs,
            r1cs.n_private_inputs,
            r1cs.n_labels,
            n,
        ),
    ]
    # write_sections adds up its chunks' lengths, for which all rows would be in memory at once.
    matrices = (r1cs.a, r1cs.b, r1cs.c)
    length = 12 * n + ENTRY * sum(len(matrix.wires) for matrix in matrices)
    yield R1CS.magic + struct.pack("<IIIQ", R1CS.version, 3, 2, length)
    for first in range(0, n, _BLOCK):
        yield _encoded(r1cs.curve.fr, matrices, first, min(n, first + _BLOCK))
    yield from write_section(1, header)
    yield from write_section(3, [words(r1cs.labels)])


def _encoded(fr: PrimeField, matrices: Sequence[SparseRows], first: int, last: int) -> U8Array:
    """Rows first … last − 1 as they stand in section 2."""
    entries = sum(int(matrix.start[last] - matrix.start[first]) for matrix in matrices)
    data = np.empty(12 * (last - first) + ENTRY * entries, dtype=np.uint8)
    parts = [(m.start, arrays.packed(m.wires), arrays.packed(m.values)) for m in matrices]
    _encode(fr, data, first, last, *parts)
    return data


@formula
def _put_u32(data: Any, at: int, value: int) -> None:
    for i in range(4):
        data[at + i] = np.uint8((value >> (8 * i)) & 255)


@formula
def _put_list(F: Any, data: Any, at: int, matrix: Any, row: int) -> int:
    """Write one row of one matrix at byte `at`; the offset after it."""
    start, wires, values = matrix
    _put_u32(data, at, start[row + 1] - start[row])
    at += 4
    for i in range(start[row], start[row + 1]):
        _put_u32(data, at, load_u32(wires, 4 * i))
        store(F, data[at + 4 :], 0, load(F, values, i))
        at += ENTRY
    return at


@kernel
def _encode(F: Any, data: Any, first: int, last: int, a: Any, b: Any, c: Any) -> None:
    at = 0
    for row in range(first, last):
        at = _put_list(F, data, at, a, row)
        at = _put_list(F, data, at, b, row)
        at = _put_list(F, data, at, c, row)
