"""`snarkcuda setup CIRCUIT [POWERS] KEY`."""

from __future__ import annotations

import json
import os
import time

import click

from snarkcuda import __version__
from snarkcuda.cli import BEGAN
from snarkcuda.cli.shared_options import json_option, threads_option
from snarkcuda.cli.signals import results_are_written
from snarkcuda.cli.words import answer, say, warn


@click.command(short_help="Make a proving key for a circuit.")
@click.argument("circuit")
@click.argument("files", nargs=-1, required=True, metavar="[POWERS] KEY")
@click.option("--research", is_flag=True, help="No POWERS: make the toxic waste here. NOT SECURE.")
@click.option("--seed", help="With --research: the same key again, for tests.")
@threads_option
@json_option
@click.option("-q", "--quiet", is_flag=True, help="No progress and no table of stages.")
def setup(
    circuit: str,
    files: tuple[str, ...],
    research: bool,
    seed: str | None,
    threads: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Make KEY, a Groth16 zkey, for CIRCUIT, an r1cs file of circom.

    With POWERS, a powers-of-tau file that `snarkjs powersoftau prepare phase2` has prepared, KEY is
    byte for byte what `snarkjs groth16 setup CIRCUIT POWERS KEY` writes. Anyone can forge proofs
    for it until somebody has contributed: run `snarkjs zkey contribute KEY final.zkey` next, more
    than once and by different people if the proofs are to convince others.

    With --research no POWERS are needed: the secrets behind a key (its toxic waste) are drawn here
    and forgotten. Whoever ran the program could have kept them, so such a key is for tests and
    benchmarks only. It says so in the file, in `snarkcuda info` and whenever it is used. --seed
    makes it reproducible; whoever knows the seed can forge.

    Checked: both files, every length, count and range; the points that are read from POWERS lie on
    their curves. Not checked: that POWERS are powers of one tau (`snarkjs powersoftau verify`).
    KEY appears whole or not at all.

    The first run on a machine compiles kernels (see `snarkcuda warmup`): with --threads 1 in this
    process, else in several.

    --json prints one object: key, curve, constraints, wires, public, domain, coefficients,
    circuit_hash, research, seconds, stages (name, seconds, bytes), warnings, version; or error
    (kind, message) and exit_code.

    Exit codes: 0 done; 2 bad input; 3 device or memory trouble; 70 a fault in snarkcuda; 129, 130
    or 143 interrupted, nothing was written.

    \b
    Examples:
      snarkcuda setup circuit.r1cs pot14_prepared.ptau circuit_0000.zkey
      snarkcuda setup circuit.r1cs bench.zkey --research
    """
    if len(files) != (1 if research else 2):
        wanted = "CIRCUIT KEY" if research else "CIRCUIT POWERS KEY, or CIRCUIT KEY --research"
        raise click.UsageError(f"{1 + len(files)} files were given; {wanted} is needed")
    if seed is not None and not research:
        raise click.UsageError("--seed goes with --research: powers of tau leave nothing to draw")
    powers, key_file = None if research else files[0], files[-1]
    inputs = [file for file in (circuit, powers) if file is not None]

    from snarkcuda.cli.report import Progress, announce_compilation, stage_records, stage_table
    from snarkcuda.formats.output import check_outputs, write_outputs
    from snarkcuda.formats.zkey import zkey_chunks
    from snarkcuda.groth16.timeline import Timeline

    check_outputs([key_file], inputs)
    with Progress(quiet) as progress:
        announce_compilation(quiet)
        timeline = Timeline(progress)
        progress("load kernels")
        from snarkcuda.cli.first_run import kernels_of
        from snarkcuda.cpu.fixed_base import VECTOR_MULTIPLES
        from snarkcuda.cpu.pool import Pool
        from snarkcuda.field.vector_type import has_vectors
        from snarkcuda.groth16.setup import check_headers, setup_on
        from snarkcuda.groth16.trust import key_warnings
        from snarkcuda.warmup.parts import parts_of_setup

        header = check_headers(circuit, powers)
        vectors = has_vectors() and header.n_wires >= VECTOR_MULTIPLES
        parts = parts_of_setup(header.curve, research, vectors)
        with kernels_of(parts, threads, progress, timeline), Pool(threads) as pool:
            progress.fraction = pool.fraction
            encoded = None if seed is None else os.fsencode(seed)
            key = setup_on(pool, timeline, circuit, powers, encoded)
        with timeline.stage("write"):
            write_outputs({key_file: zkey_chunks(key)}, inputs, committed=results_are_written)
    total = time.perf_counter() - BEGAN
    untrusted = key_warnings(key.verifying_key, key)
    if not quiet:
        say(stage_table(timeline.stages, total))
        say(
            f"wrote {key_file}: a key over {key.curve.name} for {key.n_wires} wires, "
            f"{key.n_public} of them public, and 2^{key.domain_size.bit_length() - 1} rows"
        )
        if not research:
            say(f"circuit hash {key.circuit_hash.hex()}")
    warn(key_file, untrusted)
    if as_json:
        record = {
            "key": key_file,
            "curve": key.curve.name,
            "constraints": int(key.coefficients["constraint"][-1]) - key.n_public,
            "wires": key.n_wires,
            "public": key.n_public,
            "domain": key.domain_size,
            "coefficients": len(key.coefficients),
            "circuit_hash": None if research else key.circuit_hash.hex(),
            "research": research,
            "seconds": total,
            "stages": stage_records(timeline.stages),
            "warnings": untrusted,
            "version": __version__,
        }
        answer(json.dumps(record))
