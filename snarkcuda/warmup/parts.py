"""The work of a command in parts whose kernels are compiled apart.

Each part runs, on next to no data, the functions that commands call: so its kernels and their types
are those that commands need. `tests/warmup/test_warmup.py` shows that after the parts of a curve
its commands compile nothing.

Parts import what they run when they run, so that a process loads the kernels of its parts only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from snarkcuda.curve.params import CURVES, Curve, Group
from snarkcuda.field import arrays

if TYPE_CHECKING:
    from snarkcuda.circuits.r1cs import R1cs
    from snarkcuda.cpu.pool import Pool

_TWO_BLOCKS = 1 << 13  # a transform so long runs the stages that pass over the whole array too


@dataclass(frozen=True)
class Part:
    """Some work for one curve.

    Attributes:
        name: of the work.
        curve: whose kernels it runs.
        module: which these depend on, by its source and what it imports.
        seconds: what compiling takes, measured on BN254.
        work: runs it.
    """

    name: str
    curve: Curve
    module: str = field(compare=False)
    seconds: float = field(compare=False)
    work: Callable[[Pool, Curve], None] = field(compare=False)

    def __str__(self) -> str:
        return f"{self.curve.name} {self.name}"

    @property
    def cost(self) -> float:
        """By which the longest go first; larger fields take longer in proportion."""
        return self.seconds * self.curve.fq.limbs


def parts_of_proof(curve: Curve, vectors: bool) -> list[Part]:
    """What `prove` runs but the pairing, with a key that is proved on vectors or not."""
    kind, scale, sums = "vector" if vectors else "scalar", 4 if vectors else 2, "snarkcuda.cpu.msm"
    g1, g2 = curve.g1, curve.g2
    points = "snarkcuda.cpu.vector_points"
    of_vectors = [
        Part("points in G1", curve, points, 1, partial(_points, g1)),
        Part("points in G2", curve, points, 1, partial(_points, g2)),
    ]
    return [
        *(of_vectors if vectors else []),
        Part("membership in G1", curve, "snarkcuda.curve.points", 2.5, partial(_membership, g1)),
        Part("membership in G2", curve, "snarkcuda.curve.points", 5.5, partial(_membership, g2)),
        Part("rows", curve, "snarkcuda.cpu.matvec", 1.5, _rows),
        Part(
            f"{kind} transforms", curve, "snarkcuda.cpu.quotient", 2, partial(_transforms, vectors)
        ),
        Part(f"{kind} sums in G1", curve, sums, 1.7 * scale, partial(_sums, vectors, g1)),
        Part(f"{kind} sums in G2", curve, sums, 2.2 * scale, partial(_sums, vectors, g2)),
    ]


def parts_of_pairing(curve: Curve) -> list[Part]:
    """What `verify` and a proof's self-check run besides."""
    return [
        Part("Miller loop", curve, "snarkcuda.curve.pairing", 4, _miller_loop),
        Part("final exponentiation", curve, "snarkcuda.curve.pairing", 5, _final_exponentiation),
    ]


def parts_of_everything(curve: Curve) -> list[Part]:
    """What `prove`, `verify`, `check` and `setup` run, with keys of any size."""
    from snarkcuda.curve.points import has_cofactor
    from snarkcuda.field.vector_type import has_vectors

    proof = parts_of_proof(curve, vectors=False)
    if has_vectors():
        proof += [part for part in parts_of_proof(curve, vectors=True) if part not in proof]
    g1, g2 = curve.g1, curve.g2
    checks = "snarkcuda.cpu.subgroup_vector"
    memberships = [
        Part(f"many memberships in {group.name[-2:].upper()}", curve, checks, 5, work)
        for group in (g1, g2)
        if has_vectors() and has_cofactor(curve, group)
        for work in [partial(_memberships, group)]
    ]
    return [
        *proof,
        *memberships,
        *parts_of_pairing(curve),
        Part("circuits", curve, "snarkcuda.circuits.satisfied", 1.5, _circuits),
        Part("research setup", curve, "snarkcuda.groth16.research_key", 2, _research_setup),
        Part("multiples in G1", curve, "snarkcuda.cpu.fixed_base", 7, partial(_multiples, g1)),
        Part("multiples in G2", curve, "snarkcuda.cpu.fixed_base", 9, partial(_multiples, g2)),
        Part(
            "column sums in G1", curve, "snarkcuda.groth16.ceremony_key", 3, partial(_columns, g1)
        ),
        Part(
            "column sums in G2", curve, "snarkcuda.groth16.ceremony_key", 4, partial(_columns, g2)
        ),
    ]


def part_named(text: str) -> Part:
    """The inverse of `str(part)`."""
    parts = (part for curve in CURVES for part in parts_of_everything(curve))
    return next(part for part in parts if str(part) == text)


# --- proofs -----------------------------------------------------------------------------------


def _generator(group: Group) -> arrays.U64Array:
    from snarkcuda.curve.points import encode

    return encode(group, [group.generator])


def _membership(group: Group, pool: Pool, curve: Curve) -> None:
    from snarkcuda.curve import points

    point = _generator(group)
    points.first_off_curve(group, point)
    points.first_outside_subgroup(curve, group, point)
    points.linear_combination(group, [point[0]], [1])


