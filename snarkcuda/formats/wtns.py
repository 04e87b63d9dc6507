"""Witnesses as circom and snarkjs write them: wtns version 2.

    1 header   u32 32, r (32 bytes), u32 count
    2 values   count · 32 bytes: plain integers below r (not Montgomery), little-endian

Value 0 is the constant 1, then come the public signals in the order of public.json.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from snarkcuda.curve.params import CURVES, Curve, curve_of_scalar_field
from snarkcuda.field.arrays import from_ints, to_int
from snarkcuda.formats.checked_arrays import read_scalars
from snarkcuda.formats.opening import FilePath
from snarkcuda.formats.output import write_outputs
from snarkcuda.formats.section_writer import Chunk, words, write_sections
from snarkcuda.formats.sections import Layout, Section, SectionFile, SectionKind
from snarkcuda.groth16.keys import Witness

WTNS = Layout(
    magic=b"wtns",
    version=2,
    sections={
        1: SectionKind("header", "which holds the prime and the number of values"),
        2: SectionKind("values", "the witness itself"),
    },
)


def read_witness(path: FilePath) -> Witness:
    """Read a witness.

    Args:
        path: a wtns file, version 2.

    Returns:
        The witness; values are uint64 (n, 4), little-endian limbs, canonical, read-only.

    Raises:
        FormatError: the file breaks its format, its prime is no known scalar field, its length is
            not that of its count, or value 0 is not 1.
        NotInFieldError: a value is not below r.

    Source: snarkjs 0.7, src/wtns_utils.js.
    """
    file = SectionFile(path, WTNS)
    header = file.section(1)
    curve = scalar_field_curve(header)
    header.require_length(8 + 8 * curve.fr.limbs, "size of r, r, count")
    count = header.uint(4 + 8 * curve.fr.limbs, 4, "number of values")
    section = file.section(2)
    values = read_scalars(section, count, curve.fr)
    if count == 0 or to_int(values[0]) != 1:
        raise section.error("does not start with the constant 1: make the witness again")
    return Witness(curve, values, source=file.file)


def scalar_field_curve(header: Section) -> Curve:
    """The curve whose scalar field's prime opens `header` (u32 size, prime): wtns and r1cs.

    Raises:
        FormatError: the prime is of no known curve.
    """
    size = header.uint(0, 4, "size of the prime")
    if size != 32:
        raise header.error(f"says that its prime has {size} bytes; snarkcuda reads 32")
    prime = header.uint(4, size, "prime")
    curve = curve_of_scalar_field(prime)
    if curve is None:
        known = ", ".join(f"{curve.name} {curve.fr.modulus}" for curve in CURVES)
        raise header.error(f"names the prime {prime}; snarkcuda knows {known}")
    return curve


def write_witness(path: FilePath, witness: Witness, inputs: Sequence[FilePath] = ()) -> None:
    """Write a witness, atomically; byte for byte as snarkjs does.

    Raises:
        OutputError: see `output.write_outputs`.
    """
    write_outputs({path: witness_chunks(witness)}, inputs)


def witness_chunks(witness: Witness) -> Iterator[Chunk]:
    """The bytes of a wtns file, in order, as chunks."""
    fr = witness.curve.fr
    header: list[Chunk] = [
        struct.pack("<I", 8 * fr.limbs),
        words(from_ints([fr.modulus], fr.limbs)),
        struct.pack("<I", len(witness.values)),
    ]
    return write_sections(WTNS.magic, WTNS.version, [(1, header), (2, [words(witness.values)])])
