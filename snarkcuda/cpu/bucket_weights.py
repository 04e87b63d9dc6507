"""Σ j·S_j over N = 2^m bucket sums, by affine additions alone.

    X₀ = S,  X_{k+1}[i] = X_k[2i] + X_k[2i + 1]          halves, down to the sum of all
    O_k = Σ X_k[i] over odd i                            those whose number has bit k
    Σ j·S_j = Σ_k 2^k·O_k

2N additions in the batches of `bucket_tree`; what is left, m doublings, is done on scalars at the
end. Running sums, the usual way, would need additions without exceptions: 12 products each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from snarkcuda.cpu.batch_add import AHEAD
from snarkcuda.cpu.bucket_tree import add_all_pairs, no_marks, sum_buckets
from snarkcuda.field.vector_memory import word_count
from snarkcuda.field.vector_rows import LINE, aligned_address
from snarkcuda.field.vector_type import LANES
from snarkcuda.jit import formula


@formula
def weights_memory(F: Any, log_n: int) -> Any:
    """What `weigh_buckets` works in; the N bucket sums are the first rows of it, zeroed."""
    n = 1 << log_n
    rows = np.empty((2 * n + LANES) * 16 * word_count(F) + LINE, dtype=np.uint8)
    pairs = np.zeros(n + 2 * (LANES + AHEAD + LANES), dtype=np.int64)
    codes = np.empty(n, dtype=np.uint32)
    starts = np.empty(log_n + 2, dtype=np.int64)
    return rows, pairs, codes, starts


@formula
def weigh_buckets(tasks: Any, F: Any, log_n: int, out: int, memory: Any, tree: Any) -> None:
    """Rows k < m at `out` = O_k, and row m = the sum of all; zero them first.

    Args:
        tasks: the pool's counter.
        F: field of the coordinates.
        log_n: m.
        out: address of m + 1 packed rows.
        memory: of `weights_memory`, the sums in place.
        tree: of `bucket_tree.tree_memory`.
    """
    rows_memory, pairs, codes, starts = memory
    rows = aligned_address(rows_memory)
    row_bytes = 16 * word_count(F)
    level, n, n_codes = 0, 1 << log_n, 0  # the first row of X_k, and its length
    for k in range(log_n):
        starts[k] = n_codes
        half = n >> 1
        for i in range(half):
            left = rows + (level + 2 * i) * row_bytes
            pairs[2 * i] = left
            pairs[2 * i + 1] = left + row_bytes
            codes[n_codes] = np.uint32(2 * (level + 2 * i + 1))
            n_codes += 1
        add_all_pairs(F, pairs, half, rows, level + n, tree[4])
        level += n
        n = half
    starts[log_n] = n_codes
    codes[n_codes] = np.uint32(2 * level)
    starts[log_n + 1] = n_codes + 1
    sum_buckets(tasks, F, rows, codes, starts, 0, 0, log_n + 1, no_marks(), out, tree)
