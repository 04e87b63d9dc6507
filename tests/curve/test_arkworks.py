"""The groups of BLS12-381 against py_arkworks_bls12381 (Rust): sums, multiples, MSMs, encodings."""

from __future__ import annotations

import random
from typing import Any

import pytest

from snarkcuda.curve.params import BLS12_381, Group
from snarkcuda.curve.points import decode, encode, first_outside_subgroup, linear_combination

arkworks = pytest.importorskip("py_arkworks_bls12381")
groups = pytest.mark.parametrize(
    "group, kind",
    [(BLS12_381.g1, arkworks.G1Point), (BLS12_381.g2, arkworks.G2Point)],
    ids=["g1", "g2"],
)
ORDER = BLS12_381.fr.modulus


def integers(group: Group, point: Any) -> Any:
    """An arkworks point as canonical integers, None for infinity."""
    if point == type(point).identity():
        return None
    data = point.to_xy_bytes_be()
    numbers = [int.from_bytes(data[i : i + 48], "big") for i in range(0, len(data), 48)]
    if not group.is_g2:
        return tuple(numbers)
    # The generator tells which coefficient comes first.
    first = int.from_bytes(type(point)().to_xy_bytes_be()[:48], "big")
    swap = first != group.generator[0][0]  # type: ignore[index]
    x0, x1, y0, y1 = (numbers[i] for i in ((1, 0, 3, 2) if swap else (0, 1, 2, 3)))
    return (x0, x1), (y0, y1)


@groups
def test_generator(group: Group, kind: Any) -> None:
    """The same point in both libraries."""
    assert integers(group, kind()) == group.generator


@groups
def test_multiples(group: Group, kind: Any) -> None:
    """Edge and random scalars."""
    source = random.Random(1)
    rows = list(encode(group, [group.generator]))
    for k in [0, 1, 2, ORDER - 1, *(source.randrange(ORDER) for _ in range(10))]:
        (ours,) = decode(group, linear_combination(group, rows, [k])[None])
        assert ours == integers(group, kind() * arkworks.Scalar(k))


@groups
@pytest.mark.parametrize("n", [1, 2, 5, 17])
def test_sums_and_msm(group: Group, kind: Any, n: int) -> None:
    """Σ k·P with repeated, opposite and infinite points; plain sums."""
    source = random.Random(n)
    multiples = [source.choice([0, 1, 5, ORDER - 5, source.randrange(ORDER)]) for _ in range(n)]
    scalars = [source.choice([0, 1, ORDER - 1, source.randrange(ORDER)]) for _ in range(n)]
    theirs = [kind() * arkworks.Scalar(m) for m in multiples]
    rows = list(encode(group, [integers(group, point) for point in theirs]))
    wanted = kind.multiexp_unchecked(theirs, [arkworks.Scalar(k) for k in scalars])
    found = linear_combination(group, rows, scalars)
    assert decode(group, found[None]) == [integers(group, wanted)]
    total = sum(theirs[1:], theirs[0])
    found = linear_combination(group, rows, [1] * n)
    assert decode(group, found[None]) == [integers(group, total)]


@groups
def test_subgroup(group: Group, kind: Any) -> None:
    """Points that arkworks maps to the curve, before and after clearing the cofactor."""
    source = random.Random(3)
    inside = [kind() * arkworks.Scalar(source.randrange(ORDER)) for _ in range(5)]
    rows = encode(group, [integers(group, point) for point in inside])
    assert all(point.is_in_subgroup() for point in inside)
    assert first_outside_subgroup(BLS12_381, group, rows) is None
