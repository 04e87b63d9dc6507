"""What is timed is right, on both curves, and what is wrong gets no time."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from snarkcuda.bench import measure as measuring
from snarkcuda.bench.case import OPERATIONS, Case
from snarkcuda.bench.measure import FEWEST, measure, opened
from snarkcuda.bench.operations.ntt import barycentric_weights
from snarkcuda.cpu.ntt import domain_of_size
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.params import BLS12_381, BN254
from snarkcuda.errors import DeviceError
from snarkcuda.field.vector_type import has_vectors
from snarkcuda.groth16.keys import ProvingKey
from snarkcuda.groth16.prover import Proved

needs_vectors = pytest.mark.skipif(not has_vectors(), reason="no AVX-512 IFMA")
CASES = [
    Case("field", "bn254", 7, group="g1", path="scalar"),
    Case("field", "bls12_381", 7, group="g2", path="scalar"),
    pytest.param(Case("field", "bn254", 7, group="g2", path="vector"), marks=needs_vectors),
    Case("msm", "bn254", 6, group="g1", scalars="random", path="scalar"),
    Case("msm", "bn254", 7, group="g1", scalars="bits", path="auto"),
    pytest.param(Case("msm", "bn254", 6, "g1", "random", "vector"), marks=needs_vectors),
    Case("ntt", "bn254", 6, path="scalar"),
    pytest.param(Case("ntt", "bls12_381", 6, path="vector"), marks=needs_vectors),
    Case("matvec", "bls12_381", 6, scalars="random"),
    Case("matvec", "bn254", 8, scalars="bits"),
    Case("setup", "bn254", 6, scalars="bits"),
    Case("prove", "bn254", 6, scalars="random"),
]


def spoilt(result: Any) -> Any:
    """The same with one bit of one figure turned."""
    if isinstance(result, tuple):
        key, stages = result
        return spoilt(key), stages
    if isinstance(result, ProvingKey):
        return replace(result, h_query=np.roll(result.h_query, 1, axis=0))
    if isinstance(result, Proved):
        return replace(result, public=[result.public[0] ^ 1])
    wrong = result.copy()
    # All elements: a check looks at some of them.
    wrong.reshape(-1)[:: wrong.shape[-1]] ^= np.uint64(1)
    return wrong


@pytest.mark.parametrize("case", CASES, ids=str)
def test_right_results_pass_and_wrong_ones_do_not(case: Case) -> None:
    with Pool(2) as pool:
        subject = import_module(f"snarkcuda.bench.operations.{case.operation}").subject(case, pool)
        try:
            result = subject.call()
            assert subject.is_right(result)
            assert not subject.is_right(spoilt(result))
            assert subject.n_units > 0
            if case.operation in ("prove", "setup"):
                assert len(subject.stages(result)) > 5
        finally:
            subject.close()


def test_every_operation_is_tried() -> None:
    tried = {getattr(case, "values", [case])[0].operation for case in CASES}
    assert tried == set(OPERATIONS)


@pytest.mark.parametrize("curve", [BN254, BLS12_381], ids=str)
def test_barycentric_weights(curve: Any) -> None:
    """A polynomial's value from its values on the domain, by Horner's rule."""
    domain, p = domain_of_size(curve.fr, 8), curve.fr.modulus
    coefficients = [pow(3, k, p) for k in range(100, 108)]

    def horner(x: int) -> int:
        value = 0
        for coefficient in reversed(coefficients):
            value = (value * x + coefficient) % p
        return value

    values = [horner(pow(domain.root, i, p)) for i in range(8)]
    for z in (5, p - 2, domain.shift):
        weights = barycentric_weights(domain, z)
        assert sum(w * v for w, v in zip(weights, values, strict=True)) % p == horner(z)


def test_no_time_for_a_wrong_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that computes something else: the case, and what to do next."""
    from snarkcuda.cpu import ntt

    monkeypatch.setattr(ntt, "to_coset", lambda pool, tables, x, stop=None: None)
    case = Case("ntt", "bn254", 6, path="scalar")
    with pytest.raises(DeviceError, match=r"ntt bn254 2\^6 scalar: the result is WRONG.*pytest"):
        measure(case, 1, runs=1, budget_s=1)


def test_vectors_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("snarkcuda.bench.operations.vectors.has_vectors", lambda: False)
    case = Case("ntt", "bn254", 6, path="vector")
    with pytest.raises(DeviceError, match="--path scalar"), opened(case, 1):
        pass
    with opened(replace(case, path="auto"), 1) as bench:
        assert bench.run(2)[0] > 0


def test_runs_and_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """`runs` times, or as often as the budget allows, but `FEWEST`; the first call is no run."""
    case = Case("matvec", "bn254", 6, scalars="random")
    told: list[str] = []
    measured = measure(case, 1, runs=7, budget_s=60, progress=told.append)
    assert len(measured.runs_ns) == 7
    assert min(measured.runs_ns) > 0
    assert [words.partition(": ")[2] for words in told] == [
        "make data",
        "first call and check",
        f"7 runs of {measured.calls} calls",
    ]
    clock = iter(range(100))
    monkeypatch.setattr(measuring.time, "monotonic", lambda: float(next(clock)))
    assert len(measure(case, 1, runs=7, budget_s=0.5).runs_ns) == FEWEST


def test_names_tell_cases_apart() -> None:
    variants: dict[str, str | None] = {"group": "g2", "scalars": None, "path": "scalar"}
    assert str(Case.of("msm", "bn254", 9, variants)) == "msm bn254 2^9 g2 random scalar"
    assert str(Case.of("prove", "bn254", 9, {"path": None})) == "prove bn254 2^9 random"
    with pytest.raises(ValueError, match="prove has no --path"):
        Case.of("prove", "bn254", 9, {"path": "scalar"})
    case = Case.of("ntt", "bls12_381", 9, {})
    assert Case(**case.as_dict()) == case
