"""Fast inversion modulo p: Bernstein and Yang's safegcd, variable time.

Sixty-two division steps are run on the low words of f and g alone and collected in a 2×2 matrix
(u v; q r); the matrix is then applied to the whole numbers. Invariants, with a the input:

    f·2^k ≡ a·d,  g·2^k ≡ a·e  (mod p)         f odd; at the end g = 0 and f = ±1, so d = ±1/a

Numbers are signed, in limbs of 62 bits (int64), so that products of a limb and a matrix entry sum
in 128 bits. Witness values pass through here: the time depends on the value.

Source: Bernstein and Yang, eprint 2019/266; the 62-step layout with d and e kept in (−2p, p) is
Pieter Wuille's (libsecp256k1, doc/safegcd_implementation.md). The naive twin is Python's pow(a, -1,
p).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import int64, types, uint64
from numba.core import cgutils
from numba.extending import models, register_model

from snarkcuda.field.montgomery import I64, I128
from snarkcuda.field.params import PrimeField, limbs_of
from snarkcuda.jit import formula, intrinsic

STEPS = 62
MASK = (1 << STEPS) - 1


class _Wide(types.Type):  # type: ignore[misc]
    """A signed 128-bit integer inside a kernel."""

    def __init__(self) -> None:
        super().__init__(name="Wide")


_WIDE = _Wide()


@register_model(_Wide)
class _WideModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, wide: _Wide) -> None:
        super().__init__(manager, wide, I128)


@intrinsic
def _product(context: Any, x: Any, y: Any) -> Any:
    """x·y, signed."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.mul(builder.sext(args[0], I128), builder.sext(args[1], I128))

    return _WIDE(types.int64, types.int64), codegen


@intrinsic
def _add_product(context: Any, total: Any, x: Any, y: Any) -> Any:
    """total + x·y, signed."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        product = builder.mul(builder.sext(args[1], I128), builder.sext(args[2], I128))
        return builder.add(args[0], product)

    return _WIDE(_WIDE, types.int64, types.int64), codegen


@intrinsic
def _shift_down(context: Any, total: Any) -> Any:
    """total >> 62, signed."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.ashr(args[0], ir.Constant(I128, STEPS))

    return _WIDE(_WIDE), codegen


@intrinsic
def _low(context: Any, total: Any) -> Any:
    """The low 64 bits."""
    return types.int64(_WIDE), lambda context, builder, sig, args: builder.trunc(args[0], I64)


@intrinsic
def _trailing_zeros(context: Any, x: Any) -> Any:
    """Trailing zero bits of x ≠ 0."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = ir.FunctionType(I64, [I64, ir.IntType(1)])
        count = cgutils.get_or_insert_function(builder.module, kind, "llvm.cttz.i64")
        return builder.call(count, [args[0], ir.Constant(ir.IntType(1), 1)])

    return types.int64(types.uint64), codegen


def _limb_count(field: PrimeField) -> int:
    """62-bit limbs: d and e need a sign and one more bit."""
    return (field.modulus.bit_length() + 2 + STEPS - 1) // STEPS


@intrinsic
def _modulus_limb(context: Any, F: Any, index: Any) -> Any:
    """Limb `index` of p, 62 bits each."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        count = _limb_count(F.field)
        kind = ir.ArrayType(I64, count)
        values = ir.Constant(kind, limbs_of(F.field.modulus, count, STEPS))
        table = cgutils.global_constant(builder, f"{F.field.name}_62", values)
        return builder.load(builder.gep(table, [ir.Constant(I64, 0), args[1]]))

    return types.int64(F, types.intp), codegen


@intrinsic
def _limbs(context: Any, F: Any) -> Any:
    """The number of 62-bit limbs."""
    count = _limb_count(F.field)
    return types.int64(F), lambda context, builder, sig, args: ir.Constant(I64, count)


@intrinsic
def _modulus_inverse(context: Any, F: Any) -> Any:
    """1/p mod 2^62."""
    value = pow(F.field.modulus, -1, 1 << STEPS)
    return types.int64(F), lambda context, builder, sig, args: ir.Constant(I64, value)


# --- the algorithm ----------------------------------------------------------------------------


@formula
def _division_steps(eta: int64, f: uint64, g: uint64) -> tuple[int64, int64, int64, int64, int64]:
    """62 steps on the low 64 bits of f and g: the new eta and the matrix (u v; q r).

    Runs of zero bits of g are shifted out at once; a multiple of f then clears up to 6 (4) further
    low bits of g in one go.
    """
    u, v, q, r = int64(1), int64(0), int64(0), int64(1)
    ones = uint64(0xFFFFFFFFFFFFFFFF)
    left = int64(STEPS)
    while True:
        zeros = _trailing_zeros(g | (ones << uint64(left)))
        g >>= uint64(zeros)
        u <<= zeros
        v <<= zeros
        eta -= zeros
        left -= zeros
        if left == 0:
            return eta, u, v, q, r
        if eta < 0:
            eta = -eta
            f, g = g, uint64(0) - f
            u, q = q, -u
            v, r = r, -v
            limit = min(eta + 1, left)
            mask = (ones >> uint64(64 - limit)) & uint64(63)
            multiple = (f * g * (f * f - uint64(2))) & mask
        else:
            limit = min(eta + 1, left)
            mask = (ones >> uint64(64 - limit)) & uint64(15)
            inverse = f + (((f + uint64(1)) & uint64(4)) << uint64(1))
            multiple = ((uint64(0) - inverse) * g) & mask
        g += f * multiple
        q += u * int64(multiple)
        r += v * int64(multiple)


