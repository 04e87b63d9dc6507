"""Aᵢ(τ), Bᵢ(τ) and (β·Aᵢ + α·Bᵢ + Cᵢ)(τ)/γ or /δ for each wire i, given the basis at τ.

    Aᵢ(τ) = Σ_j A[j, i]·L_j(τ), one column of the matrix; so B and C

The sums are of field elements, one wire a step; the naive twin is `public_exponents` in
`tests/naive_groth16.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from snarkcuda.circuits.columns import Columns
from snarkcuda.circuits.r1cs import R1cs
from snarkcuda.cpu.pool import Pool, claim
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.element import canonical_one, load, store, zero
from snarkcuda.jit import kernel

_CHUNK = 1 << 10  # wires of one task


def wire_values(
    pool: Pool, r1cs: R1cs, columns: list[Columns], basis: U64Array, constants: U64Array
) -> U64Array:
    """The three values of each wire: uint64 (3, n_wires, 4), canonical.

    Args:
        pool: the threads to use.
        r1cs: the circuit; A has one row more for the constant and each public wire.
        columns: A, B and C by column.
        basis: L_j(τ), Montgomery, (domain size, 4).
        constants: α, β, 1/γ, 1/δ, Montgomery, (4, 4).
    """
    out = np.empty((3, r1cs.n_wires, 4), dtype=np.uint64)
    sides = [
        array
        for c, matrix in zip(columns, (r1cs.a, r1cs.b, r1cs.c), strict=True)
        for array in (c.start, c.rows, c.entries, matrix.values)
    ]
    n_tasks = -(-r1cs.n_wires // _CHUNK)
    sizes = (r1cs.n_constraints, r1cs.n_public)
    pool.run(_wires, n_tasks, r1cs.curve.fr, *sizes, basis, constants, *sides, out)
    return out


@kernel
def _wires(
    tasks: Any, F: Any, n_constraints: int, n_public: int, basis: Any, constants: Any,
    a_start: Any, a_rows: Any, a_entries: Any, a_values: Any,
    b_start: Any, b_rows: Any, b_entries: Any, b_values: Any,
    c_start: Any, c_rows: Any, c_entries: Any, c_values: Any,
    out: Any,
) -> None:  # fmt: skip
    n_wires = out.shape[1]
    alpha, beta = load(F, constants, 0), load(F, constants, 1)
    task = claim(tasks)
    while task >= 0:
        for i in range(task * _CHUNK, min(n_wires, (task + 1) * _CHUNK)):
            # Plain coefficient times Montgomery basis: the sums are plain.
            a, b, c = zero(F), zero(F), zero(F)
            for k in range(a_start[i], a_start[i + 1]):
                a = a + load(F, a_values, a_entries[k]) * load(F, basis, a_rows[k])
            for k in range(b_start[i], b_start[i + 1]):
                b = b + load(F, b_values, b_entries[k]) * load(F, basis, b_rows[k])
            for k in range(c_start[i], c_start[i + 1]):
                c = c + load(F, c_values, c_entries[k]) * load(F, basis, c_rows[k])
            if i <= n_public:
                a = a + load(F, basis, n_constraints + i) * canonical_one(F)
            over = load(F, constants, 2 if i <= n_public else 3)
            store(F, out, i, a)
            store(F, out, n_wires + i, b)
            store(F, out, 2 * n_wires + i, (beta * a + alpha * b + c) * over)
        task = claim(tasks)
