"""A kernel that looks for points off their curve, while a key is loaded."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from snarkcuda.curve.formulas import curve_defect
from snarkcuda.curve.params import Group
from snarkcuda.field import arrays
from snarkcuda.field.naive import flatten, naive
from snarkcuda.field.words import is_zero
from snarkcuda.kernels.device import DeviceArray
from snarkcuda.kernels.field import DeviceField
from snarkcuda.kernels.launch import DeviceKernel, device_kernel
from snarkcuda.kernels.memory import Scope
from snarkcuda.kernels.quotient import grid
from snarkcuda.kernels.target import cuda

MAX_THREADS = 128
_NONE = 0xFFFFFFFF


@cache
def off_curve(F: DeviceField) -> DeviceKernel:
    """first[0] = the least index of a point off its curve, if it is less.

    Arguments of a launch, a thread a point: first, a word; points, affine; b, the curve's, an
    element; n.
    """
    load = F.load

    @device_kernel(f"off_curve[{F.key}]", ("words",) * 3 + ("i64",), max_threads=MAX_THREADS,
                   may_spill=F.calls)  # fmt: skip
    def off_curve(first: Any, points: Any, b: Any, n: int) -> None:
        i = cuda.grid(1)
        if i < n:
            x, y = load(points, 2 * i), load(points, 2 * i + 1)
            if not (is_zero(x) and is_zero(y)) and not is_zero(curve_defect(x, y, load(b, 0))):
                cuda.atomic.min(first, 0, i)

    return off_curve


def first_off_curve(
    scope: Scope, F: DeviceField, group: Group, points: DeviceArray, n: int
) -> int | None:
    """Index of the first of n affine points, (0, 0) apart, that is not on the group's curve."""
    prime, found = F.prime, np.full(1, _NONE, dtype=np.uint32)
    b = [prime.to_montgomery(v) for v in flatten(naive(group.field, group.b))]
    with scope.arena.scope(scope.stream) as work:
        first, b_there = work.upload(found), work.upload(arrays.from_ints(b, prime.limbs))
        off_curve(F).launch(scope.stream, *grid(n, MAX_THREADS), first, points, b_there, n)
        scope.stream.download(first, found)
    return None if found[0] == _NONE else int(found[0])
