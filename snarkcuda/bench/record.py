"""The record of a bench: JSON with the machine, the date, every run; written, and read to compare.

{"format": "snarkcuda bench", "format_version": 1, "date", "machine": {…}, "cases": [{"case", …}]}

Times are read again from `runs_ns`, which are integers; medians and seconds are for people.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from snarkcuda.bench.case import Case
from snarkcuda.bench.machine_line import dated, gpu
from snarkcuda.bench.measure import Measured
from snarkcuda.bench.statistics import Comparison, compare_runs
from snarkcuda.errors import FormatError, MismatchError
from snarkcuda.formats.opening import FilePath
from snarkcuda.formats.strict_json import Node, read_json

FORMAT, VERSION = "snarkcuda bench", 1
_LIMIT = 1 << 24  # bytes of a record that is read
_MOVING = ("load", "snarkcuda", "revision")  # what two runs on one machine may differ in


def record_of(measured: Iterable[Measured], threads: int) -> dict[str, Any]:
    """The record, ready for JSON."""
    measured = list(measured)
    devices = dict.fromkeys(each.case.device for each in measured if each.case.device)
    head = dated(threads)
    head["machine"] |= {device: gpu(device) for device in devices}
    return {
        "format": FORMAT,
        "format_version": VERSION,
        **head,
        "cases": [each.as_dict() for each in measured],
    }


@dataclass(frozen=True)
class Earlier:
    """An earlier record: its machine, and nanoseconds by case."""

    source: str
    machine: dict[str, str]
    runs: dict[str, list[int]]

    def check_shares(self, cases: Iterable[Case]) -> None:
        """Raise MismatchError unless one of the cases was measured then."""
        if not self.runs.keys() & {str(case) for case in cases}:
            raise MismatchError(
                f"{self.source} has none of these cases; it has: {'; '.join(self.runs) or 'none'}"
            )

    def differences(self, now: dict[str, str]) -> list[str]:
        """How its machine differs from this one; load, version and revision apart."""
        return [
            f"{name}: {self.machine.get(name, 'not known')} then, {value} now"
            for name, value in now.items()
            if name not in _MOVING and self.machine.get(name) != value
        ]

    def compare(self, measured: Measured) -> Comparison | None:
        """Then and now; None for a case that was not measured then."""
        old = self.runs.get(str(measured.case))
        return None if old is None else compare_runs(old, measured.runs_ns)


def read_record(path: FilePath) -> Earlier:
    """Read what `--out` wrote.

    Raises:
        FormatError: not such a record, or one of another version.
    """
    root = read_json(path, _LIMIT, "a bench record")
    if not isinstance(root.value, dict) or root.value.get("format") != FORMAT:
        raise FormatError(f"{root.file} is no record of `snarkcuda bench … --out`")
    found, node, cases = root.fields("format_version", "machine", "cases")
    if found.integer() != VERSION:
        raise FormatError(
            f"{root.file} is a record of version {found.integer()}, and this snarkcuda reads "
            f"version {VERSION}: measure both with one of them"
        )
    if not isinstance(node.value, dict):
        node.refuse("an object")
    machine = {name: node.fields(name)[0].text() for name in node.value}
    return Earlier(root.file, machine, dict(map(_read_case, cases.items())))


def _read_case(node: Node) -> tuple[str, list[int]]:
    if not isinstance(node.value, dict):
        node.refuse("an object")
    name, runs = node.fields("case", "runs_ns")
    times = [run.integer() for run in runs.items()]
    if not times or 0 in times:
        runs.refuse("a list of times above 0")
    return name.text(), times
