"""Several processes that compile parts, each the costliest that is left."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass

from snarkcuda import jit
from snarkcuda.cpu.pool import available_threads, submit
from snarkcuda.errors import DeviceError
from snarkcuda.machine import memory
from snarkcuda.warmup.parts import Part
from snarkcuda.warmup.worker import DONE

_BYTES = 1 << 29  # of a process, measured
_GRACE = 0.3  # seconds to take away a half-written file
# Not -m, which would look for modules in the working directory first.
_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[1:]; from snarkcuda.warmup.worker import work; work()"
)


@dataclass(frozen=True)
class Compiled:
    """A part that is done: the kernels that were compiled and those that were there."""

    part: Part
    compiled: frozenset[str]
    loaded: frozenset[str]
    seconds: float


def default_jobs(limit: int | None = None) -> int:
    """Processes for the processors that we may use, or `limit` of them, and for the free memory."""
    jobs, free = limit or available_threads(), memory().available
    if free is not None:
        jobs = min(jobs, free // _BYTES)
    return max(1, jobs)


def compile_parts(
    parts: Iterable[Part], jobs: int, report: Callable[[Compiled], None] = lambda _: None
) -> list[Compiled]:
    """Compile the kernels of parts, at most `jobs` at a time; if it raises, no process is left.

    Args:
        parts: what to compile.
        jobs: how many processes.
        report: called for each part that is done, from any thread.

    Raises:
        DeviceError: the cache cannot be used, or a process ended early.
    """
    problem = jit.cache_problem(jit.cache_directory())
    if problem:
        raise DeviceError(f"{problem}: what is compiled could not be kept")
    queue = deque(sorted(parts, key=lambda part: -part.cost))
    done: list[Compiled] = []

    def compile_some(worker: _Worker) -> None:
        while True:
            try:
                part = queue.popleft()
            except IndexError:
                return
            done.append(worker.compile(part))
            report(done[-1])

    workers: list[_Worker] = []
    with ThreadPoolExecutor(max(1, jobs), thread_name_prefix="snarkcuda-warmup") as threads:
        try:
            workers += (_Worker() for _ in range(min(jobs, len(queue))))
            futures = [submit(threads, compile_some, worker) for worker in workers]
            for future in wait(futures, return_when=FIRST_EXCEPTION).done:
                future.result()
        finally:
            queue.clear()
            for worker in workers:
                worker.ask_to_end()
            until = time.monotonic() + _GRACE
            for worker in workers:
                worker.end(until)
    return done


class _Worker:
    """One process, `worker.work`."""

    def __init__(self) -> None:
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
        except OSError as error:
            raise DeviceError(
                f"the system refuses another process ({error.strerror or error}): ask for fewer"
            ) from error

    def compile(self, part: Part) -> Compiled:
        """Wait until it has compiled a part."""
        assert self._process.stdin is not None and self._process.stdout is not None
        began, words = time.perf_counter(), "none"
        kernels: dict[str, set[str]] = {"compiling": set(), "loading": set()}
        with suppress(BrokenPipeError, ValueError):  # it has ended, or is being ended: see below
            self._process.stdin.write(f"{part}\n")
            self._process.stdin.flush()
        for line in self._process.stdout:
            if line.strip() == DONE:
                seconds = time.perf_counter() - began
                compiled, loaded = map(frozenset, kernels.values())
                return Compiled(part, compiled, loaded, seconds)
            what, _, kernel = line.strip().partition(" ")
            if what in kernels:
                kernels[what].add(kernel)
            else:
                words = line.strip() or words
        code = self._process.wait()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        raise DeviceError(
            f"the process that compiled {part} ended early ({how}; its last words: {words}): "
            "if memory is short, try `snarkcuda warmup --jobs 1`"
        )

    def ask_to_end(self) -> None:
        """It does at once, unless it is in LLVM, where it writes no file."""
        self._process.terminate()
        # A signal that comes just before it waits for a line would be noticed only after the line.
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()

    def end(self, until: float) -> None:
        """Wait for that until a time, `time.monotonic`'s, and then end it."""
        try:
            self._process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
