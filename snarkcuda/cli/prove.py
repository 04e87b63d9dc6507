"""`snarkcuda prove KEY WITNESS PROOF PUBLIC`."""

from __future__ import annotations

import json
import os
import time

import click

from snarkcuda import __version__
from snarkcuda.cli import BEGAN
from snarkcuda.cli.byte_size import ByteSize
from snarkcuda.cli.key_cache_option import key_cache_option
from snarkcuda.cli.shared_options import device_option, json_option, threads_option
from snarkcuda.cli.signals import results_are_written
from snarkcuda.cli.words import answer, say, warn


@click.command(short_help="Make a proof.")
@click.argument("key")
@click.argument("witness")
@click.argument("proof")
@click.argument("public")
@device_option
@threads_option
@click.option("--no-check", is_flag=True, help="Do not verify the proof before writing it.")
@click.option("--check-key", is_flag=True, help="First check the key as `snarkcuda check` does.")
@key_cache_option("Keep the loaded key in DIR (about its size), so that later runs only map it.")
@click.option(
    "--memory",
    type=ByteSize(),
    metavar="SIZE",
    help="Aim at this much memory, as 500M or 12G: a larger key is converted block by block "
    "[3/4 of what is free].",
)
@click.option(
    "--gpu-mem",
    type=ByteSize(),
    metavar="SIZE",
    help="Keep to this much of the GPU's memory, as 500M or 12G [15/16 of what is free].",
)
@click.option(
    "--seed",
    help="Fix the proof's randomness, for tests. The proof is then NOT zero-knowledge.",
)
@json_option
@click.option("-q", "--quiet", is_flag=True, help="No progress and no table of stages.")
def prove(
    key: str,
    witness: str,
    proof: str,
    public: str,
    device: str,
    threads: int | None,
    no_check: bool,
    check_key: bool,
    key_cache: str | None,
    memory: int | None,
    gpu_mem: int | None,
    seed: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Prove that WITNESS satisfies the circuit of KEY; write PROOF and PUBLIC.

    KEY is a Groth16 zkey of snarkjs, WITNESS a wtns file of circom's witness calculator (snarkcuda
    does not compute witnesses). PROOF and PUBLIC are JSON as snarkjs writes it. The order is that
    of `snarkjs groth16 prove`. Neither output may be an input; a device such as /dev/stdout will
    do.

    Checked: lengths, counts and ranges of both files; that they belong together; that the key's
    points lie on their curves; that the witness's first value is 1; and the proof, by its pairing
    equation, before anything is written (unless --no-check: its points are checked even then).
    With --check-key also that they lie in their subgroups, and more: worth it, once, for a key from
    a stranger; see `snarkcuda check --help`.
    PROOF and PUBLIC appear both, or neither. WARNING lines, with --quiet too, say why proofs under
    this key may mean nothing.

    --device cuda makes the proof on a GPU, all of it, with as many multiples of the key's points as
    its memory has room for (--gpu-mem). It needs the extra snarkcuda[cuda] and a driver; where
    either is missing, or anything fails on the GPU, the command fails: no other device is used than
    the one that is asked for. With NUMBA_ENABLE_CUDASIM=1 it is numba's simulator, for keys of some
    dozen constraints.

    --key-cache is for a key that is proved with often. DIR must be yours alone: what lies there is
    trusted as the program is. A file there that is damaged or belongs to another key is made anew.
    `snarkcuda cache prune` deletes keys that were not used for long.

    The first proof on a machine compiles the kernels (up to a minute a curve) and keeps them;
    `snarkcuda warmup` does it ahead. With --threads 1 it is done in this process, else in several.
    If something does not work, ask `snarkcuda doctor`.

    --json prints one object: proof, public, curve, device, checked, zero_knowledge, seconds, stages
    (name, seconds, bytes), warnings, version; or error (kind, message) and exit_code.

    Exit codes: 0 done; 2 bad input; 3 device or memory trouble; 70 a fault in snarkcuda; 129, 130
    or 143 interrupted, nothing was written.

    \b
    Examples:
      snarkcuda prove circuit.zkey witness.wtns proof.json public.json
      snarkcuda prove circuit.zkey witness.wtns proof.json public.json --threads 4 --quiet
      snarkcuda prove circuit.zkey witness.wtns proof.json public.json --device cuda
    """
    from snarkcuda.cli.report import Progress, announce_compilation, stage_records, stage_table
    from snarkcuda.formats.output import check_outputs, write_outputs
    from snarkcuda.formats.proof_json import proof_to_json
    from snarkcuda.formats.public_json import public_to_json
    from snarkcuda.formats.wtns import read_witness
    from snarkcuda.formats.zkey import read_zkey
    from snarkcuda.groth16.checks import check_match
    from snarkcuda.groth16.timeline import Timeline
    from snarkcuda.groth16.trust import key_warnings

    check_outputs([proof, public], inputs=[key, witness])
    with Progress(quiet) as progress:
        announce_compilation(quiet)
        timeline = Timeline(progress)
        notes: list[str] = []
        if check_key:
            from snarkcuda.cli.first_run import kernels_of_key_check
            from snarkcuda.cpu.pool import Pool
            from snarkcuda.groth16.checked_key import read_checked_key

            with Pool(threads) as pool:
                share = progress.attend(pool)
                around = kernels_of_key_check(threads, progress, timeline)
                checked_key = read_checked_key(key, timeline, pool, share=share, around=around)
            proving_key, notes = checked_key.key, checked_key.notes
        else:
            with timeline.stage("read key"):
                proving_key = read_zkey(key)
        with timeline.stage("read witness"):
            assignment = read_witness(witness)
        check_match(proving_key, assignment)

        progress("load kernels")
        from snarkcuda.cli.first_run import kernels_of
        from snarkcuda.cpu.resident_key import uses_vectors
        from snarkcuda.groth16.prover import Prover
        from snarkcuda.warmup.parts import parts_of_device, parts_of_pairing, parts_of_proof

        curve = proving_key.curve
        if device == "cpu":
            parts = parts_of_proof(curve, uses_vectors(proving_key))
        else:
            parts = parts_of_device(curve, device)
        parts += [] if no_check else parts_of_pairing(curve)
        with (
            kernels_of(parts, threads, progress, timeline),
            Prover(
                proving_key,
                threads=threads,
                device=device,
                progress=progress,
                memory=memory,
                gpu_memory=gpu_mem,
                key_cache=key_cache,
            ) as prover,
        ):
            progress.fraction = prover.fraction
            if not quiet and prover.block:
                option = "--memory" if device == "cpu" else "--gpu-mem"
                say(f"note: points stay in {key}, read {prover.block:,} at a time: {option}")
            result = prover.prove(
                assignment,
                check=not no_check,
                seed=None if seed is None else os.fsencode(seed),
            )
            made_on, load_stages = prover.device, prover.load_stages
        with timeline.stage("write"):
            outputs = {
                proof: proof_to_json(result.proof).encode(),
                public: public_to_json(result.public).encode(),
            }
            write_outputs(outputs, inputs=[key, witness], committed=results_are_written)
    *reading, writing = timeline.stages
    stages = [*reading, *load_stages, *result.stages, writing]
    total = time.perf_counter() - BEGAN

    if not quiet:
        say(stage_table(stages, total))
        checked = "verified" if result.checked else "NOT verified (--no-check)"
        say(
            f"wrote {proof} and {public}: a proof over {proving_key.curve.name}, {checked}, "
            f"made on {made_on}"
        )
    for note in notes:
        say(f"note: {note}")
    found = key_warnings(proving_key.verifying_key, proving_key)
    if not result.zero_knowledge:
        found.append(
            "--seed fixed the randomness: this proof is NOT zero-knowledge. Whoever knows or "
            "guesses the seed can learn about the witness. Never publish it."
        )
    if not result.checked:
        found.append("--no-check: this proof was not verified, it may be false")
    warn(key, found)
    if as_json:
        record = {
            "proof": proof,
            "public": public,
            "curve": proving_key.curve.name,
            "device": made_on,
            "checked": result.checked,
            "zero_knowledge": result.zero_knowledge,
            "seconds": total,
            "stages": stage_records(stages),
            "warnings": found,
            "version": __version__,
        }
        answer(json.dumps(record))
