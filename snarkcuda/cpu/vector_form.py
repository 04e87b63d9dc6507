"""Elements between the Montgomery forms of `Element` (R = 2^(64n)) and `Vector` (R = 2^(52·L)).

    x·R₆₄  ──×  R₅₂²/R₆₄, a product over R₅₂──▶  x·R₅₂

    x·R₅₂  ──×  R₆₄,       a product over R₅₂──▶  x·R₆₄

Zero stays the number 0, so that infinity stays all zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from snarkcuda.cpu.pool import Pool, claim
from snarkcuda.field import arrays, ifma
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.params import Field, PrimeField, prime_of
from snarkcuda.field.vector import reduced
from snarkcuda.field.vector_memory import broadcast_vector, load_vector, store_vector
from snarkcuda.field.vector_rows import lane_count
from snarkcuda.field.vector_type import LANES
from snarkcuda.jit import formula, kernel

_CHUNK = 1 << 10  # vectors of one task


def vector_form_factor(field: PrimeField) -> int:
    """R₅₂²/R₆₄ mod p: what a product over R₅₂ takes from Montgomery to vector form."""
    return ifma.radix(field) ** 2 * pow(field.montgomery, -1, field.modulus) % field.modulus


def to_vector_form(pool: Pool, field: PrimeField, elements: NDArray[Any]) -> NDArray[np.uint8]:
    """Packed elements in Montgomery form as packed elements in vector form, at most 2p.

    Args:
        pool: the threads to use.
        field: the prime field of the elements (of the coefficients of points).
        elements: an array of them, perhaps unaligned and read-only.
    """
    source = arrays.packed(elements)
    size = 8 * field.limbs
    out = arrays.aligned_bytes(len(source))
    constant = arrays.from_ints([vector_form_factor(field)], field.limbs)
    whole = len(source) // (size * LANES)
    pool.run(_convert, -(-whole // _CHUNK), field, source, constant, whole, out)
    rest = source[whole * size * LANES :]
    if len(rest):
        last = np.zeros(size * LANES, dtype=np.uint8)
        last[: len(rest)] = rest
        converted = np.empty_like(last)
        pool.run(_convert, 1, field, arrays.packed(last), constant, 1, converted)
        out[whole * size * LANES :] = converted[: len(rest)]
    out.flags.writeable = False
    return out


def leaving_constant(field: Field) -> U64Array:
    """What `leave_vector_form` multiplies by: one element of the field of coordinates."""
    prime = prime_of(field)
    return arrays.from_ints(
        [prime.montgomery % prime.modulus, *[0] * (field.level - 1)], prime.limbs
    )


@formula
def leave_vector_form(F: Any, elements: Any, n: int, leaving: Any) -> None:
    """n elements in vector form become Montgomery, R = 2^(64n), in place.

    Whole vectors are read and written: there must be room for a multiple of the lanes. `Bundles`
    are in Montgomery form, where R is 1, and stay what they are.
    """
    factor = broadcast_vector(F, leaving, 0)
    for at in range(0, n, lane_count(F)):
        store_vector(F, elements, at, reduced(load_vector(F, elements, at) * factor))


@kernel
def _convert(tasks: Any, F: Any, source: Any, constant: Any, n: int, out: Any) -> None:
    factor = broadcast_vector(F, constant, 0)
    task = claim(tasks)
    while task >= 0:
        for v in range(task * _CHUNK, min(n, (task + 1) * _CHUNK)):
            store_vector(F, out, LANES * v, load_vector(F, source, LANES * v) * factor)
        task = claim(tasks)
