"""Σ kᵢ·Pᵢ, digits included: Pᵢ = bᵢ·G with known bᵢ, so that the sum is (Σ kᵢ·bᵢ)·G."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snarkcuda.bench.case import SEED, Case, Subject
from snarkcuda.bench.operations.vectors import takes_vectors
from snarkcuda.circuits.synthetic import draw, draw_elements
from snarkcuda.cpu.digits import signed_digits, sorted_digits
from snarkcuda.cpu.fixed_base import Multiples
from snarkcuda.cpu.msm import msm
from snarkcuda.cpu.pool import Pool
from snarkcuda.cpu.vector_form import to_vector_form
from snarkcuda.curve.params import Curve, Group, curve_named
from snarkcuda.curve.points import encode, linear_combination
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.params import prime_of


@dataclass(frozen=True)
class KnownSum:
    """Points and scalars whose sum is known."""

    curve: Curve
    group: Group
    points: NDArray[np.uint8]
    scalars: U64Array
    logarithms: U64Array

    def is_right(self, found: U64Array) -> bool:
        """Whether that is the sum."""
        pairs = zip(arrays.to_ints(self.scalars), arrays.to_ints(self.logarithms), strict=True)
        generator = encode(self.group, [self.group.generator])[0]
        total = sum(k * b for k, b in pairs)
        return np.array_equal(found, linear_combination(self.group, [generator], [total]))


def known_sum(case: Case, pool: Pool) -> KnownSum:
    """2^log_n multiples of the generator, and scalars."""
    curve, n = curve_named(case.curve), 1 << case.log_n
    assert curve is not None
    group = curve.g2 if case.group == "g2" else curve.g1
    logarithms = draw_elements(curve.fr, SEED, "bases", n)
    if case.scalars == "bits":
        scalars = np.zeros((n, 4), dtype=np.uint64)
        scalars[:, 0] = draw(SEED, "bits", n) & np.uint64(1)
    else:
        scalars = draw_elements(curve.fr, SEED, "scalars", n)
    points = arrays.packed(Multiples(pool, group, n).of(logarithms))
    return KnownSum(curve, group, points, scalars, logarithms)


def subject(case: Case, pool: Pool) -> Subject:
    """The sum of 2^log_n multiples; its points are converted to vector form beforehand."""
    data = known_sum(case, pool)
    group, points, scalars = data.group, data.points, data.scalars
    bits, vectors = data.curve.fr.bits, takes_vectors(case)
    if vectors:
        points = to_vector_form(pool, prime_of(group.field), points)

    def call() -> U64Array:
        digits = sorted_digits(pool, scalars, bits)
        return msm(pool, group, points, digits, vectors=vectors)

    window = sorted_digits(pool, scalars, bits).window
    digits = signed_digits(pool, scalars, bits, window)
    return Subject(call, data.is_right, "addition", int(np.count_nonzero(digits)))
