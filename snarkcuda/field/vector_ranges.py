"""Operands while a vector's code is emitted: how large their values and limbs may be, and become.

Sums take what R holds, products what one reduction takes; what is too large is brought down first,
the largest operand before others. Limbs are carried where that is asked for, or where there would
be too many units.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from snarkcuda.field import ifma
from snarkcuda.field.params import Field, PrimeField, prime_of
from snarkcuda.field.vector_type import STORED, Coefficients

_MOST_UNITS = 1 << 9


class Operand(NamedTuple):
    """A vector while code is emitted: limbs by coefficient, at most k·p, loose if units > 0."""

    limbs: Coefficients
    k: int
    units: int


def carry(builder: Any, operand: Operand) -> Operand:
    """LLVM carries a value once, however often it is asked for."""
    if not operand.units:
        return operand
    return Operand([ifma.carried(builder, limbs) for limbs in operand.limbs], operand.k, 0)


def shrink(builder: Any, field: Field, operand: Operand, target: int) -> Operand:
    """Brought down to at most target·p, if it is larger: loose."""
    if operand.k <= target:
        return operand
    prime, units = prime_of(field), 0
    shrunk_limbs = []
    for limbs in operand.limbs:
        less, units = ifma.shrink(builder, prime, limbs, operand.k, operand.units, target)
        shrunk_limbs.append(less)
    return Operand(shrunk_limbs, target, units)


def fit(field: PrimeField, ks: Sequence[int], factor: int = 1) -> list[int]:
    """Bounds to bring operands down to before a sum: factor·Σ k ≤ R/p, the largest ones first."""
    bounds = list(ks)
    while factor * sum(bounds) > ifma.slack(field):
        largest = max(range(len(bounds)), key=bounds.__getitem__)
        bounds[largest] = max(STORED, bounds[largest] // 2)
    return bounds


def sum_bound(field: PrimeField, *ks: int) -> int:
    """The k of a sum or a difference."""
    return sum(fit(field, ks))


def sum_units(field: PrimeField, *units: int) -> int:
    """One more for the multiple of p in a difference; carried first where it would be too many."""
    total = _loose_sum(units)
    return total if total <= _MOST_UNITS else len(units) + 1


def _loose_sum(units: Iterable[int]) -> int:
    return sum(max(1, u) for u in units) + 1


def summands(builder: Any, field: Field, *operands: Operand) -> list[Operand]:
    """Operands of a sum, brought down and carried where they must be."""
    bounds = fit(prime_of(field), [x.k for x in operands])
    fitted = [shrink(builder, field, x, k) for x, k in zip(operands, bounds, strict=True)]
    too_loose = _loose_sum(x.units for x in operands) > _MOST_UNITS
    if too_loose or any(x is not y for x, y in zip(fitted, operands, strict=True)):
        return [carry(builder, x) for x in fitted]
    return fitted


def fit_product(
    field: PrimeField, factor: int, pairs: Sequence[tuple[int, int]]
) -> list[list[int]]:
    """Bounds to bring operands down to: factor·Σ ka·kb ≤ product_slack, the largest ones first."""
    bounds = [list(pair) for pair in pairs]
    while factor * sum(ka * kb for ka, kb in bounds) > ifma.product_slack(field):
        pair = max(bounds, key=max)
        largest = pair.index(max(pair))
        pair[largest] = max(STORED, pair[largest] // 2)
    return bounds


def factors(
    builder: Any, field: Field, factor: int, pairs: Sequence[tuple[Operand, Operand]]
) -> list[tuple[Operand, Operand]]:
    """Operands of products that share a reduction, brought down and carried."""
    fits = fit_product(prime_of(field), factor, [(a.k, b.k) for a, b in pairs])
    return [
        (
            carry(builder, shrink(builder, field, a, ka)),
            carry(builder, shrink(builder, field, b, kb)),
        )
        for (a, b), (ka, kb) in zip(pairs, fits, strict=True)
    ]
