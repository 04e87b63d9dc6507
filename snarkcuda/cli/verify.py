"""`snarkcuda verify VK PUBLIC PROOF`."""

from __future__ import annotations

import json

import click

from snarkcuda.cli.words import answer, say


@click.command()
@click.argument("vk")
@click.argument("public")
@click.argument("proof")
@click.option("--json", "as_json", is_flag=True, help="Print a record on stdout.")
@click.pass_context
def verify(context: click.Context, vk: str, public: str, proof: str, as_json: bool) -> int:
    """Is PROOF a proof of the statement PUBLIC under the verifying key VK?

    All three are JSON files as snarkjs writes them. Exit code 0: valid. 1: well formed but false.
    2: not a statement at all (a wrong count, a signal not below r, a point off its curve, …).

    A proof is malleable: anyone can turn a valid one into another valid one of the same statement.
    Do not use a proof as an identifier.
    """
    from snarkcuda.cli.report import announce_compilation
    from snarkcuda.formats.proof_json import read_proof
    from snarkcuda.formats.public_json import read_public
    from snarkcuda.formats.vkey_json import read_verifying_key

    announce_compilation(quiet=False)
    key = read_verifying_key(vk)
    signals = read_public(public, key.curve, key.n_public)
    candidate = read_proof(proof, key.curve)

    from snarkcuda.formats.describe import key_warnings
    from snarkcuda.groth16.verify import verify as is_valid

    valid = is_valid(key, signals, candidate)
    warnings = key_warnings(key)
    for warning in warnings:
        say(f"WARNING: {vk}: {warning}")
    verdict = "valid" if valid else "FALSE: it does not prove this statement"
    say(f"the proof is {verdict}")
    if as_json:
        record = {"valid": valid, "curve": key.curve.name, "warnings": warnings}
        answer(json.dumps(record))
    return 0 if valid else 1
