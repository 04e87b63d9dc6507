"""What a proof did when: named stages with their times and the bytes they read."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """One finished stage.

    Attributes:
        name: what was done, in the words of the paper.
        start: seconds since the timeline began.
        seconds: how long it took, wall time.
        n_bytes: bytes of input it read (0 where that says nothing).
    """

    name: str
    start: float
    seconds: float
    n_bytes: int


class Timeline:
    """Collects stages from any thread.

    Args:
        on_start: called with a stage's name, or other words, when it begins (progress reports).
    """

    def __init__(self, on_start: Callable[[str], None] | None = None) -> None:
        self._began = time.perf_counter()
        self._lock = threading.Lock()
        self._on_start = on_start
        self.stages: list[Stage] = []

    def announce(self, words: str) -> None:
        """Say that something begins."""
        if self._on_start is not None:
            self._on_start(words)

    def add(self, name: str, start: float, seconds: float, n_bytes: int) -> None:
        """Note a stage that another clock has timed."""
        with self._lock:
            self.stages.append(Stage(name, start, seconds, n_bytes))

    @contextmanager
    def stage(self, name: str, n_bytes: int = 0, words: str | None = None) -> Iterator[None]:
        """Time the block; a block that raises leaves no stage."""
        self.announce(words or name)
        start = time.perf_counter()
        yield
        end = time.perf_counter()
        self.add(name, start - self._began, end - start, n_bytes)
