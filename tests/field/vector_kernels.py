"""Kernels that run each word of `field/vector` on one vector, for `test_vector`."""

from __future__ import annotations

from typing import Any

import numpy as np

from snarkcuda.field.vector import is_null, might_be_zero, reduced, settled, shrunk, trimmed
from snarkcuda.field.vector_inverse import inverse
from snarkcuda.field.vector_memory import (
    broadcast_vector,
    gather_vector,
    limb_words,
    load_limbs,
    load_loose,
    load_square,
    load_vector,
    store_limbs,
    store_loose,
    store_square,
    store_vector,
    word_count,
)
from snarkcuda.field.vector_rows import address_of, gather_points, scatter_points
from snarkcuda.field.words import is_zero, mul_sub, one_like, select, sqr, zero_like
from snarkcuda.jit import kernel

WORDS = (
    "add",
    "sub",
    "neg",
    "mul",
    "sqr",
    "mul_sub",
    "long sums",
    "inverse",
    "one",
    "zero",
)


@kernel
def every_word(F: Any, a: Any, b: Any, c: Any, d: Any, out: Any) -> None:
    """out[8·i …] = word i of the vectors in a, b, c, d."""
    x, y = load_vector(F, a, 0), load_vector(F, b, 0)
    z, w = load_vector(F, c, 0), load_vector(F, d, 0)
    store_vector(F, out, 0, shrunk(x + y))
    store_vector(F, out, 8, shrunk(x - y))
    store_vector(F, out, 16, shrunk(-x))
    store_vector(F, out, 24, x * y)
    store_vector(F, out, 32, sqr(x))
    store_vector(F, out, 40, mul_sub(x, y, z, w))
    # Sums of which neither factor fits a product as it stands.
    p = x + y + z + w + x + y + z + w + x + y
    q = x - y - z - w - x - y - z - w - x - y
    store_vector(F, out, 48, mul_sub(p, q, p + p, sqr(q - p)))
    store_vector(F, out, 56, inverse(x))
    store_vector(F, out, 64, one_like(x))
    store_vector(F, out, 72, zero_like(x))


@kernel
def tests(F: Any, a: Any, b: Any, masks: Any, out: Any) -> None:
    """Masks of is_zero, might_be_zero, is_null; a reduced; a where b is zero, else b."""
    x, y = load_vector(F, a, 0), load_vector(F, b, 0)
    masks[0], masks[1], masks[2] = is_zero(x), might_be_zero(x), is_null(x)
    masks[3], masks[4] = is_zero(x - y), might_be_zero(x - y)
    store_vector(F, out, 0, reduced(x))
    store_vector(F, out, 8, reduced(x - y))
    store_vector(F, out, 16, select(is_zero(y), x, y))


@kernel
def loose(F: Any, a: Any, b: Any, out: Any) -> None:
    """Values that shrink from different bounds, trimmed, through squares and loose memory."""
    x, y = load_vector(F, a, 0), load_vector(F, b, 0)
    three, six, nine = x + x + x, x + x + x + x + x + x, x * y + x - y + x
    store_vector(F, out, 0, reduced(three))
    store_vector(F, out, 8, reduced(six))
    store_vector(F, out, 16, reduced(trimmed(six)))
    store_vector(F, out, 24, reduced(settled(x - y)))
    store_vector(F, out, 32, reduced(nine))
    scratch = np.empty(8 * limb_words(F), dtype=np.uint64)
    store_loose(x - y, scratch, 1)
    store_vector(F, out, 40, reduced(load_loose(x - y, scratch, 1)))
    for i in range(8):
        store_limbs(x if i % 2 == 0 else y, scratch, i)
    square = load_square(x, scratch, 0)
    store_vector(F, out, 48, square[3])
    store_square(square, scratch, 0)
    store_vector(F, out, 56, load_limbs(x, scratch, 6))


@kernel
def memory(F: Any, a: Any, codes: Any, out: Any) -> None:
    """Every way in and out: gathered, broadcast, through scratch memory, as points."""
    store_vector(F, out, 0, gather_vector(F, a, codes, 0, 1))
    store_vector(F, out, 8, broadcast_vector(F, a, 3))
    scratch = np.empty(3 * limb_words(F), dtype=np.uint64)
    x = load_vector(F, a, 0)
    store_limbs(x, scratch, 2)
    store_vector(F, out, 16, load_limbs(x, scratch, 2))
    size, rows = 16 * word_count(F), np.empty((2, 8), dtype=np.int64)
    for i in range(8):  # codes 2·row + sign
        rows[0, i] = address_of(a) + (codes[i] >> 1) * size + (codes[i] & 1)
        rows[1, i] = address_of(out[40:]) + (codes[i] >> 1) * size
    px, py = gather_points(F, rows[0], 0, 1)
    store_vector(F, out, 24, px)
    store_vector(F, out, 32, shrunk(py))
    scatter_points(F, rows[1], 0, px, shrunk(py))
