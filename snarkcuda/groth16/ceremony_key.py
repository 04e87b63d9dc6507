"""A key from a powers-of-tau ceremony, byte for byte what `snarkjs groth16 setup` writes.

Nobody knows τ; the ceremony's file holds [Lⱼ(τ)], [α·Lⱼ(τ)] and [β·Lⱼ(τ)], so that each point of
the key is a sum over a column of the circuit:

    a_query[i]  = Σ_j A[j, i]·[Lⱼ]₁         b_query[i] = Σ_j B[j, i]·[Lⱼ]₁ and ₂
    ic, l_query = Σ_j A[j, i]·[β·Lⱼ]₁ + B[j, i]·[α·Lⱼ]₁ + C[j, i]·[Lⱼ]₁
    h_query[i]  = [M_{2i+1}]₁, M the Lagrange basis of the domain of twice the size

with the rows of `groth16.research_key`. γ and δ are still 1: anyone can forge proofs for such a key
until somebody has contributed to it (`snarkjs zkey contribute`), which replaces δ.

Source: Bowe, Gabizon and Miers, eprint 2017/1050; snarkjs 0.7.6, src/zkey_new.js.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from snarkcuda.circuits.columns import Columns, by_column
from snarkcuda.circuits.r1cs import R1cs, check_size
from snarkcuda.cpu.point_checks import first_off_curve
from snarkcuda.cpu.pool import Pool
from snarkcuda.cpu.sparse_sums import Summand, column_sums
from snarkcuda.curve import points
from snarkcuda.curve.params import Group
from snarkcuda.errors import NotOnCurveError
from snarkcuda.field.arrays import U64Array, from_ints, zero_rows
from snarkcuda.formats.ptau import (
    ALPHA_TAU_G1,
    BETA_G2,
    BETA_TAU_G1,
    TAU_G1,
    TAU_G2,
    PowersOfTau,
    check_fits,
    odd_lagrange,
)
from snarkcuda.groth16.circuit_hash import circuit_hash
from snarkcuda.groth16.coefficients import key_coefficients
from snarkcuda.groth16.keys import ProvingKey, VerifyingKey
from snarkcuda.groth16.timeline import Timeline


def ceremony_key(r1cs: R1cs, powers: PowersOfTau, pool: Pool, timeline: Timeline) -> ProvingKey:
    """The proving key of a circuit, without contributions.

    Args:
        r1cs: the circuit.
        powers: a prepared powers-of-tau file of its curve, large enough.
        pool: the threads to use.
        timeline: receives the stages.

    Raises:
        MismatchError: another curve, or too few powers.
        NotInFieldError, NotOnCurveError: a point of the powers is not canonical, off its curve or
            infinity. Subgroups and pairings are for `snarkcuda check KEY`; that the powers are
            powers of one tau is for `snarkjs powersoftau verify`.
    """
    curve, n = r1cs.curve, r1cs.domain_size
    check_size(r1cs)
    check_fits(powers, curve, n, r1cs.source)
    log_n, g1, g2 = n.bit_length() - 1, curve.g1, curve.g2
    with timeline.stage("read powers of tau"):
        tau, alpha_tau, beta_tau = (
            powers.lagrange(section, log_n) for section in (TAU_G1, ALPHA_TAU_G1, BETA_TAU_G1)
        )
        tau_g2 = powers.lagrange(TAU_G2, log_n)
        h_query = odd_lagrange(powers, log_n, curve.fr.two_adicity)
        alpha_g1, beta_g1, beta_g2 = (
            powers.points(section, 0, 1) for section in (ALPHA_TAU_G1, BETA_TAU_G1, BETA_G2)
        )
    with timeline.stage("check powers of tau"):
        for group, name, part in (
            (g1, "alpha", alpha_g1),
            (g1, "beta", beta_g1),
            (g2, "beta", beta_g2),
            (g1, "Lagrange tau", tau),
            (g1, "Lagrange alpha tau", alpha_tau),
            (g1, "Lagrange beta tau", beta_tau),
            (g2, "Lagrange tau", tau_g2),
            (g1, "Lagrange tau (twice the size)", h_query),
        ):
            _check_points(pool, group, part, f"{powers.source}: {name}")
    with timeline.stage("group by wire"):
        a, b, c = (
            (pool.call(by_column, matrix, r1cs.n_wires), matrix.values)
            for matrix in (r1cs.a, r1cs.b, r1cs.c)
        )
        public = _public_rows(r1cs)
    queries = {}
    for name, group, summands in (
        ("A query (G1)", g1, [Summand(*a, tau), Summand(*public, tau)]),
        ("B1 query (G1)", g1, [Summand(*b, tau)]),
        ("B2 query (G2)", g2, [Summand(*b, tau_g2)]),
        (
            "IC and L query (G1)",
            g1,
            [
                Summand(*a, beta_tau),
                Summand(*public, beta_tau),
                Summand(*b, alpha_tau),
                Summand(*c, tau),
            ],
        ),
    ):
        with timeline.stage(name):
            queries[name] = column_sums(pool, group, r1cs.n_wires, summands)
    mixed, first_private = queries["IC and L query (G1)"], r1cs.n_public + 1
    with timeline.stage("coefficients"):
        coefficients = pool.call(key_coefficients, r1cs)
    generator_g1, generator_g2 = (points.encode(g, [g.generator])[0] for g in (g1, g2))
    source = f"key of {r1cs.source}"
    verifying_key = VerifyingKey(
        curve,
        alpha_g1=alpha_g1[0],
        beta_g2=beta_g2[0],
        gamma_g2=generator_g2,
        delta_g2=generator_g2,
        ic=mixed[:first_private],
        source=source,
    )
    key = ProvingKey(
        curve,
        r1cs.n_wires,
        r1cs.n_public,
        n,
        beta_g1=beta_g1[0],
        delta_g1=generator_g1,
        verifying_key=verifying_key,
        coefficients=coefficients,
        a_query=queries["A query (G1)"],
        b_g1_query=queries["B1 query (G1)"],
        b_g2_query=queries["B2 query (G2)"],
        l_query=mixed[first_private:],
        h_query=h_query,
        source=source,
    )
    with timeline.stage("circuit hash"):
        return replace(key, circuit_hash=circuit_hash(pool, key, powers))


def _public_rows(r1cs: R1cs) -> tuple[Columns, U64Array]:
    """A's rows for the constant and the public wires: A[n_constraints + s, s] = 1."""
    count = np.arange(r1cs.n_public + 1)
    start = np.minimum(np.arange(r1cs.n_wires + 1), len(count))
    columns = Columns(start, (r1cs.n_constraints + count).astype(np.uint32), count)
    return columns, from_ints([1] * len(count), r1cs.curve.fr.limbs)


def _check_points(pool: Pool, group: Group, part: U64Array, name: str) -> None:
    """On the curve, and none infinite: τ is no root of unity and no secret is 0."""
    index, what = first_off_curve(pool, group, part), f"is not on {group.name}"
    if index is None:
        index, what = next(zero_rows(part), None), "is infinity"
    if index is not None:
        raise NotOnCurveError(
            f"{name}: point {index} {what}: the file is damaged; download it again"
        )
