"""Elements inside compiled CUDA kernels: a numba-cuda type per field, with operators.

    prime field    [n x i32]            operations are blocks of inline PTX, or calls of plain numba
    Fp2            [2 x [n x i32]]      products by `kernels/ptx_tower.py`

An operation is one LLVM function a module, in place or called. What LLVM must not know stays out of
it: a block's carries live and die inside its text.

numba-cuda has its own registries of types and words, apart from numba's; the words are those of
`field/words.py`, so that one formula serves CPU and GPU.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.cuda import types
from numba.cuda.extending import core_models, lower_builtin, register_model
from numba.cuda.typing.templates import AbstractTemplate, infer_global, signature

from snarkcuda.field import tower, words
from snarkcuda.field.params import PrimeField, limbs_of
from snarkcuda.kernels import ptx, ptx_tower
from snarkcuda.kernels.field import DeviceField

_I32 = ir.IntType(32)
_IN_PLACE = frozenset({"add", "sub", "neg", "canonical"})  # however products are emitted


class DeviceElementType(types.Type):  # type: ignore[misc]
    """The type of one element inside a kernel."""

    def __init__(self, F: DeviceField) -> None:
        self.F = F
        super().__init__(name=f"DeviceElement({F.key},{F.prime.modulus:x})")


def row_type(n: int) -> Any:
    """The LLVM type of n words."""
    return ir.ArrayType(_I32, n)


def element_ir(F: DeviceField) -> Any:
    """The LLVM type of an element."""
    row = row_type(2 * F.prime.limbs)
    return row if isinstance(F.field, PrimeField) else ir.ArrayType(row, 2)


@register_model(DeviceElementType)
class _ElementModel(core_models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, element: DeviceElementType) -> None:
        super().__init__(manager, element, element_ir(element.F))


# --- blocks of PTX as LLVM functions ----------------------------------------------------------


def _block_function(module: Any, F: DeviceField, name: str) -> Any:
    """The function of one block in this module, rows of words in, a row out."""
    in_place = name in _IN_PLACE or not F.calls
    symbol = f"{F.prime.name}_{name}{'' if in_place else '_call'}"
    if (function := module.globals.get(symbol)) is not None:
        return function
    block = ptx.blocks(F.prime)[name]
    arguments = [row_type(n) for n in block.inputs]
    function = ir.Function(module, ir.FunctionType(row_type(block.outputs), arguments), symbol)
    function.linkage = "linkonce_odr"
    function.attributes.add("alwaysinline" if in_place else "noinline")
    function.attributes.add("nounwind")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    inputs = [
        builder.extract_value(row, i)
        for row, n in zip(function.args, block.inputs, strict=True)
        for i in range(n)
    ]
    results = ir.LiteralStructType([_I32] * block.outputs)
    constraints = ",".join(["=r"] * block.outputs + ["r"] * len(inputs))
    assembly = ir.InlineAsm(
        ir.FunctionType(results, [_I32] * len(inputs)), block.text, constraints, side_effect=False
    )
    found = builder.call(assembly, inputs)
    row = ir.Constant(row_type(block.outputs), ir.Undefined)
    for i in range(block.outputs):
        row = builder.insert_value(row, builder.extract_value(found, i), i)
    builder.ret(row)
    return function


def _caller(builder: Any, F: DeviceField) -> Callable[..., Any]:
    """call(name, *rows): the result of a block, as `ptx_tower` wants it."""
    return lambda name, *rows: builder.call(_block_function(builder.module, F, name), rows)


def _fp2_function(builder: Any, F: DeviceField, name: str, formula: Any, *elements: Any) -> Any:
    """The result of a formula of `ptx_tower`, emitted as one function of the module."""
    element, symbol = element_ir(F), f"{F.field.name}_{name}{'_call' if F.calls else ''}"
    function = builder.module.globals.get(symbol)
    if function is None:
        shape = ir.FunctionType(element, [element] * len(elements))
        function = ir.Function(builder.module, shape, symbol)
        function.linkage = "linkonce_odr"
        function.attributes.add("noinline" if F.calls else "alwaysinline")
        function.attributes.add("nounwind")
        inner = ir.IRBuilder(function.append_basic_block("entry"))
        # Blocks are in place in it: one call a product, not eight.
        call = _caller(inner, DeviceField(F.prime, F.arithmetic))
        parts = [tuple(inner.extract_value(x, i) for i in range(2)) for x in function.args]
        inner.ret(join(inner, F, formula(F.prime, call, *parts)))
    return builder.call(function, elements)


def join(builder: Any, F: DeviceField, parts: Any) -> Any:
    """The element of Fp2 with these coefficients."""
    result = ir.Constant(element_ir(F), ir.Undefined)
    for i, part in enumerate(parts):
        result = builder.insert_value(result, part, i)
    return result


# --- operators and words ----------------------------------------------------------------------


def _by_limbs(context: Any, builder: Any, sig: Any, args: Any, name: str) -> Any:
    """An operation of `kernels/limbs.py`; in Fp2 by the tower's formulas, or by coefficient."""
    from snarkcuda.kernels.limbs_device import compiled_word

    F = sig.args[0].F
    if isinstance(F.field, PrimeField):
        return context.compile_internal(builder, compiled_word(F, name), sig, args)
    if name in _TOWER:
        return context.compile_internal(builder, _TOWER[name], sig, args)
    base = DeviceElementType(DeviceField(F.prime, F.arithmetic, F.calls))
    parts = []
    for i in range(2):
        coefficients = [builder.extract_value(x, i) for x in args]
        signature_ = signature(base, *[base] * len(args))
        parts.append(_by_limbs(context, builder, signature_, coefficients, name))
    return join(builder, F, parts)


