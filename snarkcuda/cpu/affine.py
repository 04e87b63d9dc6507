"""Many affine points at once: differences, and coordinates out of Montgomery form."""

from __future__ import annotations

from typing import Any

import numpy as np

from snarkcuda.cpu.batch_affine import batch_to_affine
from snarkcuda.cpu.pool import Pool, claim
from snarkcuda.cpu.xyzz_rows import store_xyzz
from snarkcuda.curve.formulas import xyzz_add_affine, xyzz_from_affine
from snarkcuda.curve.params import Group
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.element import canonical_one, load, store
from snarkcuda.field.params import PrimeField
from snarkcuda.jit import kernel

_BLOCK = 256  # points that share an inversion


def differences(pool: Pool, group: Group, left: U64Array, right: U64Array) -> U64Array:
    """left[i] − right[i]: affine, Montgomery, in the shape of `left`."""
    out = np.empty(left.shape, dtype=np.uint64)
    packed = arrays.packed(left), arrays.packed(right)
    pool.run(_subtract, -(-len(left) // _BLOCK), group.field, *packed, out)
    return out


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
def _subtract(tasks: Any, F: Any, left: Any, right: Any, out: Any) -> None:
    n, n_words = out.shape[0], out.size // (2 * out.shape[0])
    sums = np.empty((_BLOCK, 4 * n_words), dtype=np.uint64)
    products = np.empty((_BLOCK, n_words), dtype=np.uint64)
    task = claim(tasks)
    while task >= 0:
        first = task * _BLOCK
        count = min(_BLOCK, n - first)
        for i in range(count):
            place = 2 * (first + i)
            p = xyzz_from_affine(load(F, left, place), load(F, left, place + 1))
            p = xyzz_add_affine(p, load(F, right, place), -load(F, right, place + 1))
            store_xyzz(F, sums, i, p)
        batch_to_affine(F, sums, count, products, out, first)
        task = claim(tasks)
