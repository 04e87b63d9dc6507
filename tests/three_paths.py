"""Operations of a proof as cases that any process can compute: the same inputs from the same case.

    definition      an independent figure: discrete logs, evaluation at a point, exponents
    scalar path     in a process without AVX (`NUMBA_ENABLE_AVX=0`), which hands back digests
    vector path     in this process, where the processor has AVX-512 IFMA

`check` compares all three. Everything that knows the signatures of the kernels' entries is here.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np

from snarkcuda.circuits.random_sparse import random_sparse
from snarkcuda.circuits.sha_like import sha_like
from snarkcuda.circuits.synthetic import draw_elements
from snarkcuda.cpu import ntt
from snarkcuda.cpu.backend import CpuBackend
from snarkcuda.cpu.bucket_tree import GROUP
from snarkcuda.cpu.digits import sorted_digits
from snarkcuda.cpu.msm import msm
from snarkcuda.cpu.pool import Pool
from snarkcuda.cpu.vector_form import to_vector_form
from snarkcuda.curve.params import BN254, CURVES, Group
from snarkcuda.field.arrays import U64Array, from_ints, packed, to_int, to_ints
from snarkcuda.field.params import prime_of
from snarkcuda.field.vector_type import has_vectors
from snarkcuda.groth16.keys import Proof
from snarkcuda.groth16.prove import prove_start
from snarkcuda.groth16.research_key import key_of_waste, toxic_waste
from snarkcuda.groth16.timeline import Timeline
from tests import naive_groth16 as twin
from tests.circuits.naive_circuit import lists

ROOT = Path(__file__).parents[1]
CURVE = {curve.name: curve for curve in CURVES}
GROUP_NAMED = {group.name: group for curve in CURVES for group in (curve.g1, curve.g2)}


class Case(Protocol):
    """What `check` asks of a case."""

    def outcome(self, pool: Pool, vectors: bool) -> U64Array:
        """The product's result on one path."""

    def judge(self, found: U64Array) -> None:
        """Compare it with the definition."""


def check(pool: Pool, cases: Sequence[Case]) -> None:
    """Each case by the definition and on every path that there is; they agree."""
    for case, scalar in zip(cases, _without_avx(pool.threads, cases), strict=True):
        found = case.outcome(pool, has_vectors())
        case.judge(found)
        assert _digest(found) == scalar, case


def _digest(array: U64Array) -> str:
    return hashlib.sha256(array.tobytes()).hexdigest()


def _without_avx(threads: int, cases: Sequence[Case]) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", "from tests.three_paths import child; child()"],
        input=pickle.dumps((threads, list(cases))),
        env={**os.environ, "NUMBA_ENABLE_AVX": "0"},
        cwd=ROOT,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().split()


def child() -> None:
    """The process of `_without_avx`: a digest for each case on stdin."""
    assert not has_vectors()
    threads, cases = pickle.load(sys.stdin.buffer)
    with Pool(threads) as pool:
        for case in cases:
            print(_digest(case.outcome(pool, False)))


# --- sums of points ---------------------------------------------------------------------------


@cache
def exponents(group: Group) -> list[int]:
    """Of the points that cases choose from: infinity, small ones and their opposites, any."""
    rng = random.Random(group.name)
    small = [k for i in range(1, 32) for k in (i, -i)]
    return [0, *small, *(rng.randrange(group.order) for _ in range(192))]


@cache
def table(group: Group) -> U64Array:
    """The points with those exponents, by doubling and adding."""
    return twin.times_generator(group, exponents(group))


POINTS: dict[str, Callable[[int, random.Random], int]] = {
    "any": lambda i, rng: rng.randrange(255),
    "one": lambda i, rng: 200,
    "opposites": lambda i, rng: 7 + i % 2,
    "few": lambda i, rng: rng.choice([0, 1, 2, 3, 100]),
    "mostly infinity": lambda i, rng: rng.choice([0, 0, 0, rng.randrange(255)]),
    "infinity": lambda i, rng: 0,
}
SCALARS: dict[str, Callable[[int, int, random.Random], int]] = {
    "0": lambda r, i, rng: 0,
    "1": lambda r, i, rng: 1,
    "r - 1": lambda r, i, rng: r - 1,
    "equal": lambda r, i, rng: r // 3,
    "bits": lambda r, i, rng: rng.randrange(2),
    "bits and others": lambda r, i, rng: rng.choice([0, 0, 1, 1, r - 1, rng.randrange(r)]),
    "12 bits": lambda r, i, rng: rng.randrange(1 << 12),
    "groups": lambda r, i, rng: 1 + i // GROUP,  # each fills a group of `bucket_tree` exactly
    "any": lambda r, i, rng: rng.randrange(r),
}


