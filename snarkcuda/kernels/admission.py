"""Which jobs may use a device's memory: those that fit side by side; the others wait their turn.

A job says how much it will take before it takes any. Jobs that took as they went could each hold
half of the memory, and wait for the other half.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_LOOK = 0.1  # seconds between looks at whether a waiting job has been cancelled


class Admission:
    """Room for jobs, in bytes; for any number of threads.

    Args:
        room: how much there is for all jobs; asked each time, as keys come and go.
    """

    def __init__(self, room: Callable[[], int]) -> None:
        self._room = room
        self._jobs: list[int] = []
        self._changed = threading.Condition()

    def enter(self, n_bytes: int, look: Callable[[], None] = lambda: None) -> None:
        """Wait until a job fits beside those that have entered; one alone always may try.

        Args:
            n_bytes: what it will take.
            look: called while waiting; raises to give up.
        """
        with self._changed:
            while not self._changed.wait_for(lambda: self._fits(n_bytes), _LOOK):
                look()
            self._jobs.append(n_bytes)

    def leave(self, n_bytes: int) -> None:
        """The job has given all of it back."""
        with self._changed:
            self._jobs.remove(n_bytes)
            self._changed.notify_all()

    def _fits(self, n_bytes: int) -> bool:
        return not self._jobs or sum(self._jobs) + n_bytes <= self._room()

    @contextmanager
    def entered(self, n_bytes: int) -> Iterator[None]:
        """`enter` and `leave` around a block of code."""
        self.enter(n_bytes)
        try:
            yield
        finally:
            self.leave(n_bytes)
