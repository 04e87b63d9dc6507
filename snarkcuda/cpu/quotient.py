"""h: a, b, c carried to the coset, and a·b − c there, as the scalars of circom's H query.

On vectors the products are over R₅₂ while the data is in the form of R₆₄:

    (a·R₆₄)·(b·R₆₄)/R₅₂ − (c·R₆₄)·R₆₄/R₅₂ = h·R₆₄²/R₅₂
    h·R₆₄²/R₅₂ · R₅₂²/R₆₄² /R₅₂ = h
"""

from __future__ import annotations

from typing import Any

import numpy as np

from snarkcuda.cpu import ntt
from snarkcuda.cpu.ntt_vector import VectorTables
from snarkcuda.cpu.pool import Pool, Stop, claim
from snarkcuda.field import arrays, ifma
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.element import canonical_one, load, one, store
from snarkcuda.field.params import PrimeField
from snarkcuda.field.vector import reduced
from snarkcuda.field.vector_memory import broadcast_vector, load_vector, store_vector
from snarkcuda.field.vector_type import LANES
from snarkcuda.field.words import mul_sub
from snarkcuda.jit import kernel

_CHUNK = 1 << 10  # elements of one task


def coset_quotient(
    pool: Pool, tables: ntt.Tables | VectorTables, abc: U64Array, stop: Stop | None = None
) -> U64Array:
    """h of a, b, c on the domain: three inverse and three forward transforms, a product.

    Args:
        pool: the threads to use.
        tables: those of the domain.
        abc: uint64 (3, n, limbs), Montgomery; overwritten.
        stop: ends the work early with `Cancelled`.

    Returns:
        uint64 (n, limbs), canonical.
    """
    ntt.to_coset(pool, tables, abc, stop)
    if isinstance(tables, VectorTables):
        return quotient_scalars(pool, tables.field, abc, True, stop)
    return quotient_scalars(pool, tables.domain.field, abc, False, stop)


def quotient_scalars(
    pool: Pool, field: PrimeField, abc: U64Array, vectors: bool = False, stop: Stop | None = None
) -> U64Array:
    """a·b − c: uint64 (n, limbs), canonical.

    Args:
        pool: the threads to use.
        field: the scalar field.
        abc: uint64 (3, n, limbs), Montgomery, evaluations on the coset.
        vectors: eight at a time; n is then a multiple of the lanes.
        stop: ends the work early with `Cancelled`.
    """
    h = np.empty(abc.shape[1:], dtype=np.uint64)
    n_tasks = -(-len(h) // _CHUNK)
    if vectors:
        p, over = field.modulus, pow(field.montgomery, -2, field.modulus)
        raw = [field.montgomery % p, ifma.radix(field) ** 2 * over % p]
        constants = arrays.from_ints(raw, field.limbs)
        flat = abc.reshape(-1, field.limbs)
        pool.run(_quotient_vectors, n_tasks, field, flat, constants, h, stop=stop)
    else:
        pool.run(_quotient, n_tasks, field, abc, h, stop=stop)
    return h


@kernel
def _quotient(tasks: Any, F: Any, abc: Any, h: Any) -> None:
    n = h.shape[0]
    task = claim(tasks)
    while task >= 0:
        for i in range(task * _CHUNK, min(n, (task + 1) * _CHUNK)):
            a, b, c = load(F, abc, i), load(F, abc, n + i), load(F, abc, 2 * n + i)
            store(F, h, i, mul_sub(a, b, c, one(F)) * canonical_one(F))
        task = claim(tasks)


@kernel
def _quotient_vectors(tasks: Any, F: Any, abc: Any, constants: Any, h: Any) -> None:
    n = h.shape[0]
    over, leaving = broadcast_vector(F, constants, 0), broadcast_vector(F, constants, 1)
    task = claim(tasks)
    while task >= 0:
        for i in range(task * _CHUNK, min(n, (task + 1) * _CHUNK), LANES):
            a, b = load_vector(F, abc, i), load_vector(F, abc, n + i)
            c = load_vector(F, abc, 2 * n + i)
            store_vector(F, h, i, reduced(mul_sub(a, b, c, over) * leaving))
        task = claim(tasks)
