"""Field elements as Python ints: the definition that every fast element type is tested against.

`Residue` is Z/p; `Extension` is a storey of the tower, a tuple of coefficients, and runs the
formulas of `field/tower.py`, the same ones that kernels run. Values are canonical, never in
Montgomery form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from snarkcuda.field import tower
from snarkcuda.field.params import ExtensionField, Field, PrimeField


@dataclass(frozen=True)
class Residue:
    """An integer modulo p, 0 ≤ value < p."""

    field: PrimeField
    value: int

    def __add__(self, other: Residue) -> Residue:
        return Residue(self.field, (self.value + other.value) % self.field.modulus)

    def __sub__(self, other: Residue) -> Residue:
        return Residue(self.field, (self.value - other.value) % self.field.modulus)

    def __mul__(self, other: Residue) -> Residue:
        return Residue(self.field, self.value * other.value % self.field.modulus)

    def __neg__(self) -> Residue:
        return Residue(self.field, -self.value % self.field.modulus)

    def sqr(self) -> Residue:
        """a²."""
        return self * self

    def mul_sub(self, b: Residue, c: Residue, d: Residue) -> Residue:
        """a·b − c·d."""
        return self * b - c * d

    def inverse(self) -> Residue:
        """1/a by Python's pow; 0 for 0."""
        return Residue(self.field, pow(self.value, -1, self.field.modulus) if self.value else 0)

    def conjugate(self) -> Residue:
        """The element itself."""
        return self

    def is_zero(self) -> bool:
        """Whether it is 0."""
        return self.value == 0

    def constant(self, value: int) -> Residue:
        """A small integer in a's field."""
        return Residue(self.field, value % self.field.modulus)

    def extend(self, coefficients: Sequence[Any]) -> Extension:
        """c0 + c1·u."""
        return Extension(self.field.extension, tuple(coefficients))


@dataclass(frozen=True)
class Extension:
    """c0 + c1·X (+ c2·X²) over the field below; the coefficients may be of any element type."""

    field: ExtensionField
    parts: tuple[Any, ...]

    def _map(self, other: Extension, operation: Any) -> Extension:
        pairs = zip(self.parts, other.parts, strict=True)
        return Extension(self.field, tuple(operation(a, b) for a, b in pairs))

    def __add__(self, other: Extension) -> Extension:
        return self._map(other, lambda a, b: a + b)

    def __sub__(self, other: Extension) -> Extension:
        return self._map(other, lambda a, b: a - b)

    def __neg__(self) -> Extension:
        return Extension(self.field, tuple(-a for a in self.parts))

    def __mul__(self, other: Extension) -> Extension:
        product: Extension = tower.MUL[self.field.level](self, other)
        return product

    def sqr(self) -> Extension:
        """a²."""
        square: Extension = tower.SQR[self.field.level](self)
        return square

    def mul_sub(self, b: Extension, c: Extension, d: Extension) -> Extension:
        """a·b − c·d."""
        return self * b - c * d

    def inverse(self) -> Extension:
        """1/a; 0 for 0."""
        result: Extension = tower.INVERSE[self.field.level](self)
        return result

    def conjugate(self) -> Extension:
        """c0 − c1·u, in Fp2."""
        c0, c1 = self.parts
        return Extension(self.field, (c0, -c1))

    def is_zero(self) -> bool:
        """Whether it is 0."""
        return all(a.is_zero() for a in self.parts)

    def constant(self, value: int) -> Extension:
        """A small integer in a's field."""
        head, *rest = self.parts
        zeros = (part.constant(0) for part in rest)
        return Extension(self.field, (head.constant(value), *zeros))

    def extend(self, coefficients: Sequence[Any]) -> Extension:
        """c0 + c1·X (+ c2·X²) in the storey above."""
        return Extension(self.field.extension, tuple(coefficients))

    def mul_by_xi(self) -> Extension:
        """ξ·a in Fp2."""
        product: Extension = tower.MUL_BY_XI[self.field.prime.xi](self)
        return product


Naive = Residue | Extension


def naive(field: Field, value: Any) -> Naive:
    """An element from canonical integers: an int, or nested sequences of ints down the tower.

    An int given for an extension stands for itself (the constant coefficient).
    """
    if isinstance(field, PrimeField):
        return Residue(field, value % field.modulus)
    if isinstance(value, int):
        value = (value, *[0] * (field.degree - 1))
    return Extension(field, tuple(naive(field.base, part) for part in value))


def canonical(element: Naive) -> Any:
    """The integers of an element: an int, or nested tuples of ints."""
    if isinstance(element, Residue):
        return element.value
    return tuple(canonical(part) for part in element.parts)


def flatten(element: Naive) -> list[int]:
    """The prime coefficients in memory order."""
    if isinstance(element, Residue):
        return [element.value]
    return [value for part in element.parts for value in flatten(part)]


def unflatten(field: Field, values: Sequence[int]) -> Naive:
    """The inverse of `flatten`."""
    if isinstance(field, PrimeField):
        return Residue(field, values[0])
    step = field.base.level
    chunks = (values[i : i + step] for i in range(0, field.level, step))
    return Extension(field, tuple(unflatten(field.base, chunk) for chunk in chunks))


def power(element: Any, exponent: int) -> Any:
    """element^exponent by square and multiply, exponent ≥ 0."""
    result = element.constant(1)
    for bit in bin(exponent)[2:]:
        result = result.sqr()
        if bit == "1":
            result = result * element
    return result
