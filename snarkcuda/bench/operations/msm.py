"""Σ kᵢ·Pᵢ, digits included: Pᵢ = bᵢ·G with known bᵢ, so that the sum is (Σ kᵢ·bᵢ)·G."""

from __future__ import annotations

import numpy as np

from snarkcuda.bench.case import SEED, Case, Subject
from snarkcuda.bench.operations.vectors import takes_vectors
from snarkcuda.circuits.synthetic import draw, draw_elements
from snarkcuda.cpu.digits import signed_digits, sorted_digits
from snarkcuda.cpu.fixed_base import Multiples
from snarkcuda.cpu.msm import msm
from snarkcuda.cpu.pool import Pool
from snarkcuda.cpu.vector_form import to_vector_form
from snarkcuda.curve.params import curve_named
from snarkcuda.curve.points import encode, linear_combination
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.params import prime_of


def subject(case: Case, pool: Pool) -> Subject:
    """The sum of 2^log_n multiples; its points are converted to vector form beforehand."""
    curve, n = curve_named(case.curve), 1 << case.log_n
    assert curve is not None
    group, bits = curve.g2 if case.group == "g2" else curve.g1, curve.fr.bits
    logarithms = draw_elements(curve.fr, SEED, "bases", n)
    if case.scalars == "bits":
        scalars = np.zeros((n, 4), dtype=np.uint64)
        scalars[:, 0] = draw(SEED, "bits", n) & np.uint64(1)
    else:
        scalars = draw_elements(curve.fr, SEED, "scalars", n)
    points = arrays.packed(Multiples(pool, group, n).of(logarithms))
    vectors = takes_vectors(case)
    if vectors:
        points = to_vector_form(pool, prime_of(group.field), points)

    def call() -> U64Array:
        digits = sorted_digits(pool, scalars, bits)
        return msm(pool, group, points, digits, vectors=vectors)

    def is_right(result: U64Array) -> bool:
        pairs = zip(arrays.to_ints(scalars), arrays.to_ints(logarithms), strict=True)
        generator = encode(group, [group.generator])[0]
        total = sum(k * b for k, b in pairs)
        return np.array_equal(result, linear_combination(group, [generator], [total]))

    window = sorted_digits(pool, scalars, bits).window
    digits = signed_digits(pool, scalars, bits, window)
    return Subject(call, is_right, "addition", int(np.count_nonzero(digits)))
