"""The fields: what each is, and every constant that follows from its modulus.

Only a modulus and the tower's ξ are typed in. All else (Montgomery's R, −1/p, two-adicity, roots of
unity) is computed here beside its equation; `tests/field/test_params.py`
re-derives the moduli from the seeds of the curve families.

The tower is the usual one (Devegili et al. 2006; Aranha et al. 2010/526), for both curves:

    Fp2  = Fp[u]  / (u² + 1)
    Fp6  = Fp2[v] / (v³ − ξ)      ξ = 9 + u on BN254, 1 + u on BLS12-381
    Fp12 = Fp6[w] / (w² − v)      so w⁶ = ξ

Nothing here needs numba: the readers of `formats/` import it and start fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property


def limbs_of(value: int, count: int, width: int = 64) -> list[int]:
    """`count` little-endian limbs of `width` bits."""
    return [(value >> (width * i)) & ((1 << width) - 1) for i in range(count)]


@dataclass(frozen=True)
class PrimeField:
    """Integers modulo a prime.

    Attributes:
        name: the field's name, unique in the project ("bn254_fr").
        modulus: the prime p.
        xi: ξ = xi + u, the cubic non-residue of the tower above Fp2; 0 where no tower is used.
    """

    name: str
    modulus: int
    xi: int = 0

    level = 1  # degree over the prime field

    @cached_property
    def limbs(self) -> int:
        """64-bit limbs of an element (little-endian); one bit of the top limb is always spare."""
        return self.modulus.bit_length() // 64 + 1

    @property
    def words(self) -> int:
        """uint64 words of an element in an array."""
        return self.limbs

    @cached_property
    def bits(self) -> int:
        """Bit length of the modulus."""
        return self.modulus.bit_length()

    @cached_property
    def montgomery(self) -> int:
        """R = 2^(64·limbs); the Montgomery form of a is a·R mod p."""
        return 1 << (64 * self.limbs)

    @cached_property
    def montgomery_inverse(self) -> int:
        """1/R mod p."""
        return pow(self.montgomery, -1, self.modulus)

    @cached_property
    def neg_inverse_64(self) -> int:
        """−1/p mod 2^64, the multiplier of each Montgomery reduction step."""
        return -pow(self.modulus, -1, 1 << 64) % (1 << 64)

    @cached_property
    def two_adicity(self) -> int:
        """The largest s with 2^s | p − 1."""
        odd_part = self.modulus - 1
        return (odd_part & -odd_part).bit_length() - 1

    @cached_property
    def non_residue(self) -> int:
        """The least quadratic non-residue (Euler: g^((p−1)/2) = −1); it is 5 in both scalar fields.

        snarkjs builds its roots of unity from this one; bellman and arkworks use the least
        multiplicative generator instead (7 on BLS12-381): another root, another H query.
        """
        candidate = 2
        while pow(candidate, (self.modulus - 1) // 2, self.modulus) == 1:
            candidate += 1
        return candidate

    def root_of_unity(self, log_n: int) -> int:
        """The primitive 2^log_n-th root g^((p−1)/2^log_n), g the least non-residue."""
        if log_n > self.two_adicity:
            raise ValueError(f"{self.name} has no root of unity of order 2^{log_n}")
        return pow(self.non_residue, (self.modulus - 1) >> log_n, self.modulus)

    def to_montgomery(self, value: int) -> int:
        """value·R mod p."""
        return value * self.montgomery % self.modulus

    def from_montgomery(self, value: int) -> int:
        """value/R mod p."""
        return value * self.montgomery_inverse % self.modulus

    @cached_property
    def extension(self) -> ExtensionField:
        """Fp2 = Fp[u]/(u² + 1)."""
        if not self.xi:
            raise ValueError(f"{self.name} has no tower above it")
        return ExtensionField(f"{self.name}2", self, 2)


@dataclass(frozen=True)
class ExtensionField:
    """One storey of the tower: `degree` coefficients over `base`."""

    name: str
    base: PrimeField | ExtensionField
    degree: int

    @cached_property
    def level(self) -> int:
        """Degree over the prime field: 2, 6 or 12."""
        return self.degree * self.base.level

    @cached_property
    def words(self) -> int:
        """uint64 words of an element in an array: its prime coefficients in order."""
        return self.degree * self.base.words

    @property
    def prime(self) -> PrimeField:
        """The prime field at the bottom."""
        return self.base if isinstance(self.base, PrimeField) else self.base.prime

    @cached_property
    def extension(self) -> ExtensionField:
        """Fp6 above Fp2, Fp12 above Fp6."""
        if self.level == 2:
            return ExtensionField(f"{self.prime.name}6", self, 3)
        if self.level == 6:
            return ExtensionField(f"{self.prime.name}12", self, 2)
        raise ValueError(f"the tower ends at {self.name}")


Field = PrimeField | ExtensionField


def prime_of(field: Field) -> PrimeField:
    """The prime field at the bottom of `field`."""
    return field if isinstance(field, PrimeField) else field.prime


BN254_FQ = PrimeField(
    "bn254_fq",
    0x30644E72E131A029B85045B68181585D97816A916871CA8D3C208C16D87CFD47,
    xi=9,
)
BN254_FR = PrimeField(
    "bn254_fr",
    0x30644E72E131A029B85045B68181585D2833E84879B9709143E1F593F0000001,
)
BLS12_381_FQ = PrimeField(
    "bls12_381_fq",
    0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB,
    xi=1,
)
BLS12_381_FR = PrimeField(
    "bls12_381_fr",
    0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001,
)
FIELDS = (BN254_FQ, BN254_FR, BLS12_381_FQ, BLS12_381_FR)
