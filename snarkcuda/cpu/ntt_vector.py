"""The transforms of `cpu/ntt.py`, eight butterflies at a time.

    span ≥ 16      eight neighbouring butterflies:  u  x[low … low + 7],  v  x[low + span/2 …]
    span 8, 4, 2   64 neighbouring elements as a square of eight by eight, a row a lane: the three
                   stages are butterflies between whole vectors

The data keeps the Montgomery form of `Element`: the tables are in vector form, and a product of
x·R₆₄ with w·R₅₂ over R₅₂ is x·w·R₆₄. Between stages values are at most 2p; the last stage leaves
them below p. The last stages of the inverse transform, the scaling and the first stages of the
forward one touch the same elements of a block, and so are one pass.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from snarkcuda.cpu.pool import Pool, Stop, claim
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.params import PrimeField
from snarkcuda.field.vector import reduced, shrunk
from snarkcuda.field.vector_memory import (
    broadcast_vector,
    load_strided,
    load_vector,
    store_strided,
    store_vector,
)
from snarkcuda.field.vector_type import LANES
from snarkcuda.jit import formula, kernel

MIN_LOG_N = 6  # a square of 64 elements
_LOG_BLOCK = 12  # 4,096 elements of 32 bytes: a block stays in a core's second-level cache
_LOG_CHUNK = 11  # butterflies of one task in a whole-array stage
_SQUARE = 64


def to_coset_vectors(
    pool: Pool,
    field: PrimeField,
    log_n: int,
    roots: NDArray[Any],
    inverse_roots: NDArray[Any],
    scale: NDArray[Any],
    x: U64Array,
    stop: Stop | None = None,
) -> None:
    """`ntt.to_coset` for 2^log_n ≥ 64 points; the tables are in vector form."""
    k = x.shape[0]
    log_block = min(_LOG_BLOCK, log_n)
    butterflies = k << max(0, log_n - 1 - _LOG_CHUNK)
    flat = x.reshape(-1, field.limbs)

    def stage(log_span: int, table: NDArray[Any], forward: bool) -> None:
        pool.run(_stage, butterflies, field, flat, table, log_n, log_span, forward, stop=stop)

    for log_span in range(log_n, log_block, -1):
        stage(log_span, inverse_roots, False)
    tables = inverse_roots, scale, roots
    pool.run(_blocks, k << (log_n - log_block), field, flat, *tables, log_n, log_block, stop=stop)
    for log_span in range(log_block + 1, log_n + 1):
        stage(log_span, roots, True)


@formula
def _dif(u: Any, v: Any, w: Any) -> Any:
    """(u, v) → (u + v, (u − v)·ω⁻ʲ)."""
    return shrunk(u + v), (u - v) * w


@formula
def _dit(u: Any, v: Any, w: Any) -> Any:
    """(u, v) → (u + v·ωʲ, u − v·ωʲ)."""
    v = v * w
    return shrunk(u + v), shrunk(u - v)


@formula
def _dif_at(F: Any, x: Any, low: int, span: int, roots: Any, j: int, shift: int) -> None:
    w = load_strided(F, roots, j << shift, 1 << shift)
    u, v = _dif(load_vector(F, x, low), load_vector(F, x, low + span), w)
    store_vector(F, x, low, u)
    store_vector(F, x, low + span, v)


@formula
def _dit_at(F: Any, x: Any, low: int, span: int, roots: Any, j: int, shift: int) -> None:
    w = load_strided(F, roots, j << shift, 1 << shift)
    u, v = _dit(load_vector(F, x, low), load_vector(F, x, low + span), w)
    if shift == 0:  # the last stage of all
        store_vector(F, x, low, reduced(u))
        store_vector(F, x, low + span, reduced(v))
    else:
        store_vector(F, x, low, u)
        store_vector(F, x, low + span, v)


@kernel
def _stage(
    tasks: Any, F: Any, x: Any, roots: Any, log_n: int, log_span: int, forward: bool
) -> None:
    """One stage over the whole array: of the forward transform (DIT) or the inverse one (DIF)."""
    span = 1 << (log_span - 1)
    task = claim(tasks)
    while task >= 0:
        for b in range(task << _LOG_CHUNK, (task + 1) << _LOG_CHUNK, LANES):
            j = b & (span - 1)
            low = ((b >> (log_span - 1)) << log_span) + j
            if forward:
                _dit_at(F, x, low, span, roots, j, log_n - log_span)
            else:
                _dif_at(F, x, low, span, roots, j, log_n - log_span)
        task = claim(tasks)


@kernel
def _blocks(
    tasks: Any, F: Any, x: Any, inverse_roots: Any, scale: Any, roots: Any, log_n: int,
    log_block: int,
) -> None:  # fmt: skip
    mask, size, eighth = (1 << log_n) - 1, 1 << log_block, 1 << (log_n - 3)
    i0, i1 = broadcast_vector(F, inverse_roots, 0), broadcast_vector(F, inverse_roots, eighth)
    i2 = broadcast_vector(F, inverse_roots, 2 * eighth)
    i3 = broadcast_vector(F, inverse_roots, 3 * eighth)
    w0, w1 = broadcast_vector(F, roots, 0), broadcast_vector(F, roots, eighth)
    w2, w3 = broadcast_vector(F, roots, 2 * eighth), broadcast_vector(F, roots, 3 * eighth)
    task = claim(tasks)
    while task >= 0:
        base = task << log_block
        for log_span in range(log_block, 3, -1):
            span = 1 << (log_span - 1)
            for start in range(base, base + size, 2 * span):
                for j in range(0, span, LANES):
                    _dif_at(F, x, start + j, span, inverse_roots, j, log_n - log_span)
        for at in range(base, base + size, _SQUARE):
            a, b = load_strided(F, x, at, 8), load_strided(F, x, at + 1, 8)
            c, d = load_strided(F, x, at + 2, 8), load_strided(F, x, at + 3, 8)
            e, f = load_strided(F, x, at + 4, 8), load_strided(F, x, at + 5, 8)
            g, h = load_strided(F, x, at + 6, 8), load_strided(F, x, at + 7, 8)
            (a, e), (b, f) = _dif(a, e, i0), _dif(b, f, i1)
            (c, g), (d, h) = _dif(c, g, i2), _dif(d, h, i3)
            (a, c), (b, d) = _dif(a, c, i0), _dif(b, d, i2)
            (e, g), (f, h) = _dif(e, g, i0), _dif(f, h, i2)
            (a, b), (c, d) = _dif(a, b, i0), _dif(c, d, i0)
            (e, f), (g, h) = _dif(e, f, i0), _dif(g, h, i0)
            s = at & mask
            a, b = a * load_strided(F, scale, s, 8), b * load_strided(F, scale, s + 1, 8)
            c, d = c * load_strided(F, scale, s + 2, 8), d * load_strided(F, scale, s + 3, 8)
            e, f = e * load_strided(F, scale, s + 4, 8), f * load_strided(F, scale, s + 5, 8)
            g, h = g * load_strided(F, scale, s + 6, 8), h * load_strided(F, scale, s + 7, 8)
            (a, b), (c, d) = _dit(a, b, w0), _dit(c, d, w0)
            (e, f), (g, h) = _dit(e, f, w0), _dit(g, h, w0)
            (a, c), (b, d) = _dit(a, c, w0), _dit(b, d, w2)
            (e, g), (f, h) = _dit(e, g, w0), _dit(f, h, w2)
            (a, e), (b, f) = _dit(a, e, w0), _dit(b, f, w1)
            (c, g), (d, h) = _dit(c, g, w2), _dit(d, h, w3)
            store_strided(F, x, at, 8, a)
            store_strided(F, x, at + 1, 8, b)
            store_strided(F, x, at + 2, 8, c)
            store_strided(F, x, at + 3, 8, d)
            store_strided(F, x, at + 4, 8, e)
            store_strided(F, x, at + 5, 8, f)
            store_strided(F, x, at + 6, 8, g)
            store_strided(F, x, at + 7, 8, h)
        for log_span in range(4, log_block + 1):
            span = 1 << (log_span - 1)
            for start in range(base, base + size, 2 * span):
                for j in range(0, span, LANES):
                    _dit_at(F, x, start + j, span, roots, j, log_n - log_span)
        task = claim(tasks)
