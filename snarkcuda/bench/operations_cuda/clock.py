"""Work on a stream, timed by the device's events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from snarkcuda.groth16.timeline import Stage
from snarkcuda.kernels.device import Device, Event, Stream, open_device
from snarkcuda.kernels.memory import Arena


@dataclass(frozen=True)
class Clocked:
    """What a call returned, how long the device took, and each part that was marked."""

    result: Any
    ns: int
    stages: tuple[Stage, ...] = ()


class Bench:
    """A device with a stream and memory of its own, for one subject."""

    def __init__(self, name: str) -> None:
        self.device: Device = open_device(name)
        self.stream: Stream = self.device.stream()
        self.arena = Arena(self.device)
        self.scope = self.arena.scope(self.stream)
        self._marks: list[tuple[str, Event]] = []

    def clocked(self, work: Callable[[], Any]) -> Clocked:
        """Run the work, which launches on the stream, and wait for it."""
        self._marks = [("", began := self.stream.record())]
        result = work()
        ended = self.stream.record()
        ended.wait()
        spans = pairwise(self._marks)
        stages = (
            Stage(name, a.milliseconds_since(began) / 1e3, b.milliseconds_since(a) / 1e3, 0)
            for (_, a), (name, b) in spans
        )
        return Clocked(result, round(1e6 * ended.milliseconds_since(began)), tuple(stages))

    def mark(self, name: str) -> None:
        """What the work has launched since the mark before, or its beginning, was this."""
        self._marks.append((name, self.stream.record()))

    def close(self) -> None:
        """Give the memory back."""
        self.arena.close()
        self.device.close()


def stages(clocked: Clocked) -> tuple[Stage, ...]:
    """`Subject.stages`."""
    return clocked.stages


def device_ns(clocked: Clocked) -> int:
    """`Subject.device_ns`."""
    return clocked.ns
