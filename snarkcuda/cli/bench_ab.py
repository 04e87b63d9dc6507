"""`snarkcuda bench ab OPERATION`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from snarkcuda.bench.case import OPERATIONS
from snarkcuda.cli.bench_options import cases_of, give, output_options, size_options
from snarkcuda.curve.params import Curve


@click.command(short_help="Compare two settings or revisions, run in turn.")
@click.argument("operation", type=click.Choice(list(OPERATIONS)), metavar="OPERATION")
@click.option("--a", "a_settings", multiple=True, metavar="SETTING", help="A setting of side A.")
@click.option("--b", "b_settings", multiple=True, metavar="SETTING", help="A setting of side B.")
@size_options(list(OPERATIONS))
@click.option("--pairs", type=click.IntRange(10, 10_000), default=15, help="Pairs of runs [15].")
@click.option("--seed", type=click.IntRange(0), help="Of the order of runs [drawn, and printed].")
@output_options
def ab(
    operation: str,
    a_settings: Sequence[str],
    b_settings: Sequence[str],
    sizes: Sequence[int],
    curves: Sequence[Curve],
    threads: int | None,
    pairs: int,
    seed: int | None,
    out: str | None,
    as_json: bool,
    quiet: bool,
    **variants: str | None,
) -> None:
    """Say whether side B is faster than side A, slower, or no different.

    OPERATION is field, msm, ntt, matvec, setup or prove; see `snarkcuda bench OPERATION --help` for
    what is timed and checked. A side without settings is what runs now. A SETTING is

    \b
    threads=N         worker threads
    env:NAME=VALUE    an environment variable, env:NUMBA_ENABLE_AVX=0 say
    tree=PATH         the sources of another checkout
    rev=REVISION      those of a git revision of this checkout, unpacked for the time of the run

    Each side is a process of its own, which compiles, checks its first result and warms up; then
    both are timed in pairs, in random order within a pair (--seed fixes it).

    The rule: "faster" or "slower" only if the whole 99 % interval of the median ratio (order
    statistics) lies beyond 1 % and a signed-rank test of the pairs says p < 0.01; else
    "no difference", which is what identical sides must give. More --pairs see smaller differences.

    --json prints on stdout what --out writes: format, format_version, date, machine, seed, duels
    (case, a and b with settings, revision, runs_ns; calls_per_run, a_first, a_over_b, interval, p,
    b_is); or error (kind, message) and exit_code. The table is then on stderr.

    Exit codes: 0 done, whatever the verdict; 2 bad input, a revision that has no bench, or a record
    cannot be written; 3 a wrong result, or device or memory trouble; 70 a fault in snarkcuda; 129,
    130 or 143 interrupted: processes and unpacked sources are gone.

    \b
    Examples:
      snarkcuda bench ab ntt --a threads=1 --b threads=2 --log-n 16
      snarkcuda bench ab prove --a rev=HEAD~1 --curve bls12_381
    """
    from snarkcuda.bench.sides import side_of

    cases = cases_of(operation, sizes, curves, variants)
    sides = []
    for name, settings in (("--a", a_settings), ("--b", b_settings)):
        try:
            sides.append(side_of(settings, threads))
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint=name) from error

    from secrets import randbits

    from snarkcuda.bench.ab import duel, record_of_duels
    from snarkcuda.bench.machine_line import machine_line
    from snarkcuda.bench.tables import comparison_table
    from snarkcuda.cli.report import Progress
    from snarkcuda.cpu.pool import available_threads
    from snarkcuda.formats.output import check_outputs

    check_outputs([out] if out else [])
    seed = randbits(32) if seed is None else seed
    with Progress(quiet) as progress:
        found = [duel(case, (sides[0], sides[1]), pairs, seed, progress) for case in cases]
    record = record_of_duels(found, seed, threads or available_threads())
    table = comparison_table(
        ((str(each.case), *each.runs_ns, each.comparison) for each in found), "A", "B"
    )
    text = [f"A: {sides[0]}", f"B: {sides[1]}", f"{pairs} pairs in the order of --seed {seed}"]
    give(record, "\n".join([*text, table, machine_line(record)]), out, as_json)
