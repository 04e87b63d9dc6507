"""The curves: family polynomials, generators, twists, orders and names."""

from __future__ import annotations

from math import gcd, isqrt

import pytest

from snarkcuda.curve.params import (
    BLS12_381,
    BN254,
    CURVES,
    Curve,
    Group,
    curve_named,
    curve_of_fields,
    curve_of_scalar_field,
)
from snarkcuda.field.naive import naive
from tests.curve import textbook
from tests.field.values import GROUPS, named

curves = pytest.mark.parametrize("curve", CURVES, ids=named)
groups = pytest.mark.parametrize("curve, group", GROUPS, ids=[g.name for _, g in GROUPS])


@curves
def test_family(curve: Curve) -> None:
    """Q and r are the family's polynomials at the seed; r divides q¹² − 1 and no smaller power."""
    q, r, x = curve.fq.modulus, curve.fr.modulus, curve.seed
    if curve.family == "bn":
        assert q == 36 * x**4 + 36 * x**3 + 24 * x**2 + 6 * x + 1
        assert r == 36 * x**4 + 36 * x**3 + 18 * x**2 + 6 * x + 1
    else:
        assert r == x**4 - x**2 + 1
        assert q == (x - 1) ** 2 * r // 3 + x
    assert [k for k in range(1, 13) if pow(q, k, r) == 1] == [12]
    assert (q**4 - q**2 + 1) % r == 0


@curves
def test_order_of_the_curve(curve: Curve) -> None:
    """#E(Fq) = q + 1 − t = h₁·r, within Hasse's interval."""
    q = curve.fq.modulus
    assert q + 1 - curve.trace == textbook.cofactor(curve, curve.g1) * curve.fr.modulus
    assert curve.trace**2 < 4 * q


@curves
def test_order_of_the_twist(curve: Curve) -> None:
    """h₂·r is the order of a sextic twist over Fq2, and gcd(h₁, h₂) = 1."""
    q, r, t = curve.fq.modulus, curve.fr.modulus, curve.trace
    trace2 = t * t - 2 * q
    conductor = isqrt((4 * q * q - trace2**2) // 3)
    assert 3 * conductor**2 == 4 * q * q - trace2**2
    orders = {
        q * q + 1 - (sign * trace2 + other * 3 * conductor) // 2
        for sign in (1, -1)
        for other in (1, -1)
    }
    h1, h2 = (textbook.cofactor(curve, group) for group in (curve.g1, curve.g2))
    assert h2 * r in orders
    assert gcd(h1, h2) == 1


@groups
def test_every_point_has_the_stated_order(curve: Curve, group: Group) -> None:
    """h·r kills points of the curve taken at random."""
    order = textbook.cofactor(curve, group) * group.order
    for point, _ in zip(textbook.curve_points(group), range(2), strict=False):
        assert point is not None
        assert textbook.multiply(order, point) is None


@groups
def test_generator(curve: Curve, group: Group) -> None:
    """On the curve, of order exactly r (a prime), coordinates canonical."""
    point = textbook.generator(group)
    assert point is not None
    x, y = point
    assert y * y == x * x * x + naive(group.field, group.b)
    assert textbook.integers(point) == group.generator
    assert group.order == curve.fr.modulus
    assert textbook.multiply(group.order, point) is None
    assert group.is_g2 == (group == curve.g2)


@curves
def test_twist_coefficient(curve: Curve) -> None:
    """b/ξ on a D-type twist, b·ξ on an M-type."""
    fq2 = curve.fq.extension
    xi, twisted, b = (naive(fq2, v) for v in ((curve.fq.xi, 1), curve.twist_b, (curve.b, 0)))
    assert (twisted * xi == b) if curve.divisive_twist else (twisted == b * xi)  # type: ignore[operator]
    assert curve.g2.b == curve.twist_b


@curves
@pytest.mark.parametrize("origin", [(0, 0)])
def test_the_origin_is_on_no_curve(curve: Curve, origin: tuple[int, int]) -> None:
    """So that it can stand for infinity."""
    assert curve.b % curve.fq.modulus != origin[1]
    assert any(curve.twist_b)


def test_names() -> None:
    """Every alias, in any case, with blanks around; the names in files; nothing else."""
    for curve in CURVES:
        for alias in (*curve.aliases, curve.name, curve.file_name):
            assert curve_named(alias) is curve
            assert curve_named(f"  {alias.upper()}\n") is curve
    for unknown in ("", "bn", "bls12", "bls12_377", "bn254 fr", "secp256k1"):
        assert curve_named(unknown) is None
    aliases = [alias for curve in CURVES for alias in curve.aliases]
    assert len(set(aliases)) == len(aliases)


def test_curves_by_modulus() -> None:
    """Both moduli must belong to one curve."""
    for curve in CURVES:
        assert curve_of_fields(curve.fq.modulus, curve.fr.modulus) is curve
        assert curve_of_scalar_field(curve.fr.modulus) is curve
        assert curve_of_scalar_field(curve.fq.modulus) is None
    assert curve_of_fields(BN254.fq.modulus, BLS12_381.fr.modulus) is None
    assert curve_of_scalar_field(0) is None
