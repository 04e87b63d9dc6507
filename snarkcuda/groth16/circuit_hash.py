"""The circuit hash that `snarkjs groth16 setup` writes into a key (section 10): BLAKE2b-512.

    alpha_g1, beta_g1, beta_g2, gamma_g2, delta_g1, delta_g2
    u32 count, IC;   u32 n − 1, [τⁱ·(τⁿ − 1)]₁;   u32 count and points of L, A, B1, B2

Counts are big-endian. A point is x, then y, canonical and big-endian, Fq2 as c1, c0; infinity is
all zero. A later contribution is bound to this hash, so it must be snarkjs's bit for bit.

snarkjs (0.7.6, src/zkey_new.js, hashHPoints) cuts the n − 1 points of H into pieces of 2^14 but
makes the last piece a full one: from n = 2^15 on it hashes n points. The last of them needs
[τ^(2n−1)]₁, which is beyond the section when the ceremony has exactly n rows: there it takes the
next section's table entry and first bytes for a point (`snarkjs_overrun`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from snarkcuda.cpu.batch_affine import batch_to_affine
from snarkcuda.cpu.pool import Pool, claim
from snarkcuda.cpu.xyzz_rows import store_xyzz
from snarkcuda.curve.formulas import xyzz_add_affine, xyzz_from_affine
from snarkcuda.curve.params import Group
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.element import canonical_one, load, store
from snarkcuda.field.params import prime_of
from snarkcuda.formats.ptau import TAU_G1, PowersOfTau
from snarkcuda.groth16.keys import ProvingKey
from snarkcuda.groth16.snarkjs_overrun import snarkjs_difference
from snarkcuda.jit import kernel

_PIECE = 1 << 14  # points hashed at a time, and snarkjs's piece of H
_BLOCK = 256


def circuit_hash(pool: Pool, key: ProvingKey, powers: PowersOfTau) -> bytes:
    """The 64 bytes for a key without contributions.

    Args:
        pool: the threads to use.
        key: the key.
        powers: the ceremony that it was made from.
    """
    vk, g1, g2 = key.verifying_key, key.curve.g1, key.curve.g2
    hasher = hashlib.blake2b(digest_size=64)

    def add(group: Group, points: U64Array) -> None:
        for start in range(0, len(points), _PIECE):
            hasher.update(uncompressed(pool, group, points[start : start + _PIECE]))

    def add_query(group: Group, points: U64Array) -> None:
        hasher.update(len(points).to_bytes(4, "big"))
        add(group, points)

    for group, point in (
        (g1, vk.alpha_g1),
        (g1, key.beta_g1),
        (g2, vk.beta_g2),
        (g2, vk.gamma_g2),
        (g1, key.delta_g1),
        (g2, vk.delta_g2),
    ):
        add(group, point[None])
    add_query(g1, vk.ic)
    hasher.update((key.domain_size - 1).to_bytes(4, "big"))
    for start, count in h_pieces(key.domain_size):
        add(g1, h_differences(pool, powers, key.domain_size, start, count))
    for group, points in (
        (g1, key.l_query),
        (g1, key.a_query),
        (g1, key.b_g1_query),
        (g2, key.b_g2_query),
    ):
        add_query(group, points)
    return hasher.digest()


def h_pieces(n: int) -> Sequence[tuple[int, int]]:
    """(first, count) of the pieces in which snarkjs hashes the points of H."""
    count = min(n - 1, _PIECE)
    return [(start, count) for start in range(0, n - 1, _PIECE)]


def h_differences(pool: Pool, powers: PowersOfTau, n: int, first: int, count: int) -> U64Array:
    """[τ^(n+i)]₁ − [τⁱ]₁ for i from `first` on, affine, Montgomery: (count, 2, limbs)."""
    low = powers.points(TAU_G1, first, count)
    there = min(count, 2 * (1 << powers.power) - 1 - n - first)
    high = powers.points(TAU_G1, n + first, there)
    out = np.empty_like(low)
    packed = arrays.packed(high), arrays.packed(low)
    pool.run(_subtract, -(-there // _BLOCK), powers.curve.fq, *packed, out[:there])
    if there < count:
        out[there] = _beyond_the_section(powers, low[there])
    return out


def _beyond_the_section(powers: PowersOfTau, low: U64Array) -> U64Array:
    """What snarkjs takes for the difference when the upper point is past the powers of τ."""
    fq = powers.curve.fq
    x, y = arrays.to_ints(low)
    size = 8 * fq.limbs
    data = powers.bytes_after(TAU_G1, 2 * size)
    words = (int.from_bytes(data[:size], "little"), int.from_bytes(data[size:], "little"))
    return arrays.from_ints(snarkjs_difference(fq, words, (x, y)), fq.limbs)


def uncompressed(pool: Pool, group: Group, points: U64Array) -> bytes:
    """Points as big-endian canonical coordinates, x then y, Fq2 as c1, c0; infinity all zero."""
    fq = prime_of(group.field)
    canonical = np.empty(points.shape, dtype="<u8")
    n = canonical.size // fq.limbs
    arguments = (fq, arrays.packed(points), canonical.reshape(-1, fq.limbs))
    pool.run(_leave_montgomery, -(-n // _BLOCK), *arguments)
    coordinate_bytes = 8 * group.field.words
    reversed_bytes = canonical.reshape(-1).view(np.uint8).reshape(-1, coordinate_bytes)[:, ::-1]
    return reversed_bytes.tobytes()


@kernel
def _leave_montgomery(tasks: Any, F: Any, elements: Any, out: Any) -> None:
    task = claim(tasks)
    while task >= 0:
        for i in range(task * _BLOCK, min(out.shape[0], (task + 1) * _BLOCK)):
            store(F, out, i, load(F, elements, i) * canonical_one(F))
        task = claim(tasks)


@kernel
def _subtract(tasks: Any, F: Any, left: Any, right: Any, out: Any) -> None:
    n, n_words = out.shape[0], out.shape[2]
    sums = np.empty((_BLOCK, 4 * n_words), dtype=np.uint64)
    products = np.empty((_BLOCK, n_words), dtype=np.uint64)
    task = claim(tasks)
    while task >= 0:
        first = task * _BLOCK
        count = min(_BLOCK, n - first)
        for i in range(count):
            place = 2 * (first + i)
            p = xyzz_from_affine(load(F, left, place), load(F, left, place + 1))
            p = xyzz_add_affine(p, load(F, right, place), -load(F, right, place + 1))
            store_xyzz(F, sums, i, p)
        batch_to_affine(F, sums, count, products, out, first)
        task = claim(tasks)
