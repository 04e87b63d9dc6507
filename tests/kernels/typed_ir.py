"""Prints where numba infers a floating-point type in the CUDA kernels: a program, no GPU needed.

A program of its own because the simulator, which tests run in, infers no types. Every function that
a kernel calls is typed on its own, once a process, and looked at as well. JSON on stdout:

    factories  the names of those that made the kernels
    labels     of the kernels; the last is a control, `trap`, which has floats
    functions  the names of all that was typed
    floats     [function, variable or expression, type], each
"""

from __future__ import annotations

import inspect
import json
import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
from numba.cuda.codegen import CUDACodeLibrary
from numba.cuda.core.typed_passes import BaseTypeInference

import snarkcuda.kernels
from snarkcuda.curve.params import CURVES
from snarkcuda.jit import formula
from snarkcuda.kernels import group
from snarkcuda.kernels.compiling import ptx_of
from snarkcuda.kernels.field import device_field
from snarkcuda.kernels.launch import DeviceKernel, device_kernel
from snarkcuda.kernels.operations import field_chain, field_operations
from snarkcuda.kernels.target import uint32

FLOAT = re.compile(r"float|complex")


def factories() -> list[Any]:
    """Every function of `snarkcuda.kernels` that makes a kernel of a field."""
    found = []
    for module in pkgutil.iter_modules(snarkcuda.kernels.__path__, "snarkcuda.kernels."):
        for value in vars(import_module(module.name)).values():
            if inspect.isfunction(value) and value.__module__ == module.name:
                signature = inspect.signature(value)
                if signature.return_annotation == "DeviceKernel" and "F" in signature.parameters:
                    found.append(value)
    return found


def kernels() -> Iterator[DeviceKernel]:
    """What each factory makes: group laws of each group, all else of each scalar field."""
    scalars = [device_field(curve.fr) for curve in CURVES]
    points = [group.point_field(g) for curve in CURVES for g in (curve.g1, curve.g2)]
    for factory in factories():
        for F in points if factory.__module__ == group.__name__ else scalars:
            if factory is field_chain:
                yield from (field_chain(F, operation) for operation in ("mul", "sqr", "add"))
            else:
                yield factory(F)
    yield from (field_operations(F) for F in points)
    yield field_operations(device_field(CURVES[0].fr, "limbs"))


@formula
def larger(word: Any, step: Any) -> Any:
    return max(word, step)


def trap() -> DeviceKernel:
    """A control: a function that the kernel calls takes the larger of a uint64 and an int64."""

    @device_kernel("trap", ("words", "i64"), max_threads=32)
    def trap_of_signs(words: Any, step: int) -> None:
        words[0] = uint32(larger(np.uint64(words[0]), step))

    return trap_of_signs


def main() -> None:
    floats: list[tuple[str, str, str]] = []
    functions: list[str] = []
    infer = BaseTypeInference.run_pass

    def watched(self: Any, state: Any) -> Any:
        done = infer(self, state)
        name = state.func_id.func_name
        functions.append(name)
        for what, kind in [*state.typemap.items(), *state.calltypes.items()]:
            if FLOAT.search(str(kind)):
                floats.append((name, str(what), str(kind)))
        return done

    BaseTypeInference.run_pass = watched
    CUDACodeLibrary.get_asm_strs = lambda *_, **__: [""]  # all is typed by then; NVVM is slow
    labels = []
    for kernel in [*kernels(), trap()]:
        ptx_of(kernel, (9, 0))
        labels.append(kernel.label)
    made = [factory.__name__ for factory in factories()]
    found = {"factories": made, "labels": labels, "functions": functions, "floats": floats}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
