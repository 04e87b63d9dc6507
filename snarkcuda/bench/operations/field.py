"""Products of field elements, 64 in a row on each: Fq (g1) or Fq2 (g2), in cache.

Four chains run side by side, so that one's latency hides behind the others.
"""

from __future__ import annotations

from typing import Any

from snarkcuda.bench.case import SEED, Case, Subject
from snarkcuda.bench.operations.vectors import takes_vectors
from snarkcuda.circuits.synthetic import draw, draw_elements
from snarkcuda.cpu.pool import Pool, claim
from snarkcuda.cpu.vector_form import to_vector_form
from snarkcuda.curve.params import curve_named
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.element import load, store
from snarkcuda.field.naive import Naive, flatten, power, unflatten
from snarkcuda.field.params import prime_of
from snarkcuda.field.vector import shrunk
from snarkcuda.field.vector_memory import broadcast_vector, load_vector, store_vector
from snarkcuda.field.vector_type import LANES
from snarkcuda.jit import kernel

_PRODUCTS = 64
_CHUNK = 64  # elements of one task: in the first-level cache
_SAMPLES = 64  # elements that are checked


def subject(case: Case, pool: Pool) -> Subject:
    """x ← x·w⁶⁴ for 2^log_n elements x, in place."""
    curve, n = curve_named(case.curve), 1 << case.log_n
    assert curve is not None
    field = (curve.g2 if case.group == "g2" else curve.g1).field
    prime = prime_of(field)
    elements = draw_elements(prime, SEED, "elements", (n + 1) * field.level)
    x, factor = elements[: n * field.level], elements[n * field.level :]
    before = x.copy()

    def canonical(rows: U64Array) -> Naive:
        return unflatten(field, [prime.from_montgomery(v) for v in arrays.to_ints(rows)])

    if takes_vectors(case):
        worker, w = _vector_products, to_vector_form(pool, prime, factor)
    else:
        worker, w = _products, arrays.packed(factor)

    def call() -> U64Array:
        pool.run(worker, n // _CHUNK, field, x, w)
        return x

    def is_right(result: U64Array) -> bool:
        multiplier = power(canonical(factor), _PRODUCTS)
        for i in (int(word) % n for word in draw(SEED, "samples", _SAMPLES)):
            rows = slice(i * field.level, (i + 1) * field.level)
            if flatten(canonical(result[rows])) != flatten(canonical(before[rows]) * multiplier):
                return False
        return True

    return Subject(call, is_right, "product", n * _PRODUCTS)


@kernel
def _products(tasks: Any, F: Any, x: Any, factor: Any) -> None:
    w = load(F, factor, 0)
    task = claim(tasks)
    while task >= 0:
        for i in range(task * _CHUNK, (task + 1) * _CHUNK, 4):
            a, b, c, d = load(F, x, i), load(F, x, i + 1), load(F, x, i + 2), load(F, x, i + 3)
            for _ in range(_PRODUCTS):
                a, b, c, d = a * w, b * w, c * w, d * w
            store(F, x, i, a)
            store(F, x, i + 1, b)
            store(F, x, i + 2, c)
            store(F, x, i + 3, d)
        task = claim(tasks)


@kernel
def _vector_products(tasks: Any, F: Any, x: Any, factor: Any) -> None:
    w = broadcast_vector(F, factor, 0)
    task = claim(tasks)
    while task >= 0:
        for i in range(task * _CHUNK, (task + 1) * _CHUNK, 4 * LANES):
            a, b = load_vector(F, x, i), load_vector(F, x, i + LANES)
            c, d = load_vector(F, x, i + 2 * LANES), load_vector(F, x, i + 3 * LANES)
            for _ in range(_PRODUCTS):
                a, b, c, d = shrunk(a * w), shrunk(b * w), shrunk(c * w), shrunk(d * w)
            store_vector(F, x, i, a)
            store_vector(F, x, i + LANES, b)
            store_vector(F, x, i + 2 * LANES, c)
            store_vector(F, x, i + 3 * LANES, d)
        task = claim(tasks)
