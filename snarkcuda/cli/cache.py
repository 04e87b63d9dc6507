"""`snarkcuda cache info|prune|clear`: what is kept on disk between runs."""

from __future__ import annotations

import json
import time
from datetime import datetime, timezone
from typing import Any

import click

from snarkcuda.cli.age import Age
from snarkcuda.cli.key_cache_option import key_cache_option
from snarkcuda.cli.shared_options import json_option
from snarkcuda.cli.words import answer
from snarkcuda.errors import OutputError


@click.group(short_help="Look at or delete what is kept: compiled kernels, loaded keys.")
def cache() -> None:
    """What is kept between runs: compiled kernels, and the keys of `prove --key-cache`.

    Kernels are in your cache directory, or where SNARKCUDA_CACHE_DIR points; a directory that
    others can write is refused, since kernels are code. Keys are in the directories that you name.
    """


@cache.command("info", short_help="Where kernels and keys are, how many, how large.")
@key_cache_option("Tell of the keys in DIR too.")
@json_option
def show(key_cache: str | None, as_json: bool) -> None:
    """Where the kernels are, how many, how large, and whether the place can be used.

    With --key-cache also each key that DIR keeps, its size, and how long ago it was last used.

    --json prints one object: directory, kernels, bytes, problem; with --key-cache also key_cache
    (directory, keys, problem), where a key has name, bytes, last_used.
    """
    from snarkcuda import jit, kept

    entries = kept.kernels()
    record: dict[str, Any] = {
        "directory": str(jit.cache_directory()),
        "kernels": len(entries),
        "bytes": sum(entry.n_bytes for entry in entries),
        "problem": jit.cache_problem(jit.cache_directory()),
    }
    lines = [
        f"{record['directory']}: {record['kernels']} kernels, {record['bytes']} bytes",
        f"problem: {record['problem']}" if record["problem"] else "usable",
    ]
    if key_cache is not None:
        keys, problem = [], None
        try:
            keys = kept.keys(key_cache)
        except OutputError as error:
            problem = str(error)
        n_bytes = sum(key.n_bytes for key in keys)
        lines.append(f"{key_cache}: {len(keys)} keys, {n_bytes} bytes")
        lines += [f"  {key.path.name}  {key.n_bytes} bytes, {_age(key.used)}" for key in keys]
        lines += [f"problem: {problem}"] if problem else []
        record["key_cache"] = {
            "directory": key_cache,
            "keys": [
                {"name": key.path.name, "bytes": key.n_bytes, "last_used": _date(key.used)}
                for key in keys
            ],
            "problem": problem,
        }
    answer(json.dumps(record) if as_json else "\n".join(lines))


def _age(used: float) -> str:
    return f"last used {max(0.0, time.time() - used) / 86_400:.1f} days ago"


def _date(used: float) -> str:
    return datetime.fromtimestamp(used, timezone.utc).isoformat(timespec="seconds")


@cache.command(short_help="Delete what was not used for long.")
@click.option(
    "--older-than",
    "age",
    type=Age(),
    default="30d",
    help="Delete what was last used so long ago: hours 12h, days 30d, weeks 4w [30d].",
)
@key_cache_option("Delete such keys in DIR too.")
@json_option
def prune(age: int, key_cache: str | None, as_json: bool) -> None:
    """Delete kernels, and with --key-cache keys, that no run has used for long.

    What is needed again is made again: kernels are compiled, keys loaded. Only files that snarkcuda
    made are deleted, and links are not followed. A proof that uses a key meanwhile is not
    disturbed.

    --json prints one object: kernels, keys (how many are gone), bytes (that were theirs).

    Exit codes: 0 done; 2 bad usage, or DIR is not yours alone.

    \b
    Examples:
      snarkcuda cache prune
      snarkcuda cache prune --older-than 2w --key-cache ~/keys
    """
    from snarkcuda import kept
    from snarkcuda.cpu.key_cache import remove_abandoned

    before = time.time() - age
    keys = [] if key_cache is None else kept.forget(kept.keys(key_cache), before)
    if key_cache is not None:
        remove_abandoned(key_cache)
    kernels = kept.forget(kept.kernels(), before)
    kept.forget(kept.warm_records(), before)
    n_bytes = sum(entry.n_bytes for entry in (*kernels, *keys))
    if as_json:
        answer(json.dumps({"kernels": len(kernels), "keys": len(keys), "bytes": n_bytes}))
    else:
        answer(f"{len(kernels)} kernels and {len(keys)} keys deleted, {n_bytes} bytes")


@cache.command()
def clear() -> None:
    """Delete every compiled kernel; the next proof compiles them anew."""
    from snarkcuda import jit

    answer(f"{jit.clear_cache()} kernels deleted from {jit.cache_directory()}")
