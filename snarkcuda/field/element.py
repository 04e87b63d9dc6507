"""`Element(F)`: field elements as values inside CPU kernels, with operators on their type.

A kernel takes a field (`PrimeField` or `ExtensionField`) as its first argument; numba sees a tag
type that carries the field, so one kernel source serves every field and each use is compiled and
cached for its own. Inside, `load(F, rows, i)` gives an element; `+ - * ==`, unary `-` and the words
of `field/words.py` work on it; `store(F, rows, i, x)` puts it back.

    prime field      [n x i64], Montgomery form, R = 2^(64n), reduced        field/montgomery.py
    extension        [degree x base]: additions by coefficient, products by the formulas of tower.py

Additions are emitted in place; products are calls, so that code stays small and compiles in
seconds. The naive twin is `field/naive.py`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import (
    NativeValue,
    lower_builtin,
    models,
    register_model,
    typeof_impl,
    unbox,
)

from snarkcuda.field import montgomery, tower, words
from snarkcuda.field.inverse import invert_row
from snarkcuda.field.params import ExtensionField, Field, PrimeField, prime_of
from snarkcuda.jit import intrinsic

# --- types ------------------------------------------------------------------------------------


class FieldTag(types.Type):  # type: ignore[misc]
    """The type of a field given to a kernel; the field is read at compile time only."""

    def __init__(self, field: Field) -> None:
        self.field = field
        super().__init__(name=f"Field({field_key(field)})")


class ElementType(types.Type):  # type: ignore[misc]
    """The type of one element of `field` inside a kernel."""

    def __init__(self, field: Field) -> None:
        self.field = field
        super().__init__(name=f"Element({field_key(field)})")


def field_key(field: Field) -> str:
    """What a cached kernel must be keyed by: the name and the numbers behind it."""
    prime = prime_of(field)
    return f"{field.name},{prime.modulus:x},{prime.xi}"


def element_ir(field: Field) -> Any:
    """The LLVM type of an element."""
    if isinstance(field, PrimeField):
        return montgomery.element_type(field)
    return ir.ArrayType(element_ir(field.base), field.degree)


@register_model(ElementType)
class _ElementModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, element: ElementType) -> None:
        super().__init__(manager, element, element_ir(element.field))


register_model(FieldTag)(models.OpaqueModel)


def _typeof_field(field: Field, context: Any) -> FieldTag:
    return FieldTag(field)


def _unbox_field(typ: FieldTag, obj: Any, context: Any) -> NativeValue:
    return NativeValue(context.context.get_dummy_value())


typeof_impl.register(PrimeField)(_typeof_field)
typeof_impl.register(ExtensionField)(_typeof_field)
unbox(FieldTag)(_unbox_field)


# --- operators and words ----------------------------------------------------------------------

Emit = Callable[..., Any]


def _by_coefficient(emit: Emit) -> Emit:
    """Lift an operation of the prime field to every coefficient of an extension."""

    def lifted(builder: Any, field: Field, *values: Any) -> Any:
        if isinstance(field, PrimeField):
            return emit(builder, field, *values)
        result = ir.Constant(element_ir(field), ir.Undefined)
        for i in range(field.degree):
            coefficients = (builder.extract_value(value, i) for value in values)
            part = lifted(builder, field.base, *coefficients)
            result = builder.insert_value(result, part, i)
        return result

    return lifted


def _all_coefficients(emit: Emit) -> Emit:
    """Lift a test of the prime field: true where it holds for every coefficient."""

    def lifted(builder: Any, field: Field, *values: Any) -> Any:
        if isinstance(field, PrimeField):
            return emit(builder, *values)
        result = ir.Constant(ir.IntType(1), 1)
        for i in range(field.degree):
            coefficients = (builder.extract_value(value, i) for value in values)
            result = builder.and_(result, lifted(builder, field.base, *coefficients))
        return result

    return lifted


def _define(symbol: Any, arity: int, lower: Emit, result: Callable[[Field], Any]) -> None:
    """Type `symbol` for `arity` elements of one field, and emit its code in place.

    `lower(context, builder, sig, args)` returns the LLVM value; `result(field)` the numba type.
    This is numba's typing template rather than an overload: an overload is a function of its own to
    compile and link, which for the words of the tower tripled the pairing's compile time.
    """

    class Template(AbstractTemplate):  # type: ignore[misc]
        def generic(self, args: Any, kws: Any) -> Any:
            same = len(args) == arity and isinstance(args[0], ElementType) and len(set(args)) == 1
            return signature(result(args[0].field), *args) if same else None

    register_word(symbol, Template)
    lower_builtin(symbol, *[ElementType] * arity)(lower)


def register_word(symbol: Any, template: Any) -> None:
    """Type an operator or a word by `template`, beside what types it already."""
    if getattr(operator, symbol.__name__, None) is symbol:
        infer_global(symbol)(template)
    else:  # a plain function: numba wants to know that the global is a function type
        template.key = symbol
        infer_global(symbol, types.Function(template))


def _inline(emit: Emit) -> Emit:
    return lambda context, builder, sig, args: emit(builder, sig.args[0].field, *args)


def _prime_or_formula(emit: Emit, formulas: dict[int, Any]) -> Emit:
    """Emit in a prime field; call the tower's formula for the level in an extension."""

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        field = sig.args[0].field
        if isinstance(field, PrimeField):
            return emit(builder, field, *args)
        return context.compile_internal(builder, formulas[field.level], sig, args)

    return lower


