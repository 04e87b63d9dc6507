"""`bench ab`: two sides, a worker process each, timed in pairs in random order.

Both processes stay alive, so that neither start-up nor compilation is in a time; one waits while
the other runs. What slows the machine for longer than a pair slows both.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TypeVar

from snarkcuda.bench.case import Case
from snarkcuda.bench.machine_line import dated
from snarkcuda.bench.measure import calls_of_a_run
from snarkcuda.bench.record import VERSION
from snarkcuda.bench.sides import Side, sources
from snarkcuda.bench.statistics import Comparison, compare_pairs
from snarkcuda.bench.worker import PROTOCOL
from snarkcuda.errors import DeviceError, MismatchError
from snarkcuda.jit import CACHE_VARIABLE, cache_directory

T = TypeVar("T")


@dataclass(frozen=True)
class Duel:
    """What came of it: nanoseconds of a call on A and on B by pair, and which of them ran first."""

    case: Case
    sides: tuple[Side, Side]
    workers: tuple[dict[str, Any], dict[str, Any]]
    calls: int
    runs_ns: tuple[list[int], list[int]]
    a_first: list[bool]
    comparison: Comparison

    def as_dict(self) -> dict[str, Any]:
        """The record's part, ready for JSON."""
        entries = zip("ab", self.sides, self.workers, self.runs_ns, strict=True)
        return {
            "case": str(self.case),
            **{
                label: {"settings": list(side.settings), **worker, "runs_ns": runs}
                for label, side, worker, runs in entries
            },
            "calls_per_run": self.calls,
            "a_first": self.a_first,
            "a_over_b": self.comparison.ratio,
            "interval": [self.comparison.low, self.comparison.high],
            "p": self.comparison.p,
            "b_is": self.comparison.verdict,
        }


class Worker:
    """The process of one side, ready to time runs."""

    def __init__(self, label: str, process: subprocess.Popen[str], said: Any) -> None:
        self._label, self._process, self._said = label, process, said
        self.ready: dict[str, Any] = {}

    def start(self, case: Case, threads: int | None, root: Path) -> None:
        """Hand over the case and wait until it is warm."""
        asked = {"protocol": PROTOCOL, "case": case.as_dict(), "threads": threads}
        self.ready = self._ask(json.dumps(asked), _ready)
        if Path(self.ready["package"]).resolve() != root.resolve():
            raise DeviceError(
                f"side {self._label} loaded snarkcuda from {self.ready['package']}, not from {root}"
            )

    def run(self, calls: int) -> int:
        """One run: nanoseconds of a call."""
        return self._ask(str(calls), lambda message: max(1, int(message["ns"])))

    def _ask(self, line: str, wanted: Callable[[dict[str, Any]], T]) -> T:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            code = self._process.wait()
            self._said.seek(0)
            words = self._said.read().decode(errors="replace").strip()[-2000:]
            raise DeviceError(f"the worker of side {self._label} ended ({code}):\n{words}")
        try:
            message: dict[str, Any] = json.loads(answer)
            if "error" in message:
                error = message["error"]
                kind = DeviceError if error["exit_code"] == DeviceError.exit_code else MismatchError
                raise kind(f"side {self._label}: {error['message']}")
            return wanted(message)
        except (ValueError, KeyError, TypeError) as error:
            raise MismatchError(
                f"side {self._label} answers {answer[:80]!r}, which no bench worker does: its "
                "sources are not those of a snarkcuda with this bench"
            ) from error


def _ready(message: dict[str, Any]) -> dict[str, Any]:
    ready: dict[str, Any] = message["ready"]
    return {**ready, "package": str(ready["package"]), "call_ns": max(1, int(ready["call_ns"]))}


@contextmanager
def worker(label: str, side: Side, root: Path) -> Iterator[Worker]:
    """Start a side's process; it is killed when the block ends, however it ends."""
    # The working folder comes before PYTHONPATH, unless PYTHONSAFEPATH is set, and both before what
    # is installed.
    path = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))
    environment = {
        **os.environ,
        "PYTHONPATH": path,
        CACHE_VARIABLE: str(cache_directory()),  # a relative one would start at `root`
        **side.environment,
    }
    with TemporaryFile() as said:
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", "snarkcuda.bench.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
                errors="replace",
                cwd=root,
                env=environment,
                start_new_session=True,  # Ctrl-C is the parent's to hear
            )
        except OSError as error:
            raise DeviceError(
                f"the system refuses side {label} a process: {error.strerror or error}"
            ) from error
        try:
            yield Worker(label, process, said)
        finally:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                with suppress(BrokenPipeError):
                    pipe.close()


def duel(
    case: Case,
    sides: tuple[Side, Side],
    pairs: int,
    seed: int,
    progress: Callable[[str], None] = lambda stage: None,
) -> Duel:
    """Time a case on both sides, `pairs` times each, and compare.

    Args:
        case: what to time.
        sides: A and B.
        pairs: runs of each side.
        seed: of the order within each pair, and of the test.
        progress: told what happens.

    Raises:
        MismatchError, DeviceError: a side cannot do it, see `sides.sources` and `measure.opened`.
    """
    a_first = [i % 2 == 0 for i in range(pairs)]
    random.Random(seed).shuffle(a_first)
    with ExitStack() as stack:
        roots = [stack.enter_context(sources(side)) for side in sides]
        workers = []
        for label, side, root in zip("AB", sides, roots, strict=True):
            progress(f"{case}: warm up {label} ({side})")
            each = stack.enter_context(worker(label, side, root))
            each.start(case, side.threads, root)
            workers.append(each)
        runs: tuple[list[int], list[int]] = ([], [])
        calls = calls_of_a_run(min(each.ready["call_ns"] for each in workers))
        progress(f"{case}: {pairs} pairs of runs of {calls} calls")
        for first_is_a in a_first:
            for i in (0, 1) if first_is_a else (1, 0):
                runs[i].append(workers[i].run(calls))
        ready = workers[0].ready, workers[1].ready
    return Duel(case, sides, ready, calls, runs, a_first, compare_pairs(*runs, seed))


def record_of_duels(duels: Sequence[Duel], seed: int, threads: int) -> dict[str, Any]:
    """The record, ready for JSON; threads are those of sides that say nothing of theirs."""
    return {
        "format": "snarkcuda bench ab",
        "format_version": VERSION,
        **dated(threads),
        "seed": seed,
        "duels": [each.as_dict() for each in duels],
    }
