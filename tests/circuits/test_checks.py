"""What a program may not make of a circuit: each rule, named with the file and the matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from snarkcuda.circuits.checks import check_r1cs
from snarkcuda.circuits.r1cs import R1cs
from snarkcuda.curve.params import BLS12_381, BN254, CURVES, Curve
from snarkcuda.errors import FormatError, NotInFieldError
from snarkcuda.field.arrays import from_ints
from tests.circuits.naive_circuit import circuit

Row = list[tuple[int, int]]


def good(curve: Curve = BN254) -> R1cs:
    ones: Row = [(0, 1), (2, curve.fr.modulus - 1)]
    return replace(circuit(curve, 3, [(ones, ones, []), ([], ones, ones)], (1, 1)), source="c.r1cs")


def with_b(r1cs: R1cs, **parts: object) -> R1cs:
    return replace(r1cs, b=replace(r1cs.b, **parts))  # type: ignore[arg-type]


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_good_circuits(curve: Curve) -> None:
    check_r1cs(good(curve))
    check_r1cs(circuit(curve, 1, []))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: replace(c, n_outputs=2), "3 public signals and the constant do not fit 3 wires"),
        (lambda c: replace(c, n_outputs=-1), "do not fit"),
        (lambda c: replace(c, n_wires=0), "do not fit 0 wires"),
        (lambda c: replace(c, labels=c.labels[1:]), r"labels must be uint64 \(3,\)"),
        (lambda c: replace(c, labels=c.labels.astype(np.int64)), "labels must be uint64"),
        (lambda c: with_b(c, start=np.array([0, 4])), r"B.start must be int64 \(3,\).* \(2,\)"),
        (lambda c: with_b(c, start=c.b.start.astype(np.uint64)), r"B.start must be int64"),
        (lambda c: with_b(c, start=np.array([0, 5, 4])), "B.start must rise from 0 .*, 4"),
        (lambda c: with_b(c, start=np.array([1, 2, 4])), "B.start must rise"),
        (lambda c: with_b(c, start=np.array([0, -1, 4])), "B.start must rise"),
        (lambda c: with_b(c, start=np.array([0, 2, 3])), "B.start must rise"),
        (lambda c: with_b(c, wires=c.b.wires.astype(np.int32)), r"B.wires must be uint32 \(4,\)"),
        (lambda c: with_b(c, wires=np.repeat(c.b.wires, 2)[::2]), "B.wires must .* C-contiguous"),
        (lambda c: with_b(c, values=c.b.values[:3]), r"B.values must be uint64 \(4, 4\)"),
        (lambda c: with_b(c, wires=np.array([0, 0, 3, 9], np.uint32)), "B: entry 2 names wire 3"),
        (lambda c: with_b(c, wires=np.array([0, 2, 0, 3], np.uint32)), "B: entry 3 names wire 3"),
    ],
)
def test_rules(change: Callable[[R1cs], R1cs], words: str) -> None:
    with pytest.raises(FormatError, match=f"c.r1cs: .*{words}"):
        check_r1cs(change(good()))


def test_coefficients_are_canonical() -> None:
    """r of BN254 is an element of the other field, not of its own."""
    values = from_ints([1, BN254.fr.modulus, 0, 1], 4)
    check_r1cs(with_b(good(BLS12_381), values=values))
    with pytest.raises(NotInFieldError, match="B: the coefficient of entry 1 is not below r"):
        check_r1cs(with_b(good(), values=values))
