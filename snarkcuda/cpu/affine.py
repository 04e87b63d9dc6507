"""Many affine points at once: from XYZZ, differences, coordinates out of Montgomery form."""

from __future__ import annotations

from typing import Any

import numpy as np

from snarkcuda.cpu.batch_affine import batch_to_affine
from snarkcuda.cpu.pool import Pool, claim
from snarkcuda.cpu.xyzz_rows import store_xyzz
from snarkcuda.curve.formulas import xyzz_add_affine, xyzz_from_affine
from snarkcuda.curve.params import Group
from snarkcuda.curve.points import point_shape
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.element import canonical_one, load, store
from snarkcuda.field.params import PrimeField
from snarkcuda.jit import kernel

_BLOCK = 256  # points that share an inversion


def to_affine(pool: Pool, group: Group, sums: U64Array) -> U64Array:
    """XYZZ rows (n, 4·words) as affine points, Montgomery; infinity is all zero."""
    out = np.empty((len(sums), *point_shape(group)), dtype=np.uint64)
    pool.run(_to_affine, -(-len(sums) // _BLOCK), group.field, sums, out)
    return out


def differences(pool: Pool, group: Group, left: U64Array, right: U64Array) -> U64Array:
    """left[i] − right[i]: affine, Montgomery, in the shape of `left`."""
    sums = np.empty((len(left), 4 * group.field.words), dtype=np.uint64)
    packed = arrays.packed(left), arrays.packed(right)
    pool.run(_subtract, -(-len(left) // _BLOCK), group.field, *packed, sums)
    return to_affine(pool, group, sums)


def leave_montgomery(pool: Pool, field: PrimeField, elements: U64Array) -> U64Array:
    """The canonical integers of field elements in Montgomery form: uint64 (n, limbs)."""
    out = np.empty((elements.size // field.limbs, field.limbs), dtype=np.uint64)
    pool.run(_leave, -(-len(out) // _BLOCK), field, arrays.packed(elements), out)
    return out


@kernel
def _leave(tasks: Any, F: Any, elements: Any, out: Any) -> None:
    task = claim(tasks)
    while task >= 0:
        for i in range(task * _BLOCK, min(out.shape[0], (task + 1) * _BLOCK)):
            store(F, out, i, load(F, elements, i) * canonical_one(F))
        task = claim(tasks)


@kernel
def _subtract(tasks: Any, F: Any, left: Any, right: Any, sums: Any) -> None:
    task = claim(tasks)
    while task >= 0:
        for i in range(task * _BLOCK, min(sums.shape[0], (task + 1) * _BLOCK)):
            p = xyzz_from_affine(load(F, left, 2 * i), load(F, left, 2 * i + 1))
            p = xyzz_add_affine(p, load(F, right, 2 * i), -load(F, right, 2 * i + 1))
            store_xyzz(F, sums, i, p)
        task = claim(tasks)


@kernel
def _to_affine(tasks: Any, F: Any, sums: Any, out: Any) -> None:
    products = np.empty((_BLOCK, sums.shape[1] // 4), dtype=np.uint64)
    task = claim(tasks)
    while task >= 0:
        first = task * _BLOCK
        count = min(_BLOCK, sums.shape[0] - first)
        batch_to_affine(F, sums[first : first + count], count, products, out, first)
        task = claim(tasks)
