"""`snarkcuda warmup`."""

from __future__ import annotations

import json
import time

import click

from snarkcuda import __version__
from snarkcuda.arguments import MAX_THREADS
from snarkcuda.cli import BEGAN
from snarkcuda.cli.curve_option import BOTH, Curves
from snarkcuda.cli.shared_options import device_option, json_option
from snarkcuda.cli.signals import KERNELS_ARE_KEPT, if_interrupted
from snarkcuda.cli.words import answer, say
from snarkcuda.curve.params import Curve


@click.command(short_help="Compile the kernels ahead.")
@click.option(
    "--curve",
    "curves",
    type=Curves(both=True),
    default=BOTH,
    help="bn254, bls12_381 or both [both].",
)
@device_option
@click.option("--jobs", type=click.IntRange(1, MAX_THREADS), help="Processes [all processors].")
@json_option
@click.option("-q", "--quiet", is_flag=True, help="No progress and no closing line.")
def warmup(
    curves: tuple[Curve, ...], device: str, jobs: int | None, as_json: bool, quiet: bool
) -> None:
    """Compile, in several processes, every kernel that proofs, checks and setups need.

    Without it each command compiles what it needs when it first runs. Kernels are kept in the
    directory of `snarkcuda cache info`, for this processor and this version: warm up again after
    either has changed. What is there already is not compiled again.

    --device cuda compiles the CUDA kernels of `prove --device cuda` too.

    --curve takes snarkjs's names too (bn128, bls12381). Each process takes up to half a gigabyte;
    without --jobs there are as many as there are usable processors and free memory for them.

    --json prints one object: curves, compiled, present, jobs, seconds, directory, parts (part,
    compiled, seconds), version; or error (kind, message) and exit_code.

    Exit codes: 0 done; 2 bad usage; 3 device or memory trouble; 70 a fault in snarkcuda; 129, 130
    or 143 interrupted: what was compiled until then is kept.

    \b
    Examples:
      snarkcuda warmup
      snarkcuda warmup --curve bn254 --jobs 4
    """
    from snarkcuda import jit
    from snarkcuda.cli.report import Progress
    from snarkcuda.warmup.parts import parts_of_device, parts_of_everything
    from snarkcuda.warmup.processes import Compiled, compile_parts, default_jobs

    parts = [part for curve in curves for part in parts_of_everything(curve)]
    if device != "cpu":
        parts += [part for curve in curves for part in parts_of_device(curve, device)]
    jobs = jobs or default_jobs()
    whole, finished, n_kernels, n_parts = sum(part.cost for part in parts), 0.0, 0, 0
    if_interrupted(f"{KERNELS_ARE_KEPT}: run it again to go on")
    with Progress(quiet) as progress:

        def report(done: Compiled) -> None:
            nonlocal finished, n_kernels, n_parts
            finished, n_parts = finished + done.part.cost, n_parts + 1
            n_kernels += len(done.compiled)
            progress(f"{n_kernels} kernels compiled, {n_parts} of {len(parts)} parts done")

        progress.fraction = lambda: finished / whole
        progress(f"compile kernels, in {min(jobs, len(parts))} processes")
        done = compile_parts(parts, jobs, report)
    compiled = frozenset[str]().union(*(part.compiled for part in done))
    present = frozenset[str]().union(*(part.loaded for part in done)) - compiled
    seconds = time.perf_counter() - BEGAN
    directory = str(jit.cache_directory())
    if not quiet:
        say(
            f"{len(compiled)} kernels compiled, {len(present)} were there already, in "
            f"{seconds:.1f} s: {directory}"
        )
    if as_json:
        record = {
            "curves": [curve.name for curve in curves],
            "compiled": len(compiled),
            "present": len(present),
            "jobs": jobs,
            "seconds": seconds,
            "directory": directory,
            "parts": [
                {"part": str(d.part), "compiled": len(d.compiled), "seconds": d.seconds}
                for d in done
            ],
            "version": __version__,
        }
        answer(json.dumps(record))
