"""A research key; some of its points are compared with multiples known from the toxic waste."""

from __future__ import annotations

import numpy as np

from snarkcuda.bench.case import SEED, Case, Subject
from snarkcuda.bench.operations.circuit import circuit
from snarkcuda.circuits.r1cs import SparseRows
from snarkcuda.circuits.synthetic import draw
from snarkcuda.cpu.ntt import domain_of_size
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.params import Group
from snarkcuda.curve.points import encode, linear_combination
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array
from snarkcuda.groth16.keys import ProvingKey
from snarkcuda.groth16.research_key import key_of_waste, toxic_waste
from snarkcuda.groth16.timeline import Stage, Timeline

_WIRES = 8  # that are checked


def subject(case: Case, pool: Pool) -> Subject:
    """The key of a synthetic circuit and of fixed secrets."""
    r1cs, _ = circuit(case, pool)
    fr, p, n = r1cs.curve.fr, r1cs.curve.fr.modulus, r1cs.domain_size
    g1, g2 = r1cs.curve.g1, r1cs.curve.g2
    waste = toxic_waste(r1cs.curve, n, SEED.encode())
    domain = domain_of_size(fr, n)

    def call() -> tuple[ProvingKey, list[Stage]]:
        timeline = Timeline()
        return key_of_waste(r1cs, waste, pool, timeline), timeline.stages

    def lagrange(j: int, x: int) -> int:
        """L_j(x) = ωʲ·(xⁿ − 1)/(n·(x − ωʲ))."""
        point = pow(domain.root, j, p)
        return point * (pow(x, n, p) - 1) * pow(n * (x - point), -1, p) % p

    def column(matrix: SparseRows, wire: int) -> int:
        """Σ_j M[j, wire]·L_j(τ)."""
        places = np.flatnonzero(matrix.wires == wire)
        rows = np.searchsorted(matrix.start, places, side="right") - 1
        values = arrays.to_ints(matrix.values[places])
        terms = zip(values, rows.tolist(), strict=True)
        return sum(v * lagrange(row, waste.tau) for v, row in terms) % p

    def is_right(result: tuple[ProvingKey, list[Stage]]) -> bool:
        key, _ = result
        first = r1cs.n_public + 1
        expected: list[tuple[Group, U64Array, int]] = []
        for word in map(int, draw(SEED, "wires", _WIRES)):
            wire = first + word % (r1cs.n_wires - first)
            a, b, c = (column(matrix, wire) for matrix in (r1cs.a, r1cs.b, r1cs.c))
            mixed = (waste.beta * a + waste.alpha * b + c) * pow(waste.delta, -1, p)
            # H: the odd Lagrange basis of twice the domain, see `groth16/research_key.py`.
            i, shift = word % n, domain.shift
            scale = (pow(waste.tau, n, p) - 1) * pow((pow(shift, n, p) - 1) * waste.delta, -1, p)
            h = scale * lagrange(i, waste.tau * pow(shift, -1, p))
            expected += [
                (g1, key.a_query[wire], a),
                (g1, key.b_g1_query[wire], b),
                (g2, key.b_g2_query[wire], b),
                (g1, key.l_query[wire - first], mixed),
                (g1, key.h_query[i], h),
            ]
        return all(np.array_equal(point, _multiple(group, k)) for group, point, k in expected)

    return Subject(call, is_right, "row", n, stages=lambda result: result[1])


def _multiple(group: Group, k: int) -> U64Array:
    return linear_combination(group, [encode(group, [group.generator])[0]], [k])
