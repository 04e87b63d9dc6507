"""XYZZ points to affine, one inversion for a whole batch (Montgomery's trick).

    product[i] = ZZZ_0 · … · ZZZ_i;  from the end,  1/ZZZ_i = product[i − 1] · (1/product)
    1/z = ZZ/ZZZ,  x = X·(1/z)²,  y = Y/ZZZ

Cost: 7M and a share of one inversion for each point. Source: Montgomery 1987, §10.3.1.
"""

from __future__ import annotations

from typing import Any

from snarkcuda.cpu.xyzz_rows import load_xyzz
from snarkcuda.field.element import load, one, store, zero
from snarkcuda.field.words import inverse, is_zero, sqr
from snarkcuda.jit import formula


@formula
def batch_to_affine(F: Any, rows: Any, n: int, products: Any, points: Any, first: int) -> None:
    """XYZZ rows 0 … n − 1 as affine points first … first + n − 1; infinity becomes (0, 0).

    Args:
        F: the field of the coordinates.
        rows: uint64 (≥ n, 4·words).
        n: how many.
        products: scratch, uint64 (≥ n, words).
        points: where the affine points go, C-contiguous.
        first: index of the first of them.
    """
    product = one(F)
    for i in range(n):
        store(F, products, i, product)
        zzz = load(F, rows, 4 * i + 3)
        if not is_zero(zzz):
            product = product * zzz
    over = inverse(product)
    for i in range(n - 1, -1, -1):
        x, y, zz, zzz = load_xyzz(F, rows, i)
        if is_zero(zzz):
            store(F, points, 2 * (first + i), zero(F))
            store(F, points, 2 * (first + i) + 1, zero(F))
            continue
        over_zzz = over * load(F, products, i)
        over = over * zzz
        store(F, points, 2 * (first + i), x * sqr(zz * over_zzz))
        store(F, points, 2 * (first + i) + 1, y * over_zzz)
