"""The header of a powers-of-tau file as snarkjs writes it: ptau version 1.

1 header   u32 n8q, q, u32 power, u32 power of the ceremony
"""

from __future__ import annotations

from dataclasses import dataclass

from snarkcuda.curve.params import CURVES, Curve
from snarkcuda.formats.opening import FilePath
from snarkcuda.formats.sections import Layout, SectionFile, SectionKind

PTAU = Layout(
    magic=b"ptau",
    version=1,
    sections={
        1: SectionKind("header", "which holds the prime and the power"),
        2: SectionKind("tau G1", "the powers of tau in G1"),
        3: SectionKind("tau G2", "the powers of tau in G2"),
        4: SectionKind("alpha tau G1", "the powers of tau times alpha"),
        5: SectionKind("beta tau G1", "the powers of tau times beta"),
        6: SectionKind("beta G2", "beta in G2"),
        7: SectionKind("contributions", "the record of the ceremony"),
        12: SectionKind("Lagrange tau G1", "made by 'snarkjs powersoftau prepare phase2'"),
        13: SectionKind("Lagrange tau G2", "made by 'snarkjs powersoftau prepare phase2'"),
        14: SectionKind("Lagrange alpha tau G1", "made by 'snarkjs powersoftau prepare phase2'"),
        15: SectionKind("Lagrange beta tau G1", "made by 'snarkjs powersoftau prepare phase2'"),
    },
)


@dataclass(frozen=True)
class PtauHeader:
    """Curve and size: the file serves circuits of a domain up to 2^power."""

    curve: Curve
    power: int
    ceremony_power: int
    prepared: bool  # for phase 2: with the Lagrange sections


def read_ptau_header(path: FilePath) -> PtauHeader:
    """Read the header of a ptau file.

    Raises:
        FormatError: the file breaks its format or its prime is no known base field.
    """
    return ptau_header(SectionFile(path, PTAU))


def ptau_header(file: SectionFile) -> PtauHeader:
    """The header of an open ptau file; errors are those of `read_ptau_header`."""
    header = file.section(1)
    size = header.uint(0, 4, "size of q")
    q = header.uint(4, size, "q") if size in (32, 48) else 0
    curve = next((c for c in CURVES if c.fq.modulus == q and 8 * c.fq.limbs == size), None)
    if curve is None:
        raise header.error(f"names a prime q ({size} bytes, {q}) of no curve that snarkcuda knows")
    header.require_length(4 + size + 8, "prime and powers")
    power = header.uint(4 + size, 4, "power")
    if power > curve.fr.two_adicity:
        raise header.error(
            f"has power {power}; {curve.name} has roots of unity up to 2^{curve.fr.two_adicity}"
        )
    ceremony_power = header.uint(8 + size, 4, "power of the ceremony")
    return PtauHeader(curve, power, ceremony_power, prepared=12 in file.table)