@formula
def _apply_to_bezout(F: Any, d: Any, e: Any, u: int64, v: int64, q: int64, r: int64) -> None:
    """(d, e) = (u v; q r)·(d, e)/2^62 mod p, kept in (−2p, p) by adding multiples of p."""
    count = _limbs(F)
    d_sign = d[count - 1] >> int64(63)
    e_sign = e[count - 1] >> int64(63)
    md = (u & d_sign) + (v & e_sign)
    me = (q & d_sign) + (r & e_sign)
    cd = _add_product(_product(u, d[0]), v, e[0])
    ce = _add_product(_product(q, d[0]), r, e[0])
    # Choose md, me so that the low 62 bits of d' + md·p and e' + me·p vanish.
    md -= (_modulus_inverse(F) * _low(cd) + md) & int64(MASK)
    me -= (_modulus_inverse(F) * _low(ce) + me) & int64(MASK)
    cd = _shift_down(_add_product(cd, _modulus_limb(F, 0), md))
    ce = _shift_down(_add_product(ce, _modulus_limb(F, 0), me))
    for i in range(1, count):
        di, ei, pi = d[i], e[i], _modulus_limb(F, i)
        cd = _add_product(_add_product(_add_product(cd, u, di), v, ei), pi, md)
        ce = _add_product(_add_product(_add_product(ce, q, di), r, ei), pi, me)
        d[i - 1] = _low(cd) & int64(MASK)
        e[i - 1] = _low(ce) & int64(MASK)
        cd = _shift_down(cd)
        ce = _shift_down(ce)
    d[count - 1] = _low(cd)
    e[count - 1] = _low(ce)


@formula
def _apply_to_numbers(F: Any, f: Any, g: Any, u: int64, v: int64, q: int64, r: int64) -> bool:
    """(f, g) = (u v; q r)·(f, g)/2^62, which is exact; True when g became 0."""
    count = _limbs(F)
    cf = _shift_down(_add_product(_product(u, f[0]), v, g[0]))
    cg = _shift_down(_add_product(_product(q, f[0]), r, g[0]))
    any_bit = int64(0)
    for i in range(1, count):
        fi, gi = f[i], g[i]
        cf = _add_product(_add_product(cf, u, fi), v, gi)
        cg = _add_product(_add_product(cg, q, fi), r, gi)
        f[i - 1] = _low(cf) & int64(MASK)
        g[i - 1] = _low(cg) & int64(MASK)
        any_bit |= g[i - 1]
        cf = _shift_down(cf)
        cg = _shift_down(cg)
    f[count - 1] = _low(cf)
    g[count - 1] = _low(cg)
    return bool((any_bit | g[count - 1]) == int64(0))


@formula
def _add_modulus_or_negate(F: Any, d: Any, negate: bool) -> None:
    """d = −d if `negate` else d + p, limbs carried."""
    count = _limbs(F)
    carry = int64(0)
    for i in range(count):
        if negate:
            carry -= d[i]
        else:
            carry += d[i] + _modulus_limb(F, i)
        if i < count - 1:
            d[i] = carry & int64(MASK)
            carry >>= int64(STEPS)
        else:
            d[i] = carry


@formula
def invert_row(F: Any, row: Any) -> None:
    """Replace a by 1/a mod p, in place; 0 stays 0.

    Args:
        F: a prime field.
        row: uint64 (limbs,), the plain integer a < p (no Montgomery factor is taken out or put in).
    """
    count = _limbs(F)
    bits = np.zeros(4 * count, dtype=np.int64)
    d, e = bits[:count], bits[count : 2 * count]
    f, g = bits[2 * count : 3 * count], bits[3 * count :]
    e[0] = int64(1)
    for i in range(count):
        f[i] = _modulus_limb(F, i)
    _repack(row, g)
    eta = int64(-1)
    while True:
        low_f = uint64(f[0]) | (uint64(f[1]) << uint64(STEPS))
        low_g = uint64(g[0]) | (uint64(g[1]) << uint64(STEPS))
        eta, u, v, q, r = _division_steps(eta, low_f, low_g)
        _apply_to_bezout(F, d, e, u, v, q, r)
        if _apply_to_numbers(F, f, g, u, v, q, r):
            break
    top = count - 1
    if d[top] < 0:  # (−2p, p) to (−p, p)
        _add_modulus_or_negate(F, d, False)
    if f[top] < 0:  # f = −1
        _add_modulus_or_negate(F, d, True)
    if d[top] < 0:
        _add_modulus_or_negate(F, d, False)
    _unpack(d, row)


@formula
def _repack(row: Any, limbs: Any) -> None:
    """64-bit limbs to 62-bit limbs."""
    for i in range(len(limbs)):
        bit = STEPS * i
        word, shift = bit // 64, bit % 64
        value = uint64(0)
        if word < len(row):
            value = row[word] >> uint64(shift)
            if shift > 64 - STEPS and word + 1 < len(row):
                value |= row[word + 1] << uint64(64 - shift)
        limbs[i] = int64(value & uint64(MASK))


@formula
def _unpack(limbs: Any, row: Any) -> None:
    """62-bit limbs to 64-bit limbs."""
    for i in range(len(row)):
        bit = 64 * i
        limb, shift = bit // STEPS, bit % STEPS
        value = uint64(limbs[limb]) >> uint64(shift)
        have = STEPS - shift
        while have < 64 and limb + 1 < len(limbs):
            limb += 1
            value |= uint64(limbs[limb]) << uint64(have)
            have += STEPS
        row[i] = value
