"""The constants of the Frobenius map on the tower and on the twist."""

from __future__ import annotations

from functools import cache

from snarkcuda.curve.params import Curve
from snarkcuda.field.naive import Naive, naive, power


@cache
def frobenius_constants(curve: Curve) -> tuple[Naive, ...]:
    """gamma[i] = ξ^(i·(q−1)/6) for i < 6, in Fq2."""
    xi = naive(curve.fq.extension, (curve.fq.xi, 1))
    root = power(xi, (curve.fq.modulus - 1) // 6)
    return tuple(power(root, i) for i in range(6))