def _difference_of_products(a: Any, b: Any, c: Any, d: Any) -> Any:
    return a * b - c * d


def _lower_inverse(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    field = sig.args[0].field
    code = _prime_inverse if isinstance(field, PrimeField) else tower.INVERSE[field.level]
    return context.compile_internal(builder, code, sig, args)


def _prime_inverse(a: Any) -> Any:
    # (a·R)⁻¹·R³/R = a⁻¹·R
    F = field_of(a)
    row = np.empty(limb_count(F), dtype=np.uint64)
    store(F, row, 0, a)
    invert_row(F, row)
    return load(F, row, 0) * montgomery_cube(F)


def _lower_mul_by_xi(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    multiply = tower.MUL_BY_XI[sig.args[0].field.prime.xi]
    return context.compile_internal(builder, multiply, sig, args)


def _emit_sqr(builder: Any, field: PrimeField, a: Any) -> Any:
    return montgomery.mul(builder, field, a, a)


_define(operator.add, 2, _inline(_by_coefficient(montgomery.add)), ElementType)
_define(operator.sub, 2, _inline(_by_coefficient(montgomery.sub)), ElementType)
_define(operator.neg, 1, _inline(_by_coefficient(montgomery.neg)), ElementType)
_define(operator.mul, 2, _prime_or_formula(montgomery.mul, tower.MUL), ElementType)
_define(words.sqr, 1, _prime_or_formula(_emit_sqr, tower.SQR), ElementType)
_define(
    words.mul_sub,
    4,
    _prime_or_formula(montgomery.mul_sub, dict.fromkeys((2, 6, 12), _difference_of_products)),
    ElementType,
)


def _emit_conjugate(builder: Any, field: Field, a: Any) -> Any:
    if isinstance(field, PrimeField):
        return a
    assert isinstance(field.base, PrimeField), "only Fp2 is conjugated by this word"
    opposite = montgomery.neg(builder, field.base, builder.extract_value(a, 1))
    return builder.insert_value(a, opposite, 1)


_define(words.conjugate, 1, _inline(_emit_conjugate), ElementType)
_define(words.inverse, 1, _lower_inverse, ElementType)
_define(words.mul_by_xi, 1, _lower_mul_by_xi, ElementType)


def _boolean(field: Field) -> Any:
    return types.boolean


_define(operator.eq, 2, _inline(_all_coefficients(montgomery.equal)), _boolean)
_define(words.is_zero, 1, _inline(_all_coefficients(montgomery.is_zero)), _boolean)


# A tuple of equal types is an LLVM array, which is what an extension element already is: taking an
# element apart and putting it together emit nothing.
_define(
    words.parts,
    1,
    lambda context, builder, sig, args: args[0],
    lambda field: types.UniTuple(ElementType(field.base), field.degree),  # type: ignore[union-attr]
)


def _lower_extend(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    result = ir.Constant(element_ir(sig.return_type.field), ir.Undefined)
    for i, coefficient in enumerate(args):
        result = builder.insert_value(result, coefficient, i)
    return result


class _ExtendTemplate(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:
        if not args or not isinstance(args[0], ElementType) or len(set(args)) != 1:
            return None
        above = args[0].field.extension
        return signature(ElementType(above), *args) if len(args) == above.degree else None


register_word(words.extend, _ExtendTemplate)
for _degree in (2, 3):
    lower_builtin(words.extend, *[ElementType] * _degree)(_lower_extend)


class _SelectTemplate(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:
        _, a, b = args
        return signature(a, types.boolean, a, b) if isinstance(a, ElementType) and a == b else None


def _lower_select(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    flag, a, b = args

    def pick(builder: Any, field: PrimeField, x: Any, y: Any) -> Any:
        return montgomery.select(builder, flag, x, y)

    return _by_coefficient(pick)(builder, sig.return_type.field, a, b)


register_word(words.select, _SelectTemplate)
lower_builtin(words.select, types.Boolean, ElementType, ElementType)(_lower_select)


def _constant_ir(field: Field, raw_of: Callable[[PrimeField], int]) -> Any:
    """A constant whose first prime coefficient has these raw limbs, all others 0."""
    if isinstance(field, PrimeField):
        return montgomery.constant(field, raw_of(field))
    zeros = [ir.Constant(element_ir(field.base), None)] * (field.degree - 1)
    return ir.Constant(element_ir(field), [_constant_ir(field.base, raw_of), *zeros])


def _raw_zero(field: PrimeField) -> int:
    return 0


def _raw_one(field: PrimeField) -> int:
    return field.montgomery % field.modulus


_define(
    words.zero_like, 1, _inline(lambda _, field, a: _constant_ir(field, _raw_zero)), ElementType
)
_define(words.one_like, 1, _inline(lambda _, field, a: _constant_ir(field, _raw_one)), ElementType)


# --- between arrays and elements --------------------------------------------------------------


def _address(builder: Any, context: Any, array: Any, value: Any, index: Any, field: Field) -> Any:
    """Pointer to element `index` of an array seen as packed rows of `field.words` uint64."""
    data = context.make_array(array)(context, builder, value).data
    start = builder.bitcast(data, ir.IntType(8).as_pointer())
    offset = builder.mul(index, ir.Constant(ir.IntType(64), 8 * field.words))
    return builder.bitcast(builder.gep(start, [offset]), element_ir(field).as_pointer())


@intrinsic
def load(context: Any, F: Any, array: Any, index: Any) -> Any:
    """Element `index` of a C-contiguous array (uint64 or bytes of any shape and alignment)."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        where = _address(builder, context, sig.args[1], args[1], args[2], F.field)
        # Sections of a file start anywhere, so no alignment is promised.
        return builder.load(where, align=1)

    return ElementType(F.field)(F, array, types.intp), codegen


@intrinsic
def store(context: Any, F: Any, array: Any, index: Any, element: Any) -> Any:
    """Write element `index` of a C-contiguous array."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        where = _address(builder, context, sig.args[1], args[1], args[2], F.field)
        builder.store(args[3], where, align=1)
        return context.get_dummy_value()

    return types.void(F, array, types.intp, element), codegen


def _constant(F: Any, raw_of: Callable[[PrimeField], int]) -> Any:
    """An intrinsic's signature and code for a constant of the field."""
    return ElementType(F.field)(F), lambda *_: _constant_ir(F.field, raw_of)


@intrinsic
def zero(context: Any, F: Any) -> Any:
    """0."""
    return _constant(F, _raw_zero)


@intrinsic
def one(context: Any, F: Any) -> Any:
    """1 (R mod p)."""
    return _constant(F, _raw_one)


@intrinsic
def canonical_one(context: Any, F: Any) -> Any:
    """The raw limbs 1, 0, …: a product with it leaves Montgomery form."""
    return _constant(F, lambda field: 1)


@intrinsic
def montgomery_cube(context: Any, F: Any) -> Any:
    """The raw limbs of R³ mod p: what a plain inverse of a Montgomery form needs."""
    return _constant(F, lambda field: field.montgomery**3 % field.modulus)


@intrinsic
def field_of(context: Any, a: Any) -> Any:
    """The field tag of an element."""
    return FieldTag(a.field)(a), lambda context, builder, sig, args: context.get_dummy_value()


@intrinsic
def limb_count(context: Any, F: Any) -> Any:
    """64-bit limbs of the prime field below."""
    count = prime_of(F.field).limbs
    return types.int64(F), lambda context, builder, sig, args: ir.Constant(ir.IntType(64), count)
