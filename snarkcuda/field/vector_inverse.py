"""The word `inverse` for vectors: one inversion for all lanes.

    products of pairs of lanes, of fours, of eights;  one safegcd inversion;  back down the same way

A lane that is 0 stays 0, as in `Element`. In Fp2 it is the inverse of the norm (`tower`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.typing.templates import AbstractTemplate, signature
from numba.extending import lower_builtin

from snarkcuda.field import ifma, tower, words
from snarkcuda.field.element import FieldTag, register_word
from snarkcuda.field.inverse import invert_row
from snarkcuda.field.params import PrimeField, prime_of
from snarkcuda.field.vector import reduced
from snarkcuda.field.vector_memory import broadcast_vector, data_of, pointer_at, word_count
from snarkcuda.field.vector_type import STORED, VectorType, carried, join, split
from snarkcuda.jit import intrinsic

I64 = ir.IntType(64)
inverse = words.inverse
"""Kernels take the word from here, so that its code for vectors is there."""


def _lower_inverse(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    vector = sig.args[0]
    if not isinstance(vector.field, PrimeField):
        return context.compile_internal(builder, tower.INVERSE[vector.field.level], sig, args)
    return context.compile_internal(builder, _inverse, sig, args)


class _InverseTemplate(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:
        is_vector = len(args) == 1 and isinstance(args[0], VectorType)
        return signature(args[0].bounded(STORED), *args) if is_vector else None


register_word(words.inverse, _InverseTemplate)
lower_builtin(words.inverse, VectorType)(_lower_inverse)


def _inverse(a: Any) -> Any:
    # One inversion for all lanes: products of pairs, fours, eights, and back down the same way.
    zero = words.is_zero(a)
    nonzero = words.select(zero, words.one_like(a), a) * words.one_like(a)
    return words.select(zero, words.zero_like(a), _inverse_of_lanes(nonzero))


@intrinsic
def _inverse_of_lanes(context: Any, a: Any) -> Any:
    result = a.bounded(STORED)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        field, count = a.field, a.count
        (x,) = carried(builder, a, args[0])
        step, levels = count // 2, []
        while step:
            partner = [ifma.permuted(builder, limb, [i ^ step for i in range(count)]) for limb in x]
            levels.append(partner)
            x = _times(builder, field, x, partner)
            step //= 2
        whole = join(builder, result, [x])
        inverse = context.compile_internal(builder, _inverse_of_first_lane, result(result), [whole])
        (y,) = split(builder, result, inverse)
        for partner in reversed(levels):
            y = _times(builder, field, y, partner)
        return join(builder, result, [y])

    return result(a), codegen


def _times(builder: Any, field: PrimeField, x: ifma.Limbs, y: ifma.Limbs) -> ifma.Limbs:
    product = ifma.reduce(builder, field, ifma.wide_mul(builder, x, y))
    return ifma.carried(builder, product)


def _inverse_of_first_lane(a: Any) -> Any:
    F = field_of_vector(a)
    row = np.empty(word_count(F), dtype=np.uint64)
    _store_first_lane(row, reduced(a))
    invert_row(F, row)
    # (a·R)⁻¹ · R³ / R = a⁻¹·R
    return broadcast_vector(F, row, 0) * _radix_cube(a)


@intrinsic
def field_of_vector(context: Any, a: Any) -> Any:
    """The field tag of a vector."""
    return FieldTag(a.field)(a), lambda context, builder, sig, args: context.get_dummy_value()


@intrinsic
def _radix_cube(context: Any, a: Any) -> Any:
    prime = prime_of(a.field)
    raw = ifma.radix(prime) ** 3 % prime.modulus
    return _constant_vector(a, raw)


def _constant_vector(like: VectorType, raw: int) -> Any:
    vector = VectorType(like.field, STORED, like.count)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return join(builder, vector, [ifma.constant(prime_of(like.field), like.count, raw)])

    return vector(like), codegen


@intrinsic
def _store_first_lane(context: Any, row: Any, a: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = data_of(context, builder, sig.args[0], args[0])
        (limbs,) = carried(builder, a, args[1])
        for i, word in enumerate(ifma.words_of_limbs(builder, a.field, limbs)):
            first = builder.extract_element(word, ir.Constant(ir.IntType(32), 0))
            builder.store(first, pointer_at(builder, data, 8 * i, I64))
        return context.get_dummy_value()

    return types.void(row, a), codegen
