"""Montgomery arithmetic on 64-bit limbs, emitted as LLVM IR: the scalar CPU path.

An element is `[n x i64]` in registers, little-endian limbs, Montgomery form with R = 2^(64n),
always reduced: 0 ≤ value < p. The moduli leave at least one bit of the top limb free, 2p < R, so
that sums fit n limbs and the sign of v − p decides the one conditional subtraction
(`tests/field/test_bound.py` proves each range stated here).

Products of two limbs are LLVM's i128, which becomes one `mulx` on x86-64 and `mul`/`umulh` on
aarch64. Where numba compiles for x86-64 with BMI2 and ADX, the product of elements is assembly
(`montgomery_x86`), which takes three quarters of the time; LLVM does not use both carry flags.

Source: Koç, Acar and Kaliski 1996 (CIOS); Longa, eprint 2022/367 (sums of products, one reduction).
The naive twin is `field/naive.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from snarkcuda.field import montgomery_x86
from snarkcuda.field.params import PrimeField, limbs_of

I64 = ir.IntType(64)
I128 = ir.IntType(128)
Value = Any  # llvmlite values carry no useful types
Builder = Any


def element_type(field: PrimeField) -> Any:
    """`[n x i64]`."""
    return ir.ArrayType(I64, field.limbs)


def constant(field: PrimeField, raw: int) -> Value:
    """The n limbs of `raw`, which is stored as it stands."""
    return ir.Constant(element_type(field), limbs_of(raw, field.limbs))


def _split(builder: Builder, element: Value) -> list[Value]:
    return [builder.extract_value(element, i) for i in range(element.type.count)]


def _join(builder: Builder, limbs: Sequence[Value]) -> Value:
    element = ir.Constant(ir.ArrayType(I64, len(limbs)), ir.Undefined)
    for i, limb in enumerate(limbs):
        element = builder.insert_value(element, limb, i)
    return element


def _widen(builder: Builder, element: Value) -> Value:
    """[n x i64] to one integer of 64n bits."""
    wide = ir.IntType(64 * element.type.count)
    total = ir.Constant(wide, 0)
    for i, limb in enumerate(_split(builder, element)):
        shifted = builder.shl(builder.zext(limb, wide), ir.Constant(wide, 64 * i))
        total = builder.or_(total, shifted)
    return total


def _narrow(builder: Builder, wide: Value) -> Value:
    """One integer of 64n bits to [n x i64]."""
    count = wide.type.width // 64
    shifts = [builder.lshr(wide, ir.Constant(wide.type, 64 * i)) for i in range(count)]
    return _join(builder, [builder.trunc(shifted, I64) for shifted in shifts])


def _subtract_modulus_once(builder: Builder, field: PrimeField, wide: Value) -> Value:
    """[0, 2p) to [0, p): v − p unless that is negative."""
    reduced = builder.sub(wide, ir.Constant(wide.type, field.modulus))
    negative = builder.icmp_signed("<", reduced, ir.Constant(wide.type, 0))
    return builder.select(negative, wide, reduced)


def add(builder: Builder, field: PrimeField, a: Value, b: Value) -> Value:
    """a + b: [0, p) + [0, p) < 2p < R, one conditional subtraction."""
    total = builder.add(_widen(builder, a), _widen(builder, b))
    return _narrow(builder, _subtract_modulus_once(builder, field, total))


def sub(builder: Builder, field: PrimeField, a: Value, b: Value) -> Value:
    """a − b in (−p, p), plus p where negative."""
    wide = builder.sub(_widen(builder, a), _widen(builder, b))
    negative = builder.icmp_signed("<", wide, ir.Constant(wide.type, 0))
    modulus = ir.Constant(wide.type, field.modulus)
    return _narrow(builder, builder.select(negative, builder.add(wide, modulus), wide))


def neg(builder: Builder, field: PrimeField, a: Value) -> Value:
    """p − a, and 0 for 0 (so that the result is below p)."""
    return sub(builder, field, constant(field, 0), a)


def is_zero(builder: Builder, a: Value) -> Value:
    """i1: all limbs are zero (values are reduced, so p itself never occurs)."""
    wide = _widen(builder, a)
    return builder.icmp_unsigned("==", wide, ir.Constant(wide.type, 0))


def equal(builder: Builder, a: Value, b: Value) -> Value:
    """i1: a = b."""
    return builder.icmp_unsigned("==", _widen(builder, a), _widen(builder, b))


def select(builder: Builder, condition: Value, a: Value, b: Value) -> Value:
    """`a` if condition else `b`, limb by limb, no branch."""
    pairs = zip(_split(builder, a), _split(builder, b), strict=True)
    return _join(builder, [builder.select(condition, x, y) for x, y in pairs])


def mul(builder: Builder, field: PrimeField, a: Value, b: Value) -> Value:
    """a·b/R: CIOS; a, b < p give a value < 2p before the one conditional subtraction."""
    return sum_of_products(builder, field, [(a, b)])


def mul_sub(builder: Builder, field: PrimeField, a: Value, b: Value, c: Value, d: Value) -> Value:
    """(a·b − c·d)/R as a·b + (p − c)·d: two products, one reduction.

    The sum is < 2p², so the reduced value is < 2p²/R + p < 2p: one conditional subtraction again.
    The running value needs 3p < R, which holds for both base fields; the scalar field of BLS12-381
    is too close to R and reduces twice.
    """
    if 3 * field.modulus > field.montgomery:
        return sub(builder, field, mul(builder, field, a, b), mul(builder, field, c, d))
    return sum_of_products(builder, field, [(a, b), (neg(builder, field, c), d)])


def sum_of_products(
    builder: Builder, field: PrimeField, pairs: Sequence[tuple[Value, Value]]
) -> Value:
    """(Σ a·b)/R mod p for one or two pairs of reduced elements, as a call."""
    if montgomery_x86.applies_to(field):
        return assembly_sum_of_products(builder, field, pairs)
    return portable_sum_of_products(builder, field, pairs)


def assembly_sum_of_products(
    builder: Builder, field: PrimeField, pairs: Sequence[tuple[Value, Value]]
) -> Value:
    """`sum_of_products` for x86-64 processors with BMI2 and ADX."""
    limbs = [(_split(builder, a), _split(builder, b)) for a, b in pairs]
    return _join(builder, montgomery_x86.sum_of_products(builder, field, limbs))


def portable_sum_of_products(
    builder: Builder, field: PrimeField, pairs: Sequence[tuple[Value, Value]]
) -> Value:
    """`sum_of_products` for any processor.

    One function a module, never inlined: the call is lost in the product's own time (measured), and
    kernels compile three to five times faster than with every product in place.
    """
    kind = element_type(field)
    name = f"snarkcuda.{field.name}.{field.modulus:x}.sum_of_{len(pairs)}_products"
    function = builder.module.globals.get(name)
    if function is None:
        function = ir.Function(
            builder.module, ir.FunctionType(kind, [kind] * (2 * len(pairs))), name
        )
        function.linkage = "linkonce_odr"
        function.calling_convention = "fastcc"
        function.attributes.add("noinline")
        function.attributes.add("nounwind")
        body = ir.IRBuilder(function.append_basic_block())
        args = iter(function.args)
        body.ret(_emit_sum_of_products(body, field, list(zip(args, args, strict=True))))
    return builder.call(function, [x for pair in pairs for x in pair], cconv="fastcc")


def _emit_sum_of_products(
    builder: Builder, field: PrimeField, pairs: Sequence[tuple[Value, Value]]
) -> Value:
    """The body: CIOS.

    Row i adds aⱼ·bᵢ for each of k pairs, then m·p with m = −t₀/p mod 2^64, and drops the zero limb.
    By induction the running value stays below (k + 1)·p, so it is below (k + 1)·p·2^64 within a
    row: n + 1 limbs hold it if (k + 1)·p ≤ R.
    """
    n = field.limbs
    modulus = [ir.Constant(I128, limb) for limb in limbs_of(field.modulus, n)]
    factors = [
        ([builder.zext(x, I128) for x in _split(builder, a)], _split(builder, b)) for a, b in pairs
    ]
    zero = ir.Constant(I64, 0)
    t = [zero] * (n + 1)
    for i in range(n):
        for a_limbs, b_limbs in factors:
            b_i = builder.zext(b_limbs[i], I128)
            t = _add_row(builder, t, [builder.mul(a_j, b_i) for a_j in a_limbs])
        m = builder.zext(builder.mul(t[0], ir.Constant(I64, field.neg_inverse_64)), I128)
        t = _add_row(builder, t, [builder.mul(m, p_j) for p_j in modulus])
        t = [*t[1:], zero]
    value = _widen(builder, _join(builder, t[:n]))
    return _narrow(builder, _subtract_modulus_once(builder, field, value))


def _add_row(builder: Builder, t: Sequence[Value], row: Sequence[Value]) -> list[Value]:
    """t + Σ rowⱼ·2^(64j); each step is at most (2^64 − 1)² + 2·(2^64 − 1) = 2^128 − 1."""
    shift = ir.Constant(I128, 64)
    result: list[Value] = []
    carry = None
    for limb, product in zip(t, row, strict=False):
        step = builder.add(product, builder.zext(limb, I128))
        if carry is not None:
            step = builder.add(step, builder.zext(carry, I128))
        result.append(builder.trunc(step, I64))
        carry = builder.trunc(builder.lshr(step, shift), I64)
    return [*result, builder.add(t[-1], carry)]
