"""Vectors in and out of arrays.

    load, store       consecutive elements of an array, one a lane
    gather            elements at any indices of an array, one a lane
    broadcast         one element in every lane
    limbs             the vector's own layout, L·lanes words a coefficient: for scratch memory;
                      carried, or loose as they are
    squares           eight vectors of that layout, transposed

Arrays hold elements as elsewhere, 64-bit words, at most 2p, here with R = 2^(52·L); elements are
put across lanes by loading each lane's words and transposing. Most words
take `Bundles` in place of the field; these lie in memory as they are, R = 2^(64n).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from snarkcuda.field import ifma
from snarkcuda.field.bundle import (
    BundlesTag,
    BundleType,
    bundle_ir,
    load_bundle,
    store_bundle,
)
from snarkcuda.field.params import Field, prime_of
from snarkcuda.field.vector_type import (
    STORED,
    Coefficients,
    VectorType,
    carried,
    join,
    split,
)
from snarkcuda.jit import intrinsic

I8, I64 = ir.IntType(8), ir.IntType(64)
Builder = Any
Lanes = VectorType | BundleType


def lanes_type(F: Any) -> Lanes:
    """What is loaded for a field, or for `Bundles`."""
    return BundleType(F.field) if isinstance(F, BundlesTag) else VectorType(F.field, STORED)


def data_of(context: Any, builder: Builder, kind: Any, array: Any) -> Any:
    """The array's memory as bytes; an integer is the address that `address_of` gave."""
    if isinstance(kind, types.Integer):
        return builder.inttoptr(array, I8.as_pointer())
    return builder.bitcast(context.make_array(kind)(context, builder, array).data, I8.as_pointer())


def pointer_at(builder: Builder, data: Any, offset: Any, kind: Any) -> Any:
    """Pointer to `kind` at a byte offset."""
    if isinstance(offset, int):
        offset = ir.Constant(I64, offset)
    return builder.bitcast(builder.gep(data, [offset]), kind.as_pointer())


def _pieces(n_words: int, count: int) -> list[int]:
    """n_words as a sum of powers of two, none above the number of lanes: 12 = 8 + 4."""
    pieces = []
    while n_words:
        piece = min(count, 1 << (n_words.bit_length() - 1))
        pieces.append(piece)
        n_words -= piece
    return pieces


def load_words(builder: Builder, pointers: list[Any], n_words: int) -> list[Any]:
    """n_words words from each lane's pointer (bytes), as n_words vectors."""
    count, result, first = len(pointers), [], 0
    for piece in _pieces(n_words, count):
        kind = ir.VectorType(I64, piece)
        rows = []
        for i in range(piece):
            # Row i holds the words of lanes i, i + piece, i + 2·piece …, block by block.
            parts = [
                builder.load(pointer_at(builder, pointers[lane], 8 * first, kind), align=1)
                for lane in range(i, count, piece)
            ]
            rows.append(_concatenated(builder, parts))
        # Transposed block by block, word j of lane i + b·piece is at place i of block b: its lane.
        result += ifma.transposed(builder, rows)
        first += piece
    return result


def _concatenated(builder: Builder, parts: list[Any]) -> Any:
    while len(parts) > 1:
        width = parts[0].type.count
        mask = ir.Constant(
            ir.VectorType(ir.IntType(32), 2 * width),
            [ir.Constant(ir.IntType(32), i) for i in range(2 * width)],
        )
        parts = [
            builder.shuffle_vector(x, y, mask) for x, y in zip(parts[::2], parts[1::2], strict=True)
        ]
    return parts[0]


def store_words(builder: Builder, pointers: list[Any], vectors: list[Any]) -> None:
    """The inverse of `load_words`."""
    count, first = len(pointers), 0
    for piece in _pieces(len(vectors), count):
        kind = ir.VectorType(I64, piece)
        for i, row in enumerate(ifma.transposed(builder, vectors[first : first + piece])):
            for block, lane in enumerate(range(i, count, piece)):
                places = range(block * piece, (block + 1) * piece)
                part = ifma.permuted(builder, row, places)
                builder.store(part, pointer_at(builder, pointers[lane], 8 * first, kind), align=1)
        first += piece


def _pointers(builder: Builder, data: Any, field: Field, first: Any, count: int) -> list[Any]:
    """Pointers to `count` consecutive elements from element `first` on."""
    size = 8 * field.words
    start = builder.gep(data, [builder.mul(first, ir.Constant(I64, size))])
    return [builder.gep(start, [ir.Constant(I64, size * lane)]) for lane in range(count)]


def coefficients_of_words(builder: Builder, field: Field, vectors: list[Any]) -> Coefficients:
    """Vectors of words, of all coefficients in order, as limbs."""
    prime = prime_of(field)
    return [
        ifma.limbs_of_words(builder, prime, vectors[i : i + prime.limbs])
        for i in range(0, len(vectors), prime.limbs)
    ]


