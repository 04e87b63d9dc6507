"""Everything that can be told of a proving key from the key alone.

    points       each on its curve and in its subgroup; none infinite in the header, in IC and H,
                 and in A for the constant and the public wires
    β            e([β]₁, g₂) = e(g₁, [β]₂)             one secret in both groups
    δ            e([δ]₁, g₂) = e(g₁, [δ]₂)
    B1 and B2    e(Σ ρᵢ·B1ᵢ, g₂) = e(g₁, Σ ρᵢ·B2ᵢ)     ρᵢ random, 128 bits: if a single pair differs
                                                       this holds with probability ≤ 2^-128

A key that passes makes proofs within the subgroups: there A and B are uniform whatever the witness,
and C is what the equation says, which `Prover` checks. Not shown: that A, B, L, H and IC are those
of the circuit and of one τ, α and β, that anybody contributed to the key, or that its makers forgot
their secrets. The first two need the circuit and the ceremony's file: `snarkjs zkey verify
circuit.r1cs pot.ptau circuit.zkey`. Proofs with the key of another circuit do not verify.

Random combinations: Bellare, Garay and Rabin, EUROCRYPT 1998.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from snarkcuda.cpu import point_checks
from snarkcuda.cpu.digits import SCALAR_LIMBS
from snarkcuda.cpu.msm_once import msm_once
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve import points
from snarkcuda.curve.pairing import is_one, pairing_product
from snarkcuda.curve.params import Curve, Group
from snarkcuda.errors import MismatchError, NotOnCurveError
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array
from snarkcuda.formats.zkey_header import HEADER_POINTS
from snarkcuda.groth16.checks import check_point
from snarkcuda.groth16.keys import ProvingKey
from snarkcuda.groth16.timeline import Timeline

_CHUNK = 1 << 9  # points of one call: 45 ms in G2 without vectors, so that Ctrl-C is prompt
_BLOCK = 1 << 20  # pairs of B1 and B2 combined at a time: bounds the temporary memory
_COEFFICIENT_BITS = 128


@dataclass(frozen=True)
class KeyCounts:
    """What was looked at: points, those of the header included, and how many are infinity."""

    points: int
    infinity: dict[str, int]  # by query


def check_key(
    pool: Pool,
    key: ProvingKey,
    timeline: Timeline | None = None,
    share: Callable[[float], None] = lambda _: None,
) -> KeyCounts:
    """Check every point of a key and that its parts agree, see the module.

    Args:
        pool: the threads to use.
        key: as `read_zkey` gives it or `check_proving_key` passes it: shapes and ranges are right.
        timeline: receives the stages.
        share: called, from any thread, with the share of the present query that is done.

    Raises:
        NotOnCurveError: the first bad point, by query and index.
        MismatchError: β, δ, or B1 and B2 do not agree.

    Cost: a short scalar multiplication for each point of G2, and of G1 on BLS12-381.
    """
    timeline = timeline or Timeline()
    with timeline.stage("check header points"):
        for name in HEADER_POINTS:
            group = key.curve.g2 if name.endswith("g2") else key.curve.g1
            check_point(key.curve, group, _header_point(key, name), f"{key.source}: {name}")
    _check_no_infinity(key)
    infinity = {}
    for name, query in _queries(key).items():
        with timeline.stage(f"check {name} query", query.nbytes):
            infinity[name] = _check_query(pool, key, name, query, share)
    with timeline.stage("check that β, δ and B agree", key.b_g1_query.nbytes):
        _check_agreement(pool, key)
    total = len(HEADER_POINTS) + sum(map(len, _queries(key).values()))
    return KeyCounts(total, infinity)


def _check_no_infinity(key: ProvingKey) -> None:
    """IC, H and A's public wires are never infinity: each has a Lagrange point of its own.

    The rows for public wires (`research_key`) see to IC and A, so that a key whose queries are all
    infinity, under which everything verifies, ends here.
    """
    for name, query in (
        ("IC", key.verifying_key.ic),
        ("A", key.a_query[: key.n_public + 1]),
        ("H", key.h_query),
    ):
        index = next(arrays.zero_rows(query), None)
        if index is not None:
            raise NotOnCurveError(
                f"{key.source}: point {index} of the {name} query is infinity, which no honest key "
                "has there: do not trust proofs under it"
            )


def _header_point(key: ProvingKey, name: str) -> U64Array:
    point: U64Array = getattr(key if hasattr(key, name) else key.verifying_key, name)
    return point


def _queries(key: ProvingKey) -> dict[str, U64Array]:
    return {
        "IC": key.verifying_key.ic,
        "A": key.a_query,
        "B1": key.b_g1_query,
        "B2": key.b_g2_query,
        "L": key.l_query,
        "H": key.h_query,
    }


def _check_query(
    pool: Pool, key: ProvingKey, name: str, query: U64Array, share: Callable[[float], None]
) -> int:
    """Every point of a query; returns how many are infinity."""
    curve, group = key.curve, key.curve.g2 if name == "B2" else key.curve.g1
    lock, done = threading.Lock(), 0

    def check(start: int) -> int:
        nonlocal done
        stop = min(start + _CHUNK, len(query))
        bad = _first_bad(curve, group, query, start, stop)
        if bad is not None:
            label = f"{key.source}: point {bad} of the {name} query"
            check_point(curve, group, query[bad], label, infinity_allowed=True)
            raise NotOnCurveError(f"{label} was bad, then good: the file changes while it is read")
        with lock:
            done += stop - start
            share(done / len(query))
        return sum(1 for _ in arrays.zero_rows(query[start:stop]))

    # In order, so that the first bad chunk is the one that raises.
    return sum(pool.map(check, range(0, len(query), _CHUNK)))


def _first_bad(curve: Curve, group: Group, query: U64Array, start: int, stop: int) -> int | None:
    off = points.first_off_curve(group, query, start, stop)
    # The subgroup test is for points of the curve: it looks no further than the first that is off.
    end = stop if off is None else off
    outside = point_checks.first_outside_subgroup(curve, group, query, start, end)
    return off if outside is None else outside


def _check_agreement(pool: Pool, key: ProvingKey) -> None:
    curve, vk = key.curve, key.verifying_key
    for name, in_g1, in_g2 in (
        ("beta", key.beta_g1, vk.beta_g2),
        ("delta", key.delta_g1, vk.delta_g2),
    ):
        if not _same_secret(curve, in_g1, in_g2):
            raise MismatchError(
                f"{key.source}: {name}_g1 and {name}_g2 hold different secrets: the key is "
                "damaged, or was never a key; download it or make it again"
            )
    sums = [_random_combinations(pool, key, start) for start in range(0, key.n_wires, _BLOCK)]
    ones = [1] * len(sums)
    in_g1 = points.linear_combination(curve.g1, [b1 for b1, _ in sums], ones)
    in_g2 = points.linear_combination(curve.g2, [b2 for _, b2 in sums], ones)
    if not _same_secret(curve, in_g1, in_g2):
        raise MismatchError(
            f"{key.source}: the B1 and B2 queries differ: some wire has one B in G1 and another in "
            "G2, so that proofs would not verify; the key is damaged: download it or make it again"
        )


def _same_secret(curve: Curve, in_g1: U64Array, in_g2: U64Array) -> bool:
    """Whether a·g₁ and b·g₂ have a = b: e(−a·g₁, g₂)·e(g₁, b·g₂) = 1."""
    (g1,) = points.encode(curve.g1, [curve.g1.generator])
    (g2,) = points.encode(curve.g2, [curve.g2.generator])
    minus = points.linear_combination(curve.g1, [in_g1], [-1])
    return is_one(curve, pairing_product(curve, np.stack([minus, g1]), np.stack([g2, in_g2])))


def _random_combinations(pool: Pool, key: ProvingKey, start: int) -> tuple[U64Array, U64Array]:
    """Σ ρᵢ·B1ᵢ and Σ ρᵢ·B2ᵢ over one block of wires.

    The ρᵢ are the system's randomness: who makes a key must not know them.
    """
    b1, b2 = (query[start : start + _BLOCK] for query in (key.b_g1_query, key.b_g2_query))
    rho = np.zeros((len(b1), SCALAR_LIMBS), dtype=np.uint64)
    half = _COEFFICIENT_BITS // 64
    rho[:, :half] = np.frombuffer(secrets.token_bytes(8 * half * len(b1)), "<u8").reshape(-1, half)
    queries = [(key.curve.g1, b1), (key.curve.g2, b2)]
    in_g1, in_g2 = msm_once(pool, rho, _COEFFICIENT_BITS, queries)
    return in_g1, in_g2
