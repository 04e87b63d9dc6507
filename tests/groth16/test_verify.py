"""The verifier is strict: malformed statements are refused by name, false ones are `False`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from snarkcuda.curve.params import BLS12_381, BN254, CURVES, Curve
from snarkcuda.curve.points import encode, linear_combination
from snarkcuda.errors import MismatchError, NotInFieldError, NotOnCurveError
from snarkcuda.field.arrays import U64Array
from snarkcuda.groth16.keys import Proof, VerifyingKey
from snarkcuda.groth16.verify import check_verifying_key, verify
from tests import naive_groth16 as twin
from tests.naive_groth16 import outside_subgroup

curves = pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
OUTSIDE = [(BN254, "b"), *((BLS12_381, name) for name in "abc")]
VK_POINTS = ["alpha_g1", "beta_g2", "gamma_g2", "delta_g2"]


@cache
def statement(curve: Curve, x: int = 3) -> tuple[VerifyingKey, list[int], Proof]:
    """A true statement about CUBE: key, public signals, proof."""
    keys = twin.setup(curve, twin.CUBE)
    z = twin.assignment(twin.CUBE, curve, x)
    return keys.verifying_key, z[1:2], twin.prove(keys, z, 5, 7)


def bent(point: U64Array) -> U64Array:
    """The point with its y (c0 in G2) changed in the lowest bit: off the curve."""
    changed = point.copy()
    changed[(1, 0) if point.ndim == 2 else (1, 0, 0)] ^= np.uint64(1)
    return changed


@curves
def test_true_and_false(curve: Curve) -> None:
    """A true statement; its proof for other signals; parts of another proof; other points."""
    key, public, proof = statement(curve)
    assert verify(key, public, proof)
    other_key, other_public, other = statement(curve, 4)
    assert verify(other_key, other_public, other)
    for wrong in (0, 1, public[0] + 1, curve.fr.modulus - 1, other_public[0]):
        assert not verify(key, [wrong], proof)
    for name in "abc":
        assert not verify(key, public, replace(proof, **{name: getattr(other, name)}))
    for name, group in (("a", curve.g1), ("b", curve.g2), ("c", curve.g1)):
        minus = linear_combination(group, [getattr(proof, name)], [-1])
        assert not verify(key, public, replace(proof, **{name: minus}))
    assert not verify(key, public, replace(proof, a=proof.c, c=proof.a))


@curves
def test_a_proof_is_malleable(curve: Curve) -> None:
    """(k·A, B/k, C) is another proof of the same statement: the docstring's warning is true."""
    key, public, proof = statement(curve)
    a = linear_combination(curve.g1, [proof.a], [3])
    b = linear_combination(curve.g2, [proof.b], [pow(3, -1, curve.fr.modulus)])
    assert verify(key, public, Proof(curve, a, b, proof.c))


@curves
@pytest.mark.parametrize("count", [0, 2, 3, 100])
def test_number_of_signals(curve: Curve, count: int) -> None:
    """Both counts are named; a signal too many is never dropped, nor a missing one taken as 0."""
    key, public, proof = statement(curve)
    signals = [*public, *[0] * count][:count]
    with pytest.raises(MismatchError, match=rf"^{count} public signals .* expects 1\b"):
        verify(key, signals, proof)


@curves
def test_range_of_signals(curve: Curve) -> None:
    """Aliases v + k·r and negative ones are refused by index; r − 1 is a signal like others."""
    keys = twin.setup(curve, twin.chain(6))
    key, r = keys.verifying_key, curve.fr.modulus
    z = twin.assignment(keys.r1cs, curve, 2)
    public, proof = z[1:2], twin.prove(keys, z, 1, 1)
    assert verify(key, public, proof)
    for value in (public[0] + r, public[0] + 2 * r, public[0] - r, -1, r, 1 << 256, 1 << 512):
        with pytest.raises(NotInFieldError, match=r"public signal 0 is"):
            verify(key, [value], proof)
    assert not verify(key, [r - 1], proof)

    two = replace(key, ic=np.concatenate([key.ic, key.ic[1:]]))
    with pytest.raises(NotInFieldError, match=r"public signal 1 is"):
        verify(two, [0, r], proof)


def test_curves_that_differ() -> None:
    """A proof over one curve with a key over the other."""
    for one, other in ((BN254, BLS12_381), (BLS12_381, BN254)):
        key, public, _ = statement(one)
        *_, proof = statement(other)
        with pytest.raises(MismatchError, match=rf"{other.name}.*{one.name}"):
            verify(key, public, proof)


@curves
@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_proof_point_off_the_curve(curve: Curve, name: str) -> None:
    """With y + 1, (1, 1), points of the other curve's equation: named, refused."""
    key, public, proof = statement(curve)
    point = getattr(proof, name)
    ones = encode(curve.g2 if name == "b" else curve.g1, [(1, 1)])[0]
    for bad in (bent(point), ones, point[::-1].copy()):
        with pytest.raises(NotOnCurveError, match=rf"pi_{name} does not satisfy the equation of"):
            verify(key, public, replace(proof, **{name: bad}))
    assert verify(key, public, proof)


