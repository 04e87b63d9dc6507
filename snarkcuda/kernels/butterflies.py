"""Transforms of eight elements in registers, written once for every element type.

    dif    natural order in, bit-reversed out           dit    bit-reversed in, natural out

w1, w2, w3 are the first powers of a primitive 8th root of unity w; w2 is a 4th root. Products by
the 0th power are left out: of the 12 products that a transform by pairs has for three levels of 8
elements, 5 are here, and 7, by powers of a longer root, the caller's; after the last step none.
"""

from __future__ import annotations

from snarkcuda.field.words import Element
from snarkcuda.jit import formula

Eight = tuple[Element, Element, Element, Element, Element, Element, Element, Element]


@formula
def dif8(x: Eight, w1: Element, w2: Element, w3: Element) -> Eight:
    """X_k = Σ x_j·w^(jk), X_k at place brev(k). Cost: 5M."""
    a0, a4 = x[0] + x[4], x[0] - x[4]
    a1, a5 = x[1] + x[5], (x[1] - x[5]) * w1
    a2, a6 = x[2] + x[6], (x[2] - x[6]) * w2
    a3, a7 = x[3] + x[7], (x[3] - x[7]) * w3
    return dif4x2((a0, a1, a2, a3, a4, a5, a6, a7), w2)


@formula
def dif4x2(x: Eight, w2: Element) -> Eight:
    """Two transforms of four, on places 0 … 3 and 4 … 7. Cost: 2M."""
    a0, a2 = x[0] + x[2], x[0] - x[2]
    a1, a3 = x[1] + x[3], (x[1] - x[3]) * w2
    a4, a6 = x[4] + x[6], x[4] - x[6]
    a5, a7 = x[5] + x[7], (x[5] - x[7]) * w2
    return pairs((a0, a1, a2, a3, a4, a5, a6, a7))


@formula
def pairs(x: Eight) -> Eight:
    """Four transforms of two: sums and differences of neighbours. Cost: 0."""
    return (
        x[0] + x[1],
        x[0] - x[1],
        x[2] + x[3],
        x[2] - x[3],
        x[4] + x[5],
        x[4] - x[5],
        x[6] + x[7],
        x[6] - x[7],
    )


@formula
def dit4x2(x: Eight, w2: Element) -> Eight:
    """Two transforms of four, bit-reversed in, natural out. Cost: 2M."""
    a0, a1, a2, a3, a4, a5, a6, a7 = pairs(x)
    a3, a7 = a3 * w2, a7 * w2
    return a0 + a2, a1 + a3, a0 - a2, a1 - a3, a4 + a6, a5 + a7, a4 - a6, a5 - a7


@formula
def dit8(x: Eight, w1: Element, w2: Element, w3: Element) -> Eight:
    """X_k = Σ x_j·w^(jk), x_j at place brev(j). Cost: 5M."""
    a0, a1, a2, a3, a4, a5, a6, a7 = dit4x2(x, w2)
    a5, a6, a7 = a5 * w1, a6 * w2, a7 * w3
    return a0 + a4, a1 + a5, a2 + a6, a3 + a7, a0 - a4, a1 - a5, a2 - a6, a3 - a7
