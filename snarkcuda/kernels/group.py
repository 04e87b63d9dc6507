"""The group law of `curve/formulas.py` on device elements: kernels that add points one by one.

Points are elements one behind the other: affine (x, y), (0, 0) infinity; XYZZ (X, Y, ZZ, ZZZ),
ZZ = 0 infinity. In G1 products are in place; in G2 they are calls (`DeviceField.calls`), whose
registers the assembler keeps apart: in place an addition does not fit a thread's 255.

These kernels are what tests run the formulas by, and the smallest example of their use.
"""

from __future__ import annotations

from typing import Any

from snarkcuda.curve.formulas import xyzz_add, xyzz_add_affine, xyzz_double
from snarkcuda.curve.params import Group
from snarkcuda.jit import formula
from snarkcuda.kernels.field import DeviceField, device_field
from snarkcuda.kernels.launch import DeviceKernel, device_kernel
from snarkcuda.kernels.target import cuda

MAX_THREADS = 128
_SIGNATURE = ("words", "words", "words", "i64")


def point_field(group: Group, arithmetic: str | None = None) -> DeviceField:
    """The field of a group's coordinates, as kernels that add points use it."""
    return device_field(group.field, arithmetic, calls=group.field.level == 2)


def xyzz_words(F: DeviceField) -> tuple[Any, Any]:
    """Words for kernels: load_xyzz(words, i), store_xyzz(words, i, p)."""
    load, store = F.load, F.store

    @formula
    def load_xyzz(words: Any, i: int) -> Any:
        return (
            load(words, 4 * i),
            load(words, 4 * i + 1),
            load(words, 4 * i + 2),
            load(words, 4 * i + 3),
        )

    @formula
    def store_xyzz(words: Any, i: int, p: Any) -> None:
        x, y, zz, zzz = p
        store(words, 4 * i, x)
        store(words, 4 * i + 1, y)
        store(words, 4 * i + 2, zz)
        store(words, 4 * i + 3, zzz)

    return load_xyzz, store_xyzz


def group_add(F: DeviceField) -> DeviceKernel:
    """out[i] = p[i] + q[i], all XYZZ. Arguments of a launch: out, p, q; n points."""
    load_xyzz, store_xyzz = xyzz_words(F)

    @device_kernel(f"group_add[{F.key}]", _SIGNATURE, max_threads=MAX_THREADS, may_spill=F.calls)
    def group_add(out: Any, p: Any, q: Any, n: int) -> None:
        i = cuda.grid(1)
        if i < n:
            store_xyzz(out, i, xyzz_add(load_xyzz(p, i), load_xyzz(q, i)))

    return group_add


def group_add_affine(F: DeviceField) -> DeviceKernel:
    """out[i] = p[i] + q[i], q affine. Arguments of a launch: out, p, q; n points."""
    load_xyzz, store_xyzz = xyzz_words(F)
    load = F.load

    @device_kernel(
        f"group_add_affine[{F.key}]", _SIGNATURE, max_threads=MAX_THREADS, may_spill=F.calls
    )
    def group_add_affine(out: Any, p: Any, q: Any, n: int) -> None:
        i = cuda.grid(1)
        if i < n:
            x, y = load(q, 2 * i), load(q, 2 * i + 1)
            store_xyzz(out, i, xyzz_add_affine(load_xyzz(p, i), x, y))

    return group_add_affine


def group_double(F: DeviceField) -> DeviceKernel:
    """out[i] = 2·p[i], XYZZ. Arguments of a launch: out, p, p again; n points."""
    load_xyzz, store_xyzz = xyzz_words(F)

    @device_kernel(f"group_double[{F.key}]", _SIGNATURE, max_threads=MAX_THREADS, may_spill=F.calls)
    def group_double(out: Any, p: Any, q: Any, n: int) -> None:
        i = cuda.grid(1)
        if i < n:
            store_xyzz(out, i, xyzz_double(load_xyzz(p, i)))

    return group_double
