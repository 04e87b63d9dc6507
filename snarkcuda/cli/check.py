"""`snarkcuda check FILE [FILE]`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
from click import UsageError

from snarkcuda import __version__
from snarkcuda.cli import BEGAN
from snarkcuda.cli.report import Progress, announce_compilation, stage_records
from snarkcuda.cli.shared_options import json_option, threads_option
from snarkcuda.cli.words import answer, say, warn
from snarkcuda.groth16.timeline import Timeline

if TYPE_CHECKING:
    from snarkcuda.circuits.r1cs import R1cs

Files = Mapping[str, str]  # by kind
CAN_BE_CHECKED = "KEY.zkey, CIRCUIT.r1cs, or a pair of KEY.zkey, CIRCUIT.r1cs and WITNESS.wtns"

_ELSEWHERE = {
    "proof": "a proof is for `snarkcuda verify`",
    "ptau": "powers of tau are for `snarkjs powersoftau verify`",
}


@dataclass(frozen=True)
class _Run:
    """What every check is given besides its files."""

    progress: Progress
    timeline: Timeline
    threads: int | None
    again: bool
    show_values: bool


@dataclass(frozen=True)
class _Finding:
    """What a check found: a sentence for people, a record for machines, warnings for both."""

    verdict: str
    record: dict[str, object]
    warnings: list[str]
    notes: list[str]


@click.command(short_help="Check a key, a circuit, a witness.")
@click.argument("files", nargs=-1, required=True, metavar="FILE [FILE]")
@click.option("--again", is_flag=True, help="Check a key anew, even if it was checked before.")
@click.option("--hide-values", is_flag=True, help="Show no value of the witness.")
@threads_option
@json_option
@click.option("-q", "--quiet", is_flag=True, help="No progress and no verdict: the exit code says.")
def check(
    files: tuple[str, ...],
    again: bool,
    hide_values: bool,
    threads: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Check FILE, or that two of them go together; kinds are found from the content, in any order.

    \b
    KEY.zkey                  every point is on its curve and in its subgroup, and infinite only
                              where honest keys have that; beta, delta and the B queries are the
                              same in G1 and in G2; coefficients are in range
    KEY.zkey WITNESS.wtns     a proof, made in memory, verifies under the key: the witness
                              satisfies the circuit, if the key is honest
    CIRCUIT.r1cs              the whole file: counts, wires and coefficients are in range
    CIRCUIT.r1cs WITNESS.wtns the witness satisfies the circuit; else the first constraint that
                              fails, with its terms and their values (secret ones too:
                              see --hide-values)
    KEY.zkey CIRCUIT.r1cs     sizes and the matrices A and B of the key are the circuit's

    A key from a stranger is worth its check: with points outside the subgroups a key can draw bits
    of the witness into proofs. What the check of a key cannot show is that its queries were made
    for the circuit, and by an honest ceremony: `snarkjs zkey verify circuit.r1cs pot.ptau
    circuit.zkey` shows that.

    A key is checked once: KEY.zkey.checked, written beside it, holds a digest of the file under a
    secret that only you have (check-secret in the directory of `snarkcuda cache info`). Next time
    only the digest is computed. A record that came along with a key, or is for other bytes, is
    ignored, and a note says so. `snarkcuda prove --check-key` asks for the same check.

    The first run on a machine compiles kernels (see `snarkcuda warmup`): with --threads 1 in this
    process, else in several.

    --json prints one object: files, curve, what the check has (of a key: points,
    points_at_infinity, remembered, date), warnings, notes, seconds, stages (name, seconds, bytes),
    version; or error (kind, message) and exit_code.

    Exit codes: 0 fine; 2 not fine, or it cannot be read; 3 device or memory trouble; 70 a fault in
    snarkcuda; 129, 130 or 143 interrupted.

    \b
    Examples:
      snarkcuda check circuit.zkey
      snarkcuda check circuit.r1cs witness.wtns
    """
    from snarkcuda.formats.identify import file_kind

    kinds = [file_kind(path) for path in files]
    by_kind = dict(zip(kinds, files, strict=True))
    call = _CHECKS.get(frozenset(kinds))
    if call is None or len(by_kind) < len(files):
        elsewhere = "".join(f"; {_ELSEWHERE[kind]}" for kind in kinds if kind in _ELSEWHERE)
        raise UsageError(f"cannot check {' with '.join(kinds)}: give {CAN_BE_CHECKED}{elsewhere}")
    if again and kinds != ["zkey"]:
        raise UsageError("--again is for a key alone: nothing else is remembered")
    with Progress(quiet) as progress:
        announce_compilation(quiet)
        timeline = Timeline(progress)
        finding = call(by_kind, _Run(progress, timeline, threads, again, not hide_values))
    for note in finding.notes:
        say(f"note: {note}")
    if not quiet:
        say(finding.verdict)
    warn(by_kind.get("zkey", ""), finding.warnings)
    if as_json:
        record = {
            "files": by_kind,
            **finding.record,
            "warnings": finding.warnings,
            "notes": finding.notes,
            "seconds": time.perf_counter() - BEGAN,
            "stages": stage_records(timeline.stages),
            "version": __version__,
        }
        answer(json.dumps(record))


