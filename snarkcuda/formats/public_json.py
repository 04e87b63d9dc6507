"""public.json: the public signals, a list of decimal strings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from snarkcuda.curve.params import Curve
from snarkcuda.formats.json_points import json_text
from snarkcuda.formats.opening import FilePath
from snarkcuda.formats.output import write_outputs
from snarkcuda.formats.strict_json import read_json

MAX_BYTES = 1 << 24  # a signal has about 80


def read_public(
    path: FilePath, curve: Curve | None = None, n_public: int | None = None
) -> list[int]:
    """Read the public signals.

    Args:
        path: a public.json.
        curve: the curve whose scalar field they are in; None leaves the range to `verify`.
        n_public: how many the key expects, if it is known: a file far too long for them is then
            refused before it is parsed. The count itself is for `verify` to compare.

    Returns:
        The signals in order, canonical (below r) where the curve is given.

    Raises:
        FormatError: bad JSON, no list, or a signal that is no integer.
        NotInFieldError: a signal is negative or not below r.
    """
    if n_public is None:
        root = read_json(path, MAX_BYTES, "public signals")
    else:
        limit = min(MAX_BYTES, 1024 + 128 * n_public)  # 78 digits, quotes, a comma, an indent
        root = read_json(path, limit, f"{n_public} public signals")
    signals = root.items(name="signal")
    if curve is None:
        return [signal.integer() for signal in signals]
    return [signal.scalar(curve.fr, "r") for signal in signals]


def public_to_json(signals: Iterable[int]) -> str:
    """The text of public.json, byte for byte as snarkjs writes it."""
    # snarkjs' writer puts a line break into an empty list, unlike JSON.stringify.
    return json_text([str(signal) for signal in signals]).replace("[]", "[\n]")


def write_public(path: FilePath, signals: Iterable[int], inputs: Sequence[FilePath] = ()) -> None:
    """Write public.json, atomically.

    Raises:
        OutputError: see `output.write_outputs`.
    """
    write_outputs({path: public_to_json(signals).encode()}, inputs)
