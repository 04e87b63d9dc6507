"""`Bound`: the ranges that `field/montgomery.py` states, and that it fails where a range breaks."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from snarkcuda.curve import formulas
from snarkcuda.curve.params import BLS12_381, BN254, CURVES, Curve, Group
from snarkcuda.field.bound import Bound, BoundError, Representation, Tally, bounded, lazy, strict
from snarkcuda.field.naive import Extension
from snarkcuda.field.params import BLS12_381_FR, FIELDS, PrimeField
from tests.field.values import GROUPS, named

fields = pytest.mark.parametrize("field", FIELDS, ids=named)
# 2^256 − 189: four limbs without a spare bit.
FULL = Representation(PrimeField("full", (1 << 256) - 189), 64, 4, lazy=False)


def below(representation: Representation, k: int | str = 1) -> Bound:
    """Values below k·p."""
    return Bound(representation, Fraction(k))


# --- what montgomery.py states ----------------------------------------------------------------


@fields
def test_strict_results_are_always_below_p(field: PrimeField) -> None:
    """From operands below p every operation gives a value below p again."""
    a = below(strict(field))
    results = [a + a, a - a, -a, a * a, a.sqr(), a.mul_sub(a, a, a), a.inverse(), a.constant(7)]
    assert [x.k for x in results] == [1] * len(results)
    assert a.conjugate() == a
    assert not a.is_zero()


@fields
def test_spare_bit(field: PrimeField) -> None:
    """2p < R; 3p ≤ R, one reduction for a pair of products, except in the field of BLS12-381 Fr."""
    slack = strict(field).slack
    assert slack == Fraction(field.montgomery, field.modulus) > 2
    assert (slack >= 3) == (field != BLS12_381_FR)


@fields
def test_lazy_slack(field: PrimeField) -> None:
    """Five limbs for 254 and 255 bits, eight for 381."""
    representation = lazy(field)
    assert representation.limbs == {254: 5, 255: 5, 381: 8}[field.bits]
    assert math.floor(representation.slack) == {254: 84, 255: 35, 381: 42282111731}[field.bits]


@fields
@pytest.mark.parametrize("pairs", [1, 2])
def test_running_value_of_cios(field: PrimeField, pairs: int) -> None:
    """The induction of `_emit_sum_of_products`, row by row on integers, the worst among them."""
    if field == BLS12_381_FR:
        pairs = 1  # it reduces each product on its own
    p, n, word = field.modulus, field.limbs, 1 << 64
    source = random.Random(field.name)
    candidates = [0, 1, p - 1, p - 2] + [source.randrange(p) for _ in range(6)]
    for operands in product(candidates, repeat=2 * pairs):
        t = 0
        for i in range(n):
            for a, b in zip(operands[::2], operands[1::2], strict=True):
                t += a * (b >> (64 * i) & (word - 1))
            t += (t * field.neg_inverse_64 % word) * p
            assert t % word == 0
            assert t < (pairs + 1) * p * word
            t //= word
        assert t < 2 * p < field.montgomery
        exact = sum(a * b for a, b in zip(operands[::2], operands[1::2], strict=True))
        assert (t - exact * field.montgomery_inverse) % p == 0


# --- the rules hold on integers ---------------------------------------------------------------


@fields
@pytest.mark.parametrize("ka, kb", [(1, 1), (2, 1), (1, 2), (2, 2), (4, 3)])
def test_lazy_rules_on_extreme_integers(field: PrimeField, ka: int, kb: int) -> None:
    """No integer in the operands' ranges gives a result outside the stated one."""
    representation, p = lazy(field), field.modulus
    radix = 1 << (52 * representation.limbs)
    inverse = -pow(p, -1, radix) % radix
    a, b = below(representation, ka), below(representation, kb)

    def reduce(total: int) -> int:
        return (total + total * inverse % radix * p) // radix

    stated = (a * b).k, (a + b).k, (a - b).k, (-b).k, a.mul_sub(b, a, b).k
    source = random.Random(ka)
    xs = [0, 1, ka * p - 1, source.randrange(ka * p)]
    ys = [0, 1, kb * p - 1, source.randrange(kb * p)]
    for x, y in product(xs, ys):
        opposite = ka * p - x
        found = (
            reduce(x * y),
            x + y,
            x - y + kb * p,
            kb * p - y,
            reduce(x * y + opposite * y),
        )
        assert all(0 <= value < k * p for value, k in zip(found, stated, strict=True))