def _miller_loop(pool: Pool, curve: Curve) -> None:
    from snarkcuda.curve.pairing import miller_product

    miller_product(curve, _generator(curve.g1), _generator(curve.g2))


def _final_exponentiation(pool: Pool, curve: Curve) -> None:
    from snarkcuda.curve.pairing import final_exponentiation

    one = [curve.fq.to_montgomery(1), *[0] * 11]
    final_exponentiation(curve, arrays.from_ints(one, curve.fq.limbs))


def _rows(pool: Pool, curve: Curve) -> None:
    from snarkcuda.cpu.digits import sorted_digits
    from snarkcuda.cpu.matvec import evaluate, group_by_row
    from snarkcuda.groth16.keys import COEFFICIENT

    matrices = group_by_row(curve.fr, 2, 1, np.zeros(1, dtype=COEFFICIENT))
    abc = evaluate(pool, matrices, arrays.from_ints([1], 4))
    sorted_digits(pool, abc[0], curve.fr.bits)


def _transforms(vectors: bool, pool: Pool, curve: Curve) -> None:
    from snarkcuda.cpu.ntt import domain_of_size, tables
    from snarkcuda.cpu.quotient import coset_quotient
    from snarkcuda.cpu.resident_key import VECTOR_ROWS
    from snarkcuda.field.vector_type import has_vectors

    n = VECTOR_ROWS // 2 if has_vectors() and not vectors else _TWO_BLOCKS
    made = tables(pool, domain_of_size(curve.fr, n), vectors)
    coset_quotient(pool, made, np.zeros((3, n, 4), dtype=np.uint64))


def _sums(vectors: bool, group: Group, pool: Pool, curve: Curve) -> None:
    from snarkcuda.cpu.digits import sorted_digits
    from snarkcuda.cpu.msm import msm
    from snarkcuda.cpu.vector_form import to_vector_form

    points = arrays.packed(_generator(group))
    if vectors:
        points = to_vector_form(pool, curve.fq, points)
    digits = sorted_digits(pool, arrays.from_ints([1], 4), curve.fr.bits)
    msm(pool, group, points, digits, vectors=vectors)


def _points(group: Group, pool: Pool, curve: Curve) -> None:
    from snarkcuda.cpu.vector_points import points_in_vector_form

    raw = arrays.packed(_generator(group))
    points_in_vector_form(pool, group, raw, np.empty_like(raw), np.empty(1, dtype=np.uint8))


# --- circuits and setup -----------------------------------------------------------------------


def _square(curve: Curve) -> R1cs:
    """x·x = y, y public."""
    from snarkcuda.circuits.r1cs import R1cs
    from snarkcuda.circuits.synthetic import repeated

    x, y = (repeated(curve.fr, 1, [[(wire, 1)]], 1) for wire in (2, 1))
    return R1cs(curve, 3, 1, 0, 1, x, x, y, np.arange(3, dtype=np.uint64), 3)


def _circuits(pool: Pool, curve: Curve) -> None:
    from snarkcuda.circuits.satisfied import first_unsatisfied
    from snarkcuda.formats.r1cs import read_r1cs, write_r1cs
    from snarkcuda.groth16.keys import Witness

    with TemporaryDirectory() as folder:
        path = Path(folder, "square.r1cs")
        write_r1cs(path, _square(curve))
        circuit = read_r1cs(path)
    first_unsatisfied(pool, circuit, Witness(curve, arrays.from_ints([1, 4, 2], 4)))


def _research_setup(pool: Pool, curve: Curve) -> None:
    from snarkcuda.circuits.columns import by_column
    from snarkcuda.cpu.lagrange import lagrange_basis
    from snarkcuda.cpu.wire_values import wire_values
    from snarkcuda.groth16.coefficients import key_coefficients

    circuit = _square(curve)
    columns = [by_column(matrix, 3) for matrix in (circuit.a, circuit.b, circuit.c)]
    for canonical in (False, True):
        basis = lagrange_basis(pool, curve.fr, 2, 7, 1, canonical=canonical)
    wire_values(pool, circuit, columns, basis, arrays.from_ints([1] * 4, 4))
    key_coefficients(circuit)


def _multiples(group: Group, pool: Pool, curve: Curve) -> None:
    from snarkcuda.cpu.fixed_base import VECTOR_MULTIPLES, Multiples

    for n in (1, VECTOR_MULTIPLES):
        Multiples(pool, group, n).of(arrays.from_ints([1], 4))


def _memberships(group: Group, pool: Pool, curve: Curve) -> None:
    from snarkcuda.cpu.subgroup_vector import first_outside_subgroup

    first_outside_subgroup(curve, group, _generator(group), 0, 1)


def _columns(group: Group, pool: Pool, curve: Curve) -> None:
    from snarkcuda.circuits.columns import by_column
    from snarkcuda.cpu.affine import differences, leave_montgomery
    from snarkcuda.cpu.sparse_sums import Summand, column_sums

    x, point = _square(curve).a, _generator(group)
    column_sums(pool, group, 3, [Summand(by_column(x, 3), x.values, point)], long=0)
    if group == curve.g1:
        leave_montgomery(pool, curve.fq, differences(pool, group, point, point))
