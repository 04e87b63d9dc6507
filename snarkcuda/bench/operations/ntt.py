"""The six transforms of a proof: three polynomials from the domain to its coset, in place.

One point of the coset, for each polynomial, is compared with the barycentric formula

    P(z) = (zⁿ − 1)/n · Σ_j P(ωʲ)·ωʲ/(z − ωʲ)

Source: Berrut and Trefethen, SIAM Review 46(3), 2004.
"""

from __future__ import annotations

from itertools import accumulate
from operator import mul

from snarkcuda.bench.case import SEED, Case, Subject
from snarkcuda.bench.operations.vectors import takes_vectors
from snarkcuda.circuits.synthetic import draw, draw_elements
from snarkcuda.cpu import ntt
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.params import curve_named
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array

POLYNOMIALS = 3


def subject(case: Case, pool: Pool) -> Subject:
    """Transforms of 2^log_n points; a call's output is the next one's input."""
    curve = curve_named(case.curve)
    assert curve is not None
    fr, n = curve.fr, 1 << case.log_n
    domain = ntt.domain_of_size(fr, n)
    tables = ntt.tables(pool, domain, takes_vectors(case))
    x = draw_elements(fr, SEED, "values", POLYNOMIALS * n).reshape(POLYNOMIALS, n, fr.limbs)
    before = x.copy()

    def call() -> U64Array:
        ntt.to_coset(pool, tables, x)
        return x

    def is_right(result: U64Array) -> bool:
        return is_on_the_coset(domain, before, result)

    return Subject(call, is_right, "butterfly", butterflies(case.log_n))


def butterflies(log_n: int) -> int:
    """Of the six transforms."""
    return 2 * POLYNOMIALS * log_n << (log_n - 1)


def is_on_the_coset(domain: ntt.Domain, before: U64Array, after: U64Array) -> bool:
    """Whether one point of each polynomial is right; `after` may be below 2p only."""
    p = domain.field.modulus
    at = int(draw(SEED, "point", 1)[0]) % domain.n
    weights = barycentric_weights(domain, domain.shift * pow(domain.root, at, p) % p)
    # Both sides in Montgomery form: the formula is linear in the values.
    return all(
        (arrays.to_int(found) - sum(map(mul, weights, arrays.to_ints(values)))) % p == 0
        for found, values in zip(after[:, at], before, strict=True)
    )


def barycentric_weights(domain: ntt.Domain, z: int) -> list[int]:
    """L_j(z) for j < n, canonical; z is not on the domain."""
    p, n = domain.field.modulus, domain.n
    points = list(accumulate(range(n - 1), lambda point, _: point * domain.root % p, initial=1))
    # Montgomery's trick: products before each difference, one inversion, and back.
    before = list(accumulate(points, lambda product, w: product * (z - w) % p, initial=1))
    inverse, factor = pow(before.pop(), -1, p), (pow(z, n, p) - 1) * pow(n, -1, p)
    weights = [0] * n
    for j in range(n - 1, -1, -1):
        weights[j] = before[j] * inverse * points[j] * factor % p
        inverse = inverse * (z - points[j]) % p
    return weights
