"""Fp2, Fp6 and Fp12: field axioms, inverses, Frobenius, and the costs that docstrings state."""

from __future__ import annotations

import inspect
import random
import re
from collections import Counter
from typing import Any

import pytest

from snarkcuda.curve.frobenius import frobenius_constants
from snarkcuda.curve.params import CURVES, Curve
from snarkcuda.field import tower
from snarkcuda.field.bound import Tally, bounded, strict
from snarkcuda.field.naive import Naive, canonical, flatten, naive, power, unflatten
from snarkcuda.field.params import BLS12_381_FQ, BN254_FQ, ExtensionField, PrimeField
from tests.field.stated_costs import counted, formulas, in_prime_operations, stated
from tests.field.values import named, towers

storeys = pytest.mark.parametrize("field", towers(), ids=named)


def samples(field: ExtensionField, count: int = 4) -> list[Any]:
    """0, 1, −1, the generator of the storey, and random elements."""
    source, p = random.Random(field.name), field.prime.modulus
    unit = [0] * field.level
    unit[field.level // field.degree] = 1
    rows = [[source.randrange(p) for _ in range(field.level)] for _ in range(count)]
    rows += [[p - 1] * field.level, unit]
    ends: list[Naive] = [naive(field, 0), naive(field, 1), -naive(field, 1)]
    return ends + [unflatten(field, row) for row in rows]


@storeys
def test_axioms(field: ExtensionField) -> None:
    """Commutative, associative, distributive, with 0 and 1 and opposites; square is a·a."""
    values = samples(field)
    zero, one = values[0], values[1]
    for a in values:
        assert a + zero == a
        assert a * one == a
        assert (a * zero).is_zero()
        assert (a - a).is_zero()
        assert a + (-a) == zero
        assert a.sqr() == a * a
        for b in values:
            assert a * b == b * a
            assert a - b == a + (-b)
            for c in values[3:6]:
                assert (a * b) * c == a * (b * c)
                assert a * (b + c) == a * b + a * c
                assert a.mul_sub(b, c, b) == (a - c) * b


@storeys
def test_inverse(field: ExtensionField) -> None:
    """a·a⁻¹ = 1, and 0 for 0."""
    zero, one, *rest = samples(field)
    assert zero.inverse() == zero
    assert one.inverse() == one
    for a in rest:
        assert a * a.inverse() == one


@storeys
def test_generator_satisfies_its_equation(field: ExtensionField) -> None:
    """u² = −1, v³ = ξ, w² = v: the storey is what its name says."""
    generator = samples(field)[-1]
    below = field.base
    wanted: Any = naive(below, -1)
    if field.level == 6:
        wanted = naive(below, (field.prime.xi, 1))
    elif field.level == 12:
        wanted = naive(below, (0, 1, 0))
    lifted = naive(field, (canonical(wanted), *[0] * (field.degree - 1)))
    assert power(generator, field.degree) == lifted


@storeys
def test_schoolbook_product(field: ExtensionField) -> None:
    """The product by definition, over the prime field, in the basis uⁱ·vʲ·wᵏ."""
    *_, a, b, _ = samples(field)
    basis = [
        unflatten(field, [int(i == j) for j in range(field.level)]) for i in range(field.level)
    ]
    total: Any = naive(field, 0)
    for i, x in enumerate(flatten(a)):
        for j, y in enumerate(flatten(b)):
            scale = unflatten(field, [x * y % field.prime.modulus, *[0] * (field.level - 1)])
            total = total + scale * (basis[i] * basis[j])
    assert total == a * b


@pytest.mark.parametrize("curve", CURVES, ids=named)
def test_frobenius_is_the_power_q(curve: Curve) -> None:
    """fp12_frobenius(a) = a^q; conjugation in Fp2 is a^q, in Fp12 a^(q⁶)."""
    q = curve.fq.modulus
    fp2 = curve.fq.extension
    fp12 = fp2.extension.extension
    gamma = frobenius_constants(curve)
    for a in samples(fp12, 2)[3:]:
        assert tower.fp12_frobenius(a, gamma) == power(a, q)
        image = a
        for _ in range(6):
            image = tower.fp12_frobenius(image, gamma)
        assert image == tower.fp12_conjugate(a)
    for a in samples(fp2):
        assert a.conjugate() == power(a, q)


@pytest.mark.parametrize("field", [BN254_FQ, BLS12_381_FQ], ids=named)
def test_products_by_generators(field: PrimeField) -> None:
    """mul_by_xi is ξ·a; fp6_mul_by_v is v·a."""
    fp2 = field.extension
    for a in samples(fp2):
        assert a.mul_by_xi() == a * naive(fp2, (field.xi, 1))
    fp6 = fp2.extension
    for a in samples(fp6):
        assert tower.fp6_mul_by_v(a) == a * naive(fp6, ((0, 0), (1, 0), (0, 0)))


TOWER_FORMULAS = formulas(tower)


def test_every_formula_states_a_cost() -> None:
    """So that the next test misses none."""
    silent = [n for n, f in TOWER_FORMULAS.items() if "Cost:" not in (inspect.getdoc(f) or "")]
    assert silent == []
    assert {*tower.MUL.values(), *tower.SQR.values(), *tower.INVERSE.values()} <= {
        *TOWER_FORMULAS.values()
    }


@pytest.mark.parametrize("field", [BN254_FQ, BLS12_381_FQ], ids=named)
@pytest.mark.parametrize("name", TOWER_FORMULAS)
def test_stated_cost(field: PrimeField, name: str) -> None:
    """The tally of `Bound` is the docstring's cost, which counts operations one storey down."""
    function = TOWER_FORMULAS[name]
    fp2 = field.extension
    storey = {"fp2": fp2, "fp6": fp2.extension, "fp12": fp2.extension.extension}[
        name.partition("_")[0]
    ]
    tally, representation = Tally(), strict(field)
    arguments = {
        parameter: [bounded(fp2, representation, tally) for _ in range(6)]
        if parameter == "gamma"
        else bounded(storey, representation, tally)
        for parameter in inspect.signature(function).parameters
    }
    function(**arguments)
    wanted = in_prime_operations(stated(function), storey.base)
    deeper = re.search(r"(\d+) multiplications in Fp2", inspect.getdoc(function) or "")
    if deeper:
        wanted += in_prime_operations(Counter({"M": int(deeper[1])}), fp2)
    assert counted(tally) == wanted
