"""The transforms of `cpu/ntt.py`, eight butterflies at a time, three passes over memory.

    pass 1    the inverse transform's wide stages:  tiles of 2^k rows, 8 columns a vector
    pass 2    its last stages, the scaling, the first stages of the forward transform: by blocks
    pass 3    the forward transform's wide stages:  tiles

A tile or a block is loaded once, as vectors in their own layout (`store_limbs`), goes through all
of its stages in a buffer in the cache, and is written back. Element numbers in a block, by bits:

    … 6 | 5 4 3 | 2 1 0        spans ≥ 16 pair vectors of 8 neighbours (lanes: the lowest bits);
                               spans 8, 4, 2 pair the rows of 8 × 8 squares, transposed in between

The data keeps the Montgomery form of `Element`: the tables are in vector form, and a product of
x·R₆₄ with w·R₅₂ over R₅₂ is x·w·R₆₄. Between passes values are at most 2p, in a buffer up to 6p;
pass 3 leaves them below p (pass 2 where there is no pass 3). More than 2^20 points take more than
one pass 1 and 3. Source: Bailey 1990 (transforms by tiles).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from snarkcuda.cpu.pool import Pool, Stop, claim
from snarkcuda.field import arrays, ifma
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.params import PrimeField
from snarkcuda.field.vector import reduced, settled, shrunk, trimmed
from snarkcuda.field.vector_memory import (
    broadcast_vector,
    load_limbs,
    load_square,
    load_vector,
    store_limbs,
    store_square,
    store_vector,
)
from snarkcuda.field.vector_type import LANES
from snarkcuda.field.words import zero_like
from snarkcuda.jit import formula, kernel

MIN_LOG_N = 6  # a square of 64 elements
_LOG_BLOCK = 12  # 4,096 elements and the tables of their stages stay in a second-level cache
_LOG_ROWS = 8  # of a tile at most
_TILES = 4  # neighbouring tiles of one task: 1 kB of each row
_CHUNK = 1 << 9  # vectors of a table that one task fills


@dataclass(frozen=True)
class VectorTables:
    """Powers that the transforms of one domain read, in vector form.

    Attributes:
        field: the scalar field.
        log_n: log2 of the size.
        roots, inverse_roots: by stages, vectors in their own layout, uint64 (n/8, 8·L): the stage
            that pairs elements h apart has ωₕʲ = ω^(j·n/2h), 0 ≤ j < h, at vector h/8 + j/8.
        eighths: the first three powers of the 8th roots, forward and inverse: uint64 (6, limbs).
        scale: gⁱ/n, i the bit reversal of the element's number, as the squares of pass 2 want it:
            vector 8·q + j, lane l has element 64·q + 8·l + j.
    """

    field: PrimeField
    log_n: int
    roots: U64Array
    inverse_roots: U64Array
    eighths: U64Array
    scale: U64Array


def vector_tables(pool: Pool, field: PrimeField, log_n: int, root: int, shift: int) -> VectorTables:
    """The tables of the 2^log_n ≥ 64 powers of `root`, and of their coset by `shift`."""
    p = field.modulus
    inverse = pow(root, -1, p)
    eighths = [pow(w, j << (log_n - 3), p) for w in (root, inverse) for j in (1, 2, 3)]
    return VectorTables(
        field,
        log_n,
        _stage_roots(pool, field, log_n, root),
        _stage_roots(pool, field, log_n, inverse),
        _elements(field, eighths),
        _scale(pool, field, log_n, shift),
    )


def _elements(field: PrimeField, values: list[int]) -> U64Array:
    radix = ifma.radix(field)
    return arrays.from_ints([v * radix % field.modulus for v in values], field.limbs)


def _empty(field: PrimeField, log_n: int) -> U64Array:
    # Not empty: a key cache keeps the rows that are not used too.
    return np.zeros(((1 << log_n) // LANES, ifma.limb_count(field) * LANES), dtype=np.uint64)


def _stage_roots(pool: Pool, field: PrimeField, log_n: int, root: int) -> U64Array:
    p, out = field.modulus, _empty(field, log_n)
    starts: list[int] = []
    steps: list[int] = []
    first: list[int] = []  # the vector that each task begins with, and the end
    for log_half in range(3, log_n):
        base = pow(root, 1 << (log_n - 1 - log_half), p)
        powers = [pow(base, lane, p) for lane in range(LANES)]
        step = base * powers[-1] % p
        leap, start = pow(step, _CHUNK, p), 1
        n_vectors = (1 << log_half) // LANES
        for vector in range(0, n_vectors, _CHUNK):
            first.append(n_vectors + vector)
            starts += [start * power % p for power in powers]
            steps.append(step)
            start = start * leap % p
    first.append(len(out))
    places = np.array(first, dtype=np.int64)
    arguments = _elements(field, starts), _elements(field, steps), places, out
    pool.run(_fill_roots, len(steps), field, *arguments)
    return out


def _scale(pool: Pool, field: PrimeField, log_n: int, shift: int) -> U64Array:
    p, out = field.modulus, _empty(field, log_n)
    bits = log_n - 6  # of q; its lowest ones are reversed to the top
    low = min(9, bits)
    eighth = 1 << (log_n - 3)
    in_square = [
        pow(shift, (_reverse(j, 3) * eighth) + _reverse(lane, 3) * eighth // 8, p)
        for j in range(LANES)
        for lane in range(LANES)
    ]
    lows = [pow(shift, _reverse(i, low) << (bits - low), p) for i in range(1 << low)]
    over_n = pow(1 << log_n, -1, p)
    highs = [pow(shift, _reverse(i, bits - low), p) * over_n % p for i in range(1 << (bits - low))]
    tables = (_elements(field, values) for values in (in_square, lows, highs))
    pool.run(_fill_scale, len(highs), field, *tables, out)
    return out


def _reverse(index: int, bits: int) -> int:
    """The lowest `bits` bits of index in reverse order."""
    return int(f"{index:0{bits}b}"[::-1], 2) if bits else 0


def to_coset_vectors(
    pool: Pool, tables: VectorTables, x: U64Array, stop: Stop | None = None
) -> None:
    """`ntt.to_coset`: replace evaluations on the domain by those on its coset, in place."""
    field, log_n = tables.field, tables.log_n
    log_block = min(_LOG_BLOCK, log_n)
    flat = x.reshape(-1, field.limbs)
    spans = [log_block]
    n_passes = -(-(log_n - log_block) // _LOG_ROWS)
    for i in range(1, n_passes + 1):
        spans.append(log_block + (log_n - log_block) * i // n_passes)

    def wide(upper: int, lower: int, forward: bool) -> None:
        roots = tables.roots if forward else tables.inverse_roots
        n_tasks = (1 << (log_n - upper + lower)) // (LANES * _TILES)
        pool.run(_wide, n_tasks, field, flat, roots, log_n, upper, lower, forward, stop=stop)

    for lower, upper in reversed(list(itertools.pairwise(spans))):
        wide(upper, lower, False)
    arguments = tables.inverse_roots, tables.scale, tables.roots, tables.eighths
    n_blocks = len(x) << (log_n - log_block)
    pool.run(_blocks, n_blocks, field, flat, *arguments, log_n, log_block, stop=stop)
    for lower, upper in itertools.pairwise(spans):
        wide(upper, lower, True)


# --- kernels ----------------------------------------------------------------------------------


@kernel
def _fill_roots(tasks: Any, F: Any, starts: Any, steps: Any, first: Any, out: Any) -> None:
    task = claim(tasks)
    while task >= 0:
        value, step = load_vector(F, starts, LANES * task), broadcast_vector(F, steps, task)
        for v in range(first[task], first[task + 1]):
            store_limbs(value, out, v)
            value = value * step
        task = claim(tasks)


@kernel
def _fill_scale(tasks: Any, F: Any, in_square: Any, lows: Any, highs: Any, out: Any) -> None:
    n = lows.shape[0]
    task = claim(tasks)
    while task >= 0:
        high = broadcast_vector(F, highs, task)
        for q in range(n):
            factor = high * broadcast_vector(F, lows, q)
            for j in range(LANES):
                value = load_vector(F, in_square, LANES * j) * factor
                store_limbs(value, out, LANES * (task * n + q) + j)
        task = claim(tasks)


@formula
def _dif(u: Any, v: Any, w: Any) -> Any:
    """(u, v) → (u + v, (u − v)·ω⁻ʲ)."""
    return shrunk(u + v), (u - v) * w


@formula
def _dif_1(u: Any, v: Any) -> Any:
    """The same for ω⁰."""
    return shrunk(u + v), shrunk(u - v)


@formula
def _dit_1(u: Any, v: Any) -> Any:
    """As `_dit` for ω⁰."""
    u, v = trimmed(u), shrunk(v)
    return u + v, u - v


@formula
def _dit(u: Any, v: Any, w: Any) -> Any:
    """(u, v) → (u + v·ωʲ, u − v·ωʲ), for u, v ≤ 6p as large: 6p → 4p, and 2p of the product."""
    u, v = trimmed(u), v * w
    return u + v, u - v


@formula
def _dif_stages(like: Any, buffer: Any, n: int, roots: Any, stride: int, offset: int) -> None:
    """The stages that pair vectors of a buffer of n: those n/2 apart, … neighbours.

    The twiddles of the pair i, i + h are vector (h + i)·stride + offset of `roots`.
    """
    half = n >> 1
    while half >= 1:
        for i in range(half):
            w = load_limbs(like, roots, (half + i) * stride + offset)
            for low in range(i, n, 2 * half):
                u, v = load_limbs(like, buffer, low), load_limbs(like, buffer, low + half)
                u, v = _dif(u, v, w)
                store_limbs(u, buffer, low)
                store_limbs(v, buffer, low + half)
        half >>= 1


@formula
def _dit_stages(large: Any, buffer: Any, n: int, roots: Any, stride: int, offset: int) -> None:
    """`_dif_stages` the other way round; `large` says how large its vectors are, up to 6p."""
    half = 1
    while half < n:
        for i in range(half):
            w = load_limbs(zero_like(large), roots, (half + i) * stride + offset)
            for low in range(i, n, 2 * half):
                u, v = load_limbs(large, buffer, low), load_limbs(large, buffer, low + half)
                u, v = _dit(u, v, w)
                store_limbs(u, buffer, low)
                store_limbs(v, buffer, low + half)
        half *= 2


@kernel
def _wide(
    tasks: Any, F: Any, x: Any, roots: Any, log_n: int, upper: int, lower: int, forward: bool
) -> None:
    """The stages of spans 2^(lower + 1) … 2^upper, of every polynomial in x."""
    rows, row, n = 1 << (upper - lower), 1 << lower, 1 << log_n
    like = zero_like(load_vector(F, x, 0))
    large = settled(like + like + like)
    buffer = np.empty(rows * roots.shape[1], dtype=np.uint64)
    stride = row // LANES
    task = claim(tasks)
    while task >= 0:
        for tile in range(_TILES * task, _TILES * (task + 1)):
            offset = tile % stride
            for first in range((tile // stride) << upper, len(x), n):
                at = first + LANES * offset
                for r in range(rows):
                    store_limbs(load_vector(F, x, at + r * row), buffer, r)
                if forward:
                    _dit_stages(large, buffer, rows, roots, stride, offset)
                else:
                    _dif_stages(like, buffer, rows, roots, stride, offset)
                for r in range(rows):
                    value = load_limbs(large, buffer, r)
                    if forward and upper == log_n:
                        store_vector(F, x, at + r * row, reduced(value))
                    else:
                        store_vector(F, x, at + r * row, shrunk(value))
        task = claim(tasks)


@kernel
def _blocks(
    tasks: Any, F: Any, x: Any, inverse_roots: Any, scale: Any, roots: Any, eighths: Any,
    log_n: int, log_block: int,
) -> None:  # fmt: skip
    """Spans 2^log_block … 2 of the inverse transform, the scaling, the same spans forward."""
    like = zero_like(load_vector(F, x, 0))
    large = settled(like + like + like)
    n = (1 << log_block) // LANES
    mask = (1 << log_n) // LANES - 1
    buffer = np.empty(n * roots.shape[1], dtype=np.uint64)
    w1, i1 = broadcast_vector(F, eighths, 0), broadcast_vector(F, eighths, 3)
    w2, i2 = broadcast_vector(F, eighths, 1), broadcast_vector(F, eighths, 4)
    w3, i3 = broadcast_vector(F, eighths, 2), broadcast_vector(F, eighths, 5)
    task = claim(tasks)
    while task >= 0:
        base = task << log_block
        for v in range(n):
            store_limbs(load_vector(F, x, base + LANES * v), buffer, v)
        _dif_stages(like, buffer, n, inverse_roots, 1, 0)
        for at in range(0, n, LANES):
            a, b, c, d, e, f, g, h = load_square(like, buffer, at)
            (a, e), (b, f) = _dif_1(a, e), _dif(b, f, i1)
            (c, g), (d, h) = _dif(c, g, i2), _dif(d, h, i3)
            (a, c), (b, d) = _dif_1(a, c), _dif(b, d, i2)
            (e, g), (f, h) = _dif_1(e, g), _dif(f, h, i2)
            (a, b), (c, d) = _dif_1(a, b), _dif_1(c, d)
            (e, f), (g, h) = _dif_1(e, f), _dif_1(g, h)
            s = (base // LANES + at) & mask
            a, b = a * load_limbs(like, scale, s), b * load_limbs(like, scale, s + 1)
            c, d = c * load_limbs(like, scale, s + 2), d * load_limbs(like, scale, s + 3)
            e, f = e * load_limbs(like, scale, s + 4), f * load_limbs(like, scale, s + 5)
            g, h = g * load_limbs(like, scale, s + 6), h * load_limbs(like, scale, s + 7)
            (a, b), (c, d) = _dit_1(a, b), _dit_1(c, d)
            (e, f), (g, h) = _dit_1(e, f), _dit_1(g, h)
            (a, c), (b, d) = _dit_1(a, c), _dit(b, d, w2)
            (e, g), (f, h) = _dit_1(e, g), _dit(f, h, w2)
            (a, e), (b, f) = _dit_1(a, e), _dit(b, f, w1)
            (c, g), (d, h) = _dit(c, g, w2), _dit(d, h, w3)
            a, b, c, d = settled(a), settled(b), settled(c), settled(d)
            e, f, g, h = settled(e), settled(f), settled(g), settled(h)
            store_square((a, b, c, d, e, f, g, h), buffer, at)
        _dit_stages(large, buffer, n, roots, 1, 0)
        for v in range(n):
            value = load_limbs(large, buffer, v)
            if log_block == log_n:
                store_vector(F, x, base + LANES * v, reduced(value))
            else:
                store_vector(F, x, base + LANES * v, shrunk(value))
        task = claim(tasks)
