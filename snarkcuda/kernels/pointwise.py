"""Kernels that work on each row by itself: c = a·b, and the quotients' products.

a, b and c lie one behind the other, n elements each.
"""

from __future__ import annotations

from typing import Any

from snarkcuda.field.words import mul_sub
from snarkcuda.kernels.field import DeviceField
from snarkcuda.kernels.launch import DeviceKernel, device_kernel
from snarkcuda.kernels.target import cuda

MAX_THREADS = 128
_SIGNATURE = ("words", "i64")


def products(F: DeviceField) -> DeviceKernel:
    """c = a·b. Arguments of a launch, a thread a row: abc, 3n elements; n."""
    load, store = F.load, F.store

    @device_kernel(f"products[{F.key}]", _SIGNATURE, max_threads=MAX_THREADS)
    def products(abc: Any, n: int) -> None:
        i = cuda.grid(1)
        if i < n:
            store(abc, 2 * n + i, load(abc, i) * load(abc, n + i))

    return products


def circom_quotient(F: DeviceField) -> DeviceKernel:
    """h = a·b − c, canonical and out of Montgomery form, in the place of a.

    Arguments of a launch, a thread a row: abc, 3n elements, on the coset; n.
    """
    load, store_canonical = F.load, F.store_canonical
    one, raw_one = F.constant(1), F.constant_raw(1)

    @device_kernel(f"circom_quotient[{F.key}]", _SIGNATURE, max_threads=MAX_THREADS)
    def circom_quotient(abc: Any, n: int) -> None:
        i = cuda.grid(1)
        if i < n:
            a, b, c = load(abc, i), load(abc, n + i), load(abc, 2 * n + i)
            store_canonical(abc, i, mul_sub(a, b, c, one()) * raw_one())

    return circom_quotient


def bellman_quotient(F: DeviceField) -> DeviceKernel:
    """(a·b − c)·over, over = 1/(xⁿ − 1), which a coset has everywhere the same, in the place of a.

    Arguments of a launch, a thread a row: abc, 3n elements, on the coset; over, one element; n.
    """
    load, store = F.load, F.store
    one = F.constant(1)

    @device_kernel(f"bellman_quotient[{F.key}]", ("words", "words", "i64"), max_threads=MAX_THREADS)
    def bellman_quotient(abc: Any, over: Any, n: int) -> None:
        i = cuda.grid(1)
        if i < n:
            a, b, c = load(abc, i), load(abc, n + i), load(abc, 2 * n + i)
            store(abc, i, mul_sub(a, b, c, one()) * load(over, 0))

    return bellman_quotient


def natural_scalars(F: DeviceField) -> DeviceKernel:
    """The scalars of a bit-reversed array in natural order, canonical, out of Montgomery form.

    Arguments of a launch, a thread an element: out, x, 2^log_n elements each; log_n.
    """
    load, store_canonical = F.load, F.store_canonical
    raw_one = F.constant_raw(1)

    @device_kernel(f"natural_scalars[{F.key}]", ("words", "words", "i64"), max_threads=MAX_THREADS)
    def natural_scalars(out: Any, x: Any, log_n: int) -> None:
        i = cuda.grid(1)
        if i < 1 << log_n:
            reverse = 0
            for bit in range(log_n):
                reverse |= ((i >> bit) & 1) << (log_n - 1 - bit)
            store_canonical(out, i, load(x, reverse) * raw_one())

    return natural_scalars
