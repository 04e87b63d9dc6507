"""Powers of tau as snarkjs keeps them: ptau version 1, prepared for phase 2.

     1 header           see `ptau_header`
     2 tau G1           [τⁱ]₁, i < 2·2^power − 1         12 its Lagrange form, levels 0 … power + 1
     3 tau G2           [τⁱ]₂, i < 2^power               13 its Lagrange form, levels 0 … power
     4 alpha tau G1     [α·τⁱ]₁, i < 2^power             14 its Lagrange form, levels 0 … power
     5 beta tau G1      [β·τⁱ]₁, i < 2^power             15 its Lagrange form, levels 0 … power
     6 beta G2          [β]₂
     7 contributions    the ceremony's record (not needed for a key)

Level k holds [Lᵢ(τ)] for the 2^k-th roots of unity, after the 2^k − 1 points of the levels below.
Level power + 1 of section 12 lacks its highest power of τ (taken as 0): a·b − c of a satisfied
circuit has no such coefficient.

Points are as in a zkey. A file for 2^28 rows has 300 GB: sections are mapped, and only the slices
that are asked for are checked.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from snarkcuda.curve.params import Curve
from snarkcuda.errors import FormatError, MismatchError
from snarkcuda.field.arrays import U64Array
from snarkcuda.formats.checked_arrays import read_points
from snarkcuda.formats.opening import FilePath
from snarkcuda.formats.ptau_header import PTAU, ptau_header
from snarkcuda.formats.sections import SectionFile

TAU_G1, TAU_G2, ALPHA_TAU_G1, BETA_TAU_G1, BETA_G2 = 2, 3, 4, 5, 6
LAGRANGE = {TAU_G1: 12, TAU_G2: 13, ALPHA_TAU_G1: 14, BETA_TAU_G1: 15}


@dataclass(frozen=True)
class PowersOfTau:
    """A prepared powers-of-tau file; points are read as they are asked for."""

    curve: Curve
    power: int
    file: SectionFile

    @property
    def source(self) -> str:
        """The file's name, for messages."""
        return self.file.file

    def points(self, section: int, first: int, count: int) -> U64Array:
        """Points of a section: affine, Montgomery, (count, 2, limbs) or (count, 2, 2, limbs).

        Raises:
            NotInFieldError: a coordinate is not below q.
        """
        is_g2 = section in (TAU_G2, BETA_G2, LAGRANGE[TAU_G2])
        at = first * self._point_bytes(is_g2)
        return read_points(self.file.section(section), count, is_g2, self.curve.fq, at)

    def lagrange(self, section: int, log_n: int) -> U64Array:
        """[Lᵢ(τ)], i < 2^log_n, times α or β as the section says; log_n ≤ power.

        Raises:
            NotInFieldError: a coordinate is not below q.
        """
        return self.points(LAGRANGE[section], (1 << log_n) - 1, 1 << log_n)

    def bytes_after(self, section: int, count: int) -> bytes:
        """`count` bytes of the file from the end of a section on, fewer at the file's end."""
        offset, length = self.file.table[section]
        return self.file.raw(offset + length, count)

    def _point_bytes(self, is_g2: bool) -> int:
        return (32 if is_g2 else 16) * self.curve.fq.limbs


def read_ptau(path: FilePath) -> PowersOfTau:
    """Read a prepared powers-of-tau file.

    Raises:
        FormatError: the file breaks its format, its prime is of no known curve, a section has
            another length than its power needs, or it is not prepared for phase 2.
    """
    file = SectionFile(path, PTAU)
    header = ptau_header(file)
    powers = PowersOfTau(header.curve, header.power, file)
    if not header.prepared:
        raise FormatError(
            f"{file.file} is not prepared for phase 2: run `snarkjs powersoftau prepare phase2 "
            f"{file.file} prepared.ptau`"
        )
    n = 1 << header.power
    counts = {TAU_G1: 2 * n - 1, TAU_G2: n, ALPHA_TAU_G1: n, BETA_TAU_G1: n, BETA_G2: 1}
    counts |= {LAGRANGE[section]: 2 * n - 1 for section in LAGRANGE}
    counts[LAGRANGE[TAU_G1]] = 4 * n - 1
    for number, count in counts.items():
        size = powers._point_bytes(number in (TAU_G2, BETA_G2, LAGRANGE[TAU_G2]))
        file.section(number).require_length(
            count * size, f"{count} points of {size} bytes for 2^{header.power} rows"
        )
    return powers


def check_fits(powers: PowersOfTau, curve: Curve, n: int, circuit: str) -> None:
    """Raise MismatchError unless the file is of this curve and serves a domain of n rows."""
    if powers.curve != curve:
        raise MismatchError(
            f"{circuit} is over {curve.name} but {powers.source} is over {powers.curve.name}: "
            "take powers of tau of the circuit's curve"
        )
    if n > 1 << powers.power:
        raise MismatchError(
            f"{circuit} needs 2^{n.bit_length() - 1} rows but {powers.source} serves at most "
            f"2^{powers.power}: take a larger powers-of-tau file"
        )


def odd_lagrange(powers: PowersOfTau, log_n: int, two_adicity: int) -> U64Array:
    """The points of circom's H query before division by δ: (2^log_n, 2, limbs).

    [L_{2i+1}(τ)]₁ of the domain of twice the size; where the field has no such domain snarkjs
    stores the basis of the shifted coset as the second half of that level instead.
    """
    n = 1 << log_n
    if log_n < two_adicity:
        return np.ascontiguousarray(powers.lagrange(TAU_G1, log_n + 1)[1::2])
    return powers.points(LAGRANGE[TAU_G1], 2 * n - 1 + n, n)
