"""Multiples of fixed bases, made once for a key: row j·n + i of a table is 2^(j·step)·P_i, affine.

With all multiples resident, each window's digit adds its own multiple of the point to one and the
same set of buckets: no doublings, one reduction. Doublings are in XYZZ; a thread inverts the ZZZ of
its points together, one inversion by Fermat's theorem for some dozens of points.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from snarkcuda.curve.formulas import xyzz_double, xyzz_from_affine
from snarkcuda.field.params import limbs_of
from snarkcuda.field.words import extend, is_zero, one_like, parts, sqr
from snarkcuda.jit import formula
from snarkcuda.kernels.device import DeviceArray
from snarkcuda.kernels.field import DeviceField
from snarkcuda.kernels.group import xyzz_words
from snarkcuda.kernels.launch import DeviceKernel, device_kernel
from snarkcuda.kernels.loops import no_unroll
from snarkcuda.kernels.memory import Scope
from snarkcuda.kernels.target import cuda, int64

MAX_THREADS = 128
_CHUNK = 1 << 20  # points made at a time
_SHARE = 32  # that share an inversion


def _norms(F: DeviceField) -> tuple[Any, Any]:
    """Words for kernels: norm(x), an element of the prime field, and over(x, 1/norm(x)) = 1/x."""
    if F.field.level == 1:

        @formula
        def norm(x: Any) -> Any:
            return x

        @formula
        def over(x: Any, inverse: Any) -> Any:
            return inverse

    else:  # u² = −1 on both curves

        @formula
        def norm(x: Any) -> Any:
            a, b = parts(x)
            return sqr(a) + sqr(b)

        @formula
        def over(x: Any, inverse: Any) -> Any:
            a, b = parts(x)
            return extend(a * inverse, -(b * inverse))

    return norm, over


def next_multiples(F: DeviceField) -> DeviceKernel:
    """table[to + i] = 2^doublings·table[from + i], 0 ≤ i < n.

    Arguments of a launch: table, affine points; scratch, five elements a point: XYZZ of all, then
    products; exponent, words, p − 2; from; to; n; doublings; the number of threads, which take
    points that many apart.
    """
    load, store = F.load, F.store
    load_xyzz, store_xyzz = xyzz_words(F)
    norm, over = _norms(F)
    one, bits = F.constant(1), F.prime.modulus.bit_length()

    @device_kernel(
        f"next_multiples[{F.key}]", ("words",) * 3 + ("i64",) * 5, max_threads=MAX_THREADS,
        may_spill=F.calls,
    )  # fmt: skip
    def next_multiples(
        table: Any, scratch: Any, exponent: Any, source: int, to: int, n: int, doublings: int,
        threads: int,
    ) -> None:  # fmt: skip
        t = cuda.grid(1)
        if t < min(threads, n):
            product = one()
            for i in range(t, n, threads):
                no_unroll()
                p = xyzz_from_affine(
                    load(table, 2 * (source + i)), load(table, 2 * (source + i) + 1)
                )
                for _ in range(doublings):
                    no_unroll()
                    p = xyzz_double(p)
                store_xyzz(scratch, i, p)
                if not is_zero(p[2]):
                    store(scratch, 4 * n + i, product)
                    product = product * p[3]
            small = norm(product)
            power = one_like(small)
            for b in range(bits - 1, -1, -1):
                no_unroll()
                power = sqr(power)
                if (int64(exponent[b >> 5]) >> (b & 31)) & 1:
                    power = power * small
            inverse = over(product, power)
            for i in range(t + (n - 1 - t) // threads * threads, -1, -threads):
                no_unroll()
                x, y, zz, zzz = load_xyzz(scratch, i)
                if not is_zero(zz):
                    over_zzz = inverse * load(scratch, 4 * n + i)
                    inverse = inverse * zzz
                    x, y = x * sqr(over_zzz * zz), y * over_zzz  # 1/ZZ = (ZZ/ZZZ)²
                store(table, 2 * (to + i), x)
                store(table, 2 * (to + i) + 1, y)

    return next_multiples


def make_multiples(
    scope: Scope, F: DeviceField, table: DeviceArray, n: int, multiples: int, step: int,
    chunk: int = _CHUNK, share: int = _SHARE, threads: int = MAX_THREADS,
) -> None:  # fmt: skip
    """Fill a table whose first n rows are there.

    Args:
        scope: whose stream it is made on.
        F: the field of coordinates, with calls.
        table: multiples·n affine points, Montgomery; (0, 0) is infinity.
        n: points.
        multiples: how many, the points themselves included.
        step: doublings from one to the next.
        chunk: points made at a time.
        share: points that share an inversion.
        threads: of a block.
    """
    kernel = next_multiples(F)
    with scope.arena.scope(scope.stream) as s:
        exponent = s.upload(
            np.array(limbs_of(F.prime.modulus - 2, 2 * F.prime.limbs, 32), dtype=np.uint32)
        )
        scratch = s.allocate(max(1, 5 * min(n, chunk)) * F.words)
        for j in range(1, multiples):
            for first in range(0, n, chunk):
                count = min(chunk, n - first)
                workers = -(-count // share)
                kernel.launch(
                    scope.stream, -(-workers // threads), threads, table, scratch, exponent,
                    (j - 1) * n + first, j * n + first, count, step, workers,
                )  # fmt: skip
