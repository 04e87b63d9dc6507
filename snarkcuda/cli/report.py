"""What a person sees while a proof is made, and the table of stages after it."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from snarkcuda.cli.words import say
from snarkcuda.groth16.timeline import Stage

if TYPE_CHECKING:
    from snarkcuda.cpu.pool import Pool


class Progress:
    """One line on stderr that says which stage runs, for how long, and how far it is.

    On a terminal the line is rewritten twice a second; elsewhere each stage prints a line of its
    own.

    Args:
        quiet: print nothing.
    """

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._terminal = sys.stderr is not None and sys.stderr.isatty()
        self._stage = ""
        self._began = time.monotonic()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True)
        self.fraction: Callable[[], float | None] = lambda: None

    def attend(self, pool: Pool) -> Callable[[float], None]:
        """Show what the pool counts, or else the share that the function returned is told."""
        told = 0.0

        def share(value: float) -> None:
            nonlocal told
            told = value

        self.fraction = lambda: pool.fraction() or (told if told < 1 else None)
        return share

    def __call__(self, stage: str) -> None:
        """A stage begins."""
        self._stage, self._began = stage, time.monotonic()
        if not self._quiet and not self._terminal:
            say(f"  {stage} …")

    def __enter__(self) -> Progress:
        if not self._quiet and self._terminal:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        if self._thread.is_alive():
            self._thread.join()
            say("\r\x1b[K", end="")

    def _tick(self) -> None:
        while not self._done.wait(0.5):
            fraction = self.fraction()
            share = "" if fraction is None else f", {fraction:.0%}"
            elapsed = time.monotonic() - self._began
            say(f"\r\x1b[K  {self._stage} … {elapsed:.0f} s{share}", end="")


def announce_compilation(quiet: bool) -> None:
    """Say once, when the first kernel is compiled rather than loaded, why this run is slow."""
    if quiet:
        return

    class Announce(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            logger.removeHandler(self)
            say("compiling kernels not yet kept: up to a minute for each curve and kind of work")

    logger = logging.getLogger("snarkcuda.jit")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(Announce())


def stage_table(stages: Sequence[Stage], total: float) -> str:
    """Stages with milliseconds, share of the total and bytes read; the rest is start-up."""
    known = sum(stage.seconds for stage in stages)
    rows = [Stage("start-up and waiting", 0.0, max(0.0, total - known), 0), *stages]
    width = max(len(stage.name) for stage in rows)
    lines = [f"{'stage':<{width}} {'ms':>10} {'share':>7} {'read':>10}"]
    for stage in rows:
        share = f"{100 * stage.seconds / total:.1f} %"
        n_bytes = f"{stage.n_bytes / 1e6:.2f} MB" if stage.n_bytes else ""
        name = f"{stage.name:<{width}}"
        lines.append(f"{name} {stage.seconds * 1e3:>10.1f} {share:>7} {n_bytes:>10}".rstrip())
    lines.append(f"{'total':<{width}} {total * 1e3:>10.1f}")
    return "\n".join(lines)


def stage_records(stages: Sequence[Stage]) -> list[dict[str, object]]:
    """Stages as `--json` prints them."""
    return [{"name": s.name, "seconds": s.seconds, "bytes": s.n_bytes} for s in stages]
