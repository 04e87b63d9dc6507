"""Copies between pageable memory and a GPU, through pinned buffers.

The driver's own copy of pageable memory uses one buffer and one core; here two take turns, so that
the GPU's copy of one overlaps with ours of the other. A pair serves one copy at a time; several
threads have several pairs, of which the pool keeps two.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import numpy as np
from cuda.bindings import driver
from numpy.typing import NDArray

from snarkcuda.errors import DeviceError

_SIZE = 1 << 25  # bytes of a pinned buffer
_KEPT = 2  # pairs

Bytes = NDArray[np.uint8]


def check(what: str, result: tuple[Any, ...]) -> Any:
    """The value of a driver call, or its failure as a `DeviceError`."""
    status, *values = result
    if status != driver.CUresult.CUDA_SUCCESS:
        _, name = driver.cuGetErrorString(status)
        words = name.decode() if isinstance(name, bytes) else str(status)
        raise DeviceError(f"{what}: CUDA says {words!r} ({status.name})")
    return values[0] if len(values) == 1 else None


class _Pinned:
    """A pinned buffer, and an event after which the device no longer uses it."""

    def __init__(self) -> None:
        self.address = int(check(f"pinning {_SIZE:,} bytes", driver.cuMemHostAlloc(_SIZE, 0)))
        flags = driver.CUevent_flags.CU_EVENT_DISABLE_TIMING
        try:
            self._event = check("an event", driver.cuEventCreate(flags))
        except BaseException:
            driver.cuMemFreeHost(self.address)
            raise
        self.bytes = np.ctypeslib.as_array((ctypes.c_uint8 * _SIZE).from_address(self.address))

    def used_on(self, stream: int) -> None:
        """What was asked of the stream so far uses it."""
        check("an event", driver.cuEventRecord(self._event, stream))

    def wait(self) -> None:
        """Block until it is free."""
        check("copying from or to the device", driver.cuEventSynchronize(self._event))

    def close(self) -> None:
        """Give it back once it is free."""
        with ExitStack() as rest:
            rest.callback(lambda: check("unpinning", driver.cuMemFreeHost(self.address)))
            rest.callback(lambda: check("an event", driver.cuEventDestroy(self._event)))
            self.wait()


class Pair:
    """Two pinned buffers that take turns."""

    def __init__(self) -> None:
        with ExitStack() as undo:
            self.buffers: list[_Pinned] = []
            for _ in range(2):
                self.buffers.append(pinned := _Pinned())
                undo.callback(pinned.close)
            undo.pop_all()

    def upload(self, host: Bytes, address: int, stream: int) -> None:
        """Copy to the device; the host's bytes may change when this returns."""
        for pinned, first, n in self._turns(len(host)):
            pinned.bytes[:n] = host[first : first + n]
            copy = driver.cuMemcpyHtoDAsync(address + first, pinned.address, n, stream)
            check("copying to the device", copy)
            pinned.used_on(stream)

    def download(self, address: int, host: Bytes, stream: int) -> None:
        """Copy from the device, and wait for it."""
        earlier: list[tuple[_Pinned, int, int]] = []
        for pinned, first, n in self._turns(len(host)):
            copy = driver.cuMemcpyDtoHAsync(pinned.address, address + first, n, stream)
            check("copying from the device", copy)
            pinned.used_on(stream)
            if earlier:
                _take(*earlier.pop(), host)
            earlier.append((pinned, first, n))
        for last in earlier:
            _take(*last, host)

    def _turns(self, size: int) -> Iterator[tuple[_Pinned, int, int]]:
        """The buffer, once it is free, the first byte and the bytes of each turn."""
        for turn, first in enumerate(range(0, size, _SIZE)):
            pinned = self.buffers[turn % 2]
            pinned.wait()
            yield pinned, first, min(_SIZE, size - first)

    def close(self) -> None:
        """Give both back."""
        with ExitStack() as both:
            for pinned in self.buffers:
                both.callback(pinned.close)


def _take(pinned: _Pinned, first: int, n: int, host: Bytes) -> None:
    pinned.wait()
    host[first : first + n] = pinned.bytes[:n]


class StagingPool:
    """The pairs of one device, whose context is current in whatever thread calls."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pairs: list[Pair] = []

    @contextmanager
    def borrowed(self) -> Iterator[Pair]:
        """A pair for one copy."""
        with self._lock:
            pair = self._pairs.pop() if self._pairs else None
        pair = pair or Pair()
        try:
            yield pair
        except BaseException:  # Ctrl-C too: the device may still use it, with no event to say so
            driver.cuCtxSynchronize()
            with suppress(DeviceError):  # the first failure is the one to tell
                pair.close()
            raise
        with self._lock:
            if keep := len(self._pairs) < _KEPT:
                self._pairs.append(pair)
        if not keep:
            pair.close()

    def close(self) -> None:
        """Give all back."""
        with self._lock, ExitStack() as rest:
            for pair in self._pairs:
                rest.callback(pair.close)
            self._pairs = []
