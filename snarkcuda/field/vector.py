"""`Vector(F, k)`: eight field elements side by side inside CPU kernels, operators on their type.

The type carries k: every lane is at most k·p (each prime coefficient of an extension). Sums and
differences return a larger k and cost no comparison; a product takes what fits one reduction and
returns k = 2, after bringing operands down where they do not fit. So ranges are proved when a
kernel is compiled, and a variable that would grow in a loop does not type: bring it down with
`shrunk`.

    prime field      52-bit limbs, Montgomery, R = 2^(52·L)       field/ifma.py
    Fp2              three products and two reductions a product

What a vector is: `vector_type`; how large operands may be: `vector_ranges`; read and written:
`vector_memory`, `vector_rows`; inverted: `vector_inverse`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.typing.templates import AbstractTemplate, signature
from numba.extending import lower_builtin

from snarkcuda.field import ifma, words
from snarkcuda.field.element import register_word
from snarkcuda.field.params import Field, PrimeField, prime_of
from snarkcuda.field.vector_ranges import (
    Operand,
    carry,
    factors,
    shrink,
    sum_bound,
    sum_units,
    summands,
)
from snarkcuda.field.vector_type import (
    STORED,
    Coefficients,
    VectorType,
    carried,
    join,
    split,
)

# --- operators and words -------------------------------------------------------------------------

Emit = Callable[..., Coefficients]


def _define(
    symbol: Any,
    arity: int,
    bound: Callable[..., int],
    emit: Emit,
    units: Callable[..., int] = lambda field, *units: 0,
) -> None:
    """Type `symbol` for `arity` vectors of one field, and emit its code in place.

    `bound(field, *k)` and `units(field, *units)` are those of the result; `emit(builder, field,
    *operands)` gives its limbs.
    """

    class Template(AbstractTemplate):  # type: ignore[misc]
        def generic(self, args: Any, kws: Any) -> Any:
            if len(args) != arity or not all(isinstance(a, VectorType) for a in args):
                return None
            first = args[0]
            if any((a.field, a.count) != (first.field, first.count) for a in args):
                return None
            prime = prime_of(first.field)
            k, loose = bound(prime, *(a.k for a in args)), units(prime, *(a.units for a in args))
            return signature(first.bounded(k, loose), *args)

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        operands = [
            Operand(split(builder, kind, value), kind.k, kind.units)
            for kind, value in zip(sig.args, args, strict=True)
        ]
        return join(builder, sig.return_type, emit(builder, sig.args[0].field, *operands))

    register_word(symbol, Template)
    lower_builtin(symbol, *[VectorType] * arity)(lower)


def _emit_add(builder: Any, field: Field, *operands: Operand) -> Coefficients:
    a, b = summands(builder, field, *operands)
    return [ifma.add(builder, x, y) for x, y in zip(a.limbs, b.limbs, strict=True)]


def _emit_sub(builder: Any, field: Field, *operands: Operand) -> Coefficients:
    a, b = summands(builder, field, *operands)
    prime = prime_of(field)
    return [ifma.sub(builder, prime, x, y, b.k) for x, y in zip(a.limbs, b.limbs, strict=True)]


def _emit_neg(builder: Any, field: Field, a: Operand) -> Coefficients:
    (a,), prime = summands(builder, field, a), prime_of(field)
    zero = ifma.constant(prime, int(a.limbs[0][0].type.count), 0)
    return [ifma.sub(builder, prime, zero, x, a.k) for x in a.limbs]


def _emit_conjugate(builder: Any, field: Field, a: Operand) -> Coefficients:
    (a,) = summands(builder, field, a)
    first, *rest = a.limbs
    return [first, *_emit_neg(builder, field, a._replace(limbs=rest))] if rest else [first]


_define(operator.add, 2, sum_bound, _emit_add, sum_units)
_define(operator.sub, 2, sum_bound, _emit_sub, sum_units)
_define(operator.neg, 1, lambda field, k: k, _emit_neg, sum_units)
_define(words.conjugate, 1, lambda field, k: k, _emit_conjugate, sum_units)


# --- products: wide values, added up and reduced once --------------------------------------------

Wide = tuple[list[ifma.Limbs], int]  # by coefficient; each at most k·p², and not negative


def _wide_factor(field: Field) -> int:
    """A coefficient of a product is at most this many times ka·kb·p²."""
    return 1 if isinstance(field, PrimeField) else 2


def _wide_mul(builder: Any, field: Field, a: Operand, b: Operand) -> Wide:
    """a·b. In Fp2: c0 = a0·b0 − a1·b1, c1 = (a0 + a1)·(b0 + b1) − a0·b0 − a1·b1 (Karatsuba)."""
    products = [ifma.wide_mul(builder, x, y) for x, y in zip(a.limbs, b.limbs, strict=True)]
    if isinstance(field, PrimeField):
        return products, a.k * b.k
    sums = [ifma.carried(builder, ifma.add(builder, *x.limbs)) for x in (a, b)]
    cross = ifma.wide_mul(builder, *sums)
    for product in products:
        cross = ifma.wide_sub(builder, cross, product)  # leaves a0·b1 + a1·b0
    lifted = ifma.wide_lift(builder, prime_of(field), products[0], a.k * b.k)
    return [ifma.wide_sub(builder, lifted, products[1]), cross], 2 * a.k * b.k


def _wide_sqr(builder: Any, field: Field, a: Operand) -> Wide:
    """a². In Fp2: c0 = (a0 + a1)·(a0 − a1), c1 = 2·a0·a1."""
    if isinstance(field, PrimeField):
        return [ifma.wide_sqr(builder, a.limbs[0])], a.k**2
    a0, a1 = a.limbs
    difference = ifma.carried(builder, ifma.sub(builder, prime_of(field), a0, a1, a.k))
    total = ifma.carried(builder, ifma.add(builder, a0, a1))
    half = ifma.wide_mul(builder, a0, a1)
    c0 = ifma.wide_mul(builder, total, difference)
    return [c0, ifma.wide_add(builder, half, half)], 4 * a.k**2


def _reduced(builder: Any, field: Field, wide: Wide) -> Coefficients:
    columns, k = wide
    assert k <= ifma.product_slack(prime_of(field)), "operands were not brought down"
    return [ifma.reduce(builder, prime_of(field), x) for x in columns]


def _emit_mul(builder: Any, field: Field, a: Operand, b: Operand) -> Coefficients:
    ((a, b),) = factors(builder, field, _wide_factor(field), [(a, b)])
    return _reduced(builder, field, _wide_mul(builder, field, a, b))


def _emit_sqr(builder: Any, field: Field, a: Operand) -> Coefficients:
    factor = 1 if isinstance(field, PrimeField) else 4
    bound = a.k
    while factor * bound**2 > ifma.product_slack(prime_of(field)):
        bound = max(STORED, bound // 2)
    a = carry(builder, shrink(builder, field, a, bound))
    return _reduced(builder, field, _wide_sqr(builder, field, a))


def _emit_mul_sub(
    builder: Any, field: Field, a: Operand, b: Operand, c: Operand, d: Operand
) -> Coefficients:
    """a·b − c·d: both wide, the second taken away, one reduction a coefficient."""
    pairs = factors(builder, field, _wide_factor(field), [(a, b), (c, d)])
    (left, k_left), (right, k_right) = (_wide_mul(builder, field, x, y) for x, y in pairs)
    prime, columns = prime_of(field), []
    for x, y in zip(left, right, strict=True):
        columns.append(ifma.wide_sub(builder, ifma.wide_lift(builder, prime, x, k_right), y))
    return _reduced(builder, field, (columns, k_left + k_right))


def _product_bound(field: PrimeField, *ks: int) -> int:
    return STORED


def _product_units(field: PrimeField, *units: int) -> int:
    return ifma.product_units(field)


_define(operator.mul, 2, _product_bound, _emit_mul, _product_units)
_define(words.sqr, 1, _product_bound, _emit_sqr, _product_units)
_define(words.mul_sub, 4, _product_bound, _emit_mul_sub, _product_units)


# --- bounds, constants, lanes --------------------------------------------------------------------


def shrunk(a: Any) -> Any:
    """The same residues, at most 2p and carried: what arrays hold and what loops can carry."""
    return a


def reduced(a: Any) -> Any:
    """The same residues, below p."""
    return a


def settled(a: Any) -> Any:
    """The same value with carried limbs, as scratch memory and loops want them."""
    return a


def trimmed(a: Any) -> Any:
    """The same residues, at most about (k/2 + 1)·p: one step of `shrunk`, not carried."""
    return a


def _trimmed_bound(field: PrimeField, k: int) -> int:
    return max(STORED, k // 2 + 1)


def _emit_trimmed(builder: Any, field: Field, a: Operand) -> Coefficients:
    return shrink(builder, field, a, _trimmed_bound(prime_of(field), a.k)).limbs


_define(settled, 1, lambda field, k: k, lambda builder, field, a: carry(builder, a).limbs)
_define(trimmed, 1, _trimmed_bound, _emit_trimmed, lambda field, units: max(1, units) + 1)


def _emit_shrunk(builder: Any, field: Field, a: Operand) -> Coefficients:
    return carry(builder, shrink(builder, field, a, STORED)).limbs


_define(shrunk, 1, lambda field, k: STORED, _emit_shrunk)


def _emit_reduced(builder: Any, field: Field, a: Operand) -> Coefficients:
    prime, limbs = prime_of(field), _emit_shrunk(builder, field, a)
    # From 2p to p, and p itself to 0.
    return [ifma.subtract_p(builder, prime, ifma.subtract_p(builder, prime, x)) for x in limbs]


_define(reduced, 1, lambda field, k: 1, _emit_reduced)


def _constant(field: Field, count: int, raw: int) -> Coefficients:
    """`raw` in the first coefficient of every lane, 0 in the others."""
    prime = prime_of(field)
    first, rest = ifma.constant(prime, count, raw), ifma.constant(prime, count, 0)
    return [first, *[rest] * (field.level - 1)]


def _lanes_of(a: Operand) -> int:
    return int(a.limbs[0][0].type.count)


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
        for limbs in carried(builder, kind, args[0]):
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
        return signature(a.bounded(max(a.k, b.k), max(a.units, b.units)), types.uint64, a, b)


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
        part = VectorType(a.field.base, a.k, a.count, a.units)
        return signature(types.UniTuple(part, a.field.degree), a)


class _ExtendTemplate(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:
        if not args or not all(isinstance(a, VectorType) for a in args):
            return None
        above = args[0].field.extension
        if len(args) != above.degree or any(a.field != args[0].field for a in args):
            return None
        k, units = max(a.k for a in args), max(a.units for a in args)
        return signature(VectorType(above, k, args[0].count, units), *args)


def _lower_extend(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    pairs = zip(sig.args, args, strict=True)
    coefficients = [limbs for kind, x in pairs for limbs in split(builder, kind, x)]
    return join(builder, sig.return_type, coefficients)


# A tuple of equal types is an LLVM array, which is what an extension's vector already is.
register_word(words.parts, _PartsTemplate)
lower_builtin(words.parts, VectorType)(lambda context, builder, sig, args: args[0])
register_word(words.extend, _ExtendTemplate)
lower_builtin(words.extend, VectorType, VectorType)(_lower_extend)
