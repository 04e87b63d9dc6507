"""A·w and B·w, and c = a·b; some rows are compared with sums of Python integers."""

from __future__ import annotations

from snarkcuda.bench.case import SEED, Case, Subject
from snarkcuda.bench.operations.circuit import circuit
from snarkcuda.circuits.r1cs import R1cs, SparseRows
from snarkcuda.circuits.synthetic import draw
from snarkcuda.cpu import matvec
from snarkcuda.cpu.pool import Pool
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array
from snarkcuda.groth16.coefficients import key_coefficients

_ROWS = 64  # that are checked


def subject(case: Case, pool: Pool) -> Subject:
    """The rows of a synthetic circuit, grouped as a resident key has them."""
    r1cs, witness = circuit(case, pool)
    fr, n = r1cs.curve.fr, r1cs.domain_size
    coefficients = pool.call(key_coefficients, r1cs)
    matrices = pool.call(matvec.group_by_row, fr, n, r1cs.n_wires, coefficients)

    def call() -> U64Array:
        return matvec.evaluate(pool, matrices, witness.values)

    def is_right(abc: U64Array) -> bool:
        return rows_are_right(r1cs, witness.values, abc)

    return Subject(call, is_right, "entry", len(matrices.wires))


def rows_are_right(r1cs: R1cs, witness: U64Array, abc: U64Array) -> bool:
    """Whether some rows of a, b and c, Montgomery, are what integers give."""
    fr = r1cs.curve.fr

    def row_sum(matrix: SparseRows, row: int) -> int:
        entries = slice(matrix.start[row], matrix.start[row + 1])
        coefficients = arrays.to_ints(matrix.values[entries])
        values = arrays.to_ints(witness[matrix.wires[entries]])
        return sum(k * v for k, v in zip(coefficients, values, strict=True)) % fr.modulus

    for row in (int(word) % r1cs.n_constraints for word in draw(SEED, "rows", _ROWS)):
        a, b = row_sum(r1cs.a, row), row_sum(r1cs.b, row)
        found = [fr.from_montgomery(value) for value in arrays.to_ints(abc[:, row])]
        if found != [a, b, a * b % fr.modulus]:
            return False
    return True
