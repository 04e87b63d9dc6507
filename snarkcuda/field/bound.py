"""`Bound`: an element that is only a range, to prove that ranges hold and to count operations.

A Bound stands for every value 0 ≤ v < k·p at once (k a fraction, rounded up at 2^-64). It has the
methods of `Residue`, so the formulas of `field/tower.py` (through `Extension`) and
`curve/formulas.py` run on it; one that ends without `BoundError` is safe for all inputs in range.
Executed are n limbs of w bits, R = 2^(w·n), in one of two ways:

    strict      64-bit limbs, every result brought below p: `field/montgomery.py`
    lazy        52-bit limbs in 64-bit lanes, R = 2^260 or 2^416: no subtraction after a product

The rules, for operands below ka·p, kb·p, …:

    fits        every result must satisfy k·p ≤ R: n limbs hold it
    Σ a·b       the reduction adds m·p, m < R: (Σ a·b + m·p)/R < (Σ ka·kb·p/R + 1)·p, which must
                be below 2p before any subtraction: Σ ka·kb·p ≤ R
    running     the value inside CIOS stays below (Σ ka + 1)·p (induction over the rows): strict
                needs (Σ ka + 1)·p ≤ R. A lazy lane gathers halves of products uncarried, two a
                product and one carry a row: n·(2·(pairs + 1) + 1) numbers of w bits in 64 bits
    a + b       ka + kb
    a − b       strict: ka, kb ≤ 1, so in (−p, p), plus p where negative. Lazy: a − b + ⌈kb⌉·p
    −a          strict: 0 − a. Lazy: ⌈ka⌉·p − a, which for a = 0 is ⌈ka⌉·p itself
    a·b − c·d   a·b + (−c)·d as one sum; strict falls back to two reductions where 3p > R
    1/a         safegcd takes a < p and gives a value < p (0 for 0)
    subtract    strict ends every sum by "v − p unless negative": k ≤ 2 makes once enough; p and
                (k − 1)·p ≤ R/2 make the sign bit the sign

`is_zero` is False: a formula's generic path is what gets proved and counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from snarkcuda.field import ifma
from snarkcuda.field.naive import Extension
from snarkcuda.field.params import Field, PrimeField

GRID = 1 << 64  # keeps the fractions short over long runs


class BoundError(ArithmeticError):
    """A range does not hold; the message names the operation, the bounds and the limit."""


@dataclass(frozen=True)
class Representation:
    """How an element of `field` is executed: `limbs` limbs of `width` bits, strict or lazy."""

    field: PrimeField
    width: int
    limbs: int
    lazy: bool

    @property
    def slack(self) -> Fraction:
        """R/p, R = 2^(width·limbs): the largest k that fits."""
        return Fraction(1 << (self.width * self.limbs), self.field.modulus)

    @property
    def short_rows(self) -> Fraction:
        """What the short rows of a lazy reduction (`ifma.reduce`) leave, in units of p."""
        return Fraction(ifma.short_multiple(self.field)[0], 1 << self.width) * self.lazy


def strict(field: PrimeField) -> Representation:
    """`Element(F)`: 64-bit limbs, always below p."""
    return Representation(field, 64, field.limbs, lazy=False)


def lazy(field: PrimeField) -> Representation:
    """Vectors of eight: the fewest 52-bit limbs, no subtraction after a product."""
    return Representation(field, 52, math.ceil(field.bits / 52), lazy=True)


@dataclass
class Tally:
    """Multiplications, squarings, `mul_sub`s, inversions; additions with subtractions and signs."""

    M: int = 0
    S: int = 0
    P: int = 0
    I: int = 0  # noqa: E741 (the literature's letter)
    A: int = 0


@dataclass(frozen=True)
class Bound:
    """All values 0 ≤ v < k·p, and the tally that it shares with whatever is computed from it."""

    representation: Representation
    k: Fraction = Fraction(1)
    tally: Tally = field(default_factory=Tally, compare=False)

    def __add__(self, other: Bound) -> Bound:
        self.tally.A += 1
        return self._settled("addition", self.k + other.k)

    def __sub__(self, other: Bound) -> Bound:
        self.tally.A += 1
        return self._difference("subtraction", other)

    def __neg__(self) -> Bound:
        self.tally.A += 1
        return self._negated("negation")

    def __mul__(self, other: Bound) -> Bound:
        self.tally.M += 1
        return self._sum_of_products("product", (self, other))

    def sqr(self) -> Bound:
        """a²."""
        self.tally.S += 1
        return self._sum_of_products("square", (self, self))

    def mul_sub(self, b: Bound, c: Bound, d: Bound) -> Bound:
        """a·b − c·d, with one reduction, or two if 3p > R."""
        self.tally.P += 1
        if not self.representation.lazy and self.representation.slack < 3:
            left = self._sum_of_products("mul_sub", (self, b))
            return left._difference("mul_sub", self._sum_of_products("mul_sub", (c, d)))
        return self._sum_of_products("mul_sub", (self, b), (c._negated("mul_sub"), d))

    def inverse(self) -> Bound:
        """1/a, for a < p."""
        self.tally.I += 1
        self._require("inversion", "a < p", self.k, Fraction(1), self)
        return self._with(Fraction(1))

    def conjugate(self) -> Bound:
        """The element itself."""
        return self

    def is_zero(self) -> bool:
        """False: formulas take their generic path."""
        return False

    def constant(self, value: int) -> Bound:
        """A constant is stored below p."""
        return self._with(Fraction(1))

    def extend(self, coefficients: Sequence[Bound]) -> Extension:
        """c0 + c1·u."""
        return Extension(self.representation.field.extension, tuple(coefficients))

    def _with(self, k: Fraction) -> Bound:
        return Bound(self.representation, Fraction(math.ceil(k * GRID), GRID), self.tally)

    def _require(
        self, name: str, rule: str, have: Fraction, limit: Fraction, *operands: Bound
    ) -> None:
        if have > limit:
            bounds = ", ".join(f"{float(x.k):.12g}p" for x in operands)
            raise BoundError(
                f"{self.representation.field.name}: {name} of values below {bounds} breaks {rule}: "
                f"{float(have):.12g} > {float(limit):.12g}"
            )

    def _settled(self, name: str, k: Fraction) -> Bound:
        """A value below k·p, as it is stored."""
        slack, value = self.representation.slack, self._with(k)
        self._require(name, "value ≤ R (n limbs)", k, slack, value)
        if self.representation.lazy:
            return value
        self._require(name, "value < 2p (one conditional subtraction)", k, Fraction(2), value)
        self._require(name, "p, v − p ≤ R/2 (sign)", max(k - 1, Fraction(1)), slack / 2, value)
        return self._with(min(k, Fraction(1)))

    def _difference(self, name: str, b: Bound) -> Bound:
        if self.representation.lazy:
            return self._settled(name, self.k + math.ceil(b.k))
        self._require(name, "a, b ≤ p (one addition of p)", max(self.k, b.k), Fraction(1), self, b)
        self._require(name, "p ≤ R/2 (sign)", Fraction(1), self.representation.slack / 2, self)
        return self._with(Fraction(1))

    def _negated(self, name: str) -> Bound:
        if self.representation.lazy:
            above = Fraction(1, self.representation.field.modulus)
            return self._settled(name, math.ceil(self.k) + above)
        return self._with(Fraction(0))._difference(name, self)

    def _sum_of_products(self, name: str, *pairs: tuple[Bound, Bound]) -> Bound:
        slack, operands = self.representation.slack, [x for pair in pairs for x in pair]
        total = sum((a.k * b.k for a, b in pairs), Fraction(0))
        most = slack * (1 - self.representation.short_rows)
        self._require(name, "Σ a·b ≤ R·p (Montgomery: < 2p)", total, most, *operands)
        if self.representation.lazy:
            lane = Fraction(self.representation.limbs * (2 * len(pairs) + 3))
            room = Fraction(1 << (64 - self.representation.width))
            self._require(name, "the lanes' spare bits", lane, room, *operands)
        else:
            running = sum((a.k for a, _ in pairs), Fraction(1))
            self._require(name, "running value ≤ R", running, slack, *operands)
        return self._settled(name, total / slack + 1 + self.representation.short_rows)


def bounded(
    over: Field, representation: Representation, tally: Tally, k: int = 1
) -> Bound | Extension:
    """An element of a storey of the tower with every prime coefficient below k·p."""
    if isinstance(over, PrimeField):
        return Bound(representation, Fraction(k), tally)
    parts = (bounded(over.base, representation, tally, k) for _ in range(over.degree))
    return Extension(over, tuple(parts))
