"""Products in Fp2, and a·b − c·d, of the blocks of `kernels/ptx.py`.

`call(name, *rows)` is one block: in a compiled kernel a call of its function, in tests a run of its
text. An element of Fp2 is a pair of rows, each below m.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from snarkcuda.field.params import PrimeField

Row = Any
Pair = tuple[Row, Row]
Call = Callable[..., Row]


def mul_sub(field: PrimeField, call: Call, a: Row, b: Row, c: Row, d: Row) -> Row:
    """a·b − c·d with one reduction: both products lie below 4p² ≤ Rp, or p² where strict."""
    difference = call("sub_wide", call("mul_wide", a, b), call("mul_wide", c, d))
    return call("reduce_wide", difference)


def fp2_mul(field: PrimeField, call: Call, a: Pair, b: Pair) -> Pair:
    """(a0 + a1·u)(b0 + b1·u): Karatsuba, three products and two reductions.

    a0·b1 + a1·b0 < 2m², which is below 2Rp as m² ≤ Rp. Source: Aranha et al., eprint 2010/526.
    """
    (a0, a1), (b0, b1) = a, b
    low, high = call("mul_wide", a0, b0), call("mul_wide", a1, b1)
    sums = call("mul_wide", call("add_loose", a0, a1), call("add_loose", b0, b1))
    cross = call("sub_two_wide", sums, low, high)
    return call("reduce_wide", call("sub_wide", low, high)), call("reduce_wide", cross)


def fp2_sqr(field: PrimeField, call: Call, a: Pair) -> Pair:
    """(a0 + a1)(a0 − a1) + 2·a0·a1·u."""
    a0, a1 = a
    # Where 8p < R, loose operands below 4p and 2p make a product below Rp.
    loose = "_loose" if 8 * field.modulus < field.montgomery else ""
    difference, double = call(f"sub{loose}", a0, a1), call(f"add{loose}", a1, a1)
    return call("mul", call("add", a0, a1), difference), call("mul", a0, double)


def fp2_mul_sub(field: PrimeField, call: Call, a: Pair, b: Pair, c: Pair, d: Pair) -> Pair:
    """a·b − c·d."""
    x, y = fp2_mul(field, call, a, b), fp2_mul(field, call, c, d)
    return call("sub", x[0], y[0]), call("sub", x[1], y[1])