def carries(order: int, window: int) -> list[int]:
    """Numbers whose carries begin, run on or end at every border of windows, below `order`."""
    bits = order.bit_length()
    powers = [(1 << k) + d for k in range(bits) for d in (-1, 0, 1)]
    half = 1 << (window - 1)
    digits = (half - 1, half, half + 1, 2 * half - 1)
    repeated = [sum(d << k for k in range(0, bits, window)) for d in digits]
    return [k % order for k in [*powers, *repeated, order - 1, order - 2, order // 2]]


@dataclass(frozen=True)
class Sum:
    """An MSM of n points; scalars "carries" needs a window."""

    group: str
    points: str
    scalars: str
    n: int
    window: int | None = None

    def _inputs(self) -> tuple[Group, list[int], list[int]]:
        group, rng = GROUP_NAMED[self.group], random.Random(repr(astuple(self)))
        rows = [POINTS[self.points](i, rng) for i in range(self.n)]
        if self.scalars == "carries":
            assert self.window is not None
            edges = carries(group.order, self.window)
            return group, rows, [edges[i % len(edges)] for i in range(self.n)]
        return group, rows, [SCALARS[self.scalars](group.order, i, rng) for i in range(self.n)]

    def outcome(self, pool: Pool, vectors: bool) -> U64Array:
        """Σ kᵢ·Pᵢ."""
        group, rows, scalars = self._inputs()
        points, bits = table(group)[rows], group.order.bit_length()
        values = from_ints(scalars, 4)
        digits = sorted_digits(pool, values, bits, window=self.window)
        infinite = np.packbits(~points.any(axis=tuple(range(1, points.ndim))), bitorder="little")
        form = packed(points)
        if vectors:
            form = to_vector_form(pool, prime_of(group.field), form)
        return msm(pool, group, form, digits, infinite=infinite, vectors=vectors)

    def judge(self, found: U64Array) -> None:
        """(Σ kᵢ·eᵢ)·G, eᵢ the points' exponents."""
        group, rows, scalars = self._inputs()
        logs = exponents(group)
        total = sum(k * logs[row] for k, row in zip(scalars, rows, strict=True))
        np.testing.assert_array_equal(found, twin.times_generator(group, [total])[0], repr(self))


# --- transforms ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Transform:
    """`to_coset` of 2^log_n values of a polynomial, of three side by side up to 2^13."""

    curve: str
    log_n: int
    capped: bool = False

    def _inputs(self) -> tuple[ntt.Domain, U64Array]:
        curve, n = CURVE[self.curve], 1 << self.log_n
        k = 3 if self.log_n <= 13 else 1
        x = draw_elements(curve.fr, repr(astuple(self)), "values", k * n).reshape(k, n, 4)
        x[0, 0], x[0, -1] = from_ints([curve.fr.modulus - 1], 4), 0
        adicity = self.log_n if self.capped else None
        return ntt.domain_of_size(curve.fr, n, adicity), x

    def outcome(self, pool: Pool, vectors: bool) -> U64Array:
        """The values on the coset."""
        domain, x = self._inputs()
        ntt.to_coset(pool, ntt.tables(pool, domain, vectors), x)
        return x

    def judge(self, found: U64Array) -> None:
        """The polynomials at points of the coset, from all their values on the domain.

        The transform is linear, so that words in Montgomery form can be taken as they stand.
        """
        (domain, x), curve = self._inputs(), CURVE[self.curve]
        n, p, rng = domain.n, domain.field.modulus, random.Random(repr(astuple(self)))
        shift = twin.CAPPED_SHIFT if self.capped else twin.root_of_unity(curve, 2 * n)
        for values, row in zip(x, found, strict=True):
            numbers = to_ints(values)
            for i in {rng.randrange(n), rng.randrange(n)}:
                point = shift * pow(twin.root_of_unity(curve, n), i, p) % p
                assert to_int(row[i]) == twin.value_at(curve, numbers, point), (self, i)


# --- whole proofs -------------------------------------------------------------------------------

SHAPES = {"sha_like": sha_like, "random_sparse": random_sparse}
R, S = 5, BN254.fr.modulus - 11


@dataclass(frozen=True)
class Whole:
    """A proof of a synthetic circuit, with fixed r and s, under the key of known waste."""

    curve: str
    shape: str
    n_constraints: int

    def outcome(self, pool: Pool, vectors: bool) -> U64Array:
        """Coordinates of a, b and c."""
        keys, z = _setup(self)
        with CpuBackend(pool.threads) as backend:
            resident = backend.load(keys.key, Timeline())
            assert resident.vectors == vectors, "fewer rows than resident_key.VECTOR_ROWS"
            return _flat(prove_start(backend, resident, z, R, S, Timeline()).finish())

    def judge(self, found: U64Array) -> None:
        """The twin's proof: three exponents, from polynomials by interpolation and division."""
        keys, z = _setup(self)
        expected = _flat(twin.prove(keys, to_ints(z), R, S))
        np.testing.assert_array_equal(found, expected, repr(self))


def _flat(proof: Proof) -> U64Array:
    return np.concatenate([point.reshape(-1) for point in (proof.a, proof.b, proof.c)])


@cache
def _setup(case: Whole) -> tuple[twin.Setup, U64Array]:
    """The twin's circuit, the product's key, and the assignment."""
    curve = CURVE[case.curve]
    r1cs, witness = SHAPES[case.shape](curve, case.n_constraints, "three paths")
    waste = toxic_waste(curve, r1cs.domain_size, b"three paths")
    with Pool(2) as pool:
        key = key_of_waste(r1cs, waste, pool, Timeline())
    rows = zip(*([dict(row) for row in lists(m)] for m in (r1cs.a, r1cs.b, r1cs.c)), strict=True)
    naive = twin.R1cs(case.shape, r1cs.n_wires, r1cs.n_public, tuple(rows))
    return twin.Setup(curve, naive, twin.Waste(*astuple(waste)), key), witness.values
