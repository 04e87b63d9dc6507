"""Multi-scalar multiplications over points that are used once: the path by what there is.

A prover keeps its queries in the form that its path takes (`cpu/backend.py`); setup and the checks
of a key meet each point once, as files hold it.
"""

from __future__ import annotations

from collections.abc import Sequence

from snarkcuda.cpu.digits import sorted_digits
from snarkcuda.cpu.msm import msm
from snarkcuda.cpu.pool import Pool
from snarkcuda.cpu.vector_form import to_vector_form
from snarkcuda.curve.params import Group
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.params import prime_of
from snarkcuda.field.vector_type import has_vectors

VECTOR_TERMS = 1 << 13  # with fewer, loading the vector kernels takes longer than they save


def on_vectors(n: int) -> bool:
    """Whether `msm_once` sums n terms on vectors."""
    return n >= VECTOR_TERMS and has_vectors()


def msm_once(
    pool: Pool, scalars: U64Array, scalar_bits: int, queries: Sequence[tuple[Group, U64Array]]
) -> list[U64Array]:
    """Σ kᵢ·Pᵢ for each of several queries, the scalars cut into digits once.

    Args:
        pool: the threads to use.
        scalars: uint64 (n, 4), canonical, below 2^scalar_bits.
        scalar_bits: at most 256.
        queries: a group and n affine points of it, Montgomery.

    Returns:
        for each query uint64 (2, limbs) or (2, 2, limbs): affine, Montgomery; infinity is all zero.
    """
    vectors = on_vectors(len(scalars))
    digits, sums = sorted_digits(pool, scalars, scalar_bits), []
    for group, points in queries:
        packed = arrays.packed(points)
        if vectors:
            packed = to_vector_form(pool, prime_of(group.field), packed)
        sums.append(msm(pool, group, packed, digits, vectors=vectors))
    return sums