def _difference_of_products(a: Any, b: Any, c: Any, d: Any) -> Any:
    return a * b - c * d


_TOWER = {"mul": tower.fp2_mul, "sqr": tower.fp2_sqr, "mul_sub": _difference_of_products}


def each(builder: Any, F: DeviceField, name: str, *elements: Any) -> Any:
    """A block on every prime coefficient."""
    call = _caller(builder, F)
    if isinstance(F.field, PrimeField):
        return call(name, *elements)
    parts = (call(name, *(builder.extract_value(x, i) for x in elements)) for i in range(2))
    return join(builder, F, parts)


def _lower_linear(name: str) -> Any:
    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        F = sig.args[0].F
        if F.arithmetic == "limbs":
            return _by_limbs(context, builder, sig, args, name)
        return each(builder, F, name, *args)

    return lower


def _lower_product(name: str) -> Any:
    """mul, sqr and mul_sub: formulas of `ptx_tower` where they are more than one block."""
    formula = {
        "mul": ptx_tower.fp2_mul,
        "sqr": ptx_tower.fp2_sqr,
        "mul_sub": ptx_tower.fp2_mul_sub,
    }[name]

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        F = sig.args[0].F
        if F.arithmetic == "limbs":
            return _by_limbs(context, builder, sig, args, name)
        if not isinstance(F.field, PrimeField):
            return _fp2_function(builder, F, name, formula, *args)
        call = _caller(builder, F)
        if name == "mul_sub":
            return ptx_tower.mul_sub(F.prime, call, *args)
        return call(name, *args)

    return lower


def _same(a: Any) -> Any:
    return a


def _boolean(_: Any) -> Any:
    return types.boolean


def _define(symbol: Any, arity: int, lower: Any, result: Callable[[Any], Any] = _same) -> None:
    """Type `symbol` for `arity` elements of one field, lowered by `lower`."""

    class Template(AbstractTemplate):  # type: ignore[misc]
        def generic(self, args: Any, kws: Any) -> Any:
            fits = len(args) == arity and isinstance(args[0], DeviceElementType)
            return signature(result(args[0]), *args) if fits and len(set(args)) == 1 else None

    _register(symbol, Template)
    lower_builtin(symbol, *[DeviceElementType] * arity)(lower)


