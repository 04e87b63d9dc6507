"""Number-theoretic transforms without a bit-reversal pass, and the domain they run over.

    natural ──DIF, roots ω⁻¹──▶ bit-reversed ──× scale──▶ bit-reversed ──DIT, roots ω──▶ natural

Evaluations on the domain {ωⁱ} become evaluations on the coset {g·ωⁱ}: the inverse transform leaves
the coefficients bit-reversed, where each is multiplied by gⁱ/n (`scale` is stored in that order),
and the forward transform takes them from there. Several polynomials run side by side as rows of one
array.

Stages whose butterflies span more than a block run one after another over the whole array; the last
(first) log_block stages run block by block, each block staying in the cache:

    stage of span n       x[0] ↔ x[n/2] …        whole array, one pass a stage
    …
    stages of span ≤ 2^log_block                  one pass for all of them

Sources: Cooley and Tukey 1965; Gentleman and Sande 1966. The naive twin is Horner's rule in
`tests/cpu/test_ntt.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from snarkcuda.cpu.ntt_vector import (
    MIN_LOG_N,
    VectorTables,
    to_coset_vectors,
    vector_tables,
)
from snarkcuda.cpu.pool import Pool, Stop, claim
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.element import load, store
from snarkcuda.field.params import PrimeField
from snarkcuda.jit import formula, kernel

_LOG_BLOCK = 12  # 4,096 elements of 32 bytes: a block stays in a core's second-level cache
_LOG_CHUNK = 11  # butterflies of one task in a whole-array stage


@dataclass(frozen=True)
class Domain:
    """The 2^log_n-th roots of unity, and the coset on which quotients are evaluated.

    Attributes:
        field: the scalar field.
        log_n: log2 of the size.
        two_adicity: the field's, or less; tests lower it to reach a domain of full two-adicity.
    """

    field: PrimeField
    log_n: int
    two_adicity: int

    @property
    def n(self) -> int:
        """The number of points."""
        return 1 << self.log_n

    @cached_property
    def root(self) -> int:
        """ω, a primitive n-th root of unity."""
        return self.field.root_of_unity(self.log_n)

    @cached_property
    def shift(self) -> int:
        """g: a primitive 2n-th root of unity, so that gⁿ = −1 and the coset is the odd powers of g.

        Where the field has none (the domain has the full two-adicity) it is the square of the least
        non-residue, 25: what snarkjs uses.
        """
        if self.log_n < self.two_adicity:
            return self.field.root_of_unity(self.log_n + 1)
        return self.field.non_residue**2


@dataclass(frozen=True)
class Tables:
    """Powers that the transforms of one domain read: Montgomery, uint64 (…, limbs).

    Attributes:
        domain: the domain.
        roots, inverse_roots: ωⁱ and ω⁻ⁱ, i < n/2.
        scale: gⁱ/n at the bit reversal of i, i < n.
    """

    domain: Domain
    roots: U64Array
    inverse_roots: U64Array
    scale: U64Array


def domain_of_size(field: PrimeField, n: int, two_adicity: int | None = None) -> Domain:
    """The domain with n points, n a power of two."""
    adicity = field.two_adicity if two_adicity is None else two_adicity
    return Domain(field, n.bit_length() - 1, adicity)


def tables(pool: Pool, domain: Domain, vectors: bool = False) -> Tables | VectorTables:
    """Compute a domain's tables, once for each key; for `ntt_vector`, if asked and it can."""
    if vectors and domain.log_n >= MIN_LOG_N:
        return vector_tables(pool, domain.field, domain.log_n, domain.root, domain.shift)
    p = domain.field.modulus
    half = domain.n // 2
    over_n = pow(domain.n, -1, p)
    return Tables(
        domain,
        _powers(pool, domain.field, domain.root, 1, half, 0),
        _powers(pool, domain.field, pow(domain.root, -1, p), 1, half, 0),
        _powers(pool, domain.field, domain.shift, over_n, domain.n, domain.log_n),
    )


