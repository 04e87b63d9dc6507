"""The first constraint that fails, against the definition on Python ints; and its explanation."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from snarkcuda.circuits import satisfied
from snarkcuda.circuits.r1cs import R1cs
from snarkcuda.circuits.satisfied import explain_row, first_unsatisfied
from snarkcuda.cpu.pool import Cancelled, Pool, Stop
from snarkcuda.curve.params import BLS12_381, BN254, CURVES, Curve
from snarkcuda.errors import FormatError, MismatchError, NotInFieldError
from snarkcuda.field.arrays import from_ints
from snarkcuda.formats.r1cs import read_r1cs
from snarkcuda.formats.wtns import read_witness
from snarkcuda.groth16.keys import Witness
from tests.circuits.naive_circuit import circuit, unsatisfied

VECTORS = Path(__file__).parents[1] / "vectors"
CASES = sorted(p.parent.name for p in VECTORS.glob("*/circuit.r1cs"))
curves = pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
R = BN254.fr.modulus


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(3) as pool:
        yield pool


def changed(witness: Witness, wire: int, value: int) -> Witness:
    values = witness.values.copy()
    values[wire] = from_ints([value], 4)[0]
    return replace(witness, values=values)


def first(rows: list[int]) -> int | None:
    return rows[0] if rows else None


@pytest.mark.parametrize("case", CASES)
def test_circuits_of_the_corpus(pool: Pool, case: str) -> None:
    """circom's witness satisfies all; with any wire changed, the first that fails is the twin's."""
    r1cs = read_r1cs(VECTORS / case / "circuit.r1cs")
    witness = read_witness(VECTORS / case / "witness.wtns")
    assert first_unsatisfied(pool, r1cs, witness) is None
    assert unsatisfied(r1cs, witness) == []
    rng = random.Random(case)
    wires = rng.sample(range(1, r1cs.n_wires), min(6, r1cs.n_wires - 1))
    found = set()
    for wire in wires:
        wrong = changed(witness, wire, rng.randrange(r1cs.curve.fr.modulus))
        row = first_unsatisfied(pool, r1cs, wrong)
        assert row == first(unsatisfied(r1cs, wrong))
        found.add(row)
    assert found != {None}


def squares(curve: Curve, n: int) -> tuple[R1cs, Witness]:
    """Row i: (w_i + 1)·w_i = w_{i+1}, coefficients at the edges of the field."""
    r = curve.fr.modulus
    values = [1, 3]
    rows = []
    for i in range(1, n + 1):
        rows.append(([(i, 1), (0, 1)], [(i, r - 1)], [(i + 1, r - 1), (0, 0)]))
        values.append((values[-1] + 1) * values[-1] % r)
    return circuit(curve, n + 2, rows), Witness(curve, from_ints(values, 4))


@curves
@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 200])
def test_several_wrong_wires(pool: Pool, curve: Curve, n: int) -> None:
    """The first row of those that fail."""
    r1cs, witness = squares(curve, n)
    assert first_unsatisfied(pool, r1cs, witness) is None
    rng = random.Random(n)
    for _ in range(20 if n else 0):
        wrong = witness
        for _ in range(rng.randrange(1, 5)):
            wrong = changed(wrong, rng.randrange(1, n + 2), rng.choice([0, 1, rng.randrange(R)]))
        assert first_unsatisfied(pool, r1cs, wrong) == first(unsatisfied(r1cs, wrong))


@curves
def test_past_one_task(pool: Pool, curve: Curve) -> None:
    """Around the border of a task's rows; of failures in two tasks the smaller row wins."""
    border = satisfied._CHUNK
    r1cs, witness = squares(curve, 2 * border + 3)
    for wire in (2, border, border + 1, border + 2, 2 * border + 4):
        assert first_unsatisfied(pool, r1cs, changed(witness, wire, 5)) == max(0, wire - 2)
    both = changed(changed(witness, 2 * border + 1, 5), border + 7, 5)
    assert first_unsatisfied(pool, r1cs, both) == border + 5


