"""Many multiples of one point: kᵢ·G for i < n, from a table of G's multiples.

    kᵢ = Σ_w digit[w, i]·2^(c·w)                signed digits, |digit| ≤ 2^(c−1)
    table[w, d] = d·2^(c·w)·G                   affine, d = 1 … 2^(c−1)
    kᵢ·G = Σ_w ±table[w, |digit[w, i]|]         one mixed addition a window, no doubling

Sums are kept in XYZZ for a block of scalars and made affine together; many are summed on vectors
instead, each scalar a bucket of its entries (`cpu/bucket_sums.py`). The window is the largest whose
table fits in a few megabytes of cache. Source: Brickell, Gordon, McCurley and Wilson, Eurocrypt
1992. The naive twin is `curve.points.linear_combination`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64, uint32
from numpy.typing import NDArray

from snarkcuda.cpu.batch_affine import batch_to_affine
from snarkcuda.cpu.bucket_sums import NOTHING, bucket_sums, code_of
from snarkcuda.cpu.digits import n_windows, signed_digits
from snarkcuda.cpu.pool import Pool, claim
from snarkcuda.cpu.vector_form import to_vector_form
from snarkcuda.cpu.xyzz_rows import load_xyzz, store_xyzz
from snarkcuda.curve.formulas import xyzz_add_affine, xyzz_double, xyzz_infinity
from snarkcuda.curve.params import Group
from snarkcuda.curve.points import encode, point_shape
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.element import load, zero
from snarkcuda.field.params import prime_of
from snarkcuda.field.vector_type import has_vectors
from snarkcuda.jit import kernel

_BLOCK = 256  # scalars of one task: their sums share one inversion
_SLICE = 1 << 17  # scalars whose digits are held at once
_TABLE_BYTES = 1 << 22  # measured: larger tables lose more to cache misses than they save
VECTOR_MULTIPLES = 1 << 12  # with fewer, loading the vector kernels takes longer than they save


class Multiples:
    """The table of a group's generator, for any number of calls.

    Args:
        pool: the threads to use.
        group: G1 or G2 of a curve.
        n: about how many multiples will be asked for; a small table is made for few.
    """

    def __init__(self, pool: Pool, group: Group, n: int) -> None:
        self._pool, self._group = pool, group
        self._bits = group.order.bit_length()
        self.window = _window(self._bits, n, 16 * group.field.words)
        rows = n_windows(self._bits, self.window)
        half = 1 << (self.window - 1)
        self._table = np.empty((rows, half, *point_shape(group)), dtype=np.uint64)
        starts = np.zeros((rows, 4 * group.field.words), dtype=np.uint64)
        generator = encode(group, [group.generator])
        _window_starts(group.field, generator, self.window, starts)
        pool.run(_fill_table, rows, group.field, starts, self._table)
        self._vectors = n >= VECTOR_MULTIPLES and has_vectors()
        if self._vectors:
            self._points = to_vector_form(pool, prime_of(group.field), self._table)

    def of(self, scalars: U64Array) -> U64Array:
        """kᵢ·G for each scalar.

        Args:
            scalars: uint64 (n, 4), canonical.

        Returns:
            uint64 (n, 2, limbs) or (n, 2, 2, limbs): affine, Montgomery; 0·G is all zero.
        """
        out = np.empty((len(scalars), *point_shape(self._group)), dtype=np.uint64)
        for start in range(0, len(scalars), _SLICE):
            part = scalars[start : start + _SLICE]
            values = signed_digits(self._pool, part, self._bits, self.window)
            sums = self._on_vectors if self._vectors else self._on_scalars
            sums(values, out[start : start + _SLICE])
        return out

    def _on_scalars(self, values: NDArray[np.int16], out: U64Array) -> None:
        arguments = (self._group.field, self._table, values, out)
        self._pool.run(_sum_windows, -(-len(out) // _BLOCK), *arguments)

    def _on_vectors(self, values: NDArray[np.int16], out: U64Array) -> None:
        rows, n = values.shape
        codes = np.empty((n, rows), dtype=np.uint32)
        self._pool.run(_entries, -(-n // _BLOCK), values, self._table.shape[1], codes)
        starts = np.arange(0, (n + 1) * rows, rows)
        out[:] = bucket_sums(self._pool, self._group, self._points, codes.reshape(-1), starts)


def _window(scalar_bits: int, n: int, point_bytes: int) -> int:
    """The window with the fewest additions, table included, whose table fits the cache."""

    def additions(c: int) -> int:
        return n_windows(scalar_bits, c) * (n + (1 << (c - 1)))

    fits = [
        c
        for c in range(2, 15)
        if n_windows(scalar_bits, c) * point_bytes << (c - 1) <= _TABLE_BYTES
    ]
    return min(fits, key=additions)


@kernel
def _window_starts(F: Any, generator: Any, c: int, starts: Any) -> None:
    """starts[w] = 2^(c·w)·G, as XYZZ rows."""
    p = xyzz_add_affine(xyzz_infinity(zero(F)), load(F, generator, 0), load(F, generator, 1))
    for w in range(starts.shape[0]):
        store_xyzz(F, starts, w, p)
        for _ in range(c):
            p = xyzz_double(p)


@kernel
def _fill_table(tasks: Any, F: Any, starts: Any, table: Any) -> None:
    half = table.shape[1]
    sums = np.empty((half, starts.shape[1]), dtype=np.uint64)
    products = np.empty((half, starts.shape[1] // 4), dtype=np.uint64)
    start = np.empty((1, starts.shape[1] // 2), dtype=np.uint64)
    task = claim(tasks)
    while task >= 0:
        batch_to_affine(F, starts[task : task + 1], 1, products, start, 0)
        x, y = load(F, start, 0), load(F, start, 1)
        p = xyzz_infinity(zero(F))
        for d in range(half):
            p = xyzz_add_affine(p, x, y)
            store_xyzz(F, sums, d, p)
        batch_to_affine(F, sums, half, products, table, task * half)
        task = claim(tasks)


@kernel
def _sum_windows(tasks: Any, F: Any, table: Any, values: NDArray[np.int16], out: Any) -> None:
    rows, n = values.shape
    half = table.shape[1]
    n_words = table.size // (rows * half * 2)
    sums = np.empty((_BLOCK, 4 * n_words), dtype=np.uint64)
    products = np.empty((_BLOCK, n_words), dtype=np.uint64)
    task = claim(tasks)
    while task >= 0:
        first = task * _BLOCK
        count = min(_BLOCK, n - first)
        sums[:] = 0
        for w in range(rows):
            for i in range(count):
                digit = int(values[w, first + i])
                if digit == 0:
                    continue
                place = w * half + abs(digit) - 1
                x, y = load(F, table, 2 * place), load(F, table, 2 * place + 1)
                if digit < 0:
                    y = -y
                store_xyzz(F, sums, i, xyzz_add_affine(load_xyzz(F, sums, i), x, y))
        batch_to_affine(F, sums, count, products, out, first)
        task = claim(tasks)


@kernel
def _entries(tasks: Any, values: NDArray[np.int16], half: int, codes: Any) -> None:
    """codes[i, w] names ±table[w, |digit[w, i]|], or nothing where the digit is 0."""
    rows, n = values.shape
    task = claim(tasks)
    while task >= 0:
        for w in range(rows):
            for i in range(task * _BLOCK, min(n, (task + 1) * _BLOCK)):
                digit = int64(values[w, i])
                code = code_of(w * half + abs(digit) - 1, 1 if digit < 0 else 0)
                codes[i, w] = uint32(NOTHING if digit == 0 else code)
        task = claim(tasks)
