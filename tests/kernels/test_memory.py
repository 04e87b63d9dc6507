"""The arena: budgets, reuse in the order of streams, failures; on a device that is all test."""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import dataclass, field

import numpy as np
import pytest

from snarkcuda.errors import DeviceError
from snarkcuda.kernels.device import Device, DeviceArray, Event, Stream
from snarkcuda.kernels.memory import Arena, block_size


@dataclass
class Moment(Event):
    """An event that a test ends by hand."""

    done: bool = False
    waited: int = 0

    def is_done(self) -> bool:
        return self.done

    def wait(self) -> None:
        self.done, self.waited = True, self.waited + 1

    def milliseconds_since(self, earlier: Event) -> float:
        return 0.0


class Queue(Stream):
    """A stream that only notes what it is asked for."""

    def __init__(self, device: Device) -> None:
        self.device, self.moments, self.waits = device, [], []

    def launch(self, *arguments: object) -> None:
        raise AssertionError("an arena launches nothing")

    def captured(self, work: object) -> None:
        raise AssertionError("an arena captures nothing")

    def record(self) -> Moment:
        if self.device.faulty:
            raise DeviceError("the device has failed")
        self.moments.append(Moment())
        return self.moments[-1]

    def wait_for(self, event: Event) -> None:
        self.waits.append(event)

    def synchronize(self) -> None:
        for moment in self.moments:
            moment.done = True

    def _upload(self, host, to) -> None:
        if self.device.faulty:
            raise DeviceError("the device has failed")

    def _download(self, source, to) -> None:
        pass


@dataclass
class Memory(Device):
    """A device with so many bytes, which can fail at any allocation."""

    total: int = 1 << 20
    fail_at: int = -1
    live: dict[int, int] = field(default_factory=dict)
    allocations: int = 0
    holds_pages: bool = False  # no allocation works while another lives
    faulty: bool = False  # as after an illegal address: every call fails
    label, name, architecture, multiprocessors = "cuda:3", "test", (9, 0), 1

    def stream(self) -> Queue:
        return Queue(self)

    def allocate(self, n_bytes: int) -> int | None:
        self.allocations += 1
        if self.holds_pages and self.live:
            return None
        if self.allocations == self.fail_at or sum(self.live.values()) + n_bytes > self.total:
            return None
        address = 4096 * self.allocations << 20
        self.live[address] = n_bytes
        return address

    def release(self, buffer: int) -> None:
        del self.live[buffer]
        if self.faulty:
            raise DeviceError("the device has failed")

    def array(self, buffer: int, size: int) -> DeviceArray:
        return DeviceArray(buffer, size)

    def memory(self) -> tuple[int, int]:
        return self.total - sum(self.live.values()), self.total

    def close(self) -> None:
        pass


def test_a_block_is_reused_on_its_stream_at_once() -> None:
    device = Memory()
    arena, stream = Arena(device), device.stream()
    first = arena.allocate(5000, stream)
    arena.free(first, stream)
    again = arena.allocate(4990, stream)  # of the same size class
    assert again.buffer == first.buffer and again.size == 4990
    assert not stream.waits and device.allocations == 1


def test_another_stream_waits_for_the_last_use() -> None:
    device = Memory()
    arena, one, other = Arena(device), device.stream(), device.stream()
    array = arena.allocate(5000, one)
    arena.free(array, one)
    taken = arena.allocate(5000, other)
    assert taken.buffer == array.buffer
    assert other.waits == one.moments and not one.moments[0].done, "waits on the device, not here"


def test_a_block_that_is_done_comes_before_one_that_is_not() -> None:
    device = Memory()
    arena, one, other = Arena(device), device.stream(), device.stream()
    busy, done = (arena.allocate(5000, one) for _ in range(2))
    arena.free(busy, one)
    arena.free(done, one)
    one.moments[1].done = True
    assert arena.allocate(5000, other).buffer == done.buffer


def test_blocks_of_another_size_are_given_back_when_memory_ends() -> None:
    device = Memory(total=1 << 16)
    arena, stream = Arena(device, 1 << 16), device.stream()
    small = [arena.allocate(2048, stream) for _ in range(4)]
    for array in small:
        arena.free(array, stream)
    large = arena.allocate(1 << 14, stream)  # all there is
    assert large.nbytes == 1 << 16 and list(device.live.values()) == [1 << 16]
    assert all(moment.waited == 1 for moment in stream.moments), "freed before its last use ended"


@pytest.mark.parametrize(
    "budget, total, words",
    [
        (1 << 15, 1 << 20, r"of a budget of 32,768: 0 are taken .* You can allow more"),
        (1 << 20, 1 << 15, r"of the device's: 0 are taken .* 32,768 are free\. You can end other"),
    ],
)
def test_more_than_there_is(budget, total, words) -> None:
    """The budget, or the device, is exceeded: both figures and the next step are named."""
    device = Memory(total=total)
    arena, stream = Arena(device), device.stream()
    arena.budget = budget
    rule = rf"cuda:3 \(test\) has no 65,536 bytes left {words}.*--device cpu"
    with pytest.raises(DeviceError, match=rule):
        arena.allocate(1 << 14, stream)
    assert not device.live
    assert arena.allocate(1000, stream).size == 1000, "the next one works"


def test_all_free_blocks_are_given_back_before_memory_is_said_to_end() -> None:
    """A driver may need many small blocks back for one large one: pages hold several."""
    device = Memory(total=1 << 17)
    arena, stream = Arena(device, 1 << 17), device.stream()
    arrays = [arena.allocate(1024, stream) for _ in range(16)]
    for array in arrays:
        arena.free(array, stream)
    device.holds_pages = True
    assert arena.allocate(4096, stream).size == 4096
    assert list(device.live.values()) == [1 << 14]


