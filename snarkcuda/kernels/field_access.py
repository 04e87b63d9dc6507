"""Elements to and from memory in compiled CUDA kernels, 16 bytes at a time, and constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.cuda import types
from numba.cuda.extending import intrinsic

from snarkcuda.field.params import PrimeField
from snarkcuda.kernels import ptx
from snarkcuda.kernels.field import DeviceField
from snarkcuda.kernels.field_device import DeviceElementType, constant_ir, each, join, row_type

_I32 = ir.IntType(32)
_I64 = ir.IntType(64)
_QUAD = ir.VectorType(_I32, 4)
_GLOBAL = 1  # the address space


def _row_words(builder: Any, F: DeviceField, element: Any) -> list[Any]:
    """The words of an element in memory order."""
    if isinstance(F.field, PrimeField):
        return [builder.extract_value(element, i) for i in range(element.type.count)]
    rows = [builder.extract_value(element, i) for i in range(2)]
    return [builder.extract_value(row, i) for row in rows for i in range(row.type.count)]


def _of_words(builder: Any, F: DeviceField, found: list[Any]) -> Any:
    """The inverse of `_row_words`."""
    n = 2 * F.prime.limbs
    rows = []
    for first in range(0, len(found), n):
        row = ir.Constant(row_type(n), ir.Undefined)
        for i in range(n):
            row = builder.insert_value(row, found[first + i], i)
        rows.append(row)
    return rows[0] if isinstance(F.field, PrimeField) else join(builder, F, rows)


def _load_quads(builder: Any, addresses: Any) -> list[Any]:
    quads = [builder.load(address, align=16) for address in addresses]
    return [builder.extract_element(q, ir.Constant(_I32, j)) for q in quads for j in range(4)]


def _store_quads(builder: Any, addresses: Any, values: list[Any]) -> None:
    for k, address in enumerate(addresses):
        quad = ir.Constant(_QUAD, ir.Undefined)
        for j in range(4):
            quad = builder.insert_element(quad, values[4 * k + j], ir.Constant(_I32, j))
        builder.store(quad, address, align=16)


def _data(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    """The first 16 bytes of an array of words."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(data, ir.PointerType(_QUAD))


def _global_addresses(context: Any, builder: Any, F: DeviceField, sig: Any, args: Any) -> list[Any]:
    """Pointers to the 16-byte pieces of element args[1] of the array args[0] in global memory."""
    index = context.cast(builder, args[1], sig.args[1], types.int64)
    data = _data(context, builder, sig.args[0], args[0])
    first = builder.gep(data, [builder.mul(index, ir.Constant(_I64, F.planes))])
    start = builder.addrspacecast(first, ir.PointerType(_QUAD, _GLOBAL))
    return [builder.gep(start, [ir.Constant(_I64, k)]) for k in range(F.planes)]


def _shared_addresses(context: Any, builder: Any, F: DeviceField, sig: Any, args: Any) -> list[Any]:
    """Pointers to piece k of element args[1] of args[2], which lie in planes."""
    index, n = (context.cast(builder, args[i], sig.args[i], types.int32) for i in (1, 2))
    data = _data(context, builder, sig.args[0], args[0])
    return [
        builder.gep(data, [builder.add(index, builder.mul(n, ir.Constant(_I32, k)))])
        for k in range(F.planes)
    ]


class CompiledAccess:
    """Loads, stores and constants of a `DeviceField` in compiled kernels."""

    def __init__(self, F: DeviceField) -> None:
        element = DeviceElementType(F)

        def reader(addresses: Any) -> Callable[..., Any]:
            def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
                found = _load_quads(builder, addresses(context, builder, F, sig, args))
                return _of_words(builder, F, found)

            return codegen

        def writer(addresses: Any, canonical: bool = False) -> Callable[..., Any]:
            def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
                x = args[-1]
                if canonical and ptx.is_lazy(F.prime) and F.arithmetic == "ptx":
                    x = each(builder, F, "canonical", x)
                where = addresses(context, builder, F, sig, args)
                _store_quads(builder, where, _row_words(builder, F, x))
                return context.get_dummy_value()

            return codegen

        @intrinsic  # type: ignore[untyped-decorator]
        def load(typing: Any, array: Any, index: Any) -> Any:
            return element(array, index), reader(_global_addresses)

        @intrinsic  # type: ignore[untyped-decorator]
        def store(typing: Any, array: Any, index: Any, x: Any) -> Any:
            return types.void(array, index, x), writer(_global_addresses)

        @intrinsic  # type: ignore[untyped-decorator]
        def store_canonical(typing: Any, array: Any, index: Any, x: Any) -> Any:
            return types.void(array, index, x), writer(_global_addresses, canonical=True)

        @intrinsic  # type: ignore[untyped-decorator]
        def load_shared(typing: Any, array: Any, index: Any, n: Any) -> Any:
            return element(array, index, n), reader(_shared_addresses)

        @intrinsic  # type: ignore[untyped-decorator]
        def store_shared(typing: Any, array: Any, index: Any, n: Any, x: Any) -> Any:
            return types.void(array, index, n, x), writer(_shared_addresses)

        self.load, self.store, self.store_canonical = load, store, store_canonical
        self.load_shared, self.store_shared = load_shared, store_shared
        self._F = F

    def constant(self, raw: int) -> Callable[[], Any]:
        """See `DeviceField.constant_raw`."""
        F = self._F

        @intrinsic  # type: ignore[untyped-decorator]
        def constant(typing: Any) -> Any:
            return DeviceElementType(F)(), lambda *_: constant_ir(F, raw)

        return constant  # type: ignore[no-any-return]
