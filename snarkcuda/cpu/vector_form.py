"""Elements between the Montgomery forms of `Element` (R = 2^(64n)) and `Vector` (R = 2^(52·L)).

    x·R₆₄  ──×  R₅₂²/R₆₄, a product over R₅₂──▶  x·R₅₂

Zero stays the number 0, so that infinity stays all zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from snarkcuda.cpu.pool import Pool, claim
from snarkcuda.field import arrays, ifma
from snarkcuda.field.params import PrimeField
from snarkcuda.field.vector_memory import broadcast_vector, load_vector, store_vector
from snarkcuda.field.vector_type import LANES
from snarkcuda.jit import kernel

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
    out = np.empty(len(source), dtype=np.uint8)
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


@kernel
def _convert(tasks: Any, F: Any, source: Any, constant: Any, n: int, out: Any) -> None:
    factor = broadcast_vector(F, constant, 0)
    task = claim(tasks)
    while task >= 0:
        for v in range(task * _CHUNK, min(n, (task + 1) * _CHUNK)):
            store_vector(F, out, LANES * v, load_vector(F, source, LANES * v) * factor)
        task = claim(tasks)