def _register(symbol: Any, template: Any) -> None:
    if getattr(operator, symbol.__name__, None) is symbol:
        infer_global(symbol)(template)
    else:
        template.key = symbol
        infer_global(symbol, types.Function(template))


_define(operator.add, 2, _lower_linear("add"))
_define(operator.sub, 2, _lower_linear("sub"))
_define(operator.neg, 1, _lower_linear("neg"))
_define(operator.mul, 2, _lower_product("mul"))
_define(words.sqr, 1, _lower_product("sqr"))
_define(words.mul_sub, 4, _lower_product("mul_sub"))


def _row_is(builder: Any, row: Any, value: int) -> Any:
    """Whether a row of words is this constant."""
    different = ir.Constant(_I32, 0)
    for i, word in enumerate(limbs_of(value, row.type.count, 32)):
        bits = builder.xor(builder.extract_value(row, i), ir.Constant(_I32, word))
        different = builder.or_(different, bits)
    return builder.icmp_unsigned("==", different, ir.Constant(_I32, 0))


def _lower_is_zero(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    F = sig.args[0].F
    (x,) = args
    rows = [x] if isinstance(F.field, PrimeField) else [builder.extract_value(x, i) for i in (0, 1)]
    result = ir.Constant(ir.IntType(1), 1)
    for row in rows:
        zero = _row_is(builder, row, 0)
        if ptx.is_lazy(F.prime):  # p stands for 0 too
            zero = builder.or_(zero, _row_is(builder, row, F.prime.modulus))
        result = builder.and_(result, zero)
    return result


_define(words.is_zero, 1, _lower_is_zero, _boolean)


def constant_ir(F: DeviceField, raw: int) -> Any:
    """The element whose first coefficient is these raw words, and the other 0."""
    n = 2 * F.prime.limbs
    row = ir.Constant(row_type(n), [ir.Constant(_I32, word) for word in limbs_of(raw, n, 32)])
    if isinstance(F.field, PrimeField):
        return row
    return ir.Constant(element_ir(F), [row, ir.Constant(row.type, None)])


def _lower_zero(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return constant_ir(sig.args[0].F, 0)


def _lower_one(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    F = sig.args[0].F
    return constant_ir(F, F.prime.to_montgomery(1))


_define(words.zero_like, 1, _lower_zero)
_define(words.one_like, 1, _lower_one)


class _PartsTemplate(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:
        (x,) = args
        if not isinstance(x, DeviceElementType) or isinstance(x.F.field, PrimeField):
            return None
        base = DeviceElementType(DeviceField(x.F.prime, x.F.arithmetic, x.F.calls))
        return signature(types.UniTuple(base, 2), x)


class _ExtendTemplate(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:
        c0, *rest = args
        if not isinstance(c0, DeviceElementType) or rest != [c0]:
            return None
        F = DeviceField(c0.F.prime.extension, c0.F.arithmetic, c0.F.calls)
        return signature(DeviceElementType(F), c0, c0)


# A pair is an LLVM array of two, which an element of Fp2 already is.
_register(words.parts, _PartsTemplate)
lower_builtin(words.parts, DeviceElementType)(lambda context, builder, sig, args: args[0])
_register(words.extend, _ExtendTemplate)
lower_builtin(words.extend, DeviceElementType, DeviceElementType)(
    lambda context, builder, sig, args: join(builder, sig.return_type.F, args)
)


class _SelectTemplate(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:
        if not isinstance(args[1], DeviceElementType) or args[1] != args[2]:
            return None
        return signature(args[1], types.boolean, *args[1:])


def _lower_select(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.select(*args)


_register(words.select, _SelectTemplate)
lower_builtin(words.select, types.Boolean, DeviceElementType, DeviceElementType)(_lower_select)