def test_bounds_are_rounded_up() -> None:
    """A long run keeps short fractions and never loses a bit downwards."""
    a = below(lazy(BN254.fq))
    exact = 1 + 1 / a.representation.slack + a.representation.short_rows
    assert exact <= (a * a).k < exact + Fraction(1, 1 << 63)
    for _ in range(100):
        a = a.sqr()
    assert a.k.denominator <= 1 << 64
    assert a.k < Fraction(115, 100)


# --- it fails where it should -----------------------------------------------------------------

FR_LAZY, FR, BN = lazy(BLS12_381_FR), strict(BLS12_381_FR), strict(BN254.fq)
NARROW = Representation(BN254.fr, 60, 5, lazy=True)
FAILURES: dict[str, tuple[str, Callable[[], Any]]] = {
    "a lazy sum over R": (r"addition .*value ≤ R", lambda: below(FR_LAZY, 30) + below(FR_LAZY, 6)),
    "a lazy difference over R": (
        r"subtraction .*value ≤ R",
        lambda: below(FR_LAZY, 20) - below(FR_LAZY, 16),
    ),
    "a lazy opposite over R": (r"negation .*value ≤ R", lambda: -below(FR_LAZY, "177/5")),
    "a strict sum over R": (r"addition .*value ≤ R", lambda: below(FR, 2) + below(FR)),
    "a lazy product": (r"product .*Montgomery", lambda: below(FR_LAZY, 6) * below(FR_LAZY, 6)),
    "a lazy square": (r"square .*Montgomery", lambda: below(FR_LAZY, 6).sqr()),
    "a lazy pair of products": (
        r"mul_sub .*Montgomery",
        lambda: below(FR_LAZY, 5).mul_sub(*[below(FR_LAZY, 4)] * 3),
    ),
    "a strict product": (r"product .*Montgomery", lambda: below(FR, 2) * below(FR, 2)),
    "the running value": (r"product .*running value ≤ R", lambda: below(FR, 2) * below(FR)),
    "the lanes": (r"product .*spare bits", lambda: below(NARROW) * below(NARROW)),
    "one subtraction": (r"addition .*one conditional", lambda: below(BN, 2) + below(BN)),
    "the sign of a sum": (
        r"addition .*sign",
        lambda: below(FULL, "1/4") + below(FULL, "1/4"),
    ),
    "one addition": (r"subtraction .*one addition", lambda: below(BN, 2) - below(BN)),
    "the sign of a difference": (r"subtraction .*sign", lambda: below(FULL) - below(FULL)),
    "a strict opposite": (r"negation .*one addition", lambda: -below(BN, 2)),
    "an inversion": (r"inversion .*a < p", lambda: below(FR_LAZY, 2).inverse()),
}


@pytest.mark.parametrize("name", FAILURES)
def test_failure(name: str) -> None:
    """Each rule can fail, and says which operation, which bounds and which limit."""
    pattern, operation = FAILURES[name]
    with pytest.raises(BoundError, match=pattern) as caught:
        operation()
    assert " > " in str(caught.value)


def test_limits_are_sharp() -> None:
    """The same operations just inside: 35·p fits five limbs, 36·p does not."""
    assert (below(FR_LAZY, 30) + below(FR_LAZY, 5)).k == 35
    assert (below(FR_LAZY, 5) * below(FR_LAZY, 7)).k < 2
    assert (below(BN) + below(BN)).k == 1


# --- the vector type's formulas ---------------------------------------------------------------


def ranges(value: Any) -> list[Fraction]:
    """The bounds of all prime coefficients."""
    if isinstance(value, Bound):
        return [value.k]
    parts = value.parts if isinstance(value, Extension) else value
    return [k for part in parts for k in ranges(part)]


def elements(curve: Curve, group: Group, count: int, k: int = 2) -> tuple[Any, ...]:
    """Lazy elements of the group's field below k·p."""
    representation, tally = lazy(curve.fq), Tally()
    return tuple(bounded(group.field, representation, tally, k) for _ in range(count))


def run(curve: Curve, group: Group, name: str, k: int = 2) -> list[int]:
    """The ranges of a formula's results, rounded up, for arguments below k·p."""
    xyzz, triple = elements(curve, group, 4, k), elements(curve, group, 3, k)
    x, y, z, w = xyzz
    arguments: dict[str, tuple[Any, ...]] = {
        "xyzz_double_affine": (x, y),
        "xyzz_double": (xyzz,),
        "xyzz_add_affine": (xyzz, x, y),
        "xyzz_add": (xyzz, xyzz),
        "complete_add": (triple, triple, elements(curve, group, 1, 1)[0]),
        "affine_slope_sum": (x, y, z, w),
        "tangent_numerator": (x,),
        "curve_defect": (x, y, z),
    }
    return [math.ceil(k) for k in ranges(getattr(formulas, name)(*arguments[name]))]


