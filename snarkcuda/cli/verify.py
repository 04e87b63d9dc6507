"""`snarkcuda verify VK PUBLIC PROOF`."""

from __future__ import annotations

import json
from contextlib import suppress

import click
from click import UsageError

from snarkcuda.cli.words import answer, say
from snarkcuda.errors import FormatError


@click.command(short_help="Check a proof.")
@click.argument("vk")
@click.argument("public")
@click.argument("proof")
@click.option("--json", "as_json", is_flag=True, help="Print a record on stdout.")
@click.pass_context
def verify(context: click.Context, vk: str, public: str, proof: str, as_json: bool) -> int:
    """Is PROOF a proof of the statement PUBLIC under the verifying key VK?

    All three are JSON files as snarkjs writes them, in snarkjs's order. Exit codes: 0 valid; 1 well
    formed but false; 2 no statement at all (a wrong count, a signal not below r, a point off its
    curve, …); 3 and 70 as for `prove`. The first run on a machine compiles the pairing.

    --json prints one object: valid, curve, warnings; or error and exit_code.

    A proof is malleable: anyone can turn a valid one into another valid one of the same statement.
    Do not use a proof as an identifier.

    Example: snarkcuda verify verification_key.json public.json proof.json
    """
    from snarkcuda.cli.report import announce_compilation
    from snarkcuda.formats.proof_json import read_proof
    from snarkcuda.formats.public_json import read_public
    from snarkcuda.formats.vkey_json import read_verifying_key

    announce_compilation(quiet=False)
    try:
        key = read_verifying_key(vk)
        signals = read_public(public, key.curve, key.n_public)
        candidate = read_proof(proof, key.curve)
    except FormatError:
        _check_order({"verification_key": vk, "public": public, "proof": proof})
        raise

    from snarkcuda.formats.describe import key_warnings
    from snarkcuda.groth16.verify import verify as is_valid

    valid = is_valid(key, signals, candidate)
    warnings = key_warnings(key)
    for warning in warnings:
        say(f"WARNING: {vk}: {warning}")
    verdict = "valid" if valid else "FALSE: it does not prove this statement"
    say(f"the proof is {verdict}")
    if as_json:
        record = {"valid": valid, "curve": key.curve.file_name, "warnings": warnings}
        answer(json.dumps(record))
    return 0 if valid else 1


def _check_order(files: dict[str, str]) -> None:
    """Say so, if an argument is another kind of file: swapped arguments are the usual mistake."""
    from snarkcuda.formats.identify import file_kind

    for wanted, path in files.items():
        with suppress(FormatError):
            kind = file_kind(path)
            if kind != wanted:
                message = f"{path} is a {kind} file, where a {wanted} file belongs"
                raise UsageError(f"{message}; the order is VK PUBLIC PROOF")