@curves
@pytest.mark.parametrize("zero", "ABC")
def test_empty_sides(pool: Pool, curve: Curve, zero: str) -> None:
    """An empty sum is 0; r in value or coefficient would be one too, and is refused."""
    sides = {letter: [(0, 1)] for letter in "ABC"} | {zero: []}
    r1cs = circuit(curve, 1, [(sides["A"], sides["B"], sides["C"])])
    witness = Witness(curve, from_ints([1], 4))
    assert first_unsatisfied(pool, r1cs, witness) == 0
    without_c = circuit(curve, 1, [(sides["A"], sides["B"], [])])
    assert first_unsatisfied(pool, without_c, witness) == (0 if zero == "C" else None)


def test_mismatches_name_both(pool: Pool) -> None:
    r1cs, witness = squares(BN254, 3)
    r1cs, witness = replace(r1cs, source="c.r1cs"), replace(witness, source="w.wtns")
    short = replace(witness, values=witness.values[:-1])
    with pytest.raises(MismatchError, match=r"w.wtns has 4 values but c.r1cs expects 5"):
        first_unsatisfied(pool, r1cs, short)
    with pytest.raises(MismatchError, match=r"w.wtns has 4 values but c.r1cs expects 5"):
        explain_row(r1cs, short, 0)
    other = replace(witness, curve=BLS12_381)
    with pytest.raises(MismatchError, match=r"w.wtns is over bls12_381 but c.r1cs is over bn254"):
        first_unsatisfied(pool, r1cs, other)


def test_inputs_are_checked(pool: Pool) -> None:
    """The kernel indexes by what the circuit says."""
    r1cs, witness = squares(BN254, 3)
    with pytest.raises(NotInFieldError, match="value 2 is not below r"):
        first_unsatisfied(pool, r1cs, changed(witness, 2, R))
    wires = r1cs.b.wires.copy()
    wires[1] = 5
    with pytest.raises(FormatError, match="B: entry 1 names wire 5, not below 5"):
        first_unsatisfied(pool, replace(r1cs, b=replace(r1cs.b, wires=wires)), witness)


def test_cancelled(pool: Pool) -> None:
    stop = Stop()
    stop.set()
    with pytest.raises(Cancelled):
        first_unsatisfied(pool, *squares(BN254, 3), stop=stop)


def test_explanation() -> None:
    """Every number of a small constraint; residues near r are shown as negative numbers."""
    r1cs = circuit(BN254, 4, [([], [], []), ([(1, R - 1), (0, 2)], [(2, 1)], [(3, R - 7)])])
    witness = Witness(BN254, from_ints([1, 5, R - 4, 2], 4))
    assert explain_row(r1cs, witness, 1).splitlines() == [
        "constraint 1: A·B = 12 but C = -14",
        "  A = -3:",
        "    -1·w[1]  label 10  value 5",
        "    2·w[0]  label 0  value 1",
        "  B = -4:",
        "    1·w[2]  label 20  value -4",
        "  C = -14:",
        "    -7·w[3]  label 30  value 2",
        "  a label is the signal's number in the .sym file of `circom --sym`",
    ]
    assert explain_row(r1cs, witness, 0).splitlines() == [
        "constraint 0: A·B = 0 and C = 0",
        "  A = 0 (no terms)",
        "  B = 0 (no terms)",
        "  C = 0 (no terms)",
    ]
    for row in (-1, 2):
        with pytest.raises(IndexError, match=f"2 constraints and no {row}"):
            explain_row(r1cs, witness, row)


def test_long_rows_are_cut() -> None:
    """The sum is that of all terms; how many are not shown is said."""
    r1cs = circuit(BN254, 2, [([(1, i) for i in range(20)], [(0, 1)], [])])
    lines = explain_row(r1cs, Witness(BN254, from_ints([1, 3], 4)), 0).splitlines()
    assert lines[1] == f"  A = {3 * sum(range(20))}:"
    assert lines[10] == "    and 12 terms more"
    assert len(lines) == 2 + 8 + 1 + 2 + 1 + 1


def test_rows_of_a_real_circuit() -> None:
    """A bit that is 2: its boolean constraint, with circom's label."""
    r1cs = read_r1cs(VECTORS / "bn_lessthan32" / "circuit.r1cs")
    witness = changed(read_witness(VECTORS / "bn_lessthan32" / "witness.wtns"), 5, 2)
    told = explain_row(r1cs, witness, unsatisfied(r1cs, witness)[0])
    assert f"w[5]  label {r1cs.labels[5]}  value 2" in told
    assert " but C = 0" in told
