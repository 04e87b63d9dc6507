"""What the bench commands share: options, the cases that they make, where a record goes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import click

from snarkcuda.bench.case import CHOICES, DEFAULT_LOG_N, DEVICE, LOG_N, OPERATIONS, Case
from snarkcuda.cli.curve_option import Curves
from snarkcuda.cli.shared_options import device_option, json_option, threads_option
from snarkcuda.cli.words import answer, say
from snarkcuda.curve.params import Curve

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
_SCALARS = {
    "msm": "Scalars: of full size, or bits [random].",
    "circuit": "Wires: of full size, or nearly all bits [random].",
}


def _sizes(_context: click.Context, _option: click.Parameter, given: Sequence[str]) -> list[int]:
    """Logarithms of sizes, each alone or several with commas."""
    least, most = LOG_N
    words = [word for one in given for word in one.split(",")]
    for word in words:
        if not (word.strip().isdecimal() and least <= int(word) <= most):
            raise click.BadParameter(f"{word!r} is no integer from {least} to {most}")
    return list(dict.fromkeys(map(int, words))) or [DEFAULT_LOG_N]


def size_options(operations: Sequence[str]) -> Decorator:
    """The options that make cases of these operations."""
    takes = {name for operation in operations for name in OPERATIONS[operation]}
    words = {
        "group": "Points of this group, elements of its field [g1].",
        "scalars": _SCALARS["msm" if "msm" in operations else "circuit"],
        "path": "vector or scalar kernels, or as a proof chooses [auto].",
    }
    options = [
        click.option(
            "--log-n",
            "sizes",
            callback=_sizes,
            multiple=True,
            metavar="N[,N]",
            help="Sizes, as powers of two; may be repeated [14].",
        ),
        click.option(
            "--curve",
            "curves",
            type=Curves(both=True),
            default="bn254",
            help="bn254, bls12_381 or both [bn254].",
        ),
        *(
            click.option(f"--{name}", type=click.Choice(CHOICES[name]), help=words[name])
            for name in CHOICES
            if name in takes
        ),
        *([device_option] if DEVICE in takes else []),
        threads_option,
    ]
    return all_of(options)


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Where the record goes, and how much is said."""
    options = [
        click.option("--out", metavar="FILE", help="Write the record, JSON with every run."),
        json_option,
        click.option("-q", "--quiet", is_flag=True, help="No progress."),
    ]
    return all_of(options)(command)


def all_of(options: Sequence[Decorator]) -> Decorator:
    """Several options as one decorator, in the order of --help."""

    def apply(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return apply


def cases_of(
    operation: str,
    sizes: Sequence[int],
    curves: Sequence[Curve],
    variants: dict[str, str | None],
) -> list[Case]:
    """Every curve and size that was asked for.

    Raises:
        click.UsageError: a variant that the operation does not have.
    """
    try:
        return [
            Case.of(operation, each.name, log_n, variants) for each in curves for log_n in sizes
        ]
    except ValueError as error:
        raise click.UsageError(f"{error}: it has {_options_of(operation)}") from error


def _options_of(operation: str) -> str:
    return ", ".join(f"--{name}" for name in OPERATIONS[operation])


def give(
    record: dict[str, Any],
    text: str,
    out: str | None,
    as_json: bool,
    inputs: Sequence[str] = (),
) -> None:
    """The record where it was asked for, the text for people beside it."""
    from snarkcuda.cli.signals import results_are_written
    from snarkcuda.formats.output import write_outputs

    if out:
        data = json.dumps(record, indent=1) + "\n"
        write_outputs({out: data.encode()}, inputs, committed=results_are_written)
    if as_json:
        say(text)
        answer(json.dumps(record))
    else:
        answer(text)
