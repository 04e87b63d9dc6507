"""Prints where numba infers a floating-point type in the CUDA kernels: a program, no GPU needed.

A program of its own because the simulator, which tests run in, infers no types. Every function that
a kernel calls is typed on its own, once a process, and looked at as well. JSON on stdout:

    factories  the names of those that made the kernels
    labels     of the kernels; typed besides is a control, `trap`, which has floats
    functions  the names of all that was typed
    floats     [function, variable or expression, type], each
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numba.cuda.codegen import CUDACodeLibrary
from numba.cuda.core.typed_passes import BaseTypeInference

from snarkcuda.curve.params import CURVES
from snarkcuda.jit import formula
from snarkcuda.kernels.catalog import kernels_of
from snarkcuda.kernels.compiling import ptx_of
from snarkcuda.kernels.field import device_field
from snarkcuda.kernels.launch import DeviceKernel, device_kernel
from snarkcuda.kernels.operations import field_operations
from snarkcuda.kernels.target import uint32

FLOAT = re.compile(r"float|complex")


def kernels() -> Iterator[DeviceKernel]:
    """All of the catalog, and limbs once."""
    yield from {k.label: k for curve in CURVES for k in kernels_of(curve)}.values()
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
    labels, factories = [], set()
    for kernel in kernels():
        ptx_of(kernel, (9, 0))
        labels.append(kernel.label)
        if "<locals>" in (name := kernel.function.__qualname__):
            factories.add(name.partition(".")[0])
    ptx_of(trap(), (9, 0))
    found = {
        "factories": sorted(factories),
        "labels": labels,
        "functions": functions,
        "floats": floats,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
