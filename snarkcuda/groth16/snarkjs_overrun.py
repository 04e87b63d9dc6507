"""The last point of H in snarkjs's circuit hash, where it reads past the powers of τ.

Reproduced, because contributions are bound to the hash; see `circuit_hash` for when it happens. The
bytes that are taken for [τ^(2n−1)]₁ are no point, nor below q, and ffjavascript's additions and
subtractions correct their result once only: on numbers that are not reduced they are wrong in a way
that depends on their integers and on the order of the operations. So they are done here in the same
order on Python integers:

    add      (a + b) mod R, less q if the sum reached R or q
    sub      (a − b) mod R, plus q (mod R) if a < b
    mul      (a·b + m·q)/R, less q if that reached R or q      exact modulo q

Source: wasmcurves 0.2.2, build_f1m.js and build_curve_jacobian_a0.js (addAffine, subAffine).
"""

from __future__ import annotations

from dataclasses import dataclass

from snarkcuda.field.params import PrimeField


@dataclass(frozen=True)
class _Words:
    """A prime field's operations on words that need not be reduced."""

    field: PrimeField

    def add(self, a: int, b: int) -> int:
        return self._reduced_once(a + b)

    def sub(self, a: int, b: int) -> int:
        borrowed = self.field.modulus if a < b else 0
        return (a - b + borrowed) % self.field.montgomery

    def mul(self, a: int, b: int) -> int:
        field = self.field
        product, r = a * b, field.montgomery
        m = product * -pow(field.modulus, -1, r) % r
        return self._reduced_once((product + m * field.modulus) // r)

    def _reduced_once(self, value: int) -> int:
        r, q = self.field.montgomery, self.field.modulus
        return (value - q) % r if value >= q else value


def snarkjs_difference(
    fq: PrimeField, left: tuple[int, int], right: tuple[int, int]
) -> tuple[int, int]:
    """left − right as `g1m_subAffine` and `g1m_batchToAffine` compute it.

    Args:
        fq: the base field.
        left: two words below R, neither reduced nor a point.
        right: x and y of a point, Montgomery form, canonical.

    Returns:
        x and y, Montgomery form, canonical.
    """
    word = _Words(fq)
    (x1, y1), (x2, y2) = left, (right[0], word.sub(0, right[1]))
    h, dy = word.sub(x2, x1), word.sub(y2, y1)
    hh = word.mul(h, h)
    i = word.add(word.add(hh, hh), word.add(hh, hh))
    j, r, v = word.mul(h, i), word.add(dy, dy), word.mul(x1, i)
    x3 = word.sub(word.sub(word.mul(r, r), j), word.add(v, v))
    y1_j = word.mul(y1, j)
    y3 = word.sub(word.mul(word.sub(v, x3), r), word.add(y1_j, y1_j))
    z3 = word.add(h, h)
    # From here on only products: exact modulo q.
    q = fq.modulus
    if z3 % q == 0:
        return 0, 0  # the batch inversion takes 1/0 for 0
    over_z = pow(fq.from_montgomery(z3), -1, q)
    return x3 * over_z**2 % q, y3 * over_z**3 % q
