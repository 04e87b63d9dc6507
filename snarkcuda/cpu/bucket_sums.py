"""Many small sums of affine points, on vectors: buckets cut into tasks, affine sums as a result.

For setup, where a sum is a point of the key: a scalar's entries of a table of multiples, or a
column of a matrix. The sums are `bucket_tree`'s; the twin is `formulas.xyzz_add_affine`, an entry
at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from snarkcuda.cpu.bucket_tree import no_marks, sum_buckets, tree_memory
from snarkcuda.cpu.pool import Pool, claim, stopped
from snarkcuda.cpu.vector_form import leave_vector_form, leaving_constant
from snarkcuda.curve.params import Group
from snarkcuda.curve.points import point_shape
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.vector_rows import address_of
from snarkcuda.jit import formula, kernel

NOTHING = 0  # the code of an entry that is left out
_BLOCK = 1 << 12  # buckets of one task


@formula
def code_of(index: Any, negative: Any) -> Any:
    """The code of an entry: point `index`, or minus that."""
    return 2 * (index + 1) + negative


def bucket_sums(
    pool: Pool,
    group: Group,
    points: NDArray[np.uint8],
    codes: NDArray[np.uint32],
    starts: NDArray[np.int64],
) -> U64Array:
    """The sum of each bucket's entries.

    Args:
        pool: the threads to use.
        group: where the points are.
        points: packed affine points, vector form; fewer than 2^31 − 1.
        codes: by bucket: `code_of` a point, or NOTHING.
        starts: where each bucket begins in `codes`, and the end of the last.

    Returns:
        uint64 (n, 2, limbs) or (n, 2, 2, limbs): affine, Montgomery; infinity is all zero.
    """
    n = len(starts) - 1
    out = np.empty((n, *point_shape(group)), dtype=np.uint64)
    arguments = (points, codes, starts, leaving_constant(group.field))
    pool.run(_sum, -(-n // _BLOCK), group.field, *arguments, out.reshape(-1).view(np.uint8))
    return out


@kernel
def _sum(tasks: Any, F: Any, points: Any, codes: Any, starts: Any, leaving: Any, out: Any) -> None:
    n = len(starts) - 1
    row_bytes = len(out) // n
    sums, tree = np.empty(_BLOCK * row_bytes, dtype=np.uint8), tree_memory(F)
    task = claim(tasks)
    while task >= 0:
        low, high = task * _BLOCK, min(n, (task + 1) * _BLOCK)
        sums[:] = 0
        # Points are numbered from 1 on: an entry of code 0 is below the first, and left out.
        sum_buckets(
            tasks, F, address_of(points), codes, starts, 1, low, high,
            no_marks(), address_of(sums), tree,
        )  # fmt: skip
        if stopped(tasks):
            return
        leave_vector_form(F, sums, 2 * (high - low), leaving)
        for byte in range((high - low) * row_bytes):
            out[low * row_bytes + byte] = sums[byte]
        task = claim(tasks)
