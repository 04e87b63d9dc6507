"""The work of a command in parts whose kernels are compiled apart.

Each part runs, on next to no data, the functions that commands call: so its kernels and their types
are those that commands need. `tests/warmup/test_warmup.py` shows that after the parts of a curve
its commands compile nothing.

Parts import what they run when they run, so that a process loads the kernels of its parts only.
"""

from __future__ import annotations

import re
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

_DEVICE_SECONDS = {"ntt_pass": 5}  # of the kernels that take longest, by name
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
    kind = "vector" if vectors else "scalar"
    g1, g2 = curve.g1, curve.g2
    points = "snarkcuda.cpu.vector_points"
    of_vectors = [
        Part("points in G1", curve, points, 1, partial(_points, g1)),
        Part("points in G2", curve, points, 1, partial(_points, g2)),
    ]
    return [
        *(of_vectors if vectors else []),
        *_points_alone(curve),
        Part("rows", curve, "snarkcuda.cpu.matvec", 1.5, _rows),
        Part(
            f"{kind} transforms", curve, "snarkcuda.cpu.quotient", 2, partial(_transforms, vectors)
        ),
        *_key_sums(curve, vectors),
    ]


def _points_alone(curve: Curve) -> list[Part]:
    g1, g2, points = curve.g1, curve.g2, "snarkcuda.curve.points"
    return [
        Part("curve equations", curve, points, 1.5, _equations),
        Part("membership in G1", curve, points, 1.5, partial(_membership, g1)),
        Part("membership in G2", curve, points, 3, partial(_membership, g2)),
        Part("combinations in G1", curve, points, 1.5, partial(_combination, g1)),
        Part("combinations in G2", curve, points, 2.5, partial(_combination, g2)),
    ]


def _key_sums(curve: Curve, vectors: bool) -> list[Part]:
    kind, scale = ("vector", 4) if vectors else ("scalar", 2)
    sums = "snarkcuda.cpu.msm"
    return [
        Part(f"{kind} sums in {name}", curve, sums, cost * scale, partial(_sums, vectors, group))
        for name, cost, group in (("G1", 1.7, curve.g1), ("G2", 2.2, curve.g2))
    ]


def _many_memberships(curve: Curve) -> list[Part]:
    from snarkcuda.curve.points import has_cofactor
    from snarkcuda.field.vector_type import has_vectors

    return [
        Part(f"many memberships in {group.name[-2:].upper()}", curve, module, 5, work)
        for group in (curve.g1, curve.g2)
        if has_vectors() and has_cofactor(curve, group)
        for module, work in [("snarkcuda.cpu.subgroup_vector", partial(_outside, group))]
    ]


def parts_of_pairing(curve: Curve) -> list[Part]:
    """What `verify` and a proof's self-check run besides."""
    return [
        Part("Miller loop", curve, "snarkcuda.curve.pairing", 4, _miller_loop),
        Part("final exponentiation", curve, "snarkcuda.curve.pairing", 5, _final_exponentiation),
    ]


def parts_of_verification(curve: Curve) -> list[Part]:
    """What `verify` runs; not the sum over hundreds of public signals, which few circuits have."""
    *points, _combination_in_g2 = _points_alone(curve)
    return [*points, *parts_of_pairing(curve)]


def parts_of_key_check(curve: Curve, vectors: bool) -> list[Part]:
    """What `check KEY` runs, on a key of a size that is summed on vectors (`msm_once`) or not."""
    many = _many_memberships(curve) if vectors else []
    return [*_points_alone(curve), *many, *_key_sums(curve, vectors), *parts_of_pairing(curve)]


def parts_of_setup(curve: Curve, research: bool, vectors: bool) -> list[Part]:
    """What `setup` runs, for research with so many wires that vectors are used or not."""
    g1, g2 = curve.g1, curve.g2
    equations, *_, combination_in_g1, combination_in_g2 = _points_alone(curve)
    circuits = Part("circuits", curve, "snarkcuda.circuits.satisfied", 1.5, _circuits)
    if not research:
        module = "snarkcuda.groth16.ceremony_key"
        return [
            circuits,
            equations,
            Part("column sums in G1", curve, module, 3, partial(_columns, g1)),
            Part("column sums in G2", curve, module, 4, partial(_columns, g2)),
        ]
    module, kind = "snarkcuda.cpu.fixed_base", "vector multiples" if vectors else "multiples"
    return [
        circuits,
        combination_in_g1,
        combination_in_g2,
        Part("research setup", curve, "snarkcuda.groth16.research_key", 2, _research_setup),
        Part(f"{kind} in G1", curve, module, 4, partial(_multiples, vectors, g1)),
        Part(f"{kind} in G2", curve, module, 5, partial(_multiples, vectors, g2)),
    ]


def parts_of_device(curve: Curve, device: str) -> list[Part]:
    """What proofs on a device compile: the host's part, and CUDA kernels but for the simulator.

    Raises:
        DeviceError: there is no such device.
    """
    from snarkcuda.kernels.device import open_device
    from snarkcuda.kernels.target import simulated

    if simulated():
        return _device_parts(curve, None)
    opened = open_device(device)
    opened.close()
    return _device_parts(curve, opened.architecture)


