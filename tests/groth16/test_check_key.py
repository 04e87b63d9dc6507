"""The check of a key: every point, and what must agree; each way of being wrong is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from snarkcuda.cpu.pool import Pool
from snarkcuda.curve import points
from snarkcuda.curve.params import CURVES, Curve
from snarkcuda.errors import MismatchError, NotOnCurveError, SnarkcudaError
from snarkcuda.formats.zkey import read_zkey
from snarkcuda.groth16 import check_key as module
from snarkcuda.groth16.check_key import KeyCounts, check_key
from snarkcuda.groth16.keys import ProvingKey
from snarkcuda.groth16.timeline import Timeline
from tests import naive_groth16 as twin

VECTORS = Path(__file__).parents[1] / "vectors"
curves = pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
QUERIES = {
    "IC": "ic",
    "A": "a_query",
    "B1": "b_g1_query",
    "B2": "b_g2_query",
    "L": "l_query",
    "H": "h_query",
}
queries = pytest.mark.parametrize("query", QUERIES)


@cache
def good_key(curve: Curve) -> ProvingKey:
    """A key of the twin's setup, with points at infinity in A, B1 and B2."""
    return twin.setup(curve, twin.ORPHANS).key


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several chunks and blocks even of small queries, the last ones shorter."""
    monkeypatch.setattr(module, "_CHUNK", 2)
    monkeypatch.setattr(module, "_BLOCK", 2)


def checked(key: ProvingKey) -> KeyCounts:
    with Pool(2) as pool:
        return check_key(pool, key)


def get(key: ProvingKey, name: str) -> np.ndarray:
    return getattr(key if hasattr(key, name) else key.verifying_key, name)


def with_array(key: ProvingKey, name: str, array: np.ndarray) -> ProvingKey:
    if hasattr(key, name):
        return replace(key, **{name: array})
    return replace(key, verifying_key=replace(key.verifying_key, **{name: array}))


def with_point(key: ProvingKey, query: str, index: int, point: np.ndarray) -> ProvingKey:
    array = get(key, QUERIES[query]).copy()
    array[index] = point
    return with_array(key, QUERIES[query], array)


def off_curve(point: np.ndarray) -> np.ndarray:
    """x and y swapped: on neither curve, and canonical."""
    return point[::-1].copy()


@curves
def test_a_good_key(curve: Curve) -> None:
    """Counts; stages in order; the share of each query ends at 1."""
    key, timeline, shares = good_key(curve), Timeline(), []
    with Pool(2) as pool:
        counts = check_key(pool, key, timeline, shares.append)
    sizes = {name: len(get(key, array)) for name, array in QUERIES.items()}
    assert counts.points == 6 + sum(sizes.values())
    assert counts.infinity == {
        name: sum(not point.any() for point in get(key, array)) for name, array in QUERIES.items()
    }
    assert counts.infinity["B1"] == counts.infinity["B2"] > 0
    stages = [stage.name for stage in timeline.stages]
    assert stages[0] == "check header points"
    assert stages[1:-1] == [f"check {name} query" for name in QUERIES]
    assert shares.count(1.0) == len(QUERIES)
    assert len(shares) == sum(-(-size // 2) for size in sizes.values())


@pytest.mark.parametrize(
    "case, infinity", [("bn_linear_O0", (35, 38, 38, 0, 0)), ("bls_mux3", (0, 3, 3, 0, 0))]
)
def test_keys_of_snarkjs(case: str, infinity: tuple[int, ...]) -> None:
    """With the points at infinity that `tests/vectors/README.md` lists."""
    counts = checked(read_zkey(VECTORS / case / "circuit.zkey"))
    assert tuple(counts.infinity[name] for name in ("A", "B1", "B2", "L", "H")) == infinity


@curves
@queries
def test_a_point_off_its_curve(curve: Curve, query: str) -> None:
    """The first of two bad ones is named, wherever in a chunk; a good key has none."""
    key = good_key(curve)
    good = next(point for point in get(key, QUERIES[query]) if point.any())
    for index in range(len(get(key, QUERIES[query])) - 1):
        bad = with_point(key, query, index, off_curve(good))
        bad = with_point(bad, query, len(get(key, QUERIES[query])) - 1, off_curve(good))
        with pytest.raises(NotOnCurveError, match=rf"point {index} of the {query} query does not"):
            checked(bad)


@curves
@queries
def test_a_point_outside_the_subgroup(curve: Curve, query: str) -> None:
    """Named even when a point off the curve follows in the same chunk."""
    group = curve.g2 if query == "B2" else curve.g1
    if group == curve.g1 and curve.family == "bn":
        return  # the whole curve is the subgroup
    key, outside = good_key(curve), twin.outside_subgroup(curve, group)
    for index in range(len(get(key, QUERIES[query]))):
        bad = with_point(key, query, index, outside)
        message = rf"point {index} of the {query} query is on the curve but outside the subgroup"
        with pytest.raises(NotOnCurveError, match=message):
            checked(bad)
    both = with_point(with_point(key, query, 0, outside), query, 1, off_curve(outside))
    with pytest.raises(NotOnCurveError, match=r"point 0 of .* outside the subgroup"):
        checked(both)


@curves
@pytest.mark.parametrize(
    "name", ["alpha_g1", "beta_g1", "beta_g2", "gamma_g2", "delta_g1", "delta_g2"]
)
def test_header_points(curve: Curve, name: str) -> None:
    """Infinity, off the curve, outside the subgroup."""
    key = good_key(curve)
    group = curve.g2 if name.endswith("g2") else curve.g1
    bad = {"is the point at infinity": np.zeros_like(get(key, name))}
    bad["does not satisfy"] = off_curve(get(key, name))
    if group.is_g2 or curve.family == "bls12":
        bad["outside the subgroup"] = twin.outside_subgroup(curve, group)
    for words, point in bad.items():
        with pytest.raises(NotOnCurveError, match=f"{name} .*{words}"):
            checked(with_array(key, name, point))


@curves
@pytest.mark.parametrize("name", ["beta_g1", "beta_g2", "delta_g1", "delta_g2"])
def test_secrets_that_differ(curve: Curve, name: str) -> None:
    """β or δ doubled, or negated, in one group only."""
    key = good_key(curve)
    group = curve.g2 if name.endswith("g2") else curve.g1
    for factor in (2, -1):
        point = points.linear_combination(group, [get(key, name)], [factor])
        with pytest.raises(MismatchError, match=f"{name[:-3]}_g1 and .* different secrets") as e:
            checked(with_array(key, name, point))
        assert e.value.exit_code == 2


def moved(curve: Curve, key: ProvingKey, i: int, j: int) -> ProvingKey:
    """D added to B1ᵢ and taken from B1ⱼ: the plain sum of the query stays."""
    (d,) = points.encode(curve.g1, [curve.g1.generator])
    for index, sign in ((i, 1), (j, -1)):
        point = points.linear_combination(curve.g1, [key.b_g1_query[index], d], [1, sign])
        key = with_point(key, "B1", index, point)
    return key


def in_one_group(query: str, index: int) -> Callable[[Curve, ProvingKey], ProvingKey]:
    def change(curve: Curve, key: ProvingKey) -> ProvingKey:
        group = curve.g2 if query == "B2" else curve.g1
        point = points.linear_combination(
            group,
            [get(key, QUERIES[query])[index], *points.encode(group, [group.generator])],
            [1, 1],
        )
        return with_point(key, query, index, point)

    return change


@curves
@pytest.mark.parametrize("block", [1, 2, 1 << 20])
@pytest.mark.parametrize(
    "change",
    [
        *(in_one_group(query, index) for query in ("B1", "B2") for index in (0, 2, 4)),
        lambda curve, key: moved(curve, key, 0, 2),
        lambda curve, key: moved(curve, key, 3, 4),
        lambda curve, key: replace(key, b_g1_query=key.a_query),
        lambda curve, key: replace(key, b_g2_query=np.zeros_like(key.b_g2_query)),
    ],
)
def test_b_queries_that_differ(
    curve: Curve,
    block: int,
    change: Callable[[Curve, ProvingKey], ProvingKey],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One wire alone, two that cancel in the plain sum, all."""
    monkeypatch.setattr(module, "_BLOCK", block)
    with pytest.raises(MismatchError, match="B1 and B2 queries differ"):
        checked(change(curve, good_key(curve)))


