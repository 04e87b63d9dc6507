"""One case measured: the first call apart, its result checked, then runs of the same.

A run is as many calls as take a tenth of a second, and its time is that of one of them: a short
call alone would measure where the system put its threads.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from snarkcuda.bench.case import Case, Subject
from snarkcuda.bench.statistics import median_interval
from snarkcuda.cpu.pool import Pool
from snarkcuda.errors import DeviceError

FEWEST = 3  # runs, whatever the budget of time
_RUN_NS = 100_000_000


@dataclass(frozen=True)
class Measured:
    """A case's times.

    Attributes:
        first_ns: the first call: compiling or loading the kernels, and one run.
        runs_ns: the runs after it, in order, for one call of each.
        calls: the calls of a run.
        stages_ns: for each named part of a call its median.
    """

    case: Case
    unit: str
    n_units: int
    first_ns: int
    runs_ns: list[int]
    calls: int
    stages_ns: dict[str, int]

    @property
    def median_ns(self) -> float:
        """The median of the runs."""
        return statistics.median(self.runs_ns)

    def as_dict(self) -> dict[str, Any]:
        """The entry of a record; what `--compare` reads again is integers."""
        interval = median_interval(self.runs_ns)
        return {
            "case": str(self.case),
            **self.case.as_dict(),
            "first_s": self.first_ns / 1e9,
            "median_s": self.median_ns / 1e9,
            "interval_s": [interval.low / 1e9, interval.high / 1e9],
            "confidence": round(interval.confidence, 4),
            "min_s": min(self.runs_ns) / 1e9,
            "unit": self.unit,
            "units": self.n_units,
            "ns_per_unit": self.median_ns / self.n_units,
            "calls_per_run": self.calls,
            "runs_ns": self.runs_ns,
            "stages_s": {name: ns / 1e9 for name, ns in self.stages_ns.items()},
        }


def calls_of_a_run(call_ns: int) -> int:
    """How many calls of so many nanoseconds make a run."""
    return math.ceil(_RUN_NS / call_ns)


class Bench:
    """A case with its data, warm: its first call has been checked, and one more made.

    Attributes:
        first_ns, call_ns: what those two took.
    """

    def __init__(self, case: Case, subject: Subject) -> None:
        self.case, self.subject = case, subject
        began = time.perf_counter_ns()
        result = subject.call()
        self.first_ns = time.perf_counter_ns() - began  # of the host: compiling too
        if not subject.is_right(result):
            raise DeviceError(
                f"{case}: the result is WRONG, so no time is given: a kernel was edited, or the "
                "machine computes wrongly. `pytest tests/cpu` names the kernel"
            )
        self.call_ns, _ = self._timed()

    def _timed(self) -> tuple[int, Any]:
        began = time.perf_counter_ns()
        result = self.subject.call()
        ns = time.perf_counter_ns() - began
        clock = self.subject.device_ns
        return clock(result) if clock else ns, result

    def run(self, calls: int) -> tuple[int, dict[str, int]]:
        """So many calls: nanoseconds of one of them, and of its stages."""
        total = 0
        stages: dict[str, float] = {}
        for _ in range(calls):
            ns, result = self._timed()
            total += ns
            for stage in self.subject.stages(result):
                stages[stage.name] = stages.get(stage.name, 0) + stage.seconds * 1e9
        return round(total / calls), {name: round(ns / calls) for name, ns in stages.items()}


@contextmanager
def opened(
    case: Case, threads: int | None, progress: Callable[[str], None] = lambda stage: None
) -> Iterator[Bench]:
    """Make a case's data, call it once and check what it returns.

    Raises:
        DeviceError: the result is wrong, or the machine lacks what the case needs.
    """
    progress(f"{case}: make data")
    with Pool(threads) as pool:
        folder = "operations_cuda" if case.device else "operations"
        module = import_module(f"snarkcuda.bench.{folder}.{case.operation}")
        subject: Subject = module.subject(case, pool)
        try:
            progress(f"{case}: first call and check")
            yield Bench(case, subject)
        finally:
            subject.close()


def measure(
    case: Case,
    threads: int | None,
    runs: int,
    budget_s: float,
    progress: Callable[[str], None] = lambda stage: None,
) -> Measured:
    """Time `runs` runs, fewer (but `FEWEST`) if they take longer than the budget."""
    with opened(case, threads, progress) as bench:
        calls = calls_of_a_run(bench.call_ns)
        progress(f"{case}: {runs} runs of {calls} calls")
        found: list[tuple[int, dict[str, int]]] = []
        began = time.monotonic()
        while len(found) < runs:
            if len(found) >= FEWEST and time.monotonic() - began > budget_s:
                break
            found.append(bench.run(calls))
        stages = {
            name: round(statistics.median(stages[name] for _, stages in found))
            for name in found[0][1]
        }
        subject = bench.subject
        ns = [run for run, _ in found]
        return Measured(case, subject.unit, subject.n_units, bench.first_ns, ns, calls, stages)