# Results for arguments below 2p, in multiples of p rounded up; None: the formula does not hold.
LAZY: dict[str, dict[str, list[int] | None]] = {
    "bn254.g1": {
        "xyzz_double_affine": [6, 2, 2, 2],
        "xyzz_double": [6, 2, 2, 2],
        "xyzz_add_affine": [8, 2, 2, 2],
        "xyzz_add": [8, 2, 2, 2],
        "complete_add": [2, 2, 2],
        "affine_slope_sum": [6, 4],
        "tangent_numerator": [4],
        "curve_defect": [4],
    },
    "bn254.g2": {
        "xyzz_double_affine": None,
        "xyzz_double": None,
        "xyzz_add_affine": None,
        "xyzz_add": None,
        "complete_add": [4, 4, 4, 4, 4, 4],
        "affine_slope_sum": [6, 7, 4, 4],
        "tangent_numerator": [4, 8],
        "curve_defect": [6, 6],
    },
}
# The slack of Fq on BLS12-381, 2^35, changes nothing in G1 and lets all of G2 hold.
LAZY["bls12_381.g1"] = LAZY["bn254.g1"]
LAZY["bls12_381.g2"] = {
    **LAZY["bn254.g2"],
    "xyzz_double_affine": [6, 7, 4, 4, 2, 3, 2, 2],
    "xyzz_double": [6, 7, 4, 4, 2, 2, 2, 2],
    "xyzz_add_affine": [8, 9, 4, 4, 2, 2, 2, 2],
    "xyzz_add": [8, 9, 4, 4, 2, 2, 2, 2],
}


@pytest.mark.parametrize("curve, group", GROUPS, ids=[g.name for _, g in GROUPS])
@pytest.mark.parametrize("name", LAZY["bn254.g1"])
def test_formulas_on_lazy_elements(curve: Curve, group: Group, name: str) -> None:
    """Which hold for arguments below 2p, and how far their results reach."""
    wanted = LAZY[group.name][name]
    if wanted is None:
        with pytest.raises(BoundError, match=r"product|mul_sub"):
            run(curve, group, name)
    else:
        assert run(curve, group, name) == wanted


@pytest.mark.parametrize("curve, group", GROUPS, ids=[g.name for _, g in GROUPS])
@pytest.mark.parametrize("name", ["xyzz_add_affine", "xyzz_add", "complete_add"])
def test_sums_of_sums(curve: Curve, group: Group, name: str) -> None:
    """Whether results can feed the next addition for ever, with no subtraction between."""
    total = elements(curve, group, 3 if name == "complete_add" else 4, 1)
    x, y = elements(curve, group, 2)
    last = {"xyzz_add_affine": (x, y), "xyzz_add": None, "complete_add": None}[name]

    def again(total: Any) -> Any:
        if name == "complete_add":
            return formulas.complete_add(total, total, elements(curve, group, 1, 1)[0])
        return (
            formulas.xyzz_add(total, total)
            if last is None
            else formulas.xyzz_add_affine(total, *last)
        )

    if group == BN254.g2 or (group == BN254.g1 and name == "xyzz_add_affine"):
        with pytest.raises(BoundError, match="Montgomery"):
            again(again(again(total)))
        return
    previous: list[Fraction] = []
    for _ in range(60):
        previous, total = ranges(total), again(total)
    assert ranges(total) == previous


@pytest.mark.parametrize("curve", CURVES, ids=named)
def test_lazy_inversion_is_refused_up_the_tower(curve: Curve) -> None:
    """Vectors must bring a norm below p before they invert it."""
    (a,) = elements(curve, curve.g2, 1, 1)
    with pytest.raises(BoundError, match="inversion"):
        a.inverse()


def test_tally_is_shared() -> None:
    """Everything that is computed from an element counts together."""
    tally = Tally()
    a: Any = bounded(BLS12_381.fq.extension, strict(BLS12_381.fq), tally)
    _ = (a * a + a.sqr()).inverse()
    assert tally == Tally(M=4, S=0, P=3, I=1, A=tally.A)
