"""A kernel for each operation of a field: what tests compare with integers, and benches time."""

from __future__ import annotations

from typing import Any

from snarkcuda.field.words import is_zero, mul_sub, one_like, select, sqr, zero_like
from snarkcuda.jit import formula
from snarkcuda.kernels.field import DeviceField
from snarkcuda.kernels.launch import DeviceKernel, device_kernel
from snarkcuda.kernels.loops import no_unroll
from snarkcuda.kernels.target import cuda

MAX_THREADS = 256


def field_operations(F: DeviceField) -> DeviceKernel:
    """All operations on a pair: row i of out is what `OPERATIONS` says, of a[i] and b[i].

    Arguments of a launch: out, 10n elements; a, b, n elements each; n.
    """
    load, store, store_canonical = F.load, F.store, F.store_canonical
    seven = F.constant(7)

    @device_kernel(
        f"field_operations[{F.key}]",
        ("words", "words", "words", "i64"),
        max_threads=MAX_THREADS,
        may_spill=F.calls,
    )
    def field_operations(out: Any, a: Any, b: Any, n: int) -> None:
        i = cuda.grid(1)
        if i < n:
            x, y = load(a, i), load(b, i)
            store(out, 10 * i, x + y)
            store(out, 10 * i + 1, x - y)
            store(out, 10 * i + 2, x * y)
            store(out, 10 * i + 3, -x)
            store(out, 10 * i + 4, sqr(x))
            store(out, 10 * i + 5, mul_sub(x, y, y, x + seven()))
            store(out, 10 * i + 6, select(is_zero(x - y), one_like(x), zero_like(x)))
            store(out, 10 * i + 7, select(is_zero(x), y, x))
            store_canonical(out, 10 * i + 8, x)
            store_canonical(out, 10 * i + 9, (x - y) * (x + y) - sqr(x) + sqr(y))

    return field_operations


def field_chain(F: DeviceField, operation: str) -> DeviceKernel:
    """2·steps products (mul), squares (sqr) or sums (add) of an element, for benches.

    Arguments of a launch: out, n elements; a, n + 1 elements; steps; n threads at most.
    """
    if operation not in _STEPS:
        raise ValueError(f"no chain of {operation!r}: {', '.join(_STEPS)}")
    load, store, step = F.load, F.store, _STEPS[operation]

    @device_kernel(
        f"field_{operation}[{F.key}]",
        ("words", "words", "i64"),
        max_threads=MAX_THREADS,
        may_spill=F.calls,
    )
    def field_chain(out: Any, a: Any, steps: int) -> None:
        i = cuda.grid(1)
        x, y = load(a, i), load(a, i + 1)
        for _ in range(steps):
            no_unroll()
            x, y = step(x, y)
        store(out, i, x)

    return field_chain


@formula
def _products(x: Any, y: Any) -> Any:
    x = x * y
    return x, y * x


@formula
def _squares(x: Any, y: Any) -> Any:
    return sqr(sqr(x)), y


@formula
def _sums(x: Any, y: Any) -> Any:
    x = x + y
    return x, y + x


_STEPS = {"mul": _products, "sqr": _squares, "add": _sums}
