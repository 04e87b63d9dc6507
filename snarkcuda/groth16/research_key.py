"""A key from toxic waste that this program makes and forgets: for research, never for real use.

    n rows (`R1cs.domain_size`): the constraints, then A[n_constraints + s, s] = 1 for s ≤ n_public
    A_i(τ) = Σ_j A[j, i]·L_j(τ), and so B_i, C_i           L the Lagrange basis of the domain
    a_query, b_g1_query, b_g2_query = [A_i(τ)]₁, [B_i(τ)]₁, [B_i(τ)]₂
    ic, l_query = [(β·A_i + α·B_i + C_i)(τ)/γ]₁ and /δ
    h_query[i] = [(τⁿ − 1)/(gⁿ − 1) · L_i(τ/g) / δ]₁       g the coset shift (`cpu.ntt.Domain`)

With g a primitive 2n-th root of unity, h_query[i] is [M_{2i+1}(τ)/δ]₁, M the Lagrange basis of the
domain of twice the size: snarkjs's H.

α, β, γ, δ and τ exist as Python integers while a key is made. Python cannot wipe memory, so whoever
ran the setup might have kept them and can then forge proofs: the key says so (`is_research`).

Source: Groth, eprint 2016/260, §3.2; the rows for public wires: Groth and Maller, eprint 2017/540,
§5. The naive twin is `setup` in `tests/naive_groth16.py`.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

from snarkcuda.circuits.columns import by_column
from snarkcuda.circuits.r1cs import R1cs, check_size
from snarkcuda.cpu.fixed_base import Multiples
from snarkcuda.cpu.lagrange import lagrange_basis
from snarkcuda.cpu.ntt import domain_of_size
from snarkcuda.cpu.pool import Pool
from snarkcuda.cpu.wire_values import wire_values
from snarkcuda.curve.params import Curve, Group
from snarkcuda.curve.points import encode, linear_combination
from snarkcuda.field.arrays import U64Array, from_ints
from snarkcuda.groth16.coefficients import key_coefficients
from snarkcuda.groth16.keys import ProvingKey, VerifyingKey
from snarkcuda.groth16.timeline import Timeline


@dataclass(frozen=True)
class ToxicWaste:
    """The five secrets, canonical and not 0. Never stored, never shown."""

    alpha: int
    beta: int
    gamma: int
    delta: int
    tau: int

    def __repr__(self) -> str:
        return "ToxicWaste(…)"


def toxic_waste(curve: Curve, n: int, seed: bytes | None = None) -> ToxicWaste:
    """Fresh secrets from the system, or, for tests, those of a seed.

    τ is outside the domain of size n and its coset, where the Lagrange bases divide by zero.
    """
    p, counter = curve.fr.modulus, 0

    def draw() -> int:
        nonlocal counter
        if seed is None:
            return secrets.randbelow(p)
        counter += 1
        text = b"snarkcuda toxic waste %d " % counter + curve.name.encode() + b" " + seed
        return int.from_bytes(hashlib.shake_256(text).digest(64), "little") % p

    domain = domain_of_size(curve.fr, n)
    bad_for_tau = {1, pow(domain.shift, n, p)}
    while True:
        waste = ToxicWaste(draw(), draw(), draw(), draw(), draw())
        if all(vars(waste).values()) and pow(waste.tau, n, p) not in bad_for_tau:
            return waste


def research_key(
    r1cs: R1cs, pool: Pool, timeline: Timeline, seed: bytes | None = None
) -> ProvingKey:
    """Make a proving key for a circuit, with the verifying key inside.

    Args:
        r1cs: the circuit.
        pool: the threads to use.
        timeline: receives the stages.
        seed: makes the key reproducible, for tests; whoever knows it can forge.

    Raises:
        FormatError: see `check_size`.
    """
    check_size(r1cs)
    return key_of_waste(r1cs, toxic_waste(r1cs.curve, r1cs.domain_size, seed), pool, timeline)


def key_of_waste(
    r1cs: R1cs,
    waste: ToxicWaste,
    pool: Pool,
    timeline: Timeline,
    two_adicity: int | None = None,
) -> ProvingKey:
    """The key of known secrets, for `research_key`; tests lower the two-adicity to reach the
    quotient's edge case.
    """
    curve, n = r1cs.curve, r1cs.domain_size
    fr, g1, g2, p = curve.fr, curve.g1, curve.g2, curve.fr.modulus
    over_delta = pow(waste.delta, -1, p)
    with timeline.stage("group by wire"):
        matrices = (r1cs.a, r1cs.b, r1cs.c)
        columns = [pool.call(by_column, matrix, r1cs.n_wires) for matrix in matrices]
    with timeline.stage("Lagrange values"):
        domain = domain_of_size(fr, n, two_adicity)
        basis = lagrange_basis(pool, fr, domain.log_n, waste.tau)
        vanishing = pow(waste.tau, n, p) - 1
        factor = vanishing * pow(pow(domain.shift, n, p) - 1, -1, p) * over_delta % p
        on_coset = waste.tau * pow(domain.shift, -1, p) % p
        h = lagrange_basis(pool, fr, domain.log_n, on_coset, factor, canonical=True)
    with timeline.stage("A, B, C at tau"):
        over = (pow(waste.gamma, -1, p), over_delta)
        constants = [fr.to_montgomery(k) for k in (waste.alpha, waste.beta, *over)]
        a, b, mixed = wire_values(pool, r1cs, columns, basis, from_ints(constants, 4))
    first_private = r1cs.n_public + 1
    with timeline.stage("tables of multiples"):
        in_g1 = Multiples(pool, g1, 4 * r1cs.n_wires)
        in_g2 = Multiples(pool, g2, r1cs.n_wires)
    queries = {}
    for name, table, scalars in (
        ("A query (G1)", in_g1, a),
        ("B1 query (G1)", in_g1, b),
        ("B2 query (G2)", in_g2, b),
        ("IC (G1)", in_g1, mixed[:first_private]),
        ("L query (G1)", in_g1, mixed[first_private:]),
        ("H query (G1)", in_g1, h),
    ):
        with timeline.stage(name):
            queries[name] = table.of(scalars)
    with timeline.stage("coefficients"):
        coefficients = pool.call(key_coefficients, r1cs)
    verifying_key = VerifyingKey(
        curve,
        alpha_g1=_times_generator(g1, waste.alpha),
        beta_g2=_times_generator(g2, waste.beta),
        gamma_g2=_times_generator(g2, waste.gamma),
        delta_g2=_times_generator(g2, waste.delta),
        ic=queries["IC (G1)"],
        is_research=True,
        source=f"research key of {r1cs.source}",
    )
    return ProvingKey(
        curve,
        r1cs.n_wires,
        r1cs.n_public,
        n,
        beta_g1=_times_generator(g1, waste.beta),
        delta_g1=_times_generator(g1, waste.delta),
        verifying_key=verifying_key,
        coefficients=coefficients,
        a_query=queries["A query (G1)"],
        b_g1_query=queries["B1 query (G1)"],
        b_g2_query=queries["B2 query (G2)"],
        l_query=queries["L query (G1)"],
        h_query=queries["H query (G1)"],
        source=verifying_key.source,
    )


def _times_generator(group: Group, k: int) -> U64Array:
    return linear_combination(group, [encode(group, [group.generator])[0]], [k])
