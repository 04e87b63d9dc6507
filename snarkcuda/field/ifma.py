"""Montgomery arithmetic on vectors of 52-bit limbs, emitted as LLVM IR: the fast CPU path.

An element is L vectors of 64-bit lanes, one element a lane, 52 bits of it in each vector:

    lane:      0    1    2   …   7            vpmadd52luq  t + low  52 bits of x·y
    limb 0   [ ·    ·    ·       · ]          vpmadd52huq  t + high 52 bits of x·y
    …
    limb L−1 [ ·    ·    ·       · ]          R = 2^(52·L);  L = 5 (254, 255 bits), 8 (381 bits)

Values are not reduced below p but kept at most k·p, k known when the code is emitted (`Vector`'s
type carries it). R/p is large enough (35 and more) that a product of such values needs no
subtraction afterwards:

    (a·b + m·p)/R ≤ (ka·kb·p²)/R + p + p/2 ≤ 2p   see `reduce` and `product_slack`

Limbs are *carried*, each in 0 … 2^52 − 1, or *loose*: signed, at most units·2^52 in size, though
the value as a whole is not negative. Sums and products are loose; products, tests and memory want
carried limbs. A product is first a *wide* value of 2L loose columns, at most kw·p² as a whole; sums
of products are added up wide and reduced once.

The instructions are AVX-512 IFMA's (8 lanes; 4 lanes need AVX-512VL besides). LLVM ends the process
if it meets them without the feature, see `vector_type.has_vectors`. Sources: Gueron and Krasnov,
ARITH 2016 (IFMA); Longa, eprint 2022/367 (sums of products). The twin is `montgomery`; `bound`
proves the ranges.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from snarkcuda.field.params import PrimeField, limbs_of

WIDTH = 52
I64 = ir.IntType(64)
Value = Any
Builder = Any
Limbs = list[Value]  # of an element, or the columns of a wide value


def limb_count(field: PrimeField) -> int:
    """L: the fewest limbs."""
    return math.ceil(field.bits / WIDTH)


def radix(field: PrimeField) -> int:
    """R = 2^(52·L)."""
    return 1 << (WIDTH * limb_count(field))


def slack(field: PrimeField) -> int:
    """⌊R/p⌋: the largest k."""
    return radix(field) // field.modulus


def splat(lanes: int, word: int) -> Value:
    """The constant `word` in every lane."""
    return ir.Constant(ir.VectorType(I64, lanes), [ir.Constant(I64, word)] * lanes)


def constant(field: PrimeField, lanes: int, raw: int, count: int | None = None) -> Limbs:
    """The limbs of `raw`, which is stored as it stands, in every lane."""
    return [splat(lanes, limb) for limb in limbs_of(raw, count or limb_count(field), WIDTH)]


def product_units(field: PrimeField) -> int:
    """Units of a product's limbs: columns of four wide products, and the reduction's 2·L halves."""
    return 12 * limb_count(field)


def _lanes(x: Value) -> int:
    return int(x.type.count)


def _madd(builder: Builder, half: str, total: Value, x: Value, y: Value) -> Value:
    """total + the low ("l") or high ("h") 52 bits of the 104-bit product of the lanes' low 52."""
    kind = total.type
    name = f"llvm.x86.avx512.vpmadd52{half}.uq.{64 * kind.count}"
    function = builder.module.globals.get(name)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(kind, [kind] * 3), name)
    return builder.call(function, [total, x, y])


def carried(builder: Builder, columns: Sequence[Value]) -> Limbs:
    """The same value with limbs below 2^52; the last one keeps what is above. Signs carry."""
    shift, mask = splat(_lanes(columns[0]), WIDTH), splat(_lanes(columns[0]), (1 << WIDTH) - 1)
    result: Limbs = []
    carry = None
    for column in columns[:-1]:
        total = column if carry is None else builder.add(column, carry)
        carry = builder.ashr(total, shift)
        result.append(builder.and_(total, mask))
    return [*result, columns[-1] if carry is None else builder.add(columns[-1], carry)]


