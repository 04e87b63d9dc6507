"""`Bundles(F)`: elements side by side, for processors without vectors of them.

A kernel that is written for vectors takes `Bundles(F)` where it takes the field F, and the words of
`vector`, `vector_memory` and `vector_rows` then work on COUNT elements as `Element` has them: each
operation is COUNT independent ones, one after another, which a processor overlaps. A chain of
products, one at a time, would wait for each.

    bundle      [COUNT x element], Montgomery form, R = 2^(64n), reduced: what key files hold
    masks       bit i of a uint64 is lane i, as for vectors
    inverse     one inversion for all lanes

There is nothing to bring down and nothing loose: `shrunk`, `reduced` and `settled` are the value
itself.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.typing.templates import AbstractTemplate, signature
from numba.extending import (
    NativeValue,
    lower_builtin,
    models,
    register_model,
    typeof_impl,
    unbox,
)

from snarkcuda.field import vector, words
from snarkcuda.field.element import ElementType, element_ir, field_key, register_word
from snarkcuda.field.params import Field

COUNT = 2  # lanes: one waits for each product, four spill (docs/experiments.md)
I64 = ir.IntType(64)
Builder = Any


@dataclass(frozen=True)
class Bundles:
    """What a kernel takes instead of a field to work on bundles of its elements."""

    field: Field


class BundlesTag(types.Type):  # type: ignore[misc]
    """The type of `Bundles(field)` given to a kernel."""

    def __init__(self, field: Field) -> None:
        self.field, self.count = field, COUNT
        super().__init__(name=f"Bundles({field_key(field)},{COUNT})")


class BundleType(types.Type):  # type: ignore[misc]
    """The type of `count` elements of `field`; the attributes are those of a vector's type."""

    k, is_loose = 1, True  # it may be stored as loose limbs are: there is no other way

    def __init__(self, field: Field, count: int = COUNT) -> None:
        self.field, self.count = field, count
        self.element = ElementType(field)
        super().__init__(name=f"Bundle({field_key(field)},{count})")

    def bounded(self, k: int) -> BundleType:
        """Itself, for any bound."""
        return self


def bundle_ir(bundle: BundleType) -> Any:
    """The LLVM type: in an array, consecutive elements."""
    return ir.ArrayType(element_ir(bundle.field), bundle.count)


@register_model(BundleType)
class _BundleModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, bundle: BundleType) -> None:
        super().__init__(manager, bundle, bundle_ir(bundle))


register_model(BundlesTag)(models.OpaqueModel)


def _typeof_bundles(bundles: Bundles, context: Any) -> BundlesTag:
    return BundlesTag(bundles.field)


def _unbox_bundles(typ: BundlesTag, obj: Any, context: Any) -> NativeValue:
    return NativeValue(context.context.get_dummy_value())


typeof_impl.register(Bundles)(_typeof_bundles)
unbox(BundlesTag)(_unbox_bundles)


def lanes_of(builder: Builder, bundle: BundleType, value: Any) -> list[Any]:
    """A bundle's elements."""
    return [builder.extract_value(value, i) for i in range(bundle.count)]


def bundle_of(builder: Builder, bundle: BundleType, lanes: list[Any]) -> Any:
    """The inverse of `lanes_of`."""
    value = ir.Constant(bundle_ir(bundle), ir.Undefined)
    for i, lane in enumerate(lanes):
        value = builder.insert_value(value, lane, i)
    return value


# --- operators and words, lane by lane -----------------------------------------------------------


def _on_lanes(symbol: Any, arity: int, lower: Callable[..., Any], result: Any = None) -> None:
    """Type `symbol` for `arity` bundles of one kind; its result is one too, or of type `result`."""

    class Template(AbstractTemplate):  # type: ignore[misc]
        def generic(self, args: Any, kws: Any) -> Any:
            same = len(args) == arity and isinstance(args[0], BundleType) and len(set(args)) == 1
            return signature(result or args[0], *args) if same else None

    register_word(symbol, Template)
    lower_builtin(symbol, *[BundleType] * arity)(lower)


def _lanewise(symbol: Any) -> Callable[..., Any]:
    """Code that applies `Element`'s `symbol` to each lane."""

    def lower(context: Any, builder: Builder, sig: Any, args: Any) -> Any:
        bundle = sig.args[0]
        of_element = signature(bundle.element, *[bundle.element] * len(args))
        emit = context.get_function(symbol, of_element)
        operands = zip(*(lanes_of(builder, bundle, value) for value in args), strict=True)
        return bundle_of(builder, bundle, [emit(builder, list(lane)) for lane in operands])

    return lower


