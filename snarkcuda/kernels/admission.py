"""Which jobs may use a device's memory: those that fit side by side; the others wait their turn.

A job says how much it will take before it takes any. Jobs that took as they went could each hold
half of the memory, and wait for the other half.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

_LOOK = 0.1  # seconds between looks at whether a waiting job has been cancelled


class Admission:
    """Room for keys and jobs, in bytes; for any number of threads.

    Args:
        budget: how much there is; asked each time.
    """

    def __init__(self, budget: Callable[[], int]) -> None:
        self._budget = budget
        self._kept = 0
        self._jobs: list[Entry] = []
        self._changed = threading.Condition()

    def room(self) -> int:
        """What keys leave."""
        with self._changed:
            return self._budget() - self._kept

    def keep(self, n_bytes: int) -> Entry:
        """A key has taken so much."""
        with self._changed:
            self._kept += n_bytes
        return Entry(self, n_bytes, is_key=True)

    def enter(self, n_bytes: int, look: Callable[[], None] = lambda: None) -> Entry:
        """Wait until a job fits beside those that have entered; one alone always may try.

        Args:
            n_bytes: what it will take.
            look: called while waiting; raises to give up.
        """
        with self._changed:
            while not self._changed.wait_for(lambda: self._fits(n_bytes), _LOOK):
                look()
            self._jobs.append(entry := Entry(self, n_bytes))
            return entry

    def _fits(self, n_bytes: int) -> bool:
        taken = self._kept + sum(job.n_bytes for job in self._jobs)
        return not self._jobs or taken + n_bytes <= self._budget()

    def _leave(self, entry: Entry) -> None:
        with self._changed:
            if entry.is_key:
                self._kept -= entry.n_bytes
            else:
                self._jobs.remove(entry)
            self._changed.notify_all()


class Entry:
    """What a key or a job has taken."""

    def __init__(self, admission: Admission, n_bytes: int, is_key: bool = False) -> None:
        self.n_bytes, self.is_key = n_bytes, is_key
        self._admission: Admission | None = admission
        self._lock = threading.Lock()

    def leave(self) -> None:
        """It has given all of it back; only the first call counts."""
        with self._lock:
            admission, self._admission = self._admission, None
        if admission is not None:
            admission._leave(self)