@pytest.mark.parametrize("fail_at", [1, 2, 3])
def test_each_allocation_fails_in_turn(fail_at) -> None:
    device = Memory(fail_at=fail_at)
    stream = device.stream()
    with Arena(device) as arena:
        for number in (1, 2, 3):
            if number == fail_at:
                with pytest.raises(DeviceError, match="has no"):
                    arena.allocate(5000 * number, stream)
            arena.allocate(5000 * number, stream)
    assert not device.live


def test_close_gives_everything_back() -> None:
    device = Memory()
    stream = device.stream()
    with Arena(device) as arena:
        arena.allocate(10_000, stream)
        arena.free(arena.allocate(3000, stream), stream)
        assert len(device.live) == 2
    assert not device.live


def test_sizes_lose_an_eighth_at_most() -> None:
    for n_bytes in (1, 4096, 4097, 100_000, 10**6, 10**9 + 1, 1 << 33):
        size = block_size(n_bytes)
        assert n_bytes <= size <= max(4096, n_bytes * 9 / 8 + 4096)
        assert block_size(size) == size


def test_threads_never_share_a_block() -> None:
    device = Memory(total=1 << 30)
    arena, problems = Arena(device), []
    held: set[int] = set()
    lock = threading.Lock()

    def work() -> None:
        stream = device.stream()
        for i in range(100):
            array = arena.allocate(1000 + 2000 * (i % 3), stream)
            with lock:
                if array.buffer in held:
                    problems.append(array.buffer)
                held.add(array.buffer)
                most.append(len(held))
            time.sleep(0)  # others run while it is held
            with lock:
                held.remove(array.buffer)
            arena.free(array, stream)

    most: list[int] = []
    threads = [threading.Thread(target=work) for _ in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # within `Arena.allocate` too
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not problems and max(most) > 1, "several hold blocks at a time"


def test_a_device_that_has_failed() -> None:
    """What raised first is what is told; whatever can be given back is."""
    device = Memory()
    arena, stream = Arena(device), device.stream()

    def work() -> None:
        with arena.scope(stream) as scope:
            for _ in range(3):
                scope.allocate(5000)
            device.faulty = True
            raise DeviceError("the first failure")

    with pytest.raises(DeviceError, match="the first failure"):
        work()
    device.faulty = False
    assert arena.allocate(5000, stream).buffer == 4096 * 4 << 20, "none of them is used again"
    device.faulty = True
    with pytest.raises(DeviceError, match="the device has failed"):
        arena.close()
    assert not device.live, "each was tried"


def test_an_upload_that_fails_takes_nothing() -> None:
    device = Memory()
    arena, stream = Arena(device), device.stream()
    with pytest.raises(ValueError, match="copies are of C-contiguous words that fit"):
        arena.upload(np.zeros(7, dtype=np.uint8), stream)
    assert not arena._used
    with arena.scope(stream) as scope:
        kept = scope.keep(scope.upload(np.zeros(100, dtype=np.uint32)))
        assert scope.nbytes == 0
    assert len(arena._used) == 1
    arena.free(kept, stream)
    arena.free(kept, stream)  # is given back, and stays so
    assert not arena._used and len(arena._free) == 1


def test_a_scope_outlives_its_arena() -> None:
    device = Memory()
    arena, stream = Arena(device), device.stream()
    with arena.scope(stream) as scope:
        scope.allocate(1000)
        arena.close()
    assert not device.live and not arena._free


def test_a_stream_that_cannot_wait_loses_no_block() -> None:
    device = Memory()
    arena, one, other = Arena(device), device.stream(), device.stream()
    arena.free(arena.allocate(5000, one), one)

    def wait_for(event: Event) -> None:
        raise DeviceError("cannot wait")

    other.wait_for = wait_for
    with pytest.raises(DeviceError, match="cannot wait"):
        arena.allocate(5000, other)
    arena.close()
    assert not device.live


def test_no_budget_is_more_than_the_device() -> None:
    assert Arena(Memory(), 1 << 40).budget == 1 << 20


@pytest.mark.parametrize(
    "host", [np.zeros(9, np.uint32), np.zeros((4, 4), np.uint32)[:, :2], np.zeros(5, np.uint8)]
)
def test_copies_of_what_does_not_fit(device, arena, scope, stream, host) -> None:
    there = scope.upload(np.arange(8, dtype=np.uint32))
    with pytest.raises(ValueError, match=r"and 32 on the device: copies are of"):
        stream.upload(host, there)
    with pytest.raises(ValueError, match=r"and 32 on the device: copies are of"):
        stream.download(there, host)


def test_parts() -> None:
    array = DeviceArray(1 << 20, 100)
    assert array.part(10, 90) == DeviceArray((1 << 20) + 40, 90)
    with pytest.raises(ValueError, match=r"words 10 … 101 of an array of 100"):
        array.part(10, 91)


def test_copies(device, arena, stream) -> None:
    """There and back: nothing, a word, more than the pinned buffers hold; read-only views too."""
    draw = np.random.default_rng(7)
    for n in (1, 1000, (1 << 14) + 1) if device.name == "simulator" else (1, 1000, 50_000_001):
        host = draw.integers(0, 1 << 32, n, dtype=np.uint32)
        host.flags.writeable = False
        array = arena.upload(host, stream)
        found = np.zeros_like(host)
        stream.download(array, found)
        assert np.array_equal(found, host)
        if n > 1000:
            stream.download(array.part(1000, n - 1000), found[1000:])
            assert np.array_equal(found, host)
        arena.free(array, stream)
