"""The few named words that the shared formulas use besides `+ - *` and unary `-`.

Here each is plain Python on objects that carry the method (`field/naive.py`, `field/bound.py`);
`field/element.py` adds the njit version of each. A formula that uses only these runs on all of
them.
"""

from __future__ import annotations

from typing import Any

# Formulas are generic over element types that share no base class (numba types among them).
Element = Any


def sqr(a: Element) -> Element:
    """a²."""
    return a.sqr()


def mul_sub(a: Element, b: Element, c: Element, d: Element) -> Element:
    """a·b − c·d with one reduction."""
    return a.mul_sub(b, c, d)


def inverse(a: Element) -> Element:
    """1/a; the inverse of 0 is 0."""
    return a.inverse()


def is_zero(a: Element) -> bool:
    """Whether a is 0."""
    return bool(a.is_zero())


def select(condition: bool, a: Element, b: Element) -> Element:
    """`a` if `condition` else `b`, without a branch where that matters."""
    return a if condition else b


def zero_like(a: Element) -> Element:
    """0 of a's field."""
    return a.constant(0)


def one_like(a: Element) -> Element:
    """1 of a's field."""
    return a.constant(1)


def parts(a: Element) -> Any:
    """The coefficients of an extension element over the field below."""
    return a.parts


def extend(*coefficients: Element) -> Element:
    """The element c0 + c1·X (+ c2·X²) of the extension above the coefficients' field."""
    return coefficients[0].extend(coefficients)


def mul_by_xi(a: Element) -> Element:
    """ξ·a in Fp2, ξ = xi + u."""
    return a.mul_by_xi()


def conjugate(a: Element) -> Element:
    """a^p for a in Fp2 (c0 − c1·u); a itself in Fp."""
    return a.conjugate()