def _powers(
    pool: Pool, field: PrimeField, base: int, factor: int, n: int, reversed_bits: int
) -> U64Array:
    """factor·baseⁱ for i < n; at the bit reversal of i if `reversed_bits`."""
    chunk = 1 << _LOG_BLOCK
    n_tasks = -(-n // chunk)
    step = pow(base, chunk, field.modulus)
    starts, value = [], factor
    for _ in range(n_tasks):
        starts.append(field.to_montgomery(value))
        value = value * step % field.modulus
    table = np.empty((n, field.limbs), dtype=np.uint64)
    first = arrays.from_ints(starts, field.limbs)
    ratio = arrays.from_ints([field.to_montgomery(base)], field.limbs)
    pool.run(_fill_powers, n_tasks, field, first, ratio, reversed_bits, table)
    return table


def to_coset(
    pool: Pool, tables: Tables | VectorTables, x: U64Array, stop: Stop | None = None
) -> None:
    """Replace evaluations on the domain by evaluations on its coset, in place.

    Args:
        pool: the threads to use.
        tables: those of the domain.
        x: uint64 (k, n, limbs), k polynomials side by side, Montgomery.
        stop: ends the work early with `Cancelled`; x is then garbage.
    """
    if isinstance(tables, VectorTables):
        to_coset_vectors(pool, tables, x, stop)
        return
    field, log_n = tables.domain.field, tables.domain.log_n
    k = x.shape[0]
    log_block = min(_LOG_BLOCK, log_n)
    n_blocks = k << (log_n - log_block)
    butterflies = k << max(0, log_n - 1 - _LOG_CHUNK)
    flat = x.reshape(-1, field.limbs)
    for log_span in range(log_n, log_block, -1):
        pool.run(
            _dif_stage, butterflies, field, flat, tables.inverse_roots, log_n, log_span, stop=stop
        )
    pool.run(_dif_blocks, n_blocks, field, flat, tables.inverse_roots, log_n, log_block, stop=stop)
    pool.run(_scale_blocks, n_blocks, field, flat, tables.scale, log_n, log_block, stop=stop)
    pool.run(_dit_blocks, n_blocks, field, flat, tables.roots, log_n, log_block, stop=stop)
    for log_span in range(log_block + 1, log_n + 1):
        pool.run(_dit_stage, butterflies, field, flat, tables.roots, log_n, log_span, stop=stop)


# --- kernels ----------------------------------------------------------------------------------


@formula
def _reverse(index: int, bits: int) -> int:
    """The lowest `bits` bits of index in reverse order."""
    result = 0
    for _ in range(bits):
        result = (result << 1) | (index & 1)
        index >>= 1
    return result


@kernel
def _fill_powers(
    tasks: Any, F: Any, starts: Any, ratio: Any, reversed_bits: int, table: Any
) -> None:
    n = table.shape[0]
    step = load(F, ratio, 0)
    task = claim(tasks)
    while task >= 0:
        value = load(F, starts, task)
        for i in range(task << _LOG_BLOCK, min(n, (task + 1) << _LOG_BLOCK)):
            store(F, table, _reverse(i, reversed_bits) if reversed_bits > 0 else i, value)
            value = value * step
        task = claim(tasks)


@formula
def _dif(F: Any, x: Any, low: int, span: int, roots: Any, root: int) -> None:
    """(u, v) → (u + v, (u − v)·ω⁻ʲ)."""
    u, v = load(F, x, low), load(F, x, low + span)
    store(F, x, low, u + v)
    store(F, x, low + span, (u - v) * load(F, roots, root))


@formula
def _dit(F: Any, x: Any, low: int, span: int, roots: Any, root: int) -> None:
    """(u, v) → (u + v·ωʲ, u − v·ωʲ)."""
    u, v = load(F, x, low), load(F, x, low + span) * load(F, roots, root)
    store(F, x, low, u + v)
    store(F, x, low + span, u - v)


@kernel
def _dif_stage(tasks: Any, F: Any, x: Any, roots: Any, log_n: int, log_span: int) -> None:
    span = 1 << (log_span - 1)
    task = claim(tasks)
    while task >= 0:
        for b in range(task << _LOG_CHUNK, (task + 1) << _LOG_CHUNK):
            j = b & (span - 1)
            low = ((b >> (log_span - 1)) << log_span) + j
            _dif(F, x, low, span, roots, j << (log_n - log_span))
        task = claim(tasks)


@kernel
def _dit_stage(tasks: Any, F: Any, x: Any, roots: Any, log_n: int, log_span: int) -> None:
    span = 1 << (log_span - 1)
    task = claim(tasks)
    while task >= 0:
        for b in range(task << _LOG_CHUNK, (task + 1) << _LOG_CHUNK):
            j = b & (span - 1)
            low = ((b >> (log_span - 1)) << log_span) + j
            _dit(F, x, low, span, roots, j << (log_n - log_span))
        task = claim(tasks)


@kernel
def _dif_blocks(tasks: Any, F: Any, x: Any, roots: Any, log_n: int, log_block: int) -> None:
    task = claim(tasks)
    while task >= 0:
        base = task << log_block
        for log_span in range(log_block, 0, -1):
            span = 1 << (log_span - 1)
            for start in range(base, base + (1 << log_block), 2 * span):
                for j in range(span):
                    _dif(F, x, start + j, span, roots, j << (log_n - log_span))
        task = claim(tasks)


@kernel
def _dit_blocks(tasks: Any, F: Any, x: Any, roots: Any, log_n: int, log_block: int) -> None:
    task = claim(tasks)
    while task >= 0:
        base = task << log_block
        for log_span in range(1, log_block + 1):
            span = 1 << (log_span - 1)
            for start in range(base, base + (1 << log_block), 2 * span):
                for j in range(span):
                    _dit(F, x, start + j, span, roots, j << (log_n - log_span))
        task = claim(tasks)


@kernel
def _scale_blocks(tasks: Any, F: Any, x: Any, scale: Any, log_n: int, log_block: int) -> None:
    mask = (1 << log_n) - 1
    task = claim(tasks)
    while task >= 0:
        for i in range(task << log_block, (task + 1) << log_block):
            store(F, x, i, load(F, x, i) * load(F, scale, i & mask))
        task = claim(tasks)