# --- sums ----------------------------------------------------------------------------------------


def add(builder: Builder, a: Limbs, b: Limbs) -> Limbs:
    """a + b ≤ (ka + kb)·p, loose."""
    return [builder.add(x, y) for x, y in zip(a, b, strict=True)]


def sub(builder: Builder, field: PrimeField, a: Limbs, b: Limbs, kb: int) -> Limbs:
    """a − b + kb·p ≤ (ka + kb)·p, loose."""
    multiple = constant(field, _lanes(a[0]), kb * field.modulus)
    return [builder.add(builder.sub(x, y), z) for x, y, z in zip(a, b, multiple, strict=True)]


def shrink(
    builder: Builder, field: PrimeField, a: Limbs, k: int, units: int, target: int
) -> tuple[Limbs, int]:
    """From ≤ k·p to ≤ target·p, target ≥ 2: the limbs, loose, and their units.

    m·p is taken away where the highest limb alone shows that a ≥ m·p. The others hide at most
    e = (2·units + 2)·2^(52(L−1)) < p, so that the rest is ≤ max(m·p + e, (k − m)·p).
    """
    n, lanes = limb_count(field), _lanes(a[0])
    while k > target:
        m = k // 2
        assert (2 * units + 2) << (WIDTH * (n - 1)) < field.modulus
        least = ((m * field.modulus) >> (WIDTH * (n - 1))) + units + 2
        large = builder.icmp_signed(">=", a[-1], splat(lanes, least))
        multiple = constant(field, lanes, m * field.modulus)
        a = [builder.select(large, builder.sub(x, y), x) for x, y in zip(a, multiple, strict=True)]
        k, units = max(m + 1, k - m), units + 1
    return a, units


def subtract_p(builder: Builder, field: PrimeField, a: Limbs) -> Limbs:
    """a − p unless that is negative, exactly: carried, and below p for a < 2p."""
    multiple = constant(field, _lanes(a[0]), field.modulus)
    less = carried(builder, [builder.sub(x, y) for x, y in zip(a, multiple, strict=True)])
    negative = builder.icmp_signed("<", less[-1], splat(_lanes(a[0]), 0))
    return [builder.select(negative, x, y) for x, y in zip(a, less, strict=True)]


def is_zero(builder: Builder, field: PrimeField, a: Limbs, k: int) -> Value:
    """A vector of i1: the lane is 0 modulo p, for a ≤ k·p: one of 0, p, …, k·p."""
    found = None
    for multiple in range(k + 1):
        words = constant(field, _lanes(a[0]), multiple * field.modulus)
        differs = None
        for x, y in zip(a, words, strict=True):
            difference = builder.xor(x, y)
            differs = difference if differs is None else builder.or_(differs, difference)
        hit = builder.icmp_unsigned("==", differs, splat(_lanes(a[0]), 0))
        found = hit if found is None else builder.or_(found, hit)
    return found


def might_be_zero(builder: Builder, field: PrimeField, a: Limbs, k: int) -> Value:
    """A vector of i1 that `is_zero` implies: the lowest limb is that of 0, p, … or k·p."""
    found = None
    for multiple in range(k + 1):
        word = splat(_lanes(a[0]), multiple * field.modulus % (1 << WIDTH))
        hit = builder.icmp_unsigned("==", a[0], word)
        found = hit if found is None else builder.or_(found, hit)
    return found


def is_null(builder: Builder, a: Limbs) -> Value:
    """A vector of i1: the lane is the number 0."""
    total = a[0]
    for limb in a[1:]:
        total = builder.or_(total, limb)
    return builder.icmp_unsigned("==", total, splat(_lanes(a[0]), 0))


# --- products ------------------------------------------------------------------------------------