def _itself(context: Any, builder: Builder, sig: Any, args: Any) -> Any:
    return args[0]


for _symbol, _arity in {
    operator.add: 2,
    operator.sub: 2,
    operator.neg: 1,
    operator.mul: 2,
    words.sqr: 1,
    words.mul_sub: 4,
    words.zero_like: 1,
    words.one_like: 1,
}.items():
    _on_lanes(_symbol, _arity, _lanewise(_symbol))
for _symbol in (vector.shrunk, vector.reduced, vector.settled):
    _on_lanes(_symbol, 1, _itself)


def _zero_lanes(context: Any, builder: Builder, sig: Any, args: Any) -> Any:
    bundle, mask = sig.args[0], ir.Constant(I64, 0)
    test = context.get_function(words.is_zero, signature(types.boolean, bundle.element))
    for i, lane in enumerate(lanes_of(builder, bundle, args[0])):
        bit = builder.zext(test(builder, [lane]), I64)
        mask = builder.or_(mask, builder.shl(bit, ir.Constant(I64, i)))
    return mask


for _symbol in (words.is_zero, vector.might_be_zero, vector.is_null):
    _on_lanes(_symbol, 1, _zero_lanes, types.uint64)


class _SelectTemplate(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:
        _, a, b = args
        return signature(a, types.uint64, a, b) if isinstance(a, BundleType) and a == b else None


def _lower_select(context: Any, builder: Builder, sig: Any, args: Any) -> Any:
    bundle, (mask, *values) = sig.return_type, args
    element = bundle.element
    pick = context.get_function(words.select, signature(element, types.boolean, element, element))
    chosen = []
    for i, pair in enumerate(zip(*(lanes_of(builder, bundle, v) for v in values), strict=True)):
        bit = builder.trunc(builder.lshr(mask, ir.Constant(I64, i)), ir.IntType(1))
        chosen.append(pick(builder, [bit, *pair]))
    return bundle_of(builder, bundle, chosen)


register_word(words.select, _SelectTemplate)
lower_builtin(words.select, types.Integer, BundleType, BundleType)(_lower_select)


def _lower_inverse(context: Any, builder: Builder, sig: Any, args: Any) -> Any:
    """Lane i's inverse: that of the product up to i, times the product up to i − 1."""
    bundle = sig.args[0]
    element = bundle.element

    def call(symbol: Any, *values: Any) -> Any:
        emit = context.get_function(symbol, signature(element, *[element] * len(values)))
        return emit(builder, list(values))

    test = context.get_function(words.is_zero, signature(types.boolean, element))
    pick = context.get_function(words.select, signature(element, types.boolean, element, element))
    lanes = lanes_of(builder, bundle, args[0])
    products: list[Any] = []
    zeros = []
    for i, lane in enumerate(lanes):  # a lane that is 0 counts as 1, and its inverse is 0
        zeros.append(test(builder, [lane]))
        lanes[i] = pick(builder, [zeros[i], call(words.one_like, lane), lane])
        products.append(call(operator.mul, products[-1], lanes[i]) if i else lanes[i])
    rest, inverses = call(words.inverse, products[-1]), []
    for i in range(bundle.count - 1, 0, -1):
        inverses.append(call(operator.mul, rest, products[i - 1]))
        rest = call(operator.mul, rest, lanes[i])
    inverses = [rest, *reversed(inverses)]
    nothing = call(words.zero_like, lanes[0])
    chosen = [
        pick(builder, [zero, nothing, lane]) for zero, lane in zip(zeros, inverses, strict=True)
    ]
    return bundle_of(builder, bundle, chosen)


_on_lanes(words.inverse, 1, _lower_inverse)


# --- in and out of memory ------------------------------------------------------------------------


def load_bundle(builder: Builder, bundle: BundleType, pointers: list[Any]) -> Any:
    """The elements at the lanes' pointers (bytes, of any alignment)."""
    kind = element_ir(bundle.field).as_pointer()
    lanes = [builder.load(builder.bitcast(pointer, kind), align=1) for pointer in pointers]
    return bundle_of(builder, bundle, lanes)


def store_bundle(builder: Builder, bundle: BundleType, pointers: list[Any], value: Any) -> None:
    """The inverse of `load_bundle`."""
    kind = element_ir(bundle.field).as_pointer()
    for pointer, lane in zip(pointers, lanes_of(builder, bundle, value), strict=True):
        builder.store(lane, builder.bitcast(pointer, kind), align=1)
