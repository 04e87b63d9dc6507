"""A GPU as a `Device`: the driver API, and cuda.core for launches."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snarkcuda.errors import DeviceError
from snarkcuda.kernels.compiling import compiled
from snarkcuda.kernels.device import Device, DeviceArray, Event, Graph, Stream
from snarkcuda.kernels.launch import DeviceKernel
from snarkcuda.kernels.target import INSTALL

try:
    from cuda.bindings import driver
    from cuda.core import Device as CoreDevice
    from cuda.core import EventOptions, LaunchConfig, ObjectCode, launch

    from snarkcuda.kernels.staging import StagingPool, check
except ImportError as error:
    raise DeviceError(f"CUDA needs cuda-core, which is not installed: {INSTALL}") from error


class CudaEvent(Event):
    """An event of a stream."""

    def __init__(self, event: Any) -> None:
        self.event = event

    def is_done(self) -> bool:
        """Whether everything before it has ended."""
        return bool(_raising("work on the device", lambda: self.event.is_done))

    def wait(self) -> None:
        """Block until it has."""
        _raising("waiting for the device", self.event.sync)

    def milliseconds_since(self, earlier: Event) -> float:
        """Time on the device between two events."""
        assert isinstance(earlier, CudaEvent)
        return float(_raising("the device's clock", lambda: self.event - earlier.event))


def _raising(what: str, call: Any, *arguments: Any) -> Any:
    """A call of cuda.core, its failure as a `DeviceError`."""
    try:
        return call(*arguments)
    except Exception as error:  # cuda.core's own class, private in some of its versions
        raise DeviceError(f"{what}: {error}") from error


class CudaGraph(Graph):
    """A graph of the driver, ready to be launched."""

    def __init__(self, handle: int, graph: Any, device: CudaDevice) -> None:
        self._handle, self._graph, self._device = handle, graph, device
        self._ready = check("making a graph", driver.cuGraphInstantiate(graph, 0))

    def launch(self) -> None:
        """Ask for all launches again."""
        self._device.make_current()
        check("launching a graph", driver.cuGraphLaunch(self._ready, self._handle))

    def close(self) -> None:
        """Forget it."""
        check("forgetting a graph", driver.cuGraphExecDestroy(self._ready))
        check("forgetting a graph", driver.cuGraphDestroy(self._graph))


class CudaStream(Stream):
    """A stream of a GPU."""

    def __init__(self, device: CudaDevice) -> None:
        self.device: CudaDevice = device
        self._stream = _raising(f"a stream on {device}", device.core.create_stream)
        self._handle = int(self._stream.handle)
        self._timed = EventOptions(timing_enabled=True)

    def launch(
        self, kernel: DeviceKernel, blocks: int, threads: int, arguments: Any, shared: int
    ) -> None:
        """See `DeviceKernel.launch`."""
        loaded = self.device.loaded(kernel)
        flat: list[int] = []
        for argument in arguments:
            if isinstance(argument, DeviceArray):
                # numba's array: meminfo, parent, items, bytes an item, data, shape, stride
                flat += (0, 0, argument.size, 4, argument.buffer, argument.size, 4)
            else:
                flat.append(int(argument))
        config = LaunchConfig(grid=blocks, block=threads, shmem_size=shared)
        self.device.make_current()
        _raising(f"{kernel.label} on {self.device}", launch, self._stream, config, loaded, *flat)

    def captured(self, work: Callable[[], None]) -> Graph:
        """What `work` launches on this stream, not run yet."""
        self.device.make_current()
        mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        check("capturing a stream", driver.cuStreamBeginCapture(self._handle, mode))
        try:
            work()
        except BaseException:  # a stream that captures can do nothing else
            _, graph = driver.cuStreamEndCapture(self._handle)
            driver.cuGraphDestroy(graph)
            raise
        graph = check("capturing a stream", driver.cuStreamEndCapture(self._handle))
        return CudaGraph(self._handle, graph, self.device)

    def record(self) -> Event:
        """The moment at which all that was asked for so far is done."""
        self.device.make_current()
        return CudaEvent(_raising("an event", lambda: self._stream.record(options=self._timed)))

    def wait_for(self, event: Event) -> None:
        """What is asked for from now on begins after the event."""
        assert isinstance(event, CudaEvent)
        _raising("an event", self._stream.wait, event.event)

    def synchronize(self) -> None:
        """Block until the stream is idle."""
        self.device.make_current()
        _raising(f"work on {self.device}", self._stream.sync)

    def _upload(self, host: NDArray[np.uint8], to: DeviceArray) -> None:
        self.device.make_current()
        with self.device.staging.borrowed() as buffers:
            buffers.upload(host, to.buffer, self._handle)

    def _download(self, source: DeviceArray, to: NDArray[np.uint8]) -> None:
        self.device.make_current()
        with self.device.staging.borrowed() as buffers:
            buffers.download(source.buffer, to, self._handle)


class CudaDevice(Device):
    """A GPU by its ordinal.

    Raises:
        DeviceError: no driver, no such device.
    """

    def __init__(self, ordinal: int) -> None:
        self.label = f"cuda:{ordinal}"
        self.core = _open(ordinal)
        self.make_current()
        self.name = str(self.core.name)
        capability = self.core.compute_capability
        self.architecture = (int(capability.major), int(capability.minor))
        self.multiprocessors = int(self.core.properties.multiprocessor_count)
        self._shared = int(self.core.properties.max_shared_memory_per_block_optin)
        self.staging = StagingPool()
        self._loading = threading.Lock()
        self._loaded: dict[DeviceKernel, Any] = {}

    def make_current(self) -> None:
        """CUDA has a device for each thread: every call from a new thread needs it."""
        self.core.set_current()

    def loaded(self, kernel: DeviceKernel) -> Any:
        """The kernel in the device's memory; compiled now if it never was."""
        if (found := self._loaded.get(kernel)) is not None:
            return found
        with self._loading:
            if (found := self._loaded.get(kernel)) is not None:
                return found
            cubin = compiled(kernel, self.architecture)
            self.make_current()
            try:
                found = ObjectCode.from_cubin(cubin.code).get_kernel(cubin.entry)
            except Exception as error:
                raise DeviceError(
                    f"{kernel.label} cannot be loaded on {self} ({error}): `snarkcuda doctor` says "
                    "whether the driver is older than the compiler"
                ) from error
            most = self._shared - cubin.shared
            attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            check(
                f"shared memory of {kernel.label}",
                driver.cuKernelSetAttribute(
                    attribute, most, int(found.handle), self.core.device_id
                ),
            )
            self._loaded[kernel] = found
            return found

    def stream(self) -> CudaStream:
        """A new stream."""
        self.make_current()
        return CudaStream(self)

    def allocate(self, n_bytes: int) -> Any | None:
        """An address, or None where there is no memory."""
        self.make_current()
        result = driver.cuMemAlloc(max(1, n_bytes))
        if result[0] == driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
            return None
        return int(check(f"allocating {n_bytes} bytes on {self}", result))

    def release(self, buffer: Any) -> None:
        """Give it back; waits for the device."""
        self.make_current()
        check(f"freeing memory on {self}", driver.cuMemFree(buffer))

    def array(self, buffer: Any, size: int) -> DeviceArray:
        """`size` words from an address on."""
        return DeviceArray(buffer, size)

    def memory(self) -> tuple[int, int]:
        """Bytes that are free, and all of them."""
        self.make_current()
        status, free, total = driver.cuMemGetInfo()
        check(f"the memory of {self}", (status, None))
        return int(free), int(total)

    def close(self) -> None:
        """Give the pinned buffers back."""
        self.make_current()
        self.staging.close()


def _open(ordinal: int) -> Any:
    """cuda.core's device, or the reason why there is none."""
    try:
        devices = CoreDevice.get_all_devices()
    except Exception as error:
        raise DeviceError(
            f"the CUDA driver does not start ({error}): see `snarkcuda doctor`; --device cpu needs "
            "no driver"
        ) from error
    if ordinal >= len(devices):
        there = ", ".join(f"cuda:{i} ({d.name})" for i, d in enumerate(devices)) or "none"
        raise DeviceError(f"there is no device cuda:{ordinal}; there are: {there}")
    return devices[ordinal]
