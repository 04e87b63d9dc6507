"""A CUDA device, or the simulator in its place: streams, memory, launches.

`open_device("cuda:1")` gives one of

    CudaDevice         the driver, by cuda.bindings and cuda.core     kernels/device_cuda.py
    SimulatedDevice    numpy arrays and numba's simulator             kernels/device_simulated.py

Both are this module's `Device`. Nothing here is global: a device belongs to who opened it, streams
and memory to the device.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from snarkcuda.errors import DeviceError

if TYPE_CHECKING:
    from snarkcuda.kernels.launch import DeviceKernel

_NAME = re.compile(r"cuda(?::(0|[1-9]\d{0,3}))?")


@dataclass(frozen=True)
class DeviceArray:
    """Words in a device's memory.

    Attributes:
        buffer: the address of the first; in the simulator the numpy array itself.
        size: how many uint32.
        owner: the arena's block, where it is all of one.
    """

    buffer: Any
    size: int
    owner: Any = None

    @property
    def nbytes(self) -> int:
        """Four a word."""
        return 4 * self.size

    def part(self, first: int, size: int) -> DeviceArray:
        """`size` words from word `first` on, in the same memory."""
        if not 0 <= first <= first + size <= self.size:
            raise ValueError(f"words {first} … {first + size} of an array of {self.size}")
        if isinstance(self.buffer, np.ndarray):
            return DeviceArray(self.buffer[first : first + size], size)
        return DeviceArray(self.buffer + 4 * first, size)


class Event(ABC):
    """A moment on a stream."""

    @abstractmethod
    def is_done(self) -> bool:
        """Whether everything before it has ended."""

    @abstractmethod
    def wait(self) -> None:
        """Block until it is; raises `DeviceError` if something before it failed."""

    @abstractmethod
    def milliseconds_since(self, earlier: Event) -> float:
        """Time on the device between two events that are done."""


class Graph(ABC):
    """Launches that are asked for together, a microsecond each."""

    @abstractmethod
    def launch(self) -> None:
        """Ask for all of them again, on the stream that they were captured on."""

    @abstractmethod
    def close(self) -> None:
        """Forget it; what runs goes on."""


class Stream(ABC):
    """Work of a device in order."""

    device: Device

    @abstractmethod
    def launch(
        self, kernel: DeviceKernel, blocks: int, threads: int, arguments: Any, shared: int
    ) -> None:
        """See `DeviceKernel.launch`."""

    @abstractmethod
    def captured(self, work: Callable[[], None]) -> Graph:
        """What `work` launches on this stream, not run yet; it may launch and nothing else.

        Its kernels must have been launched before: loading one cannot be captured.
        """

    @abstractmethod
    def record(self) -> Event:
        """The moment at which all that was asked for so far is done."""

    @abstractmethod
    def wait_for(self, event: Event) -> None:
        """What is asked for from now on begins after the event, on whatever stream that is."""

    @abstractmethod
    def synchronize(self) -> None:
        """Block until the stream is idle; raises `DeviceError` if something on it failed."""

    def upload(self, host: NDArray[Any], to: DeviceArray) -> None:
        """Copy a C-contiguous array to the beginning of `to`; it may change when this returns."""
        self._upload(_bytes_of(host, to), to)

    def download(self, source: DeviceArray, to: NDArray[Any]) -> None:
        """Copy the beginning of `source` into a C-contiguous array, and wait for it."""
        self._download(source, _bytes_of(to, source))

    @abstractmethod
    def _upload(self, host: NDArray[np.uint8], to: DeviceArray) -> None: ...

    @abstractmethod
    def _download(self, source: DeviceArray, to: NDArray[np.uint8]) -> None: ...


def _bytes_of(host: NDArray[Any], there: DeviceArray) -> NDArray[np.uint8]:
    """The bytes of an array that is copied from or to a device.

    Raises:
        ValueError: they are more than the device's array, no whole words, or scattered.
    """
    if not host.flags.c_contiguous or host.nbytes % 4 or host.nbytes > there.nbytes:
        raise ValueError(
            f"{host.nbytes} bytes of shape {host.shape}, strides {host.strides}, and "
            f"{there.nbytes} on the device: copies are of C-contiguous words that fit"
        )
    return host.reshape(-1).view(np.uint8)


class Device(ABC):
    """One device.

    Attributes:
        label: "cuda:0", as it was asked for.
        name: "NVIDIA H200", or "simulator".
        architecture: compute capability.
        multiprocessors: how many.
    """

    label: str
    name: str
    architecture: tuple[int, int]
    multiprocessors: int

    def __str__(self) -> str:
        return f"{self.label} ({self.name})"

    @abstractmethod
    def stream(self) -> Stream:
        """A new stream."""

    @abstractmethod
    def allocate(self, n_bytes: int) -> Any | None:
        """A buffer that begins at a multiple of 256 bytes; None where there is no memory."""

    @abstractmethod
    def release(self, buffer: Any) -> None:
        """Give a buffer back; nothing may use it any more."""

    @abstractmethod
    def array(self, buffer: Any, size: int) -> DeviceArray:
        """`size` words in a buffer."""

    @abstractmethod
    def memory(self) -> tuple[int, int]:
        """Bytes that are free, and all of them."""

    @abstractmethod
    def close(self) -> None:
        """Wait for what runs and give back what the device keeps for itself."""


def open_device(name: str) -> Device:
    """Open "cuda", which is "cuda:0", or "cuda:N".

    Raises:
        DeviceError: there is no such device, no driver, no numba-cuda; the message says what to do.
    """
    found = _NAME.fullmatch(name)
    if found is None:
        raise DeviceError(f"{name!r} is no device: use cpu, cuda or cuda:N, N a device's number")
    from snarkcuda.kernels.target import simulated

    if simulated():
        from snarkcuda.kernels.device_simulated import SimulatedDevice

        return SimulatedDevice(name)
    from snarkcuda.kernels.device_cuda import CudaDevice

    return CudaDevice(int(found[1] or 0))
