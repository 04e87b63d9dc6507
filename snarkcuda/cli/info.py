"""`snarkcuda info FILE`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click

from snarkcuda.cli.words import answer


@click.command(short_help="Tell what a file holds.")
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
def info(file: str, as_json: bool) -> None:
    """Tell what FILE is and what it holds, and warn of a key that anyone can forge for.

    Reads zkey, wtns, r1cs, ptau, verification_key.json, proof.json and public.json; the kind is
    found from the content. Lengths, counts and ranges are checked, not whether points lie on their
    curves: that `prove` and `verify` do.

    Example: snarkcuda info circuit.zkey
    """
    from snarkcuda.formats.describe import describe

    description = describe(file)
    if as_json:
        answer(json.dumps({"file": file, **description}))
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
