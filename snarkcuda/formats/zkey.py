"""Groth16 proving keys as snarkjs writes them: zkey version 1.

    1 protocol   u32 = 1 (Groth16)
    2 header     u32 n8q, q, u32 n8r, r, u32 wires, u32 public, u32 domain size,
                 alpha_g1, beta_g1, beta_g2, gamma_g2, delta_g1, delta_g2
    3 IC         public + 1 points in G1                5 A        wires points in G1
    4 coeffs     u32 count, then 44-byte records        6 B1       wires points in G1
    8 L          wires - public - 1 points in G1        7 B2       wires points in G2
    9 H          domain size points in G1              10 contributions: 64 bytes of circuit hash,
    RSCH         of a research key: what it is, in words   u32 count (not needed to prove)

Points are affine, each coordinate in Montgomery form (R = 2^(64·limbs)), little-endian, below q;
all zero is infinity. That is the layout of our arrays, so a query is a view of the mapped file (at
any alignment, see `Section.elements`). A coefficient's value is coefficient·R² mod r.

Whether points lie on the curve is not checked here: that takes arithmetic, and the readers start
without compiling any.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from snarkcuda.errors import FormatError
from snarkcuda.field.arrays import from_ints
from snarkcuda.formats.checked_arrays import read_coefficients, read_points
from snarkcuda.formats.opening import FilePath
from snarkcuda.formats.output import write_outputs
from snarkcuda.formats.section_writer import Chunk, records, words, write_sections
from snarkcuda.formats.sections import SectionFile
from snarkcuda.formats.zkey_header import RESEARCH, ZKEY, read_key_header
from snarkcuda.groth16.keys import ProvingKey, VerifyingKey

RESEARCH_NOTICE = (
    b"RESEARCH KEY, NOT SECURE. One program made this key and knew its toxic waste: whoever ran it "
    b"may be able to forge any proof. For tests and benchmarks only."
)


def read_zkey(path: FilePath) -> ProvingKey:
    """Read a Groth16 proving key.

    Args:
        path: a zkey file, version 1.

    Returns:
        The key. Its arrays are read-only, uint64 little-endian limbs, Montgomery form, canonical
        (below q); `coefficients` is a read-only view of the file, `COEFFICIENT` records.

    Raises:
        FormatError: the file breaks its format, holds another protocol than Groth16, names primes
            of no known curve, or has sections of other lengths than its header's counts need.
        NotInFieldError: a coordinate is not below q or a coefficient not below r.
        NotOnCurveError: a point of the header is infinity.

    Cost: reads the file once, at memory speed; nothing is copied.
    Source: snarkjs 0.7, src/zkey_utils.js.
    """
    return zkey_in(SectionFile(path, ZKEY))


def zkey_in(file: SectionFile) -> ProvingKey:
    """The key in an open zkey file; errors are those of `read_zkey`."""
    header = read_key_header(file)
    curve, counts, points = header.curve, header.point_counts(), header.points
    sections = {number: file.section(number) for number in counts}
    for number, count in counts.items():
        size = (32 if number == 7 else 16) * curve.fq.limbs
        sections[number].require_length(count * size, f"{count} points of {size} bytes")
    coefficients = read_coefficients(file.section(4), header.n_wires, header.domain_size, curve.fr)
    queries = {
        number: read_points(sections[number], count, number == 7, curve.fq)
        for number, count in counts.items()
    }
    verifying_key = VerifyingKey(
        curve,
        alpha_g1=points["alpha_g1"],
        beta_g2=points["beta_g2"],
        gamma_g2=points["gamma_g2"],
        delta_g2=points["delta_g2"],
        ic=queries[3],
        is_research=RESEARCH in file.table,
        source=file.file,
    )
    return ProvingKey(
        curve,
        header.n_wires,
        header.n_public,
        header.domain_size,
        beta_g1=points["beta_g1"],
        delta_g1=points["delta_g1"],
        verifying_key=verifying_key,
        coefficients=coefficients,
        a_query=queries[5],
        b_g1_query=queries[6],
        b_g2_query=queries[7],
        l_query=queries[8],
        h_query=queries[9],
        circuit_hash=_circuit_hash(file),
        source=file.file,
        file=file.mapped,
    )


def _circuit_hash(file: SectionFile) -> bytes:
    """The 64 bytes that open section 10; zeros in a key without it."""
    if 10 not in file.table:
        return bytes(64)
    offset, length = file.table[10]
    return file.raw(offset, min(length, 64)).ljust(64, b"\0")


def write_zkey(path: FilePath, key: ProvingKey, inputs: Sequence[FilePath] = ()) -> None:
    """Write a proving key, atomically, with the sections in the order of `snarkjs groth16 setup`.

    The ceremony's record (section 10) has no contributions: `ProvingKey` holds none. A research key
    gets a section of its own that says so; other programs pass over it.

    Raises:
        OutputError: see `output.write_outputs`.
    """
    write_outputs({path: zkey_chunks(key)}, inputs)


def zkey_chunks(key: ProvingKey) -> Iterator[Chunk]:
    """The bytes of a zkey file, in order, as chunks."""
    curve, vk = key.curve, key.verifying_key
    if len(key.circuit_hash) != 64:
        raise FormatError(f"{key.source}: a circuit hash has 64 bytes, not {len(key.circuit_hash)}")
    n8q, n8r = 8 * curve.fq.limbs, 8 * curve.fr.limbs
    header: list[Chunk] = [
        struct.pack("<I", n8q),
        words(from_ints([curve.fq.modulus], curve.fq.limbs)),
        struct.pack("<I", n8r),
        words(from_ints([curve.fr.modulus], curve.fr.limbs)),
        struct.pack("<III", key.n_wires, key.n_public, key.domain_size),
    ]
    for point in (vk.alpha_g1, key.beta_g1, vk.beta_g2, vk.gamma_g2, key.delta_g1, vk.delta_g2):
        header.append(words(point))
    sections: list[tuple[int, list[Chunk]]] = [
        (1, [struct.pack("<I", 1)]),
        (2, header),
        (4, [struct.pack("<I", len(key.coefficients)), records(key.coefficients)]),
        (3, [words(vk.ic)]),
        (9, [words(key.h_query)]),
        (8, [words(key.l_query)]),
        (5, [words(key.a_query)]),
        (6, [words(key.b_g1_query)]),
        (7, [words(key.b_g2_query)]),
        (10, [key.circuit_hash, struct.pack("<I", 0)]),
    ]
    if vk.is_research:
        sections.append((RESEARCH, [RESEARCH_NOTICE]))
    return write_sections(ZKEY.magic, ZKEY.version, sections)
