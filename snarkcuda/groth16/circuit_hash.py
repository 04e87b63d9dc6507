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

import numpy as np

from snarkcuda.cpu.affine import differences, leave_montgomery
from snarkcuda.cpu.point_checks import first_off_curve
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.params import Group
from snarkcuda.errors import FormatError, NotOnCurveError
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.params import prime_of
from snarkcuda.formats.ptau import TAU_G1, PowersOfTau
from snarkcuda.groth16.keys import ProvingKey
from snarkcuda.groth16.snarkjs_overrun import snarkjs_difference

_PIECE = 1 << 14  # points hashed at a time, and snarkjs's piece of H


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
    """[τ^(n+i)]₁ − [τⁱ]₁ for i from `first` on, affine, Montgomery: (count, 2, limbs).

    Raises:
        NotOnCurveError: a power is off the curve.
        FormatError: snarkjs would read past the end of the file.
    """
    low = powers.points(TAU_G1, first, count)
    there = min(count, 2 * (1 << powers.power) - 1 - n - first)
    high = powers.points(TAU_G1, n + first, there)
    for start, points in ((first, low), (n + first, high)):
        bad = first_off_curve(pool, powers.curve.g1, points)
        if bad is not None:
            raise NotOnCurveError(
                f"{powers.source}: tau: point {start + bad} is not on {powers.curve.g1.name}: the "
                "file is damaged; download it again"
            )
    out = np.empty_like(low)
    out[:there] = differences(pool, powers.curve.g1, high, low[:there])
    if there < count:
        out[there] = _beyond_the_section(powers, low[there])
    return out


def _beyond_the_section(powers: PowersOfTau, low: U64Array) -> U64Array:
    """What snarkjs takes for the difference when the upper point is past the powers of τ."""
    fq = powers.curve.fq
    x, y = arrays.to_ints(low)
    size = 8 * fq.limbs
    data = powers.bytes_after(TAU_G1, 2 * size)
    if len(data) < 2 * size:
        raise FormatError(
            f"{powers.source}: its powers of tau are the last section, and snarkjs hashes the "
            "bytes behind them: make the file again with snarkjs, which puts them first"
        )
    words = (int.from_bytes(data[:size], "little"), int.from_bytes(data[size:], "little"))
    return arrays.from_ints(snarkjs_difference(fq, words, (x, y)), fq.limbs)


def uncompressed(pool: Pool, group: Group, points: U64Array) -> bytes:
    """Points as big-endian canonical coordinates, x then y, Fq2 as c1, c0; infinity all zero."""
    canonical = leave_montgomery(pool, prime_of(group.field), points)
    coordinates = canonical.astype("<u8", copy=False).reshape(-1).view(np.uint8)
    return coordinates.reshape(-1, 8 * group.field.words)[:, ::-1].tobytes()
