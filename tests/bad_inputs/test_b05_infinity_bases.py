"""ingonyama-zk/icicle#169, gnark-crypto#244: one point at infinity turned a whole MSM into zero.

Infinity is ordinary in keys: each wire that stands in no B has it in both B queries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pytest

from snarkcuda.cpu.digits import sorted_digits
from snarkcuda.cpu.msm import msm
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.params import CURVES, Curve, Group
from snarkcuda.curve.points import encode, linear_combination, point_shape
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array
from snarkcuda.groth16.prover import Prover
from snarkcuda.groth16.verify import verify
from tests.naive_groth16 import LINEAR, MUL, ORPHANS, R1cs

curves = pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
groups = pytest.mark.parametrize(
    "group", [g for curve in CURVES for g in (curve.g1, curve.g2)], ids=lambda group: group.name
)


def points(group: Group, multiples: Sequence[int]) -> U64Array:
    """These multiples of the generator, 0 for infinity."""
    generator = encode(group, [group.generator])[0]
    return np.stack([linear_combination(group, [generator], [k]) for k in multiples])


def total(group: Group, multiples: Sequence[int], scalars: Sequence[int]) -> U64Array:
    """The MSM of these multiples."""
    with Pool(2) as pool:
        digits = sorted_digits(pool, arrays.from_ints(scalars, 4), group.order.bit_length())
        return msm(pool, group, arrays.packed(points(group, multiples)), digits)


@groups
def test_the_reports_case(group: Group) -> None:
    """[G, ∞, 2G] by [3, 5, 7] is 17·G."""
    seventeen = points(group, [17])[0]
    assert seventeen.any()
    np.testing.assert_array_equal(total(group, [1, 0, 2], [3, 5, 7]), seventeen)


@groups
@pytest.mark.parametrize("n", [1, 2, 3, 100])
def test_all_infinity(group: Group, n: int) -> None:
    """Infinity, all zero, is the result."""
    result = total(group, [0] * n, range(1, n + 1))
    assert result.shape == point_shape(group)
    assert not result.any()


@groups
def test_infinity_at_every_place(group: Group) -> None:
    """Each subset of four points."""
    for flags in product((0, 1), repeat=4):
        multiples = [flag * k for flag, k in zip(flags, (1, 2, 4, group.order - 7), strict=True)]
        expected = sum(m * k for m, k in zip(multiples, (3, 5, 7, 9), strict=True))
        expected_point = points(group, [expected % group.order])[0]
        np.testing.assert_array_equal(total(group, multiples, [3, 5, 7, 9]), expected_point)


@groups
def test_infinity_times_anything(group: Group) -> None:
    """0·∞, 1·∞ and (r − 1)·∞ add nothing; neither does 0·G."""
    for k in (0, 1, group.order - 1):
        np.testing.assert_array_equal(total(group, [0, 5], [k, 2]), points(group, [10])[0])
        np.testing.assert_array_equal(total(group, [5, 0], [2, k]), points(group, [10])[0])
    assert not total(group, [5], [0]).any()


@curves
@pytest.mark.parametrize("r1cs", [MUL, ORPHANS, LINEAR], ids=lambda r1cs: r1cs.name)
def test_keys_with_infinity(curve: Curve, r1cs: R1cs, make_files: Callable) -> None:
    """MUL's b stands in no A; ORPHANS has a wire in no row; LINEAR's B query is all infinity."""
    files = make_files(curve, r1cs)
    with Prover(files.key) as prover:
        key = prover.key
        a, b1, b2, ell = (
            [not point.any() for point in query]
            for query in (key.a_query, key.b_g1_query, key.b_g2_query, key.l_query)
        )
        assert b1 == b2
        expected = {
            MUL: ([False, False, False, True], [True, True, True, False], [False, False]),
            ORPHANS: ([False] * 3 + [True] * 2, [False] + [True] * 4, [False, False, True]),
            LINEAR: ([False, False, True, True], [True] * 4, [False, False]),
        }[r1cs]
        if r1cs is ORPHANS:  # x stands in B too
            expected[1][2] = False
        assert (a, b1, ell) == expected
        proved = prover.prove(files.witness)
    assert verify(files.keys.verifying_key, files.signals, proved.proof)
