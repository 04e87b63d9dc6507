"""`snarkcuda info FILE`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click

from snarkcuda.cli.shared_options import json_option
from snarkcuda.cli.words import answer, warn


@click.command(short_help="Tell what a file holds.")
@click.argument("file")
@json_option
def info(file: str, as_json: bool) -> None:
    """Tell what FILE is and what it holds, and warn of a key under which proofs mean nothing.

    FILE is a zkey, wtns, r1cs, ptau, verification_key.json, proof.json or public.json; the kind is
    found from the content, never from the name.

    Lengths, counts and ranges are checked (of r1cs and ptau: the header's), not whether points lie
    on their curves: that `prove`, `verify` and `export` do. Nothing is compiled, so it is fast; a
    key is read once from end to end.

    --json prints one object: file, kind, what the kind has (curve, sizes, a key's sections, …) and
    warnings, a list; or error (kind, message) and exit_code.

    Exit codes: 0 the file is what it seems; 2 it cannot be read, is broken, or of no known kind.

    \b
    Examples:
      snarkcuda info circuit.zkey
      snarkcuda info witness.wtns --json
    """
    from snarkcuda.formats.describe import describe

    description = describe(file)
    warnings: Any = description.pop("warnings", [])
    warn(file, warnings)
    if as_json:
        answer(json.dumps({"file": file, **description, "warnings": warnings}))
        return
    answer(f"{file}: {description.pop('kind')}")
    for line in _lines(description, "  "):
        answer(line)


def _lines(value: dict[str, Any], indent: str) -> Iterator[str]:
    width = max((len(name) for name in value), default=0)
    for name, entry in value.items():
        if isinstance(entry, dict):
            entry = ", ".join(f"{key} {item}" for key, item in entry.items())
        if isinstance(entry, list):
            yield f"{indent}{name.replace('_', ' ')}:" + ("" if entry else " none")
            for item in entry:
                if isinstance(item, dict):
                    item = "  ".join(f"{key} {part}" for key, part in item.items())
                yield f"{indent}  {item}"
        else:
            yield f"{indent}{name.replace('_', ' '):<{width}}  {entry}"