def _key(files: Files, run: _Run) -> _Finding:
    from snarkcuda.cli.first_run import kernels_of_key_check
    from snarkcuda.cpu.pool import Pool
    from snarkcuda.groth16.checked_key import read_checked_key
    from snarkcuda.groth16.trust import key_warnings

    around = kernels_of_key_check(run.threads, run.progress, run.timeline)
    with Pool(run.threads) as pool:
        share = run.progress.attend(pool)
        checked = read_checked_key(files["zkey"], run.timeline, pool, run.again, share, around)
    key, found = checked.key, checked.record
    infinite = ", ".join(f"{name} {n}" for name, n in found.infinity.items() if n)
    seen = f" (as was found on {found.date}; the file is the same)" if checked.remembered else ""
    verdict = (
        f"{key.source} is fine{seen}: {found.points} points on their curves and in their "
        f"subgroups, at infinity {infinite or 'none'}; beta, delta and B agree in G1 and G2"
    )
    record = {
        "curve": key.curve.name,
        "points": found.points,
        "points_at_infinity": found.infinity,
        "remembered": checked.remembered,
        "date": found.date,
    }
    return _Finding(verdict, record, key_warnings(key.verifying_key, key), checked.notes)


def _witness_of_key(files: Files, run: _Run) -> _Finding:
    from snarkcuda.cli.first_run import kernels_of
    from snarkcuda.cpu.resident_key import uses_vectors
    from snarkcuda.formats.wtns import read_witness
    from snarkcuda.formats.zkey import read_zkey
    from snarkcuda.groth16.checks import check_match
    from snarkcuda.groth16.prover import Prover
    from snarkcuda.groth16.trust import key_warnings
    from snarkcuda.warmup.parts import parts_of_pairing, parts_of_proof

    key, witness = read_zkey(files["zkey"]), read_witness(files["wtns"])
    check_match(key, witness)
    parts = [*parts_of_proof(key.curve, uses_vectors(key)), *parts_of_pairing(key.curve)]
    with (
        kernels_of(parts, run.threads, run.progress, run.timeline),
        Prover(key, threads=run.threads, progress=run.progress) as prover,
    ):
        run.progress.fraction = prover.fraction
        prover.prove(witness)
    verdict = (
        f"a proof that {witness.source} satisfies the circuit of {key.source} verifies under that "
        "key"
    )
    found = key_warnings(key.verifying_key, key)
    return _Finding(verdict, {"curve": key.curve.name}, found, [])


def _circuit(files: Files, run: _Run) -> _Finding:
    r1cs = _read_circuit(files, run)
    entries = sum(len(matrix.wires) for matrix in (r1cs.a, r1cs.b, r1cs.c))
    verdict = (
        f"{r1cs.source} is fine: {r1cs.n_constraints} constraints over {r1cs.n_wires} wires, "
        f"{entries} coefficients in range"
    )
    record = {
        "curve": r1cs.curve.name,
        "constraints": r1cs.n_constraints,
        "wires": r1cs.n_wires,
        "entries": entries,
    }
    return _Finding(verdict, record, [], [])


def _read_circuit(files: Files, run: _Run) -> R1cs:
    from snarkcuda.cpu.pool import Pool
    from snarkcuda.formats.r1cs import read_r1cs

    with Pool(1) as pool, run.timeline.stage("read circuit"):
        return pool.call(read_r1cs, files["r1cs"])


def _witness_of_circuit(files: Files, run: _Run) -> _Finding:
    from snarkcuda.circuits.satisfied import explain_row, first_unsatisfied
    from snarkcuda.cpu.pool import Pool
    from snarkcuda.errors import UnsatisfiedError
    from snarkcuda.formats.wtns import read_witness

    r1cs, witness = _read_circuit(files, run), read_witness(files["wtns"])
    with Pool(run.threads) as pool, run.timeline.stage("check constraints"):
        run.progress.fraction = pool.fraction
        row = first_unsatisfied(pool, r1cs, witness)
    if row is not None:
        told = explain_row(r1cs, witness, row, run.show_values)
        raise UnsatisfiedError(f"{witness.source} does not satisfy {r1cs.source}: {told}")
    verdict = f"{witness.source} satisfies the {r1cs.n_constraints} constraints of {r1cs.source}"
    record = {"curve": r1cs.curve.name, "constraints": r1cs.n_constraints}
    return _Finding(verdict, record, [], [])


def _key_of_circuit(files: Files, run: _Run) -> _Finding:
    from snarkcuda.cpu.pool import Pool
    from snarkcuda.formats.zkey import read_zkey
    from snarkcuda.groth16.check_circuit import check_circuit
    from snarkcuda.groth16.trust import key_warnings

    with run.timeline.stage("read key"):
        key = read_zkey(files["zkey"])
    r1cs = _read_circuit(files, run)
    with Pool(1) as pool, run.timeline.stage("compare A and B"):
        pool.call(check_circuit, key, r1cs)
    entries = len(key.coefficients)
    verdict = f"{key.source} has the sizes and the {entries} entries of A and B of {r1cs.source}"
    record = {"curve": key.curve.name, "entries": entries}
    return _Finding(verdict, record, key_warnings(key.verifying_key, key), [])


_CHECKS: dict[frozenset[str], Callable[[Files, _Run], _Finding]] = {
    frozenset({"zkey"}): _key,
    frozenset({"zkey", "wtns"}): _witness_of_key,
    frozenset({"r1cs"}): _circuit,
    frozenset({"r1cs", "wtns"}): _witness_of_circuit,
    frozenset({"zkey", "r1cs"}): _key_of_circuit,
}
