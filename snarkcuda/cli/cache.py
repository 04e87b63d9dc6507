"""`snarkcuda cache info|clear`: the compiled kernels on disk."""

from __future__ import annotations

import json

import click

from snarkcuda.cli.words import answer


@click.group(short_help="Look at or delete the compiled kernels.")
def cache() -> None:
    """The compiled kernels that are kept between runs.

    They are in your cache directory, or where SNARKCUDA_CACHE_DIR points; a directory that others
    can write is refused, since kernels are code.
    """


@cache.command("info", short_help="Where the kernels are, and how many.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
def show(as_json: bool) -> None:
    """Where the kernels are, how many, how large, and whether the place can be used."""
    from snarkcuda import jit

    entries = jit.cache_entries()
    record = {
        "directory": str(jit.cache_directory()),
        "kernels": len(entries),
        "bytes": sum(entries.values()),
        "problem": jit.cache_problem(jit.cache_directory()),
    }
    if as_json:
        answer(json.dumps(record))
        return
    answer(f"{record['directory']}: {record['kernels']} kernels, {record['bytes']} bytes")
    answer(f"problem: {record['problem']}" if record["problem"] else "usable")


@cache.command()
def clear() -> None:
    """Delete every compiled kernel; the next proof compiles them anew."""
    from snarkcuda import jit

    answer(f"{jit.clear_cache()} kernels deleted from {jit.cache_directory()}")
