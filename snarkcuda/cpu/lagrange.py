"""The Lagrange basis of a domain at one point: Lᵢ(x) = (xⁿ − 1)/n · ωⁱ/(x − ωⁱ), i < n.

Each task takes a run of i and shares one inversion among its denominators (Montgomery's trick):
5M a value. The naive twin is `lagrange_at` in `tests/naive_groth16.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from snarkcuda.cpu.pool import Pool, claim
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.element import load, one, store
from snarkcuda.field.params import PrimeField
from snarkcuda.field.words import inverse
from snarkcuda.jit import kernel

_CHUNK = 1 << 10


def lagrange_basis(
    pool: Pool,
    field: PrimeField,
    log_n: int,
    x: int,
    factor: int = 1,
    canonical: bool = False,
) -> U64Array:
    """factor·Lᵢ(x) for i < 2^log_n.

    Args:
        pool: the threads to use.
        field: the scalar field.
        log_n: log₂ of the domain's size.
        x: the point, canonical, outside the domain.
        factor: multiplies every value, canonical.
        canonical: return canonical values instead of Montgomery form.

    Returns:
        uint64 (n, limbs).

    Raises:
        ValueError: x lies on the domain, where the formula divides by zero.
    """
    p, n = field.modulus, 1 << log_n
    vanishing = (pow(x, n, p) - 1) % p
    if vanishing == 0:
        raise ValueError("the Lagrange basis is asked for at a point of its domain")
    scale = factor * vanishing * pow(n, -1, p) % p
    root, n_tasks = field.root_of_unity(log_n), -(-n // _CHUNK)
    step, starts, power = pow(root, _CHUNK, p), [], 1
    for _ in range(n_tasks):
        starts.append(field.to_montgomery(power))
        power = power * step % p
    # A product of a plain factor and a Montgomery form is plain: no conversion afterwards.
    constants = [
        scale if canonical else field.to_montgomery(scale),
        field.to_montgomery(root),
        field.to_montgomery(x),
    ]
    out = np.empty((n, field.limbs), dtype=np.uint64)
    first, given = (arrays.from_ints(values, field.limbs) for values in (starts, constants))
    pool.run(_basis, n_tasks, field, first, given, out)
    return out


@kernel
def _basis(tasks: Any, F: Any, starts: Any, constants: Any, out: Any) -> None:
    n = out.shape[0]
    scale, root, x = load(F, constants, 0), load(F, constants, 1), load(F, constants, 2)
    powers = np.empty((_CHUNK, out.shape[1]), dtype=np.uint64)
    task = claim(tasks)
    while task >= 0:
        begin, end = task * _CHUNK, min(n, (task + 1) * _CHUNK)
        power, product = load(F, starts, task), one(F)
        for i in range(begin, end):
            store(F, powers, i - begin, power)
            store(F, out, i, product)
            product = product * (x - power)
            power = power * root
        over = inverse(product)
        for i in range(end - 1, begin - 1, -1):
            power = load(F, powers, i - begin)
            store(F, out, i, scale * (power * (over * load(F, out, i))))
            over = over * (x - power)
        task = claim(tasks)
