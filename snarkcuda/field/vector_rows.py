"""Rows of affine points by their addresses, in and out of vectors.

    address     where a row begins, even; in a list of rows, plus 1 where the point is negated
    gather      the points at any addresses, one a lane: x and y
    scatter     to any addresses;  store: to consecutive rows

A row is x and y as packed words in vector form, at most 2p: see `vector_memory`. Every word takes
`Bundles` in place of the field: rows are then in Montgomery form, and may begin at any even byte.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.typing.templates import signature

from snarkcuda.field import ifma, words
from snarkcuda.field.bundle import BundleType, bundle_of, lanes_of, load_bundle, store_bundle
from snarkcuda.field.params import prime_of
from snarkcuda.field.vector_memory import (
    coefficients_of_words,
    data_of,
    lanes_type,
    load_words,
    pointer_at,
    store_words,
    words_of,
)
from snarkcuda.field.vector_type import STORED, join
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
def lane_count(context: Any, F: Any) -> Any:
    """Lanes of what is gathered for a field or for `Bundles`."""
    return types.int64(F), lambda *_: ir.Constant(I64, lanes_type(F).count)


@intrinsic
def gather_points(context: Any, F: Any, addresses: Any, at: Any, step: Any) -> Any:
    """The affine points at addresses[at], addresses[at + step], …, one a lane: (x, y), y loose.

    An address is even, plus 1 where the point is to be negated; `addresses` is an int64 array.
    """
    lanes = lanes_type(F)
    signed = lanes if isinstance(lanes, BundleType) else lanes.bounded(STORED, 2)
    result = types.Tuple((lanes, signed))
    read = _bundles_of_points if isinstance(lanes, BundleType) else _vectors_of_points

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        numbers = _addresses(context, builder, sig.args[1], args[1:3], args[3], lanes.count)
        pointers = [_row(builder, number) for number in numbers]
        signs = [builder.trunc(number, ir.IntType(1)) for number in numbers]
        both = read(context, builder, result, pointers, signs)
        return context.make_tuple(builder, result, both)

    return result(F, addresses, types.intp, types.intp), codegen


def _vectors_of_points(
    context: Any, builder: Builder, result: Any, pointers: list[Any], signs: list[Any]
) -> list[Any]:
    """x and ±y, of the types of the tuple `result`."""
    (vector, signed), count = result, len(pointers)
    field, words_each = vector.field, vector.field.words
    vectors = load_words(builder, pointers, 2 * words_each)
    x, y = (
        coefficients_of_words(builder, field, vectors[i : i + words_each]) for i in (0, words_each)
    )
    mask = ir.Constant(ir.VectorType(ir.IntType(1), count), ir.Undefined)
    for lane, sign in enumerate(signs):
        mask = builder.insert_element(mask, sign, ir.Constant(ir.IntType(32), lane))
    prime, negated = prime_of(field), []
    zero = ifma.constant(prime, count, 0)
    for part in y:
        opposite = ifma.sub(builder, prime, zero, part, STORED)
        pairs = zip(opposite, part, strict=True)
        negated.append([builder.select(mask, minus, plus) for minus, plus in pairs])
    return [join(builder, vector, x), join(builder, signed, negated)]


def _bundles_of_points(
    context: Any, builder: Builder, result: Any, pointers: list[Any], signs: list[Any]
) -> list[Any]:
    """x and ±y."""
    bundle = result[0]
    offset = [ir.Constant(I64, 8 * bundle.field.words)]
    x = load_bundle(builder, bundle, pointers)
    y = load_bundle(builder, bundle, [builder.gep(pointer, offset) for pointer in pointers])
    opposite = context.get_function(operator.neg, signature(bundle, bundle))(builder, [y])
    lanes = zip(signs, *(lanes_of(builder, bundle, value) for value in (opposite, y)), strict=True)
    element = bundle.element
    pick = context.get_function(words.select, signature(element, types.boolean, element, element))
    return [x, bundle_of(builder, bundle, [pick(builder, list(lane)) for lane in lanes])]


@intrinsic
def prefetch_points(context: Any, F: Any, addresses: Any, at: Any, step: Any) -> Any:
    """Ask for the memory that `gather_points` of the same arguments will read; a hint, no load."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        i32, name = ir.IntType(32), "llvm.prefetch.p0"
        kind = ir.FunctionType(ir.VoidType(), [I8.as_pointer(), i32, i32, i32])
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        count = lanes_type(F).count
        for number in _addresses(context, builder, sig.args[1], args[1:3], args[3], count):
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
    kind = sig.args[3]
    if isinstance(kind, BundleType):
        offset = [ir.Constant(I64, 8 * kind.field.words)]
        store_bundle(builder, kind, pointers, args[3])
        store_bundle(builder, kind, [builder.gep(p, offset) for p in pointers], args[4])
        return
    x, y = (words_of(builder, sig.args[i], args[i]) for i in (3, 4))
    store_words(builder, pointers, [*x, *y])
