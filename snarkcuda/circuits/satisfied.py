"""Whether a witness satisfies a circuit, and if not, which constraint fails and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from snarkcuda.circuits.checks import check_r1cs
from snarkcuda.circuits.r1cs import R1cs, SparseRows
from snarkcuda.cpu.pool import Pool, Stop, claim
from snarkcuda.field import arrays
from snarkcuda.field.arrays import to_ints
from snarkcuda.field.element import canonical_one, load, zero
from snarkcuda.groth16.checks import check_match, check_witness
from snarkcuda.groth16.keys import Witness
from snarkcuda.jit import formula, kernel

_CHUNK = 1 << 12  # rows of one task
_SHOWN = 8  # terms of a sum that `explain_row` shows


def first_unsatisfied(
    pool: Pool, r1cs: R1cs, witness: Witness, stop: Stop | None = None
) -> int | None:
    """The first constraint that the witness does not satisfy, or None if it satisfies all.

    Args:
        pool: the threads to use.
        r1cs: the circuit; its arrays are checked first.
        witness: its values are checked first.
        stop: ends the work early with `Cancelled`.

    Raises:
        MismatchError: the two do not belong together.
        FormatError, NotInFieldError: see `check_r1cs` and `check_witness`.
    """
    check_match(r1cs, witness)
    check_r1cs(r1cs)
    check_witness(witness)
    n = r1cs.n_constraints
    failed = np.full(-(-n // _CHUNK), n, dtype=np.int64)
    sides = [(m.start, m.wires, arrays.packed(m.values)) for m in (r1cs.a, r1cs.b, r1cs.c)]
    values = arrays.packed(witness.values)
    pool.run(_check, len(failed), r1cs.curve.fr, n, *sides, values, failed, stop=stop)
    first = int(failed.min(initial=n))
    return None if first == n else first


@formula
def row_sum(F: Any, side: Any, row: int, witness: Any) -> Any:
    """Σ coefficient·w/R over one row: Montgomery products."""
    start, wires, values = side
    total = zero(F)
    for i in range(start[row], start[row + 1]):
        total = total + load(F, values, i) * load(F, witness, wires[i])
    return total


@kernel
def _check(tasks: Any, F: Any, n: int, a: Any, b: Any, c: Any, witness: Any, failed: Any) -> None:
    one = canonical_one(F)
    task = claim(tasks)
    while task >= 0:
        for row in range(task * _CHUNK, min(n, (task + 1) * _CHUNK)):
            # (a/R)·(b/R)/R on the left, so c/R is divided by R twice more.
            product = row_sum(F, a, row, witness) * row_sum(F, b, row, witness)
            holds = product == row_sum(F, c, row, witness) * one * one
            if not holds:
                failed[task] = row
                break
        task = claim(tasks)


def explain_row(r1cs: R1cs, witness: Witness, row: int, show_values: bool = True) -> str:
    """One constraint with the values of its wires, for a person: several lines.

    constraint 5: A·B = 12 but C = 13
      A = 3:
        -1·w[7]  label 9  value -3
      …

    Numbers stand for residues modulo r: −1 rather than r − 1 wherever that is shorter. Of a long
    sum the first terms are shown. Values are the witness's: secret, if it is a real one.

    Args:
        r1cs: the circuit.
        witness: its assignment.
        row: which constraint.
        show_values: False leaves out every number that comes from the witness.

    Raises:
        MismatchError: see `check_match`.
        IndexError: there is no such row.
    """
    check_match(r1cs, witness)
    if not 0 <= row < r1cs.n_constraints:
        raise IndexError(f"{r1cs.source} has {r1cs.n_constraints} constraints and no {row}")
    r = r1cs.curve.fr.modulus
    sums, lines = [], []
    for letter, matrix in zip("ABC", (r1cs.a, r1cs.b, r1cs.c), strict=True):
        total, n_terms, shown = 0, 0, []
        for wire, coefficient, value in _terms(matrix, witness, row):
            total += coefficient * value
            n_terms += 1
            if n_terms <= _SHOWN:
                term = f"    {_short(coefficient, r)}·w[{wire}]  label {r1cs.labels[wire]}"
                shown.append(f"{term}  value {_short(value, r)}" if show_values else term)
        sums.append(total % r)
        head = f"  {letter} = {_short(sums[-1], r)}" if show_values else f"  {letter}"
        lines += [head + (":" if n_terms else " (no terms)"), *shown]
        if n_terms > _SHOWN:
            lines.append(f"    and {n_terms - _SHOWN} terms more")
    if len(lines) > 3:
        lines.append("  a label is the signal's number in the .sym file of `circom --sym`")
    return "\n".join([f"constraint {row}: {_verdict(sums, r, show_values)}", *lines])


def _verdict(sums: list[int], r: int, show_values: bool) -> str:
    a, b, c = sums
    product = a * b % r
    if not show_values:
        return f"A·B is {'' if product == c else 'not '}C"
    return f"A·B = {_short(product, r)} {'and' if product == c else 'but'} C = {_short(c, r)}"


def _terms(matrix: SparseRows, witness: Witness, row: int) -> Iterator[tuple[int, int, int]]:
    """Wire, coefficient and the wire's value for each entry of a row, some at a time."""
    for start in range(matrix.start[row], matrix.start[row + 1], _CHUNK):
        entries = slice(start, min(start + _CHUNK, matrix.start[row + 1]))
        wires = matrix.wires[entries]
        values = to_ints(witness.values[wires])
        yield from zip(wires.tolist(), to_ints(matrix.values[entries]), values, strict=True)


def _short(value: int, r: int) -> str:
    return min(str(value), str(value - r), key=len)