def _loaded(builder: Builder, lanes: Lanes, pointers: list[Any]) -> Any:
    if isinstance(lanes, BundleType):
        return load_bundle(builder, lanes, pointers)
    vectors = load_words(builder, pointers, lanes.field.words)
    return join(builder, lanes, coefficients_of_words(builder, lanes.field, vectors))


@intrinsic
def load_vector(context: Any, F: Any, array: Any, index: Any) -> Any:
    """Elements index, index + 1, … of a C-contiguous array, one a lane: at most 2p each."""
    vector = lanes_type(F)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = data_of(context, builder, sig.args[1], args[1])
        pointers = _pointers(builder, data, F.field, args[2], vector.count)
        return _loaded(builder, vector, pointers)

    return vector(F, array, types.intp), codegen


def words_of(builder: Builder, vector: VectorType, value: Any) -> list[Any]:
    """A vector's elements as vectors of 64-bit words."""
    return [
        word
        for limbs in carried(builder, vector, value)
        for word in ifma.words_of_limbs(builder, prime_of(vector.field), limbs)
    ]


@intrinsic
def gather_vector(context: Any, F: Any, array: Any, indices: Any, at: Any, offset: Any) -> Any:
    """Elements indices[at] + offset, indices[at + 1] + offset, … of an array, one a lane.

    `indices` is an int64 array.
    """
    vector = VectorType(F.field, STORED)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = data_of(context, builder, sig.args[1], args[1])
        places = data_of(context, builder, sig.args[2], args[2])
        size, pointers = 8 * F.field.words, []
        for lane in range(vector.count):
            at = builder.mul(builder.add(args[3], ir.Constant(I64, lane)), ir.Constant(I64, 8))
            index = builder.add(builder.load(pointer_at(builder, places, at, I64)), args[4])
            pointers.append(builder.gep(data, [builder.mul(index, ir.Constant(I64, size))]))
        return _loaded(builder, vector, pointers)

    return vector(F, array, indices, types.intp, types.intp), codegen


@intrinsic
def broadcast_vector(context: Any, F: Any, array: Any, index: Any) -> Any:
    """Element `index` of an array in every lane: at most 2p."""
    vector = lanes_type(F)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = data_of(context, builder, sig.args[1], args[1])
        (pointer,) = _pointers(builder, data, F.field, args[2], 1)
        if isinstance(vector, BundleType):
            return load_bundle(builder, vector, [pointer] * vector.count)
        vectors = []
        for word in range(F.field.words):
            value = builder.load(pointer_at(builder, pointer, 8 * word, I64), align=1)
            vectors.append(_in_every_lane(builder, value, vector.count))
        return join(builder, vector, coefficients_of_words(builder, F.field, vectors))

    return vector(F, array, types.intp), codegen


def _in_every_lane(builder: Builder, word: Any, count: int) -> Any:
    kind = ir.VectorType(I64, count)
    first = builder.insert_element(
        ir.Constant(kind, ir.Undefined), word, ir.Constant(ir.IntType(32), 0)
    )
    return ifma.permuted(builder, first, [0] * count)


@intrinsic
def store_vector(context: Any, F: Any, array: Any, index: Any, a: Any) -> Any:
    """Write the lanes as elements index, index + 1, …: at most 2p (see `shrunk`), or a bundle."""
    if a.k > STORED:
        return None

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = data_of(context, builder, sig.args[1], args[1])
        pointers = _pointers(builder, data, a.field, args[2], a.count)
        if isinstance(a, BundleType):
            store_bundle(builder, a, pointers, args[3])
        else:
            store_words(builder, pointers, words_of(builder, a, args[3]))
        return context.get_dummy_value()

    return types.void(F, array, types.intp, a), codegen


def _scratch_words(lanes: Lanes) -> int:
    """Words of a vector in its own layout: L·lanes for each prime coefficient; or of a bundle."""
    if isinstance(lanes, BundleType):
        return lanes.count * int(lanes.field.words)
    return int(lanes.field.level) * ifma.limb_count(prime_of(lanes.field)) * lanes.count


@intrinsic
def limb_words(context: Any, F: Any) -> Any:
    """Words of a vector in scratch memory; or of `Bundles`."""
    return types.int64(F), lambda *_: ir.Constant(I64, _scratch_words(lanes_type(F)))


