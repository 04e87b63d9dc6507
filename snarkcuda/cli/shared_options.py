"""Options that several commands have, with the same words."""

from __future__ import annotations

import click

from snarkcuda.arguments import MAX_THREADS

threads_option = click.option(
    "--threads", type=click.IntRange(1, MAX_THREADS), help="Worker threads [all processors]."
)
json_option = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print a record, JSON, on stdout; none if the run is interrupted.",
)