def wide_mul(builder: Builder, a: Limbs, b: Limbs) -> Limbs:
    """a·b ≤ ka·kb·p², wide."""
    n = len(a)
    columns = [splat(_lanes(a[0]), 0)] * (2 * n)
    for i in range(n):
        for j in range(n):
            columns[i + j] = _madd(builder, "l", columns[i + j], a[j], b[i])
        for j in range(n):
            columns[i + j + 1] = _madd(builder, "h", columns[i + j + 1], a[j], b[i])
    return columns


def wide_sqr(builder: Builder, a: Limbs) -> Limbs:
    """a² ≤ ka²·p², wide: the products off the diagonal once, doubled."""
    n = len(a)
    columns = [splat(_lanes(a[0]), 0)] * (2 * n)
    for i in range(n):
        for j in range(i + 1, n):
            columns[i + j] = _madd(builder, "l", columns[i + j], a[j], a[i])
            columns[i + j + 1] = _madd(builder, "h", columns[i + j + 1], a[j], a[i])
    columns = [builder.add(x, x) for x in columns]
    for i in range(n):
        columns[2 * i] = _madd(builder, "l", columns[2 * i], a[i], a[i])
        columns[2 * i + 1] = _madd(builder, "h", columns[2 * i + 1], a[i], a[i])
    return columns


def wide_add(builder: Builder, x: Limbs, y: Limbs) -> Limbs:
    """x + y ≤ (kx + ky)·p², wide."""
    return [builder.add(u, v) for u, v in zip(x, y, strict=True)]


def wide_sub(builder: Builder, x: Limbs, y: Limbs) -> Limbs:
    """x − y, wide: the caller knows that it is not negative."""
    return [builder.sub(u, v) for u, v in zip(x, y, strict=True)]


def wide_lift(builder: Builder, field: PrimeField, x: Limbs, k: int) -> Limbs:
    """x + k·p², wide: so that up to k·p² can be taken away."""
    return wide_add(builder, x, constant(field, _lanes(x[0]), k * field.modulus**2, len(x)))


def short_multiple(field: PrimeField) -> tuple[int, int]:
    """(k, s): k·p = s modulo 2^52 with s = 1 or −1, whichever makes k smaller: k < 2^51."""
    k = pow(field.modulus, -1, 1 << WIDTH)
    return min((k, 1), ((1 << WIDTH) - k, -1))


def product_slack(field: PrimeField) -> int:
    """The largest Σ ka·kb of one reduction, which leaves at most 2p: see `reduce`."""
    k, _ = short_multiple(field)
    return radix(field) * ((1 << WIDTH) - k) // (field.modulus << WIDTH)


def reduce(builder: Builder, field: PrimeField, columns: Limbs) -> Limbs:
    """x/R mod p, at most 2p, loose, for a wide 0 ≤ x ≤ product_slack·p².

    Row i adds a multiple of p that makes column i a multiple of 2^52, whose carry moves on:

        rows 0 … L − 2    q·k·p with k·p = s + 2^52·M: q = −s·x_i, so that no product finds q and
                          none cancels x_i; together at most (k/2^52)·p after the division by R
        row L − 1         q·p with q = −x_i/p: at most p

    x/R + (k/2^52)·p + p ≤ 2p is what `product_slack` says. The short rows break the chain of
    products that a row's q waits for: half the latency. Source: the idea of a modulus that is ±1
    modulo the radix goes back to Lenstra 1998 and Hars 2004, here by a multiple of any p.
    """
    n, lanes = limb_count(field), _lanes(columns[0])
    zero, shift = splat(lanes, 0), splat(lanes, WIDTH)
    ones = splat(lanes, (1 << WIDTH) - 1)
    k, sign = short_multiple(field)
    multiple = constant(field, lanes, (k * field.modulus - sign) >> WIDTH)
    t = list(columns)
    for i in range(n - 1):
        if sign < 0:  # x_i − (x_i mod 2^52)
            q, total = t[i], t[i]
        else:  # x_i + (−x_i mod 2^52)
            q, total = builder.sub(zero, t[i]), builder.add(t[i], ones)
        t[i + 1] = builder.add(t[i + 1], builder.ashr(total, shift))
        for j in range(n):
            t[i + j + 1] = _madd(builder, "l", t[i + j + 1], multiple[j], q)
        for j in range(n):
            t[i + j + 2] = _madd(builder, "h", t[i + j + 2], multiple[j], q)
    modulus = constant(field, lanes, field.modulus)
    factor = splat(lanes, -pow(field.modulus, -1, 1 << WIDTH) % (1 << WIDTH))
    q = _madd(builder, "l", zero, t[n - 1], factor)
    # Column n − 1 and the low half of p₀·q cancel: what is left is the column, rounded up.
    t[n] = builder.add(t[n], builder.ashr(builder.add(t[n - 1], ones), shift))
    for j in range(1, n):
        t[n - 1 + j] = _madd(builder, "l", t[n - 1 + j], modulus[j], q)
    for j in range(n):
        t[n + j] = _madd(builder, "h", t[n + j], modulus[j], q)
    return t[n:]


