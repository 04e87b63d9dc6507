"""numba's CUDA simulator as a `Device`: memory is numpy's, and all is done when a call returns."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snarkcuda.kernels.device import Device, DeviceArray, Event, Graph, Stream
from snarkcuda.kernels.launch import DeviceKernel
from snarkcuda.kernels.target import cuda

# The simulator keeps the kernel that runs in a global, and asserts that there is one at a time.
_ONE_AT_A_TIME = threading.Lock()
_MEMORY = 1 << 32


class SimulatedEvent(Event):
    """A moment that has passed."""

    def __init__(self) -> None:
        self._at = time.perf_counter()

    def is_done(self) -> bool:
        """True."""
        return True

    def wait(self) -> None:
        """Nothing to wait for."""

    def milliseconds_since(self, earlier: Event) -> float:
        """Of the host's clock."""
        assert isinstance(earlier, SimulatedEvent)
        return 1e3 * (self._at - earlier._at)


class SimulatedGraph(Graph):
    """Work that is done when it is launched."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.launch = work  # type: ignore[method-assign]

    def launch(self) -> None:
        """Do it."""

    def close(self) -> None:
        """Nothing is kept."""


class SimulatedStream(Stream):
    """Runs what it is asked for before it returns."""

    def __init__(self, device: SimulatedDevice) -> None:
        self.device = device

    def launch(
        self, kernel: DeviceKernel, blocks: int, threads: int, arguments: Any, shared: int
    ) -> None:
        """See `DeviceKernel.launch`."""
        values = [a.buffer if isinstance(a, DeviceArray) else a for a in arguments]
        with _ONE_AT_A_TIME:
            cuda.jit(kernel.function)[blocks, threads, 0, shared](*values)

    def captured(self, work: Callable[[], None]) -> Graph:
        """The work itself, to be done over and over."""
        return SimulatedGraph(work)

    def record(self) -> Event:
        """Now."""
        return SimulatedEvent()

    def wait_for(self, event: Event) -> None:
        """Nothing to wait for."""

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def _upload(self, host: NDArray[np.uint8], to: DeviceArray) -> None:
        to.buffer.view(np.uint8)[: len(host)] = host

    def _download(self, source: DeviceArray, to: NDArray[np.uint8]) -> None:
        to[:] = source.buffer.view(np.uint8)[: len(to)]


class SimulatedDevice(Device):
    """The simulator, by whatever ordinal it is asked for."""

    name = "simulator"
    architecture = (9, 0)
    multiprocessors = 1

    def __init__(self, label: str) -> None:
        self.label = label

    def stream(self) -> SimulatedStream:
        """A new stream."""
        return SimulatedStream(self)

    def allocate(self, n_bytes: int) -> Any | None:
        """numpy's memory, filled with ones, so that a test sees who reads what nobody wrote."""
        return np.full(-(-n_bytes // 4), 0xFFFFFFFF, dtype=np.uint32)

    def release(self, buffer: Any) -> None:
        """Spoil it, so that a test sees who uses it still."""
        buffer[:] = 0xDEADBEEF

    def array(self, buffer: Any, size: int) -> DeviceArray:
        """`size` words in a buffer."""
        return DeviceArray(buffer[:size], size)

    def memory(self) -> tuple[int, int]:
        """Any figure will do."""
        return _MEMORY, _MEMORY

    def close(self) -> None:
        """Nothing is kept."""
