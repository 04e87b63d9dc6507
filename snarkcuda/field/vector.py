"""`Vector(F, k)`: eight field elements side by side inside CPU kernels, operators on their type.

The type carries k: every lane is at most k·p (each prime coefficient of an extension). Sums and
differences return a larger k and cost no comparison; a product takes what fits one reduction and
returns k = 2, after bringing operands down where they do not fit. So ranges are proved when a
kernel is compiled, and a variable that would grow in a loop does not type: bring it down with
`shrunk`.

    prime field      52-bit limbs, Montgomery, R = 2^(52·L)       field/ifma.py
    Fp2              three products and two reductions a product

What a vector is: `vector_type`; how it is read and written: `vector_memory`; inverted:
`vector_inverse`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.typing.templates import AbstractTemplate, signature
from numba.extending import lower_builtin

from snarkcuda.field import ifma, words
from snarkcuda.field.element import register_word
from snarkcuda.field.params import Field, PrimeField, prime_of
from snarkcuda.field.vector_type import STORED, Coefficients, VectorType, join, split

# --- operators and words -------------------------------------------------------------------------

Emit = Callable[..., Coefficients]


def _define(symbol: Any, arity: int, bound: Callable[..., int], emit: Emit) -> None:
    """Type `symbol` for `arity` vectors of one field, any k, and emit its code in place.

    `bound(field, *k)` is the k of the result; `emit(builder, field, *(coefficients, k))` its limbs.
    """

    class Template(AbstractTemplate):  # type: ignore[misc]
        def generic(self, args: Any, kws: Any) -> Any:
            if len(args) != arity or not all(isinstance(a, VectorType) for a in args):
                return None
            first = args[0]
            if any((a.field, a.count) != (first.field, first.count) for a in args):
                return None
            k = bound(prime_of(first.field), *(a.k for a in args))
            return signature(first.bounded(k), *args)

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        operands = [
            (split(builder, kind, value), kind.k)
            for kind, value in zip(sig.args, args, strict=True)
        ]
        return join(builder, sig.return_type, emit(builder, sig.args[0].field, *operands))

    register_word(symbol, Template)
    lower_builtin(symbol, *[VectorType] * arity)(lower)


Operand = tuple[Coefficients, int]


def _shrink(builder: Any, field: Field, operand: Operand, target: int) -> Operand:
    a, k = operand
    if k <= target:
        return operand
    prime = prime_of(field)
    return [ifma.shrink(builder, prime, limbs, k, target) for limbs in a], target


def _fit(field: PrimeField, ks: Sequence[int], factor: int = 1) -> list[int]:
    """Bounds to bring operands down to before a sum: factor·Σ k ≤ R/p, the largest ones first."""
    bounds = list(ks)
    while factor * sum(bounds) > ifma.slack(field):
        largest = max(range(len(bounds)), key=bounds.__getitem__)
        bounds[largest] = max(STORED, bounds[largest] // 2)
    return bounds


def _sum_bound(field: PrimeField, *ks: int) -> int:
    return sum(_fit(field, ks))


def _emit_add(builder: Any, field: Field, *operands: Operand) -> Coefficients:
    bounds = _fit(prime_of(field), [k for _, k in operands])
    (a, _), (b, _) = (_shrink(builder, field, x, k) for x, k in zip(operands, bounds, strict=True))
    return [ifma.add(builder, x, y) for x, y in zip(a, b, strict=True)]


def _emit_sub(builder: Any, field: Field, *operands: Operand) -> Coefficients:
    bounds = _fit(prime_of(field), [k for _, k in operands])
    (a, _), (b, kb) = (_shrink(builder, field, x, k) for x, k in zip(operands, bounds, strict=True))
    return [ifma.sub(builder, prime_of(field), x, y, kb) for x, y in zip(a, b, strict=True)]


def _emit_neg(builder: Any, field: Field, operand: Operand) -> Coefficients:
    a, k = operand
    prime = prime_of(field)
    zero = ifma.constant(prime, a[0][0].type.count, 0)
    return [ifma.sub(builder, prime, zero, x, k) for x in a]


def _emit_conjugate(builder: Any, field: Field, operand: Operand) -> Coefficients:
    (first, *rest), k = operand
    return [first, *_emit_neg(builder, field, (rest, k))] if rest else [first]


_define(operator.add, 2, _sum_bound, _emit_add)
_define(operator.sub, 2, _sum_bound, _emit_sub)
_define(operator.neg, 1, lambda field, k: k, _emit_neg)
_define(words.conjugate, 1, lambda field, k: k, _emit_conjugate)


# --- products: wide values, added up and reduced once --------------------------------------------

Wide = tuple[list[ifma.Limbs], int]  # by coefficient; each at most k·p², and not negative


def _wide_factor(field: Field) -> int:
    """A coefficient of a product is at most this many times ka·kb·p²."""
    return 1 if isinstance(field, PrimeField) else 2


def _wide_mul(builder: Any, field: Field, a: Operand, b: Operand) -> Wide:
    """a·b. In Fp2: c0 = a0·b0 − a1·b1, c1 = (a0 + a1)·(b0 + b1) − a0·b0 − a1·b1 (Karatsuba)."""
    (a_parts, ka), (b_parts, kb) = a, b
    products = [ifma.wide_mul(builder, x, y) for x, y in zip(a_parts, b_parts, strict=True)]
    if isinstance(field, PrimeField):
        return products, ka * kb
    cross = ifma.wide_mul(builder, ifma.add(builder, *a_parts), ifma.add(builder, *b_parts))
    for product in products:
        cross = ifma.wide_sub(builder, cross, product)  # leaves a0·b1 + a1·b0
    lifted = ifma.wide_lift(builder, prime_of(field), products[0], ka * kb)
    return [ifma.wide_sub(builder, lifted, products[1]), cross], 2 * ka * kb


def _wide_sqr(builder: Any, field: Field, a: Operand) -> Wide:
    """a². In Fp2: c0 = (a0 + a1)·(a0 − a1), c1 = 2·a0·a1."""
    parts, k = a
    if isinstance(field, PrimeField):
        return [ifma.wide_sqr(builder, parts[0])], k * k
    a0, a1 = parts
    difference = ifma.sub(builder, prime_of(field), a0, a1, k)
    c0 = ifma.wide_mul(builder, ifma.add(builder, a0, a1), difference)
    half = ifma.wide_mul(builder, a0, a1)
    return [c0, ifma.wide_add(builder, half, half)], 4 * k * k


def _reduced(builder: Any, field: Field, wide: Wide) -> Coefficients:
    columns, k = wide
    assert k <= ifma.slack(prime_of(field)), "operands were not brought down"
    return [ifma.reduce(builder, prime_of(field), x) for x in columns]


def _for_product(
    builder: Any, field: Field, factor: int, pairs: Sequence[tuple[Operand, Operand]]
) -> list[tuple[Operand, Operand]]:
    """Operands brought down until factor·Σ ka·kb ≤ R/p, the largest ones first."""
    bounds = [[a[1], b[1]] for a, b in pairs]
    while factor * sum(ka * kb for ka, kb in bounds) > ifma.slack(prime_of(field)):
        pair = max(bounds, key=max)
        largest = pair.index(max(pair))
        pair[largest] = max(STORED, pair[largest] // 2)
    return [
        (_shrink(builder, field, a, ka), _shrink(builder, field, b, kb))
        for (a, b), (ka, kb) in zip(pairs, bounds, strict=True)
    ]


def _emit_mul(builder: Any, field: Field, a: Operand, b: Operand) -> Coefficients:
    ((a, b),) = _for_product(builder, field, _wide_factor(field), [(a, b)])
    return _reduced(builder, field, _wide_mul(builder, field, a, b))


def _emit_sqr(builder: Any, field: Field, a: Operand) -> Coefficients:
    factor = 1 if isinstance(field, PrimeField) else 4
    bound = a[1]
    while factor * bound**2 > ifma.slack(prime_of(field)):
        bound = max(STORED, bound // 2)
    return _reduced(builder, field, _wide_sqr(builder, field, _shrink(builder, field, a, bound)))


def _emit_mul_sub(
    builder: Any, field: Field, a: Operand, b: Operand, c: Operand, d: Operand
) -> Coefficients:
    """a·b − c·d: both wide, the second taken away, one reduction a coefficient."""
    pairs = _for_product(builder, field, _wide_factor(field), [(a, b), (c, d)])
    (left, k_left), (right, k_right) = (_wide_mul(builder, field, x, y) for x, y in pairs)
    prime, columns = prime_of(field), []
    for x, y in zip(left, right, strict=True):
        columns.append(ifma.wide_sub(builder, ifma.wide_lift(builder, prime, x, k_right), y))
    return _reduced(builder, field, (columns, k_left + k_right))


def _product_bound(field: PrimeField, *ks: int) -> int:
    return STORED


_define(operator.mul, 2, _product_bound, _emit_mul)
_define(words.sqr, 1, _product_bound, _emit_sqr)
_define(words.mul_sub, 4, _product_bound, _emit_mul_sub)


# --- bounds, constants, lanes --------------------------------------------------------------------


def shrunk(a: Any) -> Any:
    """The same residues, at most 2p: what arrays hold and what loops can carry."""
    return a


def reduced(a: Any) -> Any:
    """The same residues, below p."""
    return a


_define(
    shrunk,
    1,
    lambda field, k: STORED,
    lambda builder, field, a: _shrink(builder, field, a, STORED)[0],
)


def _emit_reduced(builder: Any, field: Field, a: Operand) -> Coefficients:
    small, _ = _shrink(builder, field, a, 1)
    # p itself is within the bound, but is not reduced.
    return [ifma.subtract_once(builder, prime_of(field), x, 1) for x in small]


_define(reduced, 1, lambda field, k: 1, _emit_reduced)


def _constant(field: Field, count: int, raw: int) -> Coefficients:
    """`raw` in the first coefficient of every lane, 0 in the others."""
    prime = prime_of(field)
    first, rest = ifma.constant(prime, count, raw), ifma.constant(prime, count, 0)
    return [first, *[rest] * (field.level - 1)]


def _lanes_of(a: Operand) -> int:
    return int(a[0][0][0].type.count)


_define(
    words.zero_like,
    1,
    lambda field, k: STORED,
    lambda builder, field, a: _constant(field, _lanes_of(a), 0),
)
_define(
    words.one_like,
    1,
    lambda field, k: STORED,
    lambda builder, field, a: _constant(
        field, _lanes_of(a), ifma.radix(prime_of(field)) % prime_of(field).modulus
    ),
)


def might_be_zero(a: Any) -> Any:
    """A mask of lanes, with all that are zero: cheap, and nearly always empty."""
    return words.is_zero(a)


def is_null(a: Any) -> Any:
    """A mask of the lanes that are the number 0, not another multiple of p: infinity in arrays."""
    return words.is_zero(a)


def _define_test(symbol: Any, emit: Callable[..., Any]) -> None:
    """Type a test of every lane, a mask in a uint64; true where it is for each coefficient."""

    class Template(AbstractTemplate):  # type: ignore[misc]
        def generic(self, args: Any, kws: Any) -> Any:
            is_vector = len(args) == 1 and isinstance(args[0], VectorType)
            return signature(types.uint64, *args) if is_vector else None

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind, mask = sig.args[0], None
        for limbs in split(builder, kind, args[0]):
            found = emit(builder, prime_of(kind.field), limbs, kind.k)
            mask = found if mask is None else builder.and_(mask, found)
        return builder.zext(builder.bitcast(mask, ir.IntType(kind.count)), ifma.I64)

    register_word(symbol, Template)
    lower_builtin(symbol, VectorType)(lower)


_define_test(words.is_zero, ifma.is_zero)
_define_test(might_be_zero, ifma.might_be_zero)
_define_test(is_null, lambda builder, field, limbs, k: ifma.is_null(builder, limbs))


class _SelectTemplate(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:
        _, a, b = args
        if not (isinstance(a, VectorType) and isinstance(b, VectorType)) or a.field != b.field:
            return None
        return signature(a.bounded(max(a.k, b.k)), types.uint64, a, b)


def _lower_select(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    mask, a, b = args
    count = sig.return_type.count
    bits = builder.bitcast(
        builder.trunc(mask, ir.IntType(count)), ir.VectorType(ir.IntType(1), count)
    )
    chosen = []
    pairs = (split(builder, kind, x) for kind, x in zip(sig.args[1:], (a, b), strict=True))
    for x, y in zip(*pairs, strict=True):
        chosen.append([builder.select(bits, u, v) for u, v in zip(x, y, strict=True)])
    return join(builder, sig.return_type, chosen)


register_word(words.select, _SelectTemplate)
lower_builtin(words.select, types.Integer, VectorType, VectorType)(_lower_select)


class _PartsTemplate(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:
        a = args[0]
        if len(args) != 1 or not isinstance(a, VectorType) or isinstance(a.field, PrimeField):
            return None
        part = VectorType(a.field.base, a.k, a.count)
        return signature(types.UniTuple(part, a.field.degree), a)


class _ExtendTemplate(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:
        if not args or not all(isinstance(a, VectorType) for a in args):
            return None
        above = args[0].field.extension
        if len(args) != above.degree or any(a.field != args[0].field for a in args):
            return None
        return signature(VectorType(above, max(a.k for a in args), args[0].count), *args)


def _lower_extend(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    pairs = zip(sig.args, args, strict=True)
    coefficients = [limbs for kind, x in pairs for limbs in split(builder, kind, x)]
    return join(builder, sig.return_type, coefficients)


# A tuple of equal types is an LLVM array, which is what an extension's vector already is.
register_word(words.parts, _PartsTemplate)
lower_builtin(words.parts, VectorType)(lambda context, builder, sig, args: args[0])
register_word(words.extend, _ExtendTemplate)
lower_builtin(words.extend, VectorType, VectorType)(_lower_extend)
