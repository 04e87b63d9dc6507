"""A command's first run compiles its kernels in several processes, as `snarkcuda warmup` does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from snarkcuda import jit
from snarkcuda.cli.report import Progress
from snarkcuda.cli.signals import KERNELS_ARE_KEPT, NOTHING_WRITTEN, if_interrupted
from snarkcuda.cli.words import say
from snarkcuda.errors import DeviceError
from snarkcuda.groth16.keys import ProvingKey
from snarkcuda.groth16.timeline import Timeline
from snarkcuda.warmup.parts import Part, parts_of_key_check
from snarkcuda.warmup.processes import Compiled, compile_parts, default_jobs
from snarkcuda.warmup.records import missing, remember


@contextmanager
def kernels_of(
    parts: Iterable[Part], threads: int | None, progress: Progress, timeline: Timeline
) -> Iterator[None]:
    """What is missing for the work in the block is compiled before, and remembered after it."""
    new = compile_missing(parts, threads, progress, timeline)
    yield
    remember(new)


def kernels_of_key_check(
    threads: int | None, progress: Progress, timeline: Timeline
) -> Callable[[ProvingKey], AbstractContextManager[None]]:
    """`kernels_of` the check of a key, for `read_checked_key`, which knows whether it is due."""
    from snarkcuda.cpu.msm_once import on_vectors  # `verify` does without its kernels

    def around(key: ProvingKey) -> AbstractContextManager[None]:
        parts = parts_of_key_check(key.curve, on_vectors(key.n_wires))
        return kernels_of(parts, threads, progress, timeline)

    return around


def compile_missing(
    parts: Iterable[Part], threads: int | None, progress: Progress, timeline: Timeline
) -> list[Part]:
    """Compile the parts that have no record, if several processes can: else whoever runs them does.

    Args:
        parts: what is about to be run.
        threads: how many processes, at most; by default all usable processors.
        progress: is told how far it is.
        timeline: receives the stage "compile kernels", if several processes have compiled any.

    Returns:
        The parts that had no record and can have one: `records.remember` them when they have run.
    """
    new = missing(parts)
    if not new or jit.cache_problem(jit.cache_directory()):
        return []
    if_interrupted(f"{NOTHING_WRITTEN}; {KERNELS_ARE_KEPT}")
    jobs = min(default_jobs(threads), len(new))
    if jobs < 2:
        return new
    whole, finished = sum(part.cost for part in new), 0.0

    def report(done: Compiled) -> None:
        nonlocal finished
        finished += done.part.cost

    fraction, progress.fraction = progress.fraction, lambda: finished / whole
    with timeline.stage("compile kernels", words=f"compile missing kernels, in {jobs} processes"):
        try:
            compile_parts(new, jobs, report)
        except DeviceError as error:
            say(f"note: {error}; compiling in one process")
    progress.fraction = fraction
    if_interrupted(NOTHING_WRITTEN)
    return new