# --- between 52-bit limbs and 64-bit words -------------------------------------------------------


def limbs_of_words(builder: Builder, field: PrimeField, words: Limbs) -> Limbs:
    """Vectors of 64-bit words (little-endian) as limbs."""
    lanes, mask, result = _lanes(words[0]), (1 << WIDTH) - 1, []
    for i in range(limb_count(field)):
        word, shift = divmod(WIDTH * i, 64)
        limb = splat(lanes, 0)
        if word < len(words):
            limb = builder.lshr(words[word], splat(lanes, shift))
            if shift > 64 - WIDTH and word + 1 < len(words):
                limb = builder.or_(limb, builder.shl(words[word + 1], splat(lanes, 64 - shift)))
        result.append(builder.and_(limb, splat(lanes, mask)))
    return result


def words_of_limbs(builder: Builder, field: PrimeField, limbs: Limbs) -> Limbs:
    """Limbs as vectors of 64-bit words, as many as an element of `field` has in memory."""
    lanes, result = _lanes(limbs[0]), []
    for word in range(field.limbs):
        total = splat(lanes, 0)
        for i, limb in enumerate(limbs):
            distance = WIDTH * i - 64 * word
            if -WIDTH < distance < 64:
                shifted = (
                    builder.shl(limb, splat(lanes, distance))
                    if distance >= 0
                    else builder.lshr(limb, splat(lanes, -distance))
                )
                total = builder.or_(total, shifted)
        result.append(total)
    return result


def transposed(builder: Builder, rows: Limbs) -> Limbs:
    """The transpose within each block of n lanes, n the number of rows: log₂ n rounds of shuffles.

    Element j of a block of row i becomes element i of that block of row j.
    """
    n, lanes, rows = len(rows), _lanes(rows[0]), list(rows)
    step = 1
    while step < n:
        odd = [bool(j & step) for j in range(lanes)]
        for i in range(n):
            if i & step:
                continue
            low, high = rows[i], rows[i + step]
            rows[i] = _shuffle(
                builder, low, high, [lanes + j - step if odd[j] else j for j in range(lanes)]
            )
            rows[i + step] = _shuffle(
                builder, low, high, [lanes + j if odd[j] else j + step for j in range(lanes)]
            )
        step *= 2
    return rows


def _shuffle(builder: Builder, x: Value, y: Value, places: Sequence[int]) -> Value:
    kind = ir.VectorType(ir.IntType(32), len(places))
    mask = ir.Constant(kind, [ir.Constant(ir.IntType(32), place) for place in places])
    return builder.shuffle_vector(x, y, mask)


def permuted(builder: Builder, x: Value, places: Sequence[int]) -> Value:
    """Lane i of the result is lane places[i] of x."""
    return _shuffle(builder, x, x, places)
