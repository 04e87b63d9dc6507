"""The arithmetic of `kernels/ptx.py` in plain numba: 32-bit limbs, one loop inside another.

This is the page to read, and to change, before that one. Its functions work on rows of uint32,
least significant first; they run as they stand in Python and in the simulator, limb by limb, and
compiled on a device, where rows are local arrays that end up in registers. Values are below p.

    mul    a·b/R mod p, R = 2^(32n): CIOS, Koç, Acar and Kaliski, IEEE Micro 16(3), 1996

A product of two limbs and two limbs more fit 64 bits: (2^32 − 1)² + 2·(2^32 − 1) = 2^64 − 1.
Every literal is a uint64, since numba makes a float of a uint64 and an int64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from snarkcuda.field.naive import Extension
from snarkcuda.field.params import PrimeField, limbs_of
from snarkcuda.jit import formula

_MASK = np.uint64(0xFFFFFFFF)
_WIDTH = np.uint64(32)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)

Row = Any  # of n uint32


@dataclass(frozen=True)
class LimbWords:
    """The operations of one field, on rows.

    Attributes:
        n: limbs of a row.
        add, sub: of a, b, out.
        mul: of a, b, scratch, out; the scratch has n + 2 limbs.
    """

    n: int
    add: Callable[..., None]
    sub: Callable[..., None]
    mul: Callable[..., None]


@cache
def limb_words(field: PrimeField) -> LimbWords:
    """The operations of a field."""
    n = 2 * field.limbs
    p = tuple(limbs_of(field.modulus, n, 32))
    factor = np.uint64(-pow(field.modulus, -1, 1 << 32) % (1 << 32))  # −1/p mod 2^32

    @formula
    def subtracted(a: Row, b: Row, out: Row) -> Any:
        """out = a − b mod 2^(32n); the borrow."""
        borrow = _ZERO
        for j in range(n):
            difference = np.uint64(a[j]) + (_ONE << _WIDTH) - np.uint64(b[j]) - borrow  # never < 0
            borrow = _ONE - (difference >> _WIDTH)
            out[j] = np.uint32(difference & _MASK)
        return borrow

    @formula
    def added(a: Row, b: Row, out: Row) -> Any:
        """out = a + b mod 2^(32n); the carry."""
        carry = _ZERO
        for j in range(n):
            total = np.uint64(a[j]) + np.uint64(b[j]) + carry
            out[j] = np.uint32(total & _MASK)
            carry = total >> _WIDTH
        return carry

    @formula
    def is_below(a: Row) -> bool:
        """a < p, from the highest limb down."""
        for k in range(n):
            j = n - 1 - k
            if a[j] != p[j]:
                return bool(a[j] < p[j])
        return False

    @formula
    def add(a: Row, b: Row, out: Row) -> None:
        added(a, b, out)  # 2p < R: no carry
        if not is_below(out):
            subtracted(out, p, out)

    @formula
    def sub(a: Row, b: Row, out: Row) -> None:
        if subtracted(a, b, out) > _ZERO:
            added(out, p, out)

    @formula
    def mul(a: Row, b: Row, t: Row, out: Row) -> None:
        for j in range(n + 2):
            t[j] = np.uint32(0)
        for i in range(n):
            carry = _ZERO  # t += a·b[i]
            for j in range(n):
                total = np.uint64(t[j]) + np.uint64(a[j]) * np.uint64(b[i]) + carry
                t[j] = np.uint32(total & _MASK)
                carry = total >> _WIDTH
            total = np.uint64(t[n]) + carry
            t[n] = np.uint32(total & _MASK)
            t[n + 1] = np.uint32(total >> _WIDTH)
            multiple = (np.uint64(t[0]) * factor) & _MASK  # t = (t + multiple·p)/2^32
            carry = (np.uint64(t[0]) + multiple * np.uint64(p[0])) >> _WIDTH
            for j in range(1, n):
                total = np.uint64(t[j]) + multiple * np.uint64(p[j]) + carry
                t[j - 1] = np.uint32(total & _MASK)
                carry = total >> _WIDTH
            total = np.uint64(t[n]) + carry
            t[n - 1] = np.uint32(total & _MASK)
            t[n] = np.uint32(np.uint64(t[n + 1]) + (total >> _WIDTH))
        for j in range(n):  # below 2p
            out[j] = t[j]
        if not is_below(out):
            subtracted(out, p, out)

    return LimbWords(n, add, sub, mul)


# --- in the simulator ---------------------------------------------------------------------------


@dataclass(frozen=True)
class LimbElement:
    """An element whose operators are those functions, for formulas that run in Python."""

    field: PrimeField
    words: Row  # uint32 (n,), Montgomery

    def _apply(self, name: str, other: LimbElement) -> LimbElement:
        w = limb_words(self.field)
        out = np.empty(w.n, dtype=np.uint32)
        scratch = (np.empty(w.n + 2, dtype=np.uint32),) if name == "mul" else ()
        getattr(w, name)(self.words, other.words, *scratch, out)
        return LimbElement(self.field, out)

    def __add__(self, other: LimbElement) -> LimbElement:
        return self._apply("add", other)

    def __sub__(self, other: LimbElement) -> LimbElement:
        return self._apply("sub", other)

    def __mul__(self, other: LimbElement) -> LimbElement:
        return self._apply("mul", other)

    def __neg__(self) -> LimbElement:
        return self.constant(0) - self

    def sqr(self) -> LimbElement:
        """a²."""
        return self * self

    def mul_sub(self, b: LimbElement, c: LimbElement, d: LimbElement) -> LimbElement:
        """a·b − c·d, as two products."""
        return self * b - c * d

    def is_zero(self) -> bool:
        """Whether it is 0."""
        return not self.words.any()

    def constant(self, value: int) -> LimbElement:
        """A small integer in a's field."""
        raw = limbs_of(self.field.to_montgomery(value), len(self.words), 32)
        return LimbElement(self.field, np.array(raw, dtype=np.uint32))

    def extend(self, coefficients: Any) -> Extension:
        """c0 + c1·u."""
        return Extension(self.field.extension, tuple(coefficients))
