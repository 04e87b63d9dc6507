"""Scalars cut into signed windows, and the windows sorted by bucket.

    kᵢ = Σ_w digit[w, i]·2^(c·w),   −2^(c−1) < digit ≤ 2^(c−1)   (c = 16: ≤ and <)

A negative digit adds the point with −y, so half the buckets do. They are cut and sorted once for
scalars that several queries share (A, B1, B2 and L of a proof).

Sources: Pippenger 1976; Bernstein, Doumen, Lange and Oosterwijk, eprint 2012/549, §4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import int16, int64, uint32, uint64
from numpy.typing import NDArray

from snarkcuda.cpu.pool import Pool, Stop, claim
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.vector_type import LANES
from snarkcuda.jit import kernel

SCALAR_LIMBS = 4
MAX_WINDOW = 16  # digits are kept in int16
BUCKET_COST = 2.2  # of a bucket, in additions: two, and its share of the scalars' work; measured
_CHUNK = 1 << 10  # scalars cut in one task: their limbs stay in the cache


def window_bits(n: int, scalar_bits: int, bucket_cost: float = BUCKET_COST) -> int:
    """The window c, at least 2, that makes additions to buckets and of buckets cheapest."""

    def cost(c: int) -> float:
        return n_windows(scalar_bits, c) * (n + bucket_cost * (1 << (c - 1)))

    return min(range(2, MAX_WINDOW + 1), key=cost)


def n_windows(scalar_bits: int, c: int) -> int:
    """Windows of c bits that hold scalar_bits bits and the last carry.

    Of 16 bits the last window must leave one free: its digit cannot be −2^15 and a carry.
    """
    return (scalar_bits + (c == MAX_WINDOW)) // c + 1


def signed_digits(
    pool: Pool, scalars: U64Array, scalar_bits: int, window: int, stop: Stop | None = None
) -> NDArray[np.int16]:
    """Cut scalars into digits: [w, i] is digit w of scalar i.

    Args:
        pool: the threads to use.
        scalars: uint64 (n, 4), canonical, below 2^scalar_bits.
        scalar_bits: bit length of the scalar field's modulus.
        window: bits of a digit, 1 … MAX_WINDOW.
        stop: ends the work early with `Cancelled`.
    """
    n = len(scalars)
    if not 1 <= window <= MAX_WINDOW:
        raise ValueError(f"a window has 1 to {MAX_WINDOW} bits, not {window}")
    values = np.empty((n_windows(scalar_bits, window), n), dtype=np.int16)
    arguments = arrays.packed(scalars), window, _most(window), values
    pool.run(_cut, -(-n // _CHUNK), *arguments, stop=stop)
    return values


@dataclass(frozen=True)
class SortedDigits:
    """Digits sorted by bucket, for any number of MSMs over them or their tail.

    Row w has window w: `codes` are 2·i + sign, bucket by bucket, those of digit 0 left out.
    """

    window: int
    codes: NDArray[np.uint32]  # (windows, n)
    starts: NDArray[np.int64]  # (windows, buckets + 3): where each begins; 2^(c−1), at least 8
    first: int = 0

    def __len__(self) -> int:
        return int(self.codes.shape[1]) - self.first

    def tail(self, first: int) -> SortedDigits:
        """The digits of the scalars from index `first` on; nothing is copied."""
        return SortedDigits(self.window, self.codes, self.starts, self.first + first)


def sorted_digits(
    pool: Pool,
    scalars: U64Array,
    scalar_bits: int,
    stop: Stop | None = None,
    window: int | None = None,
) -> SortedDigits:
    """Cut scalars into digits and sort each window by |digit|; within a bucket indices ascend.

    Args:
        pool: the threads to use.
        scalars: uint64 (n, 4), canonical, below 2^scalar_bits; n < 2^31.
        scalar_bits: bit length of the scalar field's modulus.
        stop: ends the work early with `Cancelled`.
        window: bits of a digit, 1 … MAX_WINDOW; by default what is best for an MSM.
    """
    # A small scalar, as most of a circuit's bits are, has a digit in one window only. Small is what
    # lacks the highest limb that others have, of at most 64 bits.
    large = int(np.count_nonzero(scalars[:, (scalar_bits - 1) // 64]))
    window = window or window_bits(max(large, len(scalars) >> 6), scalar_bits)
    lowest, digits, indices = _without_zeros(pool, scalars, scalar_bits, window, stop)
    rows, n = len(digits), len(scalars)
    codes = np.empty((rows, n), dtype=np.uint32)
    starts = np.zeros((rows, max(1 << (window - 1), LANES) + 3), dtype=np.int64)
    pool.run(_sort, rows, lowest, digits, indices, codes, starts, stop=stop)
    return SortedDigits(window, codes, starts)


def _without_zeros(
    pool: Pool, scalars: U64Array, scalar_bits: int, window: int, stop: Stop | None
) -> tuple[NDArray[np.int16], NDArray[np.int16], NDArray[np.int64]]:
    """The lowest digit of each scalar; all digits of some, and of which: of all, if that is empty.

    A scalar that is a digit by itself has no others: where most are, only the rest are cut.
    """
    is_digit = scalars[:, 0] <= _most(window)
    for limb in range(1, SCALAR_LIMBS):
        is_digit &= scalars[:, limb] == 0
    indices = np.flatnonzero(~is_digit)
    if 2 * len(indices) > len(scalars):
        digits = signed_digits(pool, scalars, scalar_bits, window, stop)
        return digits[0], digits, indices[:0]
    digits = signed_digits(pool, scalars[indices], scalar_bits, window, stop)
    lowest = np.where(is_digit, scalars[:, 0], 0).astype(np.int16)
    lowest[indices] = digits[0]
    return lowest, digits, indices


def _most(window: int) -> int:
    """The largest digit: 2^(c−1), which int16 does not hold for c = 16, but −2^(c−1) it does."""
    return (1 << (window - 1)) - (window == MAX_WINDOW)


@kernel
def _cut(tasks: Any, scalars: Any, c: int, most: int, values: Any) -> None:
    """A window of all scalars of a task at a time: loops without branches, for vectors."""
    rows, n = values.shape
    mask, one = (uint64(1) << uint64(c)) - uint64(1), uint64(1)
    limbs = np.zeros((SCALAR_LIMBS + 2, _CHUNK), dtype=np.uint64)  # the last windows end above
    carries = np.empty(_CHUNK, dtype=np.uint64)
    task = claim(tasks)
    while task >= 0:
        first = task * _CHUNK
        count = min(_CHUNK, n - first)
        for i in range(count):
            carries[i] = uint64(0)
            for j in range(SCALAR_LIMBS):
                limb = uint64(0)
                for k in range(8):
                    byte = scalars[8 * (SCALAR_LIMBS * (first + i) + j) + k]
                    limb |= uint64(byte) << uint64(8 * k)
                limbs[j, i] = limb
        for w in range(rows):
            word, shift = (w * c) >> 6, uint64((w * c) & 63)
            low, high, into = limbs[word], limbs[word + 1], values[w]
            for i in range(count):
                # Two shifts, as one by 64 is undefined.
                above = (high[i] << one) << (uint64(63) - shift)
                digit = ((low[i] >> shift | above) & mask) + carries[i]
                over = uint64(digit > uint64(most))
                carries[i] = over
                into[first + i] = int16(digit - (over << uint64(c)))
        task = claim(tasks)


@kernel
def _sort(
    tasks: Any, lowest: Any, values: Any, indices: Any, codes: Any, starts: Any
) -> None:  # fmt: skip
    end = starts.shape[1]
    task = claim(tasks)
    while task >= 0:
        digits, into, places = lowest if task == 0 else values[task], codes[task], starts[task]
        n, some = len(digits), task > 0 and len(indices) > 0
        for i in range(n):
            digit = int64(digits[i])
            if digit != 0:  # a count of the zeros would wait for itself where there are many
                places[uint64(abs(digit) + 2)] += 1
        for b in range(2, end):
            places[b] += places[b - 1]
        for i in range(n):
            digit = int64(digits[i])
            if digit != 0:
                bucket = uint64(abs(digit) + 1)
                index = indices[i] if some else i
                into[uint64(places[bucket])] = uint32(2 * index + (1 if digit < 0 else 0))
                places[bucket] += 1
        task = claim(tasks)  # now places[b + 1] is the end of bucket b, and places[b] its beginning
