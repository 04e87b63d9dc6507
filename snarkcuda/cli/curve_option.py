"""--curve: any name of a curve, snarkjs's too, in any case; "both" where several may be meant."""

from __future__ import annotations

from typing import Any

import click

from snarkcuda.curve.params import CURVES, Curve, curve_named

BOTH = "both"


class Curves(click.ParamType):  # type: ignore[type-arg]
    """The curves that a word names, as a tuple.

    Args:
        both: whether the word may be "both".
    """

    name = "curve"

    def __init__(self, both: bool) -> None:
        self._both = both

    def convert(self, value: Any, parameter: Any, context: Any) -> tuple[Curve, ...]:
        """The curve of "BN128"; a default that is curves already is left alone."""
        if isinstance(value, tuple):
            return value
        if self._both and value.strip().lower() == BOTH:
            return CURVES
        curve = curve_named(value)
        if curve is None:
            known = [alias for each in CURVES for alias in each.aliases] + [BOTH] * self._both
            self.fail(f"{value!r} is none of {', '.join(known)}", parameter, context)
        return (curve,)
