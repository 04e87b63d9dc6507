"""The group law through the text of the PTX blocks: carries and lazy ranges, unseen by ints."""

import random
from dataclasses import dataclass
from typing import Any

import pytest

from snarkcuda.curve import formulas
from snarkcuda.field.naive import Extension, naive
from snarkcuda.field.params import PrimeField, prime_of
from snarkcuda.kernels import ptx_tower
from snarkcuda.kernels.ptx import blocks, is_lazy
from tests.curve import textbook
from tests.field.values import GROUPS
from tests.kernels.ptx_interpreter import run


def operands_fit(field: PrimeField, name: str, *rows: int) -> bool:
    """Whether operands are as the table at the top of `kernels/ptx.py` wants them."""
    p, R = field.modulus, field.montgomery
    m = (2 if is_lazy(field) else 1) * p
    if name == "mul":
        a, b = rows
        return a * b <= R * p and a <= R - p
    if name == "sub_two_wide":
        t, u, v = rows
        return 0 <= t - u - v < 2 * m * m
    below = {"mul_wide": R, "sqr_wide": R, "sub_wide": R * p, "reduce_wide": R * p}.get(name, m)
    return all(row < below for row in rows)


@dataclass(frozen=True)
class Run:
    """An element of Fp or Fp2 as rows; every operation runs blocks and asserts the ranges."""

    field: PrimeField
    rows: tuple[int, ...]

    def __post_init__(self) -> None:
        most = (2 if is_lazy(self.field) else 1) * self.field.modulus
        assert all(row < most for row in self.rows), "out of the range of registers"

    def _call(self, name: str, *rows: int) -> int:
        assert operands_fit(self.field, name, *rows), f"{name} of operands too large"
        return run(blocks(self.field)[name], *rows)

    def _each(self, name: str, *others: Any) -> Any:
        operands = zip(self.rows, *(other.rows for other in others), strict=True)
        return Run(self.field, tuple(self._call(name, *rows) for rows in operands))

    def __add__(self, other: Any) -> Any:
        return self._each("add", other)

    def __sub__(self, other: Any) -> Any:
        return self._each("sub", other)

    def __neg__(self) -> Any:
        return self._each("neg")

    def __mul__(self, other: Any) -> Any:
        if len(self.rows) == 1:
            return self._each("mul", other)
        rows = ptx_tower.fp2_mul(self.field, self._call, self.rows, other.rows)
        return Run(self.field, rows)

    def sqr(self) -> Any:
        if len(self.rows) == 1:
            return self._each("sqr")
        return Run(self.field, ptx_tower.fp2_sqr(self.field, self._call, self.rows))

    def mul_sub(self, b: Any, c: Any, d: Any) -> Any:
        if len(self.rows) == 1:
            operands = (x.rows[0] for x in (self, b, c, d))
            return Run(self.field, (ptx_tower.mul_sub(self.field, self._call, *operands),))
        operands = (x.rows for x in (self, b, c, d))
        return Run(self.field, ptx_tower.fp2_mul_sub(self.field, self._call, *operands))

    def is_zero(self) -> bool:
        return all(row % self.field.modulus == 0 for row in self.rows)

    def constant(self, value: int) -> Any:
        zeros = (0,) * (len(self.rows) - 1)
        return Run(self.field, (self.field.to_montgomery(value), *zeros))


def of(element: Any, draw: random.Random) -> Run:
    """A naive element, some of its coefficients p too high where registers may be."""
    prime = prime_of(element.field)
    parts = element.parts if isinstance(element, Extension) else (element,)
    rows = []
    for part in parts:
        raw = prime.to_montgomery(part.value)
        rows.append(raw + prime.modulus * (draw.randrange(2) if is_lazy(prime) else 0))
    return Run(prime, tuple(rows))


def naive_of(found: Run, field: Any) -> Any:
    values = [found.field.from_montgomery(row) for row in found.rows]
    return naive(field, values[0] if len(values) == 1 else values)


def affine(found: Any, field: Any) -> Any:
    x, y, zz, zzz = (naive_of(part, field) for part in found)
    return None if zz.is_zero() else (x * zz.inverse(), y * zzz.inverse())


@pytest.mark.parametrize("curve, group", GROUPS, ids=lambda v: v.name)
def test_formulas(curve, group) -> None:
    field, draw = group.field, random.Random(f"ptx {group.name}")
    g = textbook.generator(group)
    multiples = {k: textbook.multiply(k, g) for k in range(1, 9)}

    def run_of(k: int) -> Any:
        return tuple(of(c, draw) for c in multiples[k])

    p = formulas.xyzz_from_affine(*run_of(1))
    for k in (1, 2, 5):  # 1 doubles; then sums with denominators
        p = formulas.xyzz_add_affine(p, *run_of(k))
    total = textbook.multiply(9, g)
    assert affine(p, field) == total
    q = formulas.xyzz_double(formulas.xyzz_double_affine(*run_of(2)))
    assert affine(q, field) == multiples[8]
    assert affine(formulas.xyzz_add(p, q), field) == textbook.multiply(17, g)
    assert affine(formulas.xyzz_add(p, p), field) == textbook.multiply(18, g)
    x, y, zz, zzz = p
    assert affine(formulas.xyzz_add(p, (x, -y, zz, zzz)), field) is None
    infinity = formulas.xyzz_infinity(x)
    assert affine(formulas.xyzz_add(infinity, p), field) == total
    assert affine(formulas.xyzz_add(p, infinity), field) == total


@pytest.mark.parametrize("curve, group", GROUPS, ids=lambda v: v.name)
def test_products_at_the_edges(curve, group) -> None:
    """Products, squares and a·b − c·d of rows that are 0, p − 1, p, and as large as can be."""
    field, prime = group.field, prime_of(group.field)
    most = (2 if is_lazy(prime) else 1) * prime.modulus
    edges = [row for row in (0, 1, prime.modulus - 1, prime.modulus, most - 1) if row < most]
    draw = random.Random("edges")
    for _ in range(40):
        a, b, c, d = (
            Run(prime, tuple(draw.choice(edges) for _ in range(field.level))) for _ in range(4)
        )
        w, x, y, z = (naive_of(e, field) for e in (a, b, c, d))
        assert naive_of(a * b, field) == w * x
        assert naive_of(a.sqr(), field) == w * w
        assert naive_of(a.mul_sub(b, c, d), field) == w * x - y * z
        assert naive_of(a - b, field) == w - x and naive_of(-a, field) == -w
