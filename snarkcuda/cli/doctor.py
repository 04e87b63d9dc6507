"""`snarkcuda doctor`."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from snarkcuda.cli.shared_options import json_option
from snarkcuda.cli.words import answer
from snarkcuda.errors import DeviceError


@click.command(short_help="Look for what is wrong with this machine.")
@json_option
def doctor(as_json: bool) -> int:
    """Tell what this machine offers snarkcuda, and what stands in the way, with remedies.

    Looked at: the versions of Python and of the packages that snarkcuda needs; whether numba can be
    imported; the processor, how many of its cores may be used (affinity, a container's quota) and
    what numba compiles for; NUMBA_* settings; the kernel cache and the room on its disk; memory;
    numba-cuda, the CUDA compiler, the driver and its devices, for --device cuda.

    Nothing is compiled, nothing is sent anywhere, and no proof is made. What the system does not
    tell is "unknown". The text is made to be pasted into a report; it holds the paths of the
    program and of the cache.

    --json prints one object: findings (name, value, problem, fix, prevents_proving), can_prove.

    Exit codes: 0 nothing that was found prevents proofs on the CPU; 3 something does. Other
    problems cost time, or matter to CUDA alone.

    \b
    Example:
      snarkcuda doctor
    """
    from snarkcuda.doctor import examine

    findings = examine()
    can_prove = not any(finding.prevents_proving for finding in findings)
    if as_json:
        record = {"findings": [asdict(finding) for finding in findings], "can_prove": can_prove}
        answer(json.dumps(record))
    else:
        width = max(len(finding.name) for finding in findings)
        lines = [f"{finding.name:<{width}}  {finding.value}" for finding in findings]
        for finding in findings:
            if finding.problem is not None:
                lines += [f"PROBLEM: {finding.name}: {finding.problem}", f"  fix: {finding.fix}"]
        lines.append("ready to prove on the CPU" if can_prove else "NOT ready to prove")
        answer("\n".join(lines))
    return 0 if can_prove else DeviceError.exit_code
