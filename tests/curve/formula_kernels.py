"""Kernels that run the group law on arrays of points, for `test_formulas.py`."""

from __future__ import annotations

from typing import Any

from snarkcuda.curve.formulas import (
    affine_slope_sum,
    complete_add,
    curve_defect,
    tangent_numerator,
    xyzz_add,
    xyzz_add_affine,
    xyzz_double,
    xyzz_double_affine,
    xyzz_from_affine,
)
from snarkcuda.curve.points import store_affine
from snarkcuda.field.element import load, one, store, zero
from snarkcuda.field.words import inverse, is_zero, sqr
from snarkcuda.jit import formula, kernel

# The results of `every_sum`, in the order it stores them; the first four are p + q.
SUMS = ("add_affine", "add", "complete", "chord", "double", "double_affine")


@formula
def scaled(x: Any, y: Any, scale: Any) -> Any:
    """(x, y) as XYZZ with ZZ = scale²."""
    if is_zero(x) and is_zero(y):
        return xyzz_from_affine(x, y)
    zz = sqr(scale)
    zzz = zz * scale
    return x * zz, y * zzz, zz, zzz


@formula
def projective(F: Any, x: Any, y: Any, scale: Any) -> Any:
    """(x, y) with Z = scale; infinity is (0, scale, 0)."""
    if is_zero(x) and is_zero(y):
        return zero(F), scale, zero(F)
    return x * scale, y * scale, scale


@formula
def chord_or_tangent(x1: Any, y1: Any, x2: Any, y2: Any) -> Any:
    """Affine sum; the caller knows that neither is infinity and that they are not opposite."""
    if is_zero(x1 - x2):
        slope = tangent_numerator(x1) * inverse(y1 + y1)
    else:
        slope = (y2 - y1) * inverse(x2 - x1)
    return affine_slope_sum(x1, y1, x2, slope)


@kernel
def every_sum(
    F: Any, n: int, p: Any, q: Any, scales: Any, b3: Any, out: Any, defects: Any, b: Any
) -> None:
    """Affine results of each formula on (pᵢ, qᵢ), pᵢ doubled in the last two; y² − x³ − b of pᵢ."""
    triple, coefficient = load(F, b3, 0), load(F, b, 0)
    for i in range(n):
        x1, y1 = load(F, p, 2 * i), load(F, p, 2 * i + 1)
        x2, y2 = load(F, q, 2 * i), load(F, q, 2 * i + 1)
        s, t = load(F, scales, 2 * i), load(F, scales, 2 * i + 1)
        store_affine(F, out, 6 * i, xyzz_add_affine(scaled(x1, y1, s), x2, y2))
        store_affine(F, out, 6 * i + 1, xyzz_add(scaled(x1, y1, s), scaled(x2, y2, t)))
        x, y, z = complete_add(projective(F, x1, y1, s), projective(F, x2, y2, t), triple)
        store(F, out, 2 * (6 * i + 2), x * inverse(z))
        store(F, out, 2 * (6 * i + 2) + 1, y * inverse(z))
        x, y = chord_or_tangent(x1, y1, x2, y2)
        store(F, out, 2 * (6 * i + 3), x)
        store(F, out, 2 * (6 * i + 3) + 1, y)
        store_affine(F, out, 6 * i + 4, xyzz_double(scaled(x1, y1, s)))
        if is_zero(x1) and is_zero(y1):
            store_affine(F, out, 6 * i + 5, xyzz_from_affine(x1, y1))
        else:
            store_affine(F, out, 6 * i + 5, xyzz_double_affine(x1, y1))
        store(F, defects, i, curve_defect(x1, y1, coefficient) * one(F))