def _load_limbs(like: Lanes, scratch: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if isinstance(like, BundleType):
            start = _scratch_pointer(context, builder, sig.args[1], args[1], args[2], like)
            return builder.load(builder.bitcast(start, bundle_ir(like).as_pointer()), align=8)
        pointers = _limb_pointers(context, builder, sig.args[1], args[1], args[2], like)
        return _joined(builder, like, [builder.load(pointer, align=8) for pointer in pointers])

    return like(like, scratch, types.intp), codegen


@intrinsic
def load_limbs(context: Any, like: Any, scratch: Any, index: Any) -> Any:
    """Vector `index` of scratch memory (uint64), bounded as `like` is: see `store_limbs`."""
    return _load_limbs(like.bounded(like.k), scratch)


@intrinsic
def load_loose(context: Any, like: Any, scratch: Any, index: Any) -> Any:
    """What `store_loose` has written, of the type of `like`."""
    return _load_limbs(like, scratch) if like.is_loose else None


def _store_limbs(a: Lanes, coefficients_of: Any, scratch: Any, index: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if isinstance(a, BundleType):
            start = _scratch_pointer(context, builder, sig.args[1], args[1], args[2], a)
            builder.store(args[0], builder.bitcast(start, bundle_ir(a).as_pointer()), align=8)
            return context.get_dummy_value()
        pointers = _limb_pointers(context, builder, sig.args[1], args[1], args[2], a)
        limbs = [limb for part in coefficients_of(builder, a, args[0]) for limb in part]
        for pointer, limb in zip(pointers, limbs, strict=True):
            builder.store(limb, pointer, align=8)
        return context.get_dummy_value()

    return types.void(a, scratch, types.intp), codegen


@intrinsic
def store_limbs(context: Any, a: Any, scratch: Any, index: Any) -> Any:
    """Write a vector to scratch memory in its own layout, unpacked but carried; or a bundle."""
    return _store_limbs(a, carried, scratch, index)


@intrinsic
def store_loose(context: Any, a: Any, scratch: Any, index: Any) -> Any:
    """`store_limbs` of loose limbs as they are, for `load_loose`; or a bundle."""
    return _store_limbs(a, split, scratch, index) if a.is_loose else None


@intrinsic
def load_square(context: Any, like: Any, scratch: Any, index: Any) -> Any:
    """Lane by lane: vector j of the result has lane j of each of the vectors index … index + 7."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        rows = _square_pointers(context, builder, sig.args[1], args[1], args[2], like)
        loaded = [[builder.load(pointer, align=8) for pointer in row] for row in rows]
        columns = [ifma.transposed(builder, list(limb)) for limb in zip(*loaded, strict=True)]
        vectors = [_joined(builder, like, list(limbs)) for limbs in zip(*columns, strict=True)]
        return context.make_tuple(builder, sig.return_type, vectors)

    return types.UniTuple(like, like.count)(like, scratch, types.intp), codegen


@intrinsic
def store_square(context: Any, vectors: Any, scratch: Any, index: Any) -> Any:
    """The inverse of `load_square`."""
    like = vectors.dtype

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        rows = _square_pointers(context, builder, sig.args[1], args[1], args[2], like)
        values = [builder.extract_value(args[0], j) for j in range(like.count)]
        limbs = [[limb for part in carried(builder, like, v) for limb in part] for v in values]
        columns = [ifma.transposed(builder, list(limb)) for limb in zip(*limbs, strict=True)]
        for row, vector in zip(rows, zip(*columns, strict=True), strict=True):
            for pointer, limb in zip(row, vector, strict=True):
                builder.store(limb, pointer, align=8)
        return context.get_dummy_value()

    return types.void(vectors, scratch, types.intp), codegen


def _square_pointers(
    context: Any, builder: Builder, kind: Any, scratch: Any, index: Any, like: VectorType
) -> list[list[Any]]:
    places = (builder.add(index, ir.Constant(I64, i)) for i in range(like.count))
    return [_limb_pointers(context, builder, kind, scratch, at, like) for at in places]


def _joined(builder: Builder, like: VectorType, limbs: list[Any]) -> Any:
    per = len(limbs) // like.field.level
    return join(builder, like, [limbs[i : i + per] for i in range(0, len(limbs), per)])


def _limb_pointers(
    context: Any, builder: Builder, kind: Any, scratch: Any, index: Any, vector: VectorType
) -> list[Any]:
    start = _scratch_pointer(context, builder, kind, scratch, index, vector)
    limb, n = ir.VectorType(I64, vector.count), _scratch_words(vector) // vector.count
    return [pointer_at(builder, start, 8 * vector.count * i, limb) for i in range(n)]


def _scratch_pointer(
    context: Any, builder: Builder, kind: Any, scratch: Any, index: Any, lanes: Lanes
) -> Any:
    data, size = data_of(context, builder, kind, scratch), 8 * _scratch_words(lanes)
    return builder.gep(data, [builder.mul(index, ir.Constant(I64, size))])


@intrinsic
def word_count(context: Any, F: Any) -> Any:
    """64-bit words of an element in an array, by its field or `Bundles`."""
    count = F.field.words
    return types.int64(F), lambda context, builder, sig, args: ir.Constant(I64, count)
