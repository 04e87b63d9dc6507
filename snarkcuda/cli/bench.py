"""`snarkcuda bench OPERATION` and `snarkcuda bench ab OPERATION`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from snarkcuda.bench.case import OPERATIONS
from snarkcuda.cli.bench_ab import ab
from snarkcuda.cli.bench_options import all_of, cases_of, give, output_options, size_options
from snarkcuda.cli.words import say
from snarkcuda.curve.params import Curve

WHAT = {
    "field": """Time products of elements: Fq (--group g1) or Fq2 (g2), in cache.

    A call makes 64 products in a row on each of 2^log-n elements. Checked: 64 of the elements.""",
    "msm": """Time sums of multiples k*P over 2^log-n points, digits included.

    The points' conversion to vectors, done once for a key, is not timed. ns is for each addition to
    a bucket. Checked: the sum, by the points' known logarithms.""",
    "ntt": """Time a proof's six transforms: three polynomials of 2^log-n, domain to coset.

    Checked: a point of each, by the barycentric formula in integers.""",
    "matvec": """Time A*w, B*w and their products, for a circuit that fills 2^log-n rows.

    ns is for each entry of A and B. Checked: 64 rows, in integers.""",
    "setup": """Time a research key for a circuit that fills 2^log-n rows, with its stages.

    Checked: 8 wires' points of every query, by the toxic waste, in integers.""",
    "prove": """Time whole proofs from a key in memory that fills 2^log-n rows, with stages.

    Reading files is not timed, the self-check is. Checked: the proof verifies.""",
}
COMMON = """
    The data is made here and is the same on every machine. The first call is timed apart: it
    compiles or loads the kernels; its result is checked by a figure found in another way, and for a
    wrong one no time is printed. Then --runs runs are timed, each of as many calls as take a tenth
    of a second; times are those of one call. The interval is that of the median, from order
    statistics: it holds for any distribution, at the confidence that is shown.

    --compare reads what --out wrote and judges each case found there: "faster" or "slower" only if
    the 99 % interval of the ratio of medians (bootstrap) lies beyond 1 % and a rank test says
    p < 0.01; else "no difference". Machines differ from hour to hour: for two settings or two
    revisions ask `snarkcuda bench ab`, which runs them in turn.

    --json prints on stdout what --out writes: format, format_version, date, machine, cases (case,
    first_s, median_s, interval_s, confidence, min_s, unit, units, ns_per_unit, calls_per_run,
    runs_ns, stages_s), comparison; or error (kind, message) and exit_code. The table is then on
    stderr.

    Exit codes: 0 done, whatever the verdicts; 2 bad input, or a record cannot be read or written; 3
    a wrong result, or device or memory trouble; 70 a fault in snarkcuda; 129, 130 or
    143 interrupted.

    \b
    Example:
"""


@click.group(short_help="Measure operations, and compare settings or revisions.")
def bench() -> None:
    """Measure the operations of a proof on data made here; compare with a record, or two settings.

    `snarkcuda bench OPERATION --help` says what is timed and what is checked.
    """


def _measure(
    operation: str,
    runs: int,
    seconds: float,
    compare: str | None,
    threads: int | None,
    sizes: Sequence[int],
    curves: Sequence[Curve],
    out: str | None,
    as_json: bool,
    quiet: bool,
    **variants: str | None,
) -> None:
    cases = cases_of(operation, sizes, curves, variants)

    from dataclasses import asdict

    from snarkcuda.bench.machine_line import is_busy, machine_line
    from snarkcuda.bench.measure import measure
    from snarkcuda.bench.record import read_record, record_of
    from snarkcuda.bench.tables import bench_table, comparison_table
    from snarkcuda.cli.report import Progress, announce_compilation
    from snarkcuda.cpu.pool import available_threads
    from snarkcuda.formats.output import check_outputs

    inputs = [compare] if compare else []
    check_outputs([out] if out else [], inputs)
    earlier = read_record(compare) if compare else None
    if earlier:
        earlier.check_shares(cases)
    with Progress(quiet) as progress:
        announce_compilation(quiet)
        measured = [measure(case, threads, runs, seconds, progress) for case in cases]
    record = record_of(measured, threads or available_threads())
    text = [bench_table(measured), machine_line(record)]
    if earlier:
        found = [(each, earlier.compare(each)) for each in measured]
        text += ["", f"compared with {earlier.source}"]
        text.append(
            comparison_table(
                (str(each.case), earlier.runs.get(str(each.case)), each.runs_ns, comparison)
                for each, comparison in found
            )
        )
        differences = earlier.differences(record["machine"])
        record["comparison"] = {
            "with": earlier.source,
            "machine_differences": differences,
            "cases": {str(each.case): asdict(verdict) for each, verdict in found if verdict},
        }
        for difference in differences:
            say(f"WARNING: another machine than that of {earlier.source}: {difference}")
        for whose, line in ((earlier.source, earlier.machine), ("this run", record["machine"])):
            if is_busy(line):
                say(
                    f"WARNING: load {line['load']} in {whose}: what else ran may be the "
                    "difference; `snarkcuda bench ab` measures in turn"
                )
    give(record, "\n".join(text), out, as_json, inputs)


def _operation(name: str) -> click.Command:
    """`snarkcuda bench NAME`."""

    def command(**options: Any) -> None:
        _measure(name, **options)

    what = WHAT[name]
    example = f"      snarkcuda bench {name} --log-n 14,16 --out {name}.json\n"
    command.__doc__ = f"{what}\n{COMMON}{example}"
    own = [
        click.option("--runs", type=click.IntRange(1, 10_000), default=9, help="Timed runs [9]."),
        click.option(
            "--seconds",
            type=click.FloatRange(0),
            default=60.0,
            help="Stop a case's runs after so long, not before 3 [60].",
        ),
        click.option("--compare", metavar="FILE", help="Judge against an earlier --out."),
    ]
    short = what.partition("\n")[0]
    decorated = size_options([name])(all_of(own)(output_options(command)))
    return click.command(name, short_help=short)(decorated)


for command in (*map(_operation, OPERATIONS), ab):
    bench.add_command(command)