@pytest.mark.parametrize("curve, name", OUTSIDE, ids=lambda value: getattr(value, "name", value))
def test_proof_point_outside_the_subgroup(curve: Curve, name: str) -> None:
    """On the curve, not of order r; also a good point plus one of small order."""
    key, public, proof = statement(curve)
    group = curve.g2 if name == "b" else curve.g1
    stray = outside_subgroup(curve, group)
    mixed = linear_combination(group, [stray, getattr(proof, name)], [1, 1])
    for bad in (stray, mixed):
        with pytest.raises(NotOnCurveError, match=rf"pi_{name} is on the curve but outside"):
            verify(key, public, replace(proof, **{name: bad}))


@curves
def test_infinity(curve: Curve) -> None:
    """A and B must not be infinity; C may be, and the equation decides."""
    key, public, proof = statement(curve)
    for name in "ab":
        infinity = np.zeros_like(getattr(proof, name))
        with pytest.raises(NotOnCurveError, match=rf"pi_{name} is the point at infinity"):
            verify(key, public, replace(proof, **{name: infinity}))
    assert not verify(key, public, replace(proof, c=np.zeros_like(proof.c)))

    # Whoever knows the waste can make a true proof whose C is infinity: b = (α·β + γ·Σ IC)/a.
    keys, p = twin.setup(curve, twin.CUBE), curve.fr.modulus
    z = twin.assignment(twin.CUBE, curve, 3)
    a, b, c = twin.prove_exponents(keys, z, 5, 7)
    forged_b = (a * b - c * keys.waste.delta) * pow(a, -1, p) % p
    forged = twin.proof_of_exponents(curve, a, forged_b, 0)
    assert not forged.c.any()
    assert verify(key, public, forged)
    assert not verify(key, [public[0] + 1], forged)


@curves
def test_statement_at_infinity(curve: Curve) -> None:
    """Σ ICᵢ·publicᵢ may be infinity: its pairing is 1, and the rest of the equation must hold."""
    keys, p = twin.setup(curve, twin.CUBE), curve.fr.modulus
    key, waste = keys.verifying_key, keys.waste
    a, b = 12345, 67890
    c = (a * b - waste.alpha * waste.beta) * pow(waste.delta, -1, p) % p
    proof = twin.proof_of_exponents(curve, a, b, c)
    one, minus_one = twin.times_generator(curve.g1, [1, -1])
    infinity = np.zeros_like(one)
    assert verify(replace(key, ic=np.stack([infinity, infinity])), [5], proof)
    assert verify(replace(key, ic=np.stack([one, minus_one])), [1], proof)
    assert not verify(replace(key, ic=np.stack([one, minus_one])), [2], proof)
    assert not verify(replace(key, ic=np.stack([one, infinity])), [2], proof)


@curves
@pytest.mark.parametrize("name", VK_POINTS)
def test_verifying_key_point(curve: Curve, name: str) -> None:
    """Infinity, off the curve, outside the subgroup: refused, and the point named."""
    key, public, proof = statement(curve)
    point, group = getattr(key, name), curve.g1 if name.endswith("g1") else curve.g2
    ones = encode(group, [(1, 1)])[0]
    bad = {"is the point at infinity": [np.zeros_like(point)]}
    bad["does not satisfy the equation"] = [bent(point), ones]
    if group is curve.g2 or curve is BLS12_381:
        bad["outside the subgroup"] = [outside_subgroup(curve, group)]
    word = name.replace("_g", r" \(G") + r"\)"
    for reason, points in bad.items():
        for changed in points:
            damaged = replace(key, **{name: changed})
            with pytest.raises(NotOnCurveError, match=rf"{key.source}: {word} .*{reason}"):
                verify(damaged, public, proof)
            with pytest.raises(NotOnCurveError):
                check_verifying_key(damaged)
    check_verifying_key(key)


@curves
def test_ic_points(curve: Curve) -> None:
    """Each IC point by its index; infinity is allowed there."""
    key, public, proof = statement(curve)

    def with_ic(index: int, point: U64Array) -> VerifyingKey:
        ic = key.ic.copy()
        ic[index] = point
        return replace(key, ic=ic)

    bad: list[Sequence[object]] = [("does not satisfy", bent(key.ic[0]))]
    if curve is BLS12_381:
        bad.append(("outside the subgroup", outside_subgroup(curve, curve.g1)))
    for index in range(len(key.ic)):
        for reason, point in bad:
            with pytest.raises(NotOnCurveError, match=rf"IC\[{index}\] .*{reason}"):
                verify(with_ic(index, point), public, proof)
        assert not verify(with_ic(index, np.zeros_like(proof.a)), public, proof)


@curves
def test_other_key(curve: Curve) -> None:
    """A true proof under another setup of the same circuit is false."""
    _, public, proof = statement(curve)
    other = twin.setup(curve, twin.CUBE, seed=2).verifying_key
    assert not verify(other, public, proof)
    key, *_ = statement(curve)
    for name in VK_POINTS:
        assert not verify(replace(key, **{name: getattr(other, name)}), public, proof)
