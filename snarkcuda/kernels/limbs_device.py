"""The functions of `kernels/limbs.py` as operations of elements in compiled kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import ir
from numba.cuda import types
from numba.cuda.extending import intrinsic

from snarkcuda.kernels.field import DeviceField
from snarkcuda.kernels.limbs import limb_words
from snarkcuda.kernels.target import cuda, uint32


@cache
def compiled_word(F: DeviceField, name: str) -> Callable[..., Any]:
    """add, sub, neg, mul, sqr or mul_sub of elements of a prime field, to be compiled."""
    n, words = 2 * F.prime.limbs, limb_words(F.prime)
    scratch = n + 2
    words_add, words_sub, words_mul = words.add, words.sub, words.mul
    to_row, of_row = _rows(F)

    def add(x: Any, y: Any) -> Any:
        a, b = cuda.local.array(n, uint32), cuda.local.array(n, uint32)
        out = cuda.local.array(n, uint32)
        to_row(x, a)
        to_row(y, b)
        words_add(a, b, out)
        return of_row(out)

    def sub(x: Any, y: Any) -> Any:
        a, b = cuda.local.array(n, uint32), cuda.local.array(n, uint32)
        out = cuda.local.array(n, uint32)
        to_row(x, a)
        to_row(y, b)
        words_sub(a, b, out)
        return of_row(out)

    def neg(x: Any) -> Any:
        a, b = cuda.local.array(n, uint32), cuda.local.array(n, uint32)
        out = cuda.local.array(n, uint32)
        for j in range(n):
            a[j] = 0
        to_row(x, b)
        words_sub(a, b, out)
        return of_row(out)

    def mul(x: Any, y: Any) -> Any:
        a, b = cuda.local.array(n, uint32), cuda.local.array(n, uint32)
        t, out = cuda.local.array(scratch, uint32), cuda.local.array(n, uint32)
        to_row(x, a)
        to_row(y, b)
        words_mul(a, b, t, out)
        return of_row(out)

    def sqr(x: Any) -> Any:
        return x * x

    def mul_sub(x: Any, y: Any, z: Any, w: Any) -> Any:
        return x * y - z * w

    found: dict[str, Callable[..., Any]] = {
        "add": add,
        "sub": sub,
        "neg": neg,
        "mul": mul,
        "sqr": sqr,
        "mul_sub": mul_sub,
    }
    return found[name]


def _rows(F: DeviceField) -> tuple[Callable[..., None], Callable[..., Any]]:
    """Words that write an element to a row, and read it back."""
    from snarkcuda.kernels.field_device import DeviceElementType, element_ir

    element = DeviceElementType(F)

    def pointer(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
        data = context.make_array(array_type)(context, builder, array).data
        return builder.bitcast(data, ir.PointerType(element_ir(F)))

    @intrinsic  # type: ignore[untyped-decorator]
    def to_row(typing: Any, x: Any, row: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            builder.store(args[0], pointer(context, builder, sig.args[1], args[1]), align=4)
            return context.get_dummy_value()

        return types.void(x, row), codegen

    @intrinsic  # type: ignore[untyped-decorator]
    def of_row(typing: Any, row: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return builder.load(pointer(context, builder, sig.args[0], args[0]), align=4)

        return element(row), codegen

    return to_row, of_row
