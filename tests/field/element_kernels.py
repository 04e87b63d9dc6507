"""Kernels that run every operator and word on arrays of elements, for `test_element.py`."""

from __future__ import annotations

from typing import Any

from snarkcuda.field import words
from snarkcuda.field.element import (
    canonical_one,
    field_of,
    limb_count,
    load,
    montgomery_cube,
    one,
    store,
    zero,
)
from snarkcuda.field.words import (
    conjugate,
    extend,
    inverse,
    is_zero,
    mul_by_xi,
    mul_sub,
    parts,
    select,
    sqr,
)
from snarkcuda.jit import kernel

# The results of `every_word`, in the order it stores them.
RESULTS = (
    "add",
    "sub",
    "neg",
    "mul",
    "sqr",
    "mul_sub",
    "inverse",
    "select",
    "zero_like",
    "one_like",
    "zero",
    "one",
)


@kernel
def every_word(F: Any, n: int, a: Any, b: Any, out: Any, flags: Any) -> None:
    """Each word on (aᵢ, bᵢ); mul_sub is aᵢ·bᵢ − bₙ₋₁₋ᵢ·aₙ₋₁₋ᵢ."""
    for i in range(n):
        x, y = load(F, a, i), load(F, b, i)
        z, w = load(F, b, n - 1 - i), load(F, a, n - 1 - i)
        store(F, out, 12 * i, x + y)
        store(F, out, 12 * i + 1, x - y)
        store(F, out, 12 * i + 2, -x)
        store(F, out, 12 * i + 3, x * y)
        store(F, out, 12 * i + 4, sqr(x))
        store(F, out, 12 * i + 5, mul_sub(x, y, z, w))
        store(F, out, 12 * i + 6, inverse(x))
        store(F, out, 12 * i + 7, select(is_zero(y), x, y))
        store(F, out, 12 * i + 8, words.zero_like(x))
        store(F, out, 12 * i + 9, words.one_like(x))
        store(F, out, 12 * i + 10, zero(F))
        store(F, out, 12 * i + 11, one(F))
        flags[i, 0] = is_zero(x)
        flags[i, 1] = x == y
        flags[i, 2] = select(is_zero(x - y), x, y) == y


@kernel
def fp2_words(Fp: Any, Fp2: Any, n: int, a: Any, out: Any) -> None:
    """Conjugate, product by ξ, and taking apart and putting together (swapped)."""
    for i in range(n):
        x = load(Fp2, a, i)
        x0, x1 = parts(x)
        store(Fp2, out, 4 * i, conjugate(x))
        store(Fp2, out, 4 * i + 1, mul_by_xi(x))
        store(Fp2, out, 4 * i + 2, extend(x1, x0))
        store(Fp, out, 2 * (4 * i + 3), conjugate(x0))
        store(Fp, out, 2 * (4 * i + 3) + 1, x0 * x1)


@kernel
def change_form(F: Any, n: int, a: Any, out: Any) -> None:
    """To Montgomery form, from it, and times the raw R³."""
    for i in range(n):
        x = load(F, a, i)
        store(F, out, 3 * i, x * montgomery_cube(F) * canonical_one(F))
        store(F, out, 3 * i + 1, x * canonical_one(F))
        store(F, out, 3 * i + 2, x * montgomery_cube(F))


@kernel
def invert_all(F: Any, n: int, a: Any, out: Any) -> None:
    """1/aᵢ."""
    for i in range(n):
        store(F, out, i, inverse(load(F, a, i)))


@kernel
def copy_reversed(F: Any, n: int, a: Any, out: Any) -> int:
    """Load and store alone; returns the field's limb count."""
    for i in range(n):
        store(F, out, n - 1 - i, load(F, a, i))
    return limb_count(field_of(load(F, a, 0)))