@curves
def test_queries_of_infinity_agree(curve: Curve) -> None:
    """A circuit with B = 0 everywhere: both sums are infinity, e = 1."""
    key = twin.setup(curve, twin.LINEAR).key
    assert not key.b_g1_query.any()
    assert checked(key).infinity["B2"] == len(key.b_g2_query)


@curves
def test_coefficients_are_random(curve: Curve, monkeypatch: pytest.MonkeyPatch) -> None:
    """The maker of a key must not foresee them: they are the system's, 16 bytes for each wire."""
    asked: list[int] = []

    def zeros(count: int) -> bytes:
        asked.append(count)
        return bytes(count)

    monkeypatch.setattr(module.secrets, "token_bytes", zeros)
    checked(in_one_group("B1", 2)(curve, good_key(curve)))  # with ρ = 0 nothing is seen
    assert sum(asked) == 16 * good_key(curve).n_wires


def test_a_key_that_changes_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """A point that was bad a moment ago is an error, even if it is good now."""
    answers = iter([0])
    right = points.first_off_curve

    def flickers(*arguments: object) -> int | None:
        return next(answers, None) if len(arguments) == 4 else right(*arguments)

    monkeypatch.setattr(points, "first_off_curve", flickers)
    with pytest.raises(SnarkcudaError, match="the file changes while it is read"):
        checked(good_key(CURVES[0]))
