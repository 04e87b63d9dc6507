"""Options that several commands have, with the same words."""

from __future__ import annotations

import click

from snarkcuda.arguments import MAX_THREADS, checked_device


def _device(_context: click.Context, _option: click.Parameter, given: str) -> str:
    try:
        return checked_device(given)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


threads_option = click.option(
    "--threads", type=click.IntRange(1, MAX_THREADS), help="Worker threads [all processors]."
)
device_option = click.option(
    "--device",
    metavar="DEVICE",
    default="cpu",
    callback=_device,
    help="cpu, cuda (the first GPU) or cuda:N [cpu].",
)
json_option = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print a record, JSON, on stdout; none if the run is interrupted.",
)
