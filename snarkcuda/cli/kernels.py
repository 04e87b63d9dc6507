"""`snarkcuda kernels`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import click

from snarkcuda import __version__
from snarkcuda.cli.curve_option import BOTH, Curves
from snarkcuda.cli.shared_options import json_option
from snarkcuda.cli.words import answer, say
from snarkcuda.curve.params import Curve
from snarkcuda.errors import DeviceError


class _Architecture(click.ParamType):  # type: ignore[type-arg]
    name = "architecture"

    def convert(self, value: object, param: object, context: object) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        found = re.fullmatch(r"sm_(\d{1,2})(\d)", str(value))
        if found is None:
            raise click.BadParameter(f"{value!r} is no architecture, such as sm_90")
        return int(found[1]), int(found[2])


@click.command(short_help="Compile the CUDA kernels, and say what they take.")
@click.option(
    "--curve",
    "curves",
    type=Curves(both=True),
    default=BOTH,
    help="bn254, bls12_381 or both [both].",
)
@click.option(
    "--architecture",
    type=_Architecture(),
    default="sm_90",
    help="What to compile for: sm_80, sm_89, sm_90, sm_120 … [sm_90].",
)
@click.option("--only", default="", metavar="TEXT", help="Kernels whose name holds TEXT.")
@click.option(
    "--arithmetic",
    type=click.Choice(["ptx", "limbs"]),
    default="ptx",
    help="Field arithmetic: as proofs use it, or its readable twin [ptx].",
)
@click.option("--compare", metavar="FILE", help="Show what differs from an earlier --out.")
@click.option("--out", metavar="FILE", help="Write the report, JSON.")
@json_option
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def kernels(
    curves: tuple[Curve, ...],
    architecture: tuple[int, int],
    only: str,
    arithmetic: str,
    compare: str | None,
    out: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Compile every CUDA kernel and list registers, spills, shared memory, instructions and time.

    No GPU and no driver are needed, only the extra snarkcuda[cuda]. What was compiled before for
    this architecture comes from the kernel cache, with the time that it took then. A kernel whose
    registers spill to memory, where its source does not allow that, or which computes with floats,
    is an error: exit code 3.

    --json prints what --out writes: format, architecture, kernels (label, registers, spilled,
    shared, instructions, floats, may_spill, seconds), version; or error (kind, message) and
    exit_code.

    Exit codes: 0 done; 2 bad usage or a bad report; 3 a kernel is wrong, or does not compile; 70 a
    fault in snarkcuda; 129, 130 or 143 interrupted.

    \b
    Examples:
      snarkcuda kernels
      snarkcuda kernels --only ntt_pass --out before.json
      snarkcuda kernels --only ntt_pass --compare before.json
    """
    from snarkcuda.kernels.target import simulated

    if simulated():  # numba chose once, when it was imported
        raise SystemExit(_without_simulator())

    from snarkcuda.cli.report import Progress
    from snarkcuda.cli.signals import results_are_written
    from snarkcuda.formats.output import check_outputs, write_outputs
    from snarkcuda.kernels.report import FORMAT, read_report, report, table

    inputs = [compare] if compare else []
    check_outputs([out] if out else [], inputs)
    earlier = read_report(compare) if compare else None
    with Progress(quiet) as progress:
        lines = report(
            curves, architecture, only, arithmetic, lambda label: progress(f"compiled {label}")
        )
    if not lines:
        raise click.UsageError(f"no kernel's name holds {only!r}")
    record = {
        "format": FORMAT,
        "architecture": f"sm_{architecture[0]}{architecture[1]}",
        "kernels": [vars(line) for line in lines],
        "version": __version__,
    }
    if out:
        data = (json.dumps(record, indent=1) + "\n").encode()
        write_outputs({out: data}, inputs, committed=results_are_written)
    text = table(lines, earlier)
    if as_json:
        say(text)
        answer(json.dumps(record))
    else:
        answer(text)
    if problems := [line.problem for line in lines if line.problem]:
        raise DeviceError("; ".join(problems))


def _without_simulator() -> int:
    """The same command where numba-cuda compiles; its exit code."""
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "0"}  # a configuration file may set it
    program = [sys.executable, "-m", "snarkcuda", *sys.argv[1:]]
    code = subprocess.run(program, env=environment, check=False).returncode
    return 128 - code if code < 0 else code  # ended by a signal
