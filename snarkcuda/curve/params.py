"""The curves: seeds, equations and generators; the rest is computed.

    BN254      y² = x³ + 3 over Fq,  twist y² = x³ + 3/ξ over Fq2 (D-type),  seed t
    BLS12-381  y² = x³ + 4 over Fq,  twist y² = x³ + 4·ξ over Fq2 (M-type),  seed x < 0

Families (Barreto and Naehrig 2005; Barreto, Lynn and Scott 2002), checked by
`tests/curve/test_params.py`:

    BN     q = 36t⁴ + 36t³ + 24t² + 6t + 1       r = 36t⁴ + 36t³ + 18t² + 6t + 1
    BLS12  r = x⁴ − x² + 1                       q = (x − 1)²·r/3 + x

Generators are those of EIP-197 and of the BLS12-381 specification (Zcash protocol, §5.4.9.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from snarkcuda.field.params import (
    BLS12_381_FQ,
    BLS12_381_FR,
    BN254_FQ,
    BN254_FR,
    Field,
    PrimeField,
)

Fp2Int = tuple[int, int]
Coordinate = int | Fp2Int


@dataclass(frozen=True)
class Group:
    """G1 or G2: the subgroup of order r of y² = x³ + b over `field`.

    Attributes:
        name: "bn254.g1".
        field: where the coordinates live (Fq, or Fq2 = Fq[u]/(u² + 1)).
        b: the curve's coefficient, canonical; (c0, c1) in G2.
        generator: affine (x, y), canonical.
        order: r.
    """

    name: str
    field: Field
    b: Coordinate
    generator: tuple[Coordinate, Coordinate]
    order: int

    @property
    def is_g2(self) -> bool:
        """True for the twist over Fq2."""
        return self.field.level == 2


@dataclass(frozen=True, repr=False)
class Curve:
    """A pairing-friendly curve as Groth16 uses it.

    Attributes:
        name: "bn254" or "bls12_381", in all that we print, record or name.
        file_name: "bn128" or "bls12381", in the JSON files that snarkjs reads, and nowhere else.
        aliases: further names accepted on reading, lower case.
        family: "bn" or "bls12"; it decides the Miller loop and the final exponentiation.
        seed: the family's parameter (negative for BLS12-381).
        fq, fr: base and scalar field.
        b: the coefficient of E: y² = x³ + b.
        divisive_twist: True if the twist is y² = x³ + b/ξ (D-type), False if b·ξ (M-type).
    """

    name: str
    file_name: str
    aliases: tuple[str, ...]
    family: str
    seed: int
    fq: PrimeField
    fr: PrimeField
    b: int
    divisive_twist: bool
    g1_generator: tuple[int, int]
    g2_generator: tuple[Fp2Int, Fp2Int]

    def __repr__(self) -> str:
        return self.name

    @cached_property
    def g1(self) -> Group:
        """The subgroup of order r of E(Fq)."""
        return Group(f"{self.name}.g1", self.fq, self.b, self.g1_generator, self.fr.modulus)

    @cached_property
    def g2(self) -> Group:
        """The subgroup of order r of the twist over Fq2."""
        return Group(
            f"{self.name}.g2", self.fq.extension, self.twist_b, self.g2_generator, self.fr.modulus
        )

    @cached_property
    def twist_b(self) -> Fp2Int:
        """b/ξ or b·ξ with ξ = xi + u; 1/(xi + u) = (xi − u)/(xi² + 1)."""
        q, xi = self.fq.modulus, self.fq.xi
        if self.divisive_twist:
            inverse_norm = pow(xi * xi + 1, -1, q)
            return self.b * xi * inverse_norm % q, -self.b * inverse_norm % q
        return self.b * xi % q, self.b % q

    @cached_property
    def trace(self) -> int:
        """Trace of Frobenius: q + 1 − #E(Fq)."""
        return 6 * self.seed**2 + 1 if self.family == "bn" else self.seed + 1


BN254 = Curve(
    name="bn254",
    file_name="bn128",
    aliases=("bn254", "bn128", "alt_bn128", "altbn128", "bn256"),
    family="bn",
    seed=4965661367192848881,
    fq=BN254_FQ,
    fr=BN254_FR,
    b=3,
    divisive_twist=True,
    g1_generator=(1, 2),
    g2_generator=(
        (
            10857046999023057135944570762232829481370756359578518086990519993285655852781,
            11559732032986387107991004021392285783925812861821192530917403151452391805634,
        ),
        (
            8495653923123431417604973247489272438418190587263600148770280649306958101930,
            4082367875863433681332203403145435568316851327593401208105741076214120093531,
        ),
    ),
)
BLS12_381 = Curve(
    name="bls12_381",
    file_name="bls12381",
    aliases=("bls12_381", "bls12381", "bls12-381", "bls381"),
    family="bls12",
    seed=-0xD201000000010000,
    fq=BLS12_381_FQ,
    fr=BLS12_381_FR,
    b=4,
    divisive_twist=False,
    g1_generator=(
        0x17F1D3A73197D7942695638C4FA9AC0FC3688C4F9774B905A14E3A3F171BAC586C55E83FF97A1AEFFB3AF00ADB22C6BB,
        0x08B3F481E3AAA0F1A09E30ED741D8AE4FCF5E095D5D00AF600DB18CB2C04B3EDD03CC744A2888AE40CAA232946C5E7E1,
    ),
    g2_generator=(
        (
            0x024AA2B2F08F0A91260805272DC51051C6E47AD4FA403B02B4510B647AE3D1770BAC0326A805BBEFD48056C8C121BDB8,
            0x13E02B6052719F607DACD3A088274F65596BD0D09920B61AB5DA61BBDC7F5049334CF11213945D57E5AC7D055D042B7E,
        ),
        (
            0x0CE5D527727D6E118CC9CDC6DA2E351AADFD9BAA8CBDD3A76D429A695160D12C923AC9CC3BACA289E193548608B82801,
            0x0606C4A02EA734CC32ACD2B02BC28B99CB3E287E85A763AF267492AB572E99AB3F370D275CEC1DA1AAA9075FF05F79BE,
        ),
    ),
)
CURVES = (BN254, BLS12_381)


def curve_named(name: str) -> Curve | None:
    """The curve known by `name` (any alias, any case, blanks around it ignored), or None."""
    wanted = name.strip().lower()
    return next((curve for curve in CURVES if wanted in curve.aliases), None)


def curve_of_fields(q: int, r: int) -> Curve | None:
    """The curve with base field modulus q and scalar field modulus r, or None."""
    return next((c for c in CURVES if c.fq.modulus == q and c.fr.modulus == r), None)


def curve_of_scalar_field(r: int) -> Curve | None:
    """The curve whose scalar field has modulus r, or None."""
    return next((curve for curve in CURVES if curve.fr.modulus == r), None)
