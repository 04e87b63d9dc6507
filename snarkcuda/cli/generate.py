"""`snarkcuda generate KIND N CIRCUIT WITNESS`."""

from __future__ import annotations

import json
from importlib import import_module

import click

from snarkcuda.cli.curve_option import Curves
from snarkcuda.cli.shared_options import json_option
from snarkcuda.cli.words import answer, say
from snarkcuda.curve.params import Curve

KINDS = {"mimc": "mimc_chain", "sha": "sha_like", "random": "random_sparse"}
MOST = 1 << 27  # with the public rows a domain of 2^28, the largest of BN254


@click.command(short_help="Make a circuit of any size, for benchmarks.")
@click.argument("kind", type=click.Choice(list(KINDS)), metavar="KIND")
@click.argument("n", type=click.IntRange(1, MOST), metavar="N")
@click.argument("circuit")
@click.argument("witness")
@click.option(
    "--curve",
    "curves",
    type=Curves(both=False),
    default="bn254",
    help="bn254 or bls12_381 [bn254].",
)
@click.option("--seed", default="snarkcuda", help="Another circuit and witness [snarkcuda].")
@json_option
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def generate(
    kind: str,
    n: int,
    circuit: str,
    witness: str,
    curves: tuple[Curve],
    seed: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Make a circuit of exactly N constraints and a witness that satisfies it.

    CIRCUIT is an r1cs file as circom writes it, WITNESS a wtns file of version 2; both appear, or
    neither. They are for benchmarks and tests: the circuits state nothing of use. KIND is what to
    load a prover with:

    \b
    mimc     rounds of x -> (x + k + c)^7: every wire a full-size field element
    sha      words of 32 bits as in SHA-256: of a long circuit 99.5 % of the wires are 0 or 1
    random   rows of one to hundreds of terms, coefficients of every kind, empty rows in A and B

    Each has one public signal, an output, so that N = 2^k - 2 fills a domain of 2^k. N is at most
    134217728; a million constraints take some seconds, 0.6 GB of memory and 0.3 GB of disk.

    --curve takes snarkjs's names too (bn128, bls12381). The same KIND, N, curve and --seed give the
    same files, byte for byte, on every machine.

    --json prints one object: circuit, witness, kind, curve, seed, constraints, wires, public,
    domain, entries (of A, B, C), bits (share of the wires that are 0 or 1), version; or error
    (kind, message) and exit_code.

    Exit codes: 0 done; 2 bad input, or an output cannot be written; 3 not enough memory; 70 a fault
    in snarkcuda; 129, 130 or 143 interrupted.

    \b
    Example:
      snarkcuda generate mimc 65534 circuit.r1cs witness.wtns
      snarkjs wtns check circuit.r1cs witness.wtns
    """
    from snarkcuda import __version__
    from snarkcuda.cli.report import announce_compilation
    from snarkcuda.cli.signals import results_are_written
    from snarkcuda.formats.output import check_outputs, write_outputs

    (curve,) = curves
    check_outputs([circuit, witness])
    announce_compilation(quiet)

    from snarkcuda.circuits.synthetic import share_of_bits
    from snarkcuda.cpu.pool import Pool
    from snarkcuda.formats.r1cs import r1cs_chunks
    from snarkcuda.formats.wtns import witness_chunks

    make = getattr(import_module(f"snarkcuda.circuits.{KINDS[kind]}"), KINDS[kind])
    with Pool(1) as pool:  # a thread beside ours, which hears Ctrl-C
        r1cs, assignment = pool.call(make, curve, n, seed)
    write_outputs(
        {circuit: r1cs_chunks(r1cs), witness: witness_chunks(assignment)},
        committed=results_are_written,
    )
    bits = share_of_bits(assignment)
    if not quiet:
        say(
            f"wrote {circuit} and {witness}: {n} constraints over {curve.name}, {r1cs.n_wires} "
            f"wires, {bits:.1%} of them 0 or 1, 2^{r1cs.domain_size.bit_length() - 1} rows; for "
            "benchmarks only"
        )
    if as_json:
        record = {
            "circuit": circuit,
            "witness": witness,
            "kind": kind,
            "curve": curve.name,
            "seed": seed,
            "constraints": n,
            "wires": r1cs.n_wires,
            "public": r1cs.n_public,
            "domain": r1cs.domain_size,
            "entries": [len(matrix.wires) for matrix in (r1cs.a, r1cs.b, r1cs.c)],
            "bits": bits,
            "version": __version__,
        }
        answer(json.dumps(record))
