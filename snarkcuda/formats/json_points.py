"""Points and curve names as snarkjs writes them in JSON.

    G1  [x, y, "1"]                                 infinity  ["0", "1", "0"]
    G2  [[x.c0, x.c1], [y.c0, y.c1], ["1", "0"]]    infinity  [["0","0"], ["1","0"], ["0","0"]]

Coordinates are integers, canonical (below q). The third is 1 or 0 and nothing else: one point has
one triple. Whether a point is on the curve is checked by whoever computes with it.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from snarkcuda.curve.params import CURVES, Curve, curve_named
from snarkcuda.errors import FormatError, MismatchError, NotOnCurveError
from snarkcuda.field.arrays import U64Array, from_ints, to_ints
from snarkcuda.formats.strict_json import Node


def json_text(value: Any) -> str:
    """JSON as snarkjs lays it out: one blank a level, no line break at the end."""
    return json.dumps(value, indent=1)


def read_point(node: Node, curve: Curve, is_g2: bool, may_be_infinity: bool = False) -> U64Array:
    """A point as an array.

    Returns:
        uint64 (2, limbs) or (2, 2, limbs), Montgomery form; all zero for infinity.

    Raises:
        FormatError: wrong shape, or a third coordinate other than 1 and 0.
        NotInFieldError: a coordinate is not below q.
        NotOnCurveError: infinity where it is refused, or (0, 0), which is on neither curve and
            would read as infinity in our arrays.
    """
    degree = 2 if is_g2 else 1
    x, y, z = ([part.scalar(curve.fq, "q") for part in _parts(c, degree)] for c in node.items(3))
    one, zero = [1, 0][:degree], [0] * degree
    if z == zero and x == zero and y == one:
        if may_be_infinity:
            return np.zeros((2, *(degree,) * is_g2, curve.fq.limbs), dtype=np.uint64)
        raise NotOnCurveError(f"{node.where} is the point at infinity, which is refused here")
    if z != one:
        raise FormatError(
            f"{node.where}[2] must be 1 (an affine point), or 0 for infinity, which is written "
            f"{json.dumps(point_at_infinity(is_g2))}"
        )
    if x == zero and y == zero:
        raise NotOnCurveError(f"{node.where} is (0, 0), which is not on {curve.name}")
    words = from_ints([curve.fq.to_montgomery(c) for c in x + y], curve.fq.limbs)
    return words.reshape((2, *(degree,) * is_g2, curve.fq.limbs))


def _parts(coordinate: Node, degree: int) -> list[Node]:
    return [coordinate] if degree == 1 else list(coordinate.items(degree))


def point_at_infinity(is_g2: bool) -> list[Any]:
    """The JSON value of infinity, (0 : 1 : 0)."""
    return [["0", "0"], ["1", "0"], ["0", "0"]] if is_g2 else ["0", "1", "0"]


def point_value(point: U64Array, curve: Curve) -> list[Any]:
    """The JSON value of a point: `(2, limbs)` or `(2, 2, limbs)`, Montgomery form."""
    is_g2 = point.ndim == 3
    if not point.any():
        return point_at_infinity(is_g2)
    numbers = [str(curve.fq.from_montgomery(value)) for value in to_ints(point)]
    return [numbers[:2], numbers[2:], ["1", "0"]] if is_g2 else [*numbers, "1"]


def read_protocol(root: Node) -> None:
    """Check the key 'protocol'.

    Raises:
        FormatError: it is missing or not "groth16".
    """
    (protocol,) = root.fields("protocol")
    if protocol.text() != "groth16":
        protocol.refuse("'groth16'")


def read_curve(root: Node, expected: Curve | None, point: str) -> Curve:
    """The curve that a JSON file is for.

    Args:
        root: the file's object; its key "curve" may be missing (rapidsnark writes none).
        expected: the curve that the caller works with, None to take the file's.
        point: key of a G1 point, which decides when neither of the two is there.

    Raises:
        FormatError: an unknown name, or nothing to tell the curve by.
        MismatchError: the file names another curve than the one expected.
    """
    name = root.optional("curve")
    if name is None:
        return expected or _curve_through(root, point)
    curve = curve_named(name.text())
    if curve is None:
        name.refuse("one of " + ", ".join(curve.file_name for curve in CURVES))
    if expected is not None and curve != expected:
        raise MismatchError(
            f"{root.file} is for curve {curve.name}, but {expected.name} is used here: "
            "the files come from different setups"
        )
    return curve


def _curve_through(root: Node, key: str) -> Curve:
    """The curve whose equation y² = x³ + b the G1 point under `key` satisfies."""
    (node,) = root.fields(key)
    x, y, _ = (coordinate.integer() for coordinate in node.items(3))
    for curve in CURVES:
        q = curve.fq.modulus
        if x < q and y < q and (y * y - x * x * x - curve.b) % q == 0:
            return curve
    raise FormatError(
        f"{root.file} names no curve, and {key} is on none that snarkcuda knows "
        f"({', '.join(curve.name for curve in CURVES)})"
    )