def _device_parts(curve: Curve, architecture: tuple[int, int] | None) -> list[Part]:
    of_host = [
        *_points_alone(curve),
        Part("slices of rows", curve, "snarkcuda.kernels.matvec_plan", 1, _slices),
        Part("rows of sums in G1", curve, "snarkcuda.kernels.msm", 2, partial(_weights, curve.g1)),
        Part("rows of sums in G2", curve, "snarkcuda.kernels.msm", 3, partial(_weights, curve.g2)),
    ]
    if architecture is None:
        return of_host
    from snarkcuda.kernels.catalog import proof_kernels

    name = "sm_{}{}".format(*architecture)
    return [
        *of_host,
        *(
            Part(
                f"{kernel.label} for {name}",
                curve,
                kernel.function.__module__,
                _DEVICE_SECONDS.get(kernel.label.partition("[")[0], 2),
                partial(_device_kernel, kernel.label, architecture),
            )
            for kernel in proof_kernels(curve)
        ),
    ]


def parts_of_everything(curve: Curve) -> list[Part]:
    """What `prove`, `verify`, `check` and `setup` run, with keys of any size."""
    from snarkcuda.field.vector_type import has_vectors

    parts = [*parts_of_pairing(curve), *parts_of_setup(curve, research=False, vectors=False)]
    for vectors in (False, True) if has_vectors() else (False,):
        parts += parts_of_proof(curve, vectors)
        parts += parts_of_key_check(curve, vectors)
        parts += parts_of_setup(curve, research=True, vectors=vectors)
    return list(dict.fromkeys(parts))


def part_named(text: str) -> Part:
    """The inverse of `str(part)`."""
    found = re.search(r" for sm_(\d+)(\d)$", text)
    architecture = (int(found[1]), int(found[2])) if found else None
    for curve in CURVES:
        for part in (*parts_of_everything(curve), *_device_parts(curve, architecture)):
            if str(part) == text:
                return part
    raise KeyError(text)


# --- proofs -----------------------------------------------------------------------------------


def _generator(group: Group) -> arrays.U64Array:
    from snarkcuda.curve.points import encode

    return encode(group, [group.generator])


def _equations(pool: Pool, curve: Curve) -> None:
    from snarkcuda.curve.points import first_off_curve

    for group in (curve.g1, curve.g2):
        first_off_curve(group, _generator(group))


def _membership(group: Group, pool: Pool, curve: Curve) -> None:
    from snarkcuda.curve import points

    points.first_outside_subgroup(curve, group, _generator(group))


def _combination(group: Group, pool: Pool, curve: Curve) -> None:
    from snarkcuda.curve.points import linear_combination

    linear_combination(group, [_generator(group)[0]], [1])


def _miller_loop(pool: Pool, curve: Curve) -> None:
    from snarkcuda.curve.pairing import miller_product

    miller_product(curve, _generator(curve.g1), _generator(curve.g2))


def _final_exponentiation(pool: Pool, curve: Curve) -> None:
    from snarkcuda.curve.pairing import final_exponentiation

    one = [curve.fq.to_montgomery(1), *[0] * 11]
    final_exponentiation(curve, arrays.from_ints(one, curve.fq.limbs))


def _rows(pool: Pool, curve: Curve) -> None:
    from snarkcuda.cpu.matvec import evaluate, group_by_row
    from snarkcuda.groth16.keys import COEFFICIENT

    matrices = group_by_row(curve.fr, 2, 1, np.zeros(1, dtype=COEFFICIENT))
    evaluate(pool, matrices, arrays.from_ints([1], 4))


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
    # Not a digit by itself, so that it is cut.
    digits = sorted_digits(pool, arrays.from_ints([1 << 64], 4), curve.fr.bits)
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


def _multiples(vectors: bool, group: Group, pool: Pool, curve: Curve) -> None:
    from snarkcuda.cpu.fixed_base import VECTOR_MULTIPLES, Multiples

    Multiples(pool, group, VECTOR_MULTIPLES if vectors else 1).of(arrays.from_ints([1], 4))


def _outside(group: Group, pool: Pool, curve: Curve) -> None:
    from snarkcuda.cpu.subgroup_vector import first_outside_subgroup

    first_outside_subgroup(curve, group, _generator(group), 0, 1)


def _columns(group: Group, pool: Pool, curve: Curve) -> None:
    from snarkcuda.circuits.columns import by_column
    from snarkcuda.cpu.affine import differences, leave_montgomery
    from snarkcuda.cpu.sparse_sums import Summand, column_sums
    from snarkcuda.groth16.coefficients import key_coefficients

    x, point = _square(curve).a, _generator(group)
    column_sums(pool, group, 3, [Summand(by_column(x, 3), x.values, point)], long=0)
    if group == curve.g1:
        leave_montgomery(pool, curve.fq, differences(pool, group, point, point))
        key_coefficients(_square(curve))


# --- CUDA -------------------------------------------------------------------------------------


def _slices(pool: Pool, curve: Curve) -> None:
    from snarkcuda.cpu.matvec import group_by_row
    from snarkcuda.groth16.keys import COEFFICIENT
    from snarkcuda.kernels.matvec_plan import sliced

    sliced(group_by_row(curve.fr, 1, 1, np.zeros(1, dtype=COEFFICIENT)))


def _weights(group: Group, pool: Pool, curve: Curve) -> None:
    from snarkcuda.kernels.msm import weighted
    from snarkcuda.kernels.msm_plan import msm_shape

    shape = msm_shape(curve.fr, 1, window=8)
    rows = np.zeros((1 + shape.rows, 4 * group.field.words), dtype=np.uint64)
    weighted(group, shape, rows)


def _device_kernel(label: str, architecture: tuple[int, int], pool: Pool, curve: Curve) -> None:
    from snarkcuda.kernels.catalog import proof_kernels
    from snarkcuda.kernels.compiling import compiled

    (kernel,) = (kernel for kernel in proof_kernels(curve) if kernel.label == label)
    compiled(kernel, architecture)
