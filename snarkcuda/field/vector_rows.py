"""Rows of affine points by their addresses, in and out of vectors.

    address     where a row begins, even; in a list of rows, plus 1 where the point is negated
    gather      the points at any addresses, one a lane: x and y
    scatter     to any addresses;  store: to consecutive rows

A row is x and y as packed words in vector form, at most 2p: see `vector_memory`.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from snarkcuda.field import ifma
from snarkcuda.field.params import prime_of
from snarkcuda.field.vector_memory import (
    coefficients_of_words,
    data_of,
    load_words,
    pointer_at,
    store_words,
    words_of,
)
from snarkcuda.field.vector_type import LANES, STORED, VectorType, join
from snarkcuda.jit import intrinsic

I8, I64 = ir.IntType(8), ir.IntType(64)
LINE = 64  # bytes of a cache line: a row that straddles two costs two misses
Builder = Any


@intrinsic
def address_of(context: Any, array: Any) -> Any:
    """Where an array's memory is: rows of several arrays are then read by one piece of code.

    The array must be alive and stay where it is.
    """

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.ptrtoint(data_of(context, builder, sig.args[0], args[0]), I64)

    return types.int64(array), codegen


@intrinsic
def aligned_address(context: Any, array: Any) -> Any:
    """The first address within an array that is a multiple of LINE: allocate LINE bytes more."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        address = builder.ptrtoint(data_of(context, builder, sig.args[0], args[0]), I64)
        raised = builder.add(address, ir.Constant(I64, LINE - 1))
        return builder.and_(raised, ir.Constant(I64, -LINE))

    return types.int64(array), codegen


def _addresses(
    context: Any, builder: Builder, kind: Any, args: Any, step: Any, count: int
) -> list[Any]:
    """The words at, at + step, … of an int64 array; args are the array and at."""
    array, at = args
    data, words = data_of(context, builder, kind, array), []
    for lane in range(count):
        place = builder.add(at, builder.mul(step, ir.Constant(I64, lane)))
        words.append(builder.load(pointer_at(builder, data, builder.shl(place, _THREE), I64)))
    return words


_ONE, _THREE = ir.Constant(I64, 1), ir.Constant(I64, 3)


def _row(builder: Builder, address: Any) -> Any:
    """Pointer to a point's bytes, the sign in the lowest bit left out."""
    return builder.inttoptr(builder.and_(address, ir.Constant(I64, -2)), I8.as_pointer())


@intrinsic
def gather_points(context: Any, F: Any, addresses: Any, at: Any, step: Any) -> Any:
    """The affine points at addresses[at], addresses[at + step], …, one a lane: (x, y), y loose.

    An address is even, plus 1 where the point is to be negated; `addresses` is an int64 array.
    """
    vector = VectorType(F.field, STORED)
    signed = vector.bounded(STORED, 2)
    words_each = F.field.words

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        numbers = _addresses(context, builder, sig.args[1], args[1:3], args[3], vector.count)
        pointers = [_row(builder, number) for number in numbers]
        vectors = load_words(builder, pointers, 2 * words_each)
        x, y = (
            coefficients_of_words(builder, F.field, vectors[i : i + words_each])
            for i in (0, words_each)
        )
        signs = ir.Constant(ir.VectorType(ir.IntType(1), vector.count), ir.Undefined)
        for lane, number in enumerate(numbers):
            sign = builder.trunc(number, ir.IntType(1))
            signs = builder.insert_element(signs, sign, ir.Constant(ir.IntType(32), lane))
        prime = prime_of(F.field)
        zero = ifma.constant(prime, vector.count, 0)
        y = [
            [
                builder.select(signs, minus, plus)
                for minus, plus in zip(
                    ifma.sub(builder, prime, zero, part, STORED), part, strict=True
                )
            ]
            for part in y
        ]
        both = [join(builder, vector, x), join(builder, signed, y)]
        return context.make_tuple(builder, sig.return_type, both)

    result = types.Tuple((vector, signed))
    return result(F, addresses, types.intp, types.intp), codegen


@intrinsic
def prefetch_points(context: Any, F: Any, addresses: Any, at: Any, step: Any) -> Any:
    """Ask for the memory that `gather_points` of the same arguments will read; a hint, no load."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        i32, name = ir.IntType(32), "llvm.prefetch.p0"
        kind = ir.FunctionType(ir.VoidType(), [I8.as_pointer(), i32, i32, i32])
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        for number in _addresses(context, builder, sig.args[1], args[1:3], args[3], LANES):
            for line in range(0, 16 * F.field.words, LINE):
                address = pointer_at(builder, _row(builder, number), line, I8)
                builder.call(function, [address, *(ir.Constant(i32, x) for x in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(F, addresses, types.intp, types.intp), codegen


@intrinsic
def scatter_points(context: Any, F: Any, addresses: Any, at: Any, x: Any, y: Any) -> Any:
    """Write the lanes as the points at addresses[at], addresses[at + 1], …; x, y at most 2p."""
    if max(x.k, y.k) > STORED:
        return None

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        numbers = _addresses(context, builder, sig.args[1], args[1:3], _ONE, x.count)
        _store_points(builder, [_row(builder, number) for number in numbers], sig, args)
        return context.get_dummy_value()

    return types.void(F, addresses, types.intp, x, y), codegen


@intrinsic
def store_points(context: Any, F: Any, address: Any, index: Any, x: Any, y: Any) -> Any:
    """Write the lanes as points index, index + 1, … of the rows at an address; x, y at most 2p."""
    if max(x.k, y.k) > STORED:
        return None

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        size = 16 * F.field.words
        start = builder.add(args[1], builder.mul(args[2], ir.Constant(I64, size)))
        rows = (builder.add(start, ir.Constant(I64, size * lane)) for lane in range(x.count))
        _store_points(builder, [_row(builder, row) for row in rows], sig, args)
        return context.get_dummy_value()

    return types.void(F, types.int64, types.intp, x, y), codegen


def _store_points(builder: Builder, pointers: list[Any], sig: Any, args: Any) -> None:
    """The last two arguments of a word, as points."""
    x, y = (words_of(builder, sig.args[i], args[i]) for i in (3, 4))
    store_words(builder, pointers, [*x, *y])
