"""Affine points by the textbook: chord and tangent on naive elements, None for infinity.

Nothing here uses `curve/formulas.py`. Points outside the subgroups come from here too: any point of
the curve, and points of a small order.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from snarkcuda.curve.params import Curve, Group
from snarkcuda.field.naive import Naive, canonical, naive, power
from snarkcuda.field.params import PrimeField

Point = tuple[Any, Any] | None  # naive elements


def generator(group: Group) -> Point:
    """The group's generator."""
    x, y = group.generator
    return naive(group.field, x), naive(group.field, y)


def integers(point: Point) -> Any:
    """Canonical integers of a point, as `points.decode` gives them."""
    return None if point is None else (canonical(point[0]), canonical(point[1]))


def from_integers(group: Group, point: Any) -> Point:
    """The opposite."""
    if point is None:
        return None
    return naive(group.field, point[0]), naive(group.field, point[1])


def negate(point: Point) -> Point:
    """−P."""
    return point and (point[0], -point[1])


def add(p: Point, q: Point) -> Point:
    """P + Q, every case."""
    if p is None or q is None:
        return p or q
    (x1, y1), (x2, y2) = p, q
    if x1 == x2:
        if y1 != y2 or y1.is_zero():
            return None
        slope = (x1 * x1 + x1 * x1 + x1 * x1) * (y1 + y1).inverse()
    else:
        slope = (y2 - y1) * (x2 - x1).inverse()
    x3 = slope * slope - x1 - x2
    return x3, slope * (x1 - x3) - y1


def multiply(k: int, p: Point) -> Point:
    """k·P for any integer k, not reduced: P may have any order."""
    if k < 0:
        return multiply(-k, negate(p))
    total: Point = None
    for bit in bin(k)[2:]:
        total = add(total, total)
        if bit == "1":
            total = add(total, p)
    return total


def random_points(group: Group, count: int, seed: int = 1) -> list[Point]:
    """Points of the subgroup."""
    source = random.Random(f"{group.name} {seed}")
    return [multiply(source.randrange(1 << 40), generator(group)) for _ in range(count)]


# --- outside the subgroup ---------------------------------------------------------------------


def square_root(value: Naive) -> Naive | None:
    """A root in Fq or Fq2, q ≡ 3 mod 4, or None."""
    field: Any = value.field
    if isinstance(field, PrimeField):
        root = power(value, (field.modulus + 1) // 4)
        return root if root * root == value else None
    # (x + y·u)² = a + b·u: x² = (a ± n)/2 with n² = a² + b², y = b/(2x). The complex method.
    a, b = value.parts  # type: ignore[union-attr]
    norm = square_root(a * a + b * b)
    if norm is None:
        return None
    half = a.constant(2).inverse()
    for square in ((a + norm) * half, (a - norm) * half):
        x = square_root(square)
        if x is None:
            continue
        y = b * half * x.inverse() if not x.is_zero() else square_root(-a)
        root: Any = x.extend((x, y))
        if y is not None and root * root == value:
            return root
    return None


def curve_points(group: Group, seed: int = 1) -> Iterator[Point]:
    """Points of the whole curve, random x: nearly always outside a subgroup of cofactor > 1."""
    source, field = random.Random(f"{group.name} {seed}"), group.field
    p = field.modulus if isinstance(field, PrimeField) else field.prime.modulus
    b = naive(field, group.b)
    while True:
        numbers = [source.randrange(p) for _ in range(field.level)]
        x: Any = naive(field, numbers[0] if field.level == 1 else numbers)
        y = square_root(x * x * x + b)
        if y is not None:
            yield x, y


def cofactor(curve: Curve, group: Group) -> int:
    """The order of the curve over r, from the families' polynomials."""
    q, r, x = curve.fq.modulus, curve.fr.modulus, curve.seed
    if curve.family == "bn":
        return 2 * q - r if group.is_g2 else 1
    if group.is_g2:
        return (x**8 - 4 * x**7 + 5 * x**6 - 4 * x**4 + 6 * x**3 - 4 * x**2 - 4 * x + 13) // 9
    return (x - 1) ** 2 // 3


def small_factors(n: int, limit: int = 20000) -> list[int]:
    """Primes below `limit` that divide n."""
    found, candidate = [], 2
    while candidate < limit:
        if n % candidate == 0:
            found.append(candidate)
            while n % candidate == 0:
                n //= candidate
        candidate += 1
    return found


def points_of_order(curve: Curve, group: Group, prime: int) -> Iterator[Point]:
    """Points of a prime order that divides the cofactor."""
    rest = cofactor(curve, group) * curve.fr.modulus
    while rest % prime == 0:
        rest //= prime
    for point in curve_points(group, prime):
        reduced = multiply(rest, point)
        if reduced is None:
            continue
        while True:
            further = multiply(prime, reduced)
            if further is None:
                break
            reduced = further
        yield reduced
