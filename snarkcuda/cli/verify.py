"""`snarkcuda verify VK PUBLIC PROOF`."""

from __future__ import annotations

import json

import click

from snarkcuda.cli.order import check_order
from snarkcuda.cli.shared_options import json_option
from snarkcuda.cli.words import answer, say, warn
from snarkcuda.errors import FormatError


@click.command(short_help="Check a proof.")
@click.argument("vk")
@click.argument("public")
@click.argument("proof")
@json_option
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but warnings and errors.")
def verify(vk: str, public: str, proof: str, as_json: bool, quiet: bool) -> int:
    """Is PROOF a proof of the statement PUBLIC under the verifying key VK?

    All three are JSON files as snarkjs writes them, in snarkjs's order: VK is the
    verification_key.json of the circuit (see `snarkcuda export vk`), PUBLIC the public signals.

    Checked besides the equation: every number is canonical (a signal below r has one spelling), the
    number of signals is the key's, every point is on its curve and in its subgroup, and A and B are
    not infinity. WARNING lines say why a valid proof under this key may mean nothing.

    The first run on a machine compiles the pairing, in several processes, and keeps it; see
    `snarkcuda warmup --help`.

    A proof is malleable: anyone can turn a valid one into another valid one of the same statement.
    Do not use a proof as an identifier.

    --json prints one object: valid, curve, warnings, stages (name, seconds, bytes; "compile
    kernels" where it was needed); or error (kind, message) and exit_code.

    Exit codes: 0 valid; 1 well formed but false; 2 no statement at all (a wrong count, a signal not
    below r, a point off its curve, …); 3 device or memory trouble; 70 a fault in snarkcuda.

    \b
    Example:
      snarkcuda verify verification_key.json public.json proof.json
    """
    from snarkcuda.cli.report import Progress, announce_compilation, stage_records
    from snarkcuda.formats.proof_json import read_proof
    from snarkcuda.formats.public_json import read_public
    from snarkcuda.formats.vkey_json import read_verifying_key
    from snarkcuda.groth16.trust import key_warnings

    announce_compilation(quiet)
    try:
        key = read_verifying_key(vk)
        signals = read_public(public, key.curve, key.n_public)
        candidate = read_proof(proof, key.curve)
    except FormatError:
        files = {"verification_key": vk, "public": public, "proof": proof}
        check_order(files, "VK PUBLIC PROOF")
        raise

    from snarkcuda.cli.first_run import kernels_of
    from snarkcuda.groth16.timeline import Timeline
    from snarkcuda.groth16.verify import verify as is_valid
    from snarkcuda.warmup.parts import parts_of_verification

    with Progress(quiet) as progress:
        timeline, parts = Timeline(progress), parts_of_verification(key.curve)
        with kernels_of(parts, None, progress, timeline):
            valid = is_valid(key, signals, candidate)
    untrusted = key_warnings(key)
    warn(vk, untrusted)
    verdict = "valid" if valid else "FALSE: it does not prove this statement"
    if not quiet:
        say(f"the proof is {verdict}")
    if as_json:
        record = {
            "valid": valid,
            "curve": key.curve.name,
            "warnings": untrusted,
            "stages": stage_records(timeline.stages),
        }
        answer(json.dumps(record))
    return 0 if valid else 1
