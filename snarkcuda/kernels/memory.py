"""`Arena`: a device's memory with a budget, reused in the order of streams.

Blocks come in sizes of an eighth of a power of two, so that a proof's buffers fit where those of
the one before were; a block that is given back waits in a list with the event that ends its last
use. It is taken again on the same stream at once, as the stream itself orders the two uses, and
on another stream after that event. Only when the budget or the device is exhausted are free blocks
given back to the driver, which waits for them.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snarkcuda.errors import DeviceError
from snarkcuda.kernels.device import Device, DeviceArray, Event, Stream

_SMALLEST = 1 << 12


@dataclass(eq=False)
class _Block:
    """Memory of the device: free if `event` says when its last use ends."""

    buffer: Any
    n_bytes: int
    stream: Stream | None = None
    event: Event | None = None


class Arena:
    """Allocates on one device, from any thread. Close it, or use it as a context manager.

    Args:
        device: whose memory.
        budget: bytes that may be taken at a time, no more than the device has; by default all that
            are free now but a sixteenth, which the driver and other programs need.
    """

    def __init__(self, device: Device, budget: int | None = None) -> None:
        self.device = device
        free, total = device.memory()
        self.budget = free * 15 // 16 if budget is None else min(budget, total)
        self._lock = threading.Lock()
        self._free: list[_Block] = []
        self._used: list[_Block] = []
        self._taken = 0
        self.peak = 0

    def allocate(self, size: int, stream: Stream) -> DeviceArray:
        """`size` words, not set, for use on a stream.

        Raises:
            DeviceError: more than the budget, or more than the device has left.
        """
        n_bytes = block_size(4 * size)
        with self._lock:
            block = self._reuse(n_bytes, stream) or self._new(n_bytes)
            self._used.append(block)
        return replace(self.device.array(block.buffer, size), owner=block)

    def upload(self, host: NDArray[Any], stream: Stream) -> DeviceArray:
        """A copy of an array whose bytes are a multiple of four."""
        with self.scope(stream) as scope:
            return scope.keep(scope.upload(host))

    def free(self, array: DeviceArray, stream: Stream) -> None:
        """Give an array back: the stream uses it until now, and nobody later.

        Raises nothing, so that an error on its way is not lost: where the stream has failed, its
        uses have no end, and the block waits for `close`; an array that was given back, by `close`
        too, stays so.
        """
        try:
            event = stream.record()
        except DeviceError:
            return
        with self._lock:
            block = array.owner
            if block not in self._used:
                return
            self._used.remove(block)
            block.stream, block.event = stream, event
            self._free.append(block)

    def scope(self, stream: Stream) -> Scope:
        """Arrays for a block of code, given back at its end, whatever that is."""
        return Scope(self, stream)

    def _reuse(self, n_bytes: int, stream: Stream) -> _Block | None:
        """A free block of this size: of the same stream, or done, or the first that will be."""
        fits = [block for block in self._free if block.n_bytes == n_bytes]
        if not fits:
            return None
        block = min(fits, key=lambda b: (b.stream is not stream, not _is_done(b)))
        if block.stream is not stream and block.event is not None:
            stream.wait_for(block.event)
        self._free.remove(block)
        block.event = block.stream = None
        return block

    def _new(self, n_bytes: int) -> _Block:
        while self._taken + n_bytes > self.budget:
            if not self._give_back():
                raise self._exhausted(
                    n_bytes, f"a budget of {self.budget:,}", "allow more (--gpu-mem)"
                )
        while (buffer := self.device.allocate(n_bytes)) is None:
            if not self._give_back():
                raise self._exhausted(n_bytes, "the device's", "end other programs on it")
        self._taken += n_bytes
        self.peak = max(self.peak, self._taken)
        return _Block(buffer, n_bytes)

    def _give_back(self) -> bool:
        """Return the block that was freed first to the driver; whether there was one."""
        if not self._free:
            return False
        block = self._free.pop(0)
        self._taken -= block.n_bytes
        self._release(block)
        return True

    def _release(self, block: _Block) -> None:
        try:
            if block.event is not None:
                block.event.wait()
        finally:
            self.device.release(block.buffer)

    def _exhausted(self, n_bytes: int, of_what: str, remedy: str) -> DeviceError:
        free, total = self.device.memory()
        return DeviceError(
            f"{self.device} has no {n_bytes:,} bytes left of {of_what}: {self._taken:,} are taken "
            f"here, and {free:,} of its {total:,} are free. You can {remedy}, use another device, "
            "or --device cpu"
        )

    def close(self) -> None:
        """Return everything to the driver; arrays still in use are lost.

        Raises:
            DeviceError: the device has failed; everything was tried.
        """
        with self._lock, ExitStack() as rest:
            for block in self._free + self._used:
                rest.callback(self._release, block)
            self._free, self._used, self._taken = [], [], 0

    def __enter__(self) -> Arena:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class Scope:
    """What is taken of an arena for one stream, and given back together.

    `with arena.scope(stream) as scope` for a block of code; whoever keeps a scope closes it.

    Attributes:
        arena: whose memory.
        stream: on which it is taken, and given back: what other streams do with it has ended then.
    """

    def __init__(self, arena: Arena, stream: Stream) -> None:
        self.arena, self.stream = arena, stream
        self._held: list[DeviceArray] = []

    @property
    def nbytes(self) -> int:
        """Of the blocks that are held."""
        return sum(block_size(array.nbytes) for array in self._held)

    def allocate(self, size: int) -> DeviceArray:
        """See `Arena.allocate`."""
        return self.adopt(self.arena.allocate(size, self.stream))

    def upload(self, host: NDArray[Any]) -> DeviceArray:
        """See `Arena.upload`."""
        array = self.allocate(host.nbytes // 4)
        self.stream.upload(np.ascontiguousarray(host), array)
        return array

    def adopt(self, array: DeviceArray) -> DeviceArray:
        """An array of the arena, given back with the others."""
        self._held.append(array)
        return array

    def keep(self, array: DeviceArray) -> DeviceArray:
        """The array, which outlives the block: whoever gets it gives it back."""
        self._held = [other for other in self._held if other is not array]
        return array

    def close(self) -> None:
        """Give everything back; raises nothing."""
        while self._held:  # several threads may: each array is given back by one
            with suppress(IndexError):
                self.arena.free(self._held.pop(), self.stream)

    def __enter__(self) -> Scope:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _is_done(block: _Block) -> bool:
    return block.event is None or block.event.is_done()


def block_size(n_bytes: int) -> int:
    """n_bytes, rounded up to an eighth of a power of two."""
    if n_bytes <= _SMALLEST:
        return _SMALLEST
    step = max(_SMALLEST, 1 << (n_bytes - 1).bit_length() >> 4)
    return -(-n_bytes // step) * step
