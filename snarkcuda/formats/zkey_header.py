"""What a zkey's sections are, and its header: protocol, curve, sizes and the six single points.

`zkey` has the picture of the whole file.
"""

from __future__ import annotations

from dataclasses import dataclass

from snarkcuda.curve.params import CURVES, Curve, curve_of_fields
from snarkcuda.errors import FormatError, NotOnCurveError
from snarkcuda.field.arrays import U64Array
from snarkcuda.formats.checked_arrays import read_points
from snarkcuda.formats.sections import Layout, Section, SectionFile, SectionKind

RESEARCH = int.from_bytes(b"RSCH", "little")  # a section of our own
ZKEY = Layout(
    magic=b"zkey",
    version=1,
    sections={
        1: SectionKind("protocol", "which names the proof system"),
        2: SectionKind("header", "which holds primes, sizes and the verifying key's points"),
        3: SectionKind("IC", "the points for the public signals, needed to verify"),
        4: SectionKind("coefficients", "the circuit's matrices A and B"),
        5: SectionKind("A query", "the points for proof element A"),
        6: SectionKind("B1 query", "the G1 points for proof element B, needed for C"),
        7: SectionKind("B2 query", "the G2 points for proof element B"),
        8: SectionKind("L query", "the points of the private wires, for proof element C"),
        9: SectionKind("H query", "the points for the quotient h, for proof element C"),
        10: SectionKind("contributions", "the record of the key's ceremony"),
        RESEARCH: SectionKind("research", "which says that the key's toxic waste was known"),
    },
)
PROTOCOLS = {1: "Groth16", 2: "PLONK", 10: "FFLONK"}
HEADER_POINTS = ("alpha_g1", "beta_g1", "beta_g2", "gamma_g2", "delta_g1", "delta_g2")


@dataclass(frozen=True)
class KeyHeader:
    """Sections 1 and 2 of a zkey; `points` by the names of `HEADER_POINTS`."""

    curve: Curve
    n_wires: int
    n_public: int
    domain_size: int
    points: dict[str, U64Array]

    def point_counts(self) -> dict[int, int]:
        """How many points each query section has, by section number."""
        n_private = self.n_wires - self.n_public - 1
        wires = dict.fromkeys((5, 6, 7), self.n_wires)
        return {3: self.n_public + 1, **wires, 8: n_private, 9: self.domain_size}


def read_key_header(file: SectionFile) -> KeyHeader:
    """Read sections 1 and 2.

    Raises:
        FormatError: another protocol, unknown primes, impossible sizes, a wrong length.
        NotInFieldError: a coordinate is not below q.
        NotOnCurveError: a point is infinity.
    """
    _check_protocol(file)
    header = file.section(2)
    curve = _curve(header)
    at = 8 + 8 * curve.fq.limbs + 8 * curve.fr.limbs
    n_wires = header.uint(at, 4, "number of wires")
    n_public = header.uint(at + 4, 4, "number of public signals")
    domain_size = header.uint(at + 8, 4, "domain size")
    _check_sizes(header, curve, n_wires, n_public, domain_size)
    at += 12
    # Three points in G1 and three in G2: 3·2 + 3·4 coordinates.
    header.require_length(at + 18 * 8 * curve.fq.limbs, f"a header for {curve.name}")
    points = {}
    for name in HEADER_POINTS:
        points[name] = read_points(header, 1, name.endswith("g2"), curve.fq, at)[0]
        at += points[name].nbytes
        if not points[name].any():
            raise NotOnCurveError(
                f"{file.file}: {header.label}: {name} is the point at infinity: such a key proves "
                "nothing; make it again"
            )
    return KeyHeader(curve, n_wires, n_public, domain_size, points)


def _check_protocol(file: SectionFile) -> None:
    section = file.section(1)
    protocol = section.uint(0, 4, "protocol")
    if protocol != 1:
        name = PROTOCOLS.get(protocol, "unknown")
        raise FormatError(
            f"{file.file} is a key for protocol {protocol} ({name}); snarkcuda reads Groth16 keys "
            "(protocol 1), made by 'snarkjs groth16 setup'"
        )
    section.require_length(4, "one protocol number")


def _curve(header: Section) -> Curve:
    """The curve that the header's primes name; n8q and n8r must be their sizes in bytes."""
    moduli, at = [], 0
    for name in ("q", "r"):
        size = header.uint(at, 4, f"size of {name}")
        if size not in (32, 48):
            raise header.error(f"says that {name} has {size} bytes; snarkcuda knows 32 and 48")
        moduli.append(header.uint(at + 4, size, name))
        at += 4 + size
    q, r = moduli
    curve = curve_of_fields(q, r)
    if curve is None or at != 8 + 8 * curve.fq.limbs + 8 * curve.fr.limbs:
        known = ", ".join(curve.name for curve in CURVES)
        raise header.error(
            f"names the primes q = {q} and r = {r}, which are of no curve that snarkcuda knows "
            f"({known})"
        )
    return curve


def _check_sizes(
    header: Section, curve: Curve, n_wires: int, n_public: int, domain_size: int
) -> None:
    if n_public >= n_wires:
        raise header.error(
            f"has {n_public} public signals but only {n_wires} wires, of which one is the constant"
        )
    if domain_size & (domain_size - 1) or not 0 < domain_size <= 1 << curve.fr.two_adicity:
        raise header.error(
            f"has domain size {domain_size}, which is no power of two from 1 to "
            f"2^{curve.fr.two_adicity}"
        )
