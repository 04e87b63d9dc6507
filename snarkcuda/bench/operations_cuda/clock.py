"""Work on a stream, timed by the device's events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from snarkcuda.kernels.device import Device, Stream, open_device
from snarkcuda.kernels.memory import Arena


@dataclass(frozen=True)
class Clocked:
    """What a call returned, and how long the device took."""

    result: Any
    ns: int


class Bench:
    """A device with a stream and memory of its own, for one subject."""

    def __init__(self, name: str) -> None:
        self.device: Device = open_device(name)
        self.stream: Stream = self.device.stream()
        self.arena = Arena(self.device)
        self.scope = self.arena.scope(self.stream)

    def clocked(self, work: Callable[[], Any]) -> Clocked:
        """Run the work, which launches on the stream, and wait for it."""
        began = self.stream.record()
        result = work()
        ended = self.stream.record()
        ended.wait()
        return Clocked(result, round(1e6 * ended.milliseconds_since(began)))

    def close(self) -> None:
        """Give the memory back."""
        self.arena.close()
        self.device.close()


def device_ns(clocked: Clocked) -> int:
    """`Subject.device_ns`."""
    return clocked.ns
