"""`snarkcuda export vk|calldata`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from snarkcuda.cli.order import check_order
from snarkcuda.cli.shared_options import json_option
from snarkcuda.cli.words import answer, say, warn
from snarkcuda.errors import FormatError, MismatchError

if TYPE_CHECKING:
    from snarkcuda.groth16.keys import Proof


@click.group(short_help="Write a key's verifying key, or a proof for a contract.")
def export() -> None:
    """Write what others need of a key or a proof.

    `vk` gives verifiers their key, `calldata` gives a Solidity contract its arguments.
    """


@export.command(short_help="The verifying key of a proving key.")
@click.argument("key")
@click.argument("vk")
@json_option
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but warnings and errors.")
def vk(key: str, vk: str, as_json: bool, quiet: bool) -> None:
    """Write the verifying key of the zkey KEY to VK, as verification_key.json.

    The text is that of `snarkjs zkey export verificationkey KEY VK`, byte for byte, e(alpha, beta)
    included. A research key carries one member more, "snarkcuda_research_key": true, which snarkjs
    ignores and snarkcuda warns of.

    Checked: KEY as `snarkcuda info` does, and that the points that are written lie on their curves
    and in their subgroups. WARNING lines say why proofs under this key may mean nothing.

    --json prints one object: vk, curve, public, warnings; or error (kind, message) and exit_code.

    Exit codes: 0 done; 2 bad input, or VK cannot be written; 3 device or memory trouble; 70 a fault
    in snarkcuda. VK appears complete or not at all.

    \b
    Example:
      snarkcuda export vk circuit.zkey verification_key.json
    """
    from snarkcuda.cli.report import announce_compilation
    from snarkcuda.formats.output import check_outputs
    from snarkcuda.formats.vkey_json import write_verifying_key
    from snarkcuda.formats.zkey import read_zkey
    from snarkcuda.groth16.trust import key_warnings

    check_outputs([vk], inputs=[key])
    announce_compilation(quiet)
    proving_key = read_zkey(key)
    verifying_key = proving_key.verifying_key

    from snarkcuda.groth16.alphabeta import alphabeta_12
    from snarkcuda.groth16.checks import check_verifying_key

    check_verifying_key(verifying_key)
    write_verifying_key(vk, verifying_key, alphabeta_12(verifying_key), inputs=[key])
    curve, n_public = verifying_key.curve, verifying_key.n_public
    if not quiet:
        what = f"the verifying key of {key}, over {curve.name}, public signals: {n_public}"
        say(f"wrote {vk}: {what}")
    untrusted = key_warnings(verifying_key, proving_key)
    warn(key, untrusted)
    if as_json:
        record = {"vk": vk, "curve": curve.name, "public": n_public, "warnings": untrusted}
        answer(json.dumps(record))


@export.command(short_help="A proof as a Solidity contract takes it.")
@click.argument("public")
@click.argument("proof")
@click.argument("out", default="-")
@click.option(
    "--vk", help="A verification_key.json: verify first, write nothing for a false proof."
)
@json_option
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but warnings and errors.")
def calldata(public: str, proof: str, out: str, vk: str | None, as_json: bool, quiet: bool) -> None:
    """Write PUBLIC and PROOF as the arguments of a Solidity verifier's verifyProof.

    The text is that of `snarkjs zkey export soliditycalldata PUBLIC PROOF`; it goes to
    OUT, or to stdout if OUT is left out or "-". The verifier is the contract that `snarkjs
    zkey export solidityverifier` makes. Elements of Fq2 have their imaginary part first, as EIP-197
    wants it.

    Checked: both files as `verify` reads them, each signal below r, and that the proof is over
    BN254 (bn128): Ethereum's precompiles of EIP-196 and EIP-197 know no other curve. The number of
    signals, the points and the proof itself are checked only with --vk.

    --json prints one object: calldata, out, public; or error (kind, message) and exit_code.

    Exit codes: 0 done; 2 bad input, a false proof (with --vk), or OUT cannot be written; 3 device
    or memory trouble; 70 a fault in snarkcuda.

    \b
    Examples:
      snarkcuda export calldata public.json proof.json
      snarkcuda export calldata public.json proof.json call.txt --vk verification_key.json
    """
    from snarkcuda.formats.calldata import calldata as text_of
    from snarkcuda.formats.output import write_outputs
    from snarkcuda.formats.proof_json import read_proof
    from snarkcuda.formats.public_json import read_public

    try:
        candidate = read_proof(proof)
        signals = read_public(public, candidate.curve)
    except FormatError:
        check_order({"public": public, "proof": proof}, "PUBLIC PROOF [OUT]")
        raise
    text = text_of(candidate, signals)
    inputs = [proof, public]
    if vk is not None:
        inputs.append(vk)
        _verify(vk, public, signals, proof, candidate, quiet)
    if out != "-":
        write_outputs({out: f"{text}\n".encode()}, inputs)
        if not quiet:
            say(f"wrote {out}: arguments of verifyProof, public signals: {len(signals)}")
    if as_json:
        answer(json.dumps({"calldata": text, "out": out, "public": len(signals)}))
    elif out == "-":
        answer(text)


def _verify(
    vk: str, public: str, signals: list[int], proof: str, candidate: Proof, quiet: bool
) -> None:
    from snarkcuda.cli.report import announce_compilation
    from snarkcuda.formats.vkey_json import read_verifying_key
    from snarkcuda.groth16.trust import key_warnings

    announce_compilation(quiet)
    key = read_verifying_key(vk, candidate.curve)

    from snarkcuda.groth16.verify import verify

    if not verify(key, signals, candidate):
        raise MismatchError(
            f"{proof} does not prove {public} under {vk}, nothing was written: a contract would "
            "refuse it; do the three come from one circuit and one run?"
        )
    warn(vk, key_warnings(key))
