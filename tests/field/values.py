"""Values to test with: the edges of a prime field and its limbs, and random ones."""

from __future__ import annotations

import random
from typing import Any

from snarkcuda.curve.params import CURVES, Curve, Group
from snarkcuda.field.params import FIELDS, ExtensionField, Field, PrimeField

GROUPS: list[tuple[Curve, Group]] = [(c, g) for c in CURVES for g in (c.g1, c.g2)]


def towers() -> list[ExtensionField]:
    """Fp2, Fp6 and Fp12 of both curves."""
    found = []
    for curve in CURVES:
        fp2 = curve.fq.extension
        found += [fp2, fp2.extension, fp2.extension.extension]
    return found


ALL_FIELDS: list[Field] = [*FIELDS, *towers()]


def named(value: Any) -> str:
    """Test id of a field, curve or group."""
    return str(value.name)


def edges(field: PrimeField) -> list[int]:
    """Below p: 0, 1, 2, p − 1, p − 2, (p ± 1)/2, and both sides of every limb boundary."""
    p = field.modulus
    values = [0, 1, 2, p - 1, p - 2, (p - 1) // 2, (p + 1) // 2, field.montgomery % p]
    for limb in range(1, field.limbs):
        boundary = 1 << (64 * limb)
        values += [boundary - 1, boundary, boundary + 1, p - boundary, p & (boundary - 1)]
        values += [p - (p & (boundary - 1)), (p - (p & (boundary - 1))) - 1]
    for width in (52, 62):
        values += [1 << (width * i) for i in range(1, field.bits // width + 1)]
    return sorted({value for value in values if 0 <= value < p})


def randoms(field: PrimeField, count: int, seed: int = 1) -> list[int]:
    """Random values below p: uniform, and short ones."""
    source = random.Random(f"{field.name} {seed}")
    uniform = [source.randrange(field.modulus) for _ in range(count - count // 4)]
    return uniform + [
        source.randrange(1 << source.randrange(1, field.bits - 1)) for _ in range(count // 4)
    ]


def raw_samples(field: PrimeField, count: int) -> list[int]:
    """Raw limbs of Montgomery forms: edges as limbs, edges as values, random ones."""
    values = edges(field)
    return [*values, *map(field.to_montgomery, values), *randoms(field, count)]
