"""Devices by name, and what is said where there is none."""

import numpy as np
import pytest

from snarkcuda.errors import DeviceError
from snarkcuda.kernels.device import open_device
from snarkcuda.kernels.launch import device_kernel
from snarkcuda.kernels.target import cuda, simulated


@pytest.mark.parametrize(
    "name", ["", "gpu", "cuda:", "cuda:-1", "cuda:01", "cuda:x", "CUDA", "cuda:0 "]
)
def test_names_that_are_none(name) -> None:
    with pytest.raises(DeviceError, match="use cpu, cuda or cuda:N"):
        open_device(name)


def test_the_simulator_says_so(device) -> None:
    if simulated():
        assert str(open_device("cuda:5")) == "cuda:5 (simulator)"
    else:
        assert str(device).startswith("cuda:0 (NVIDIA")
        with pytest.raises(DeviceError, match=r"no device cuda:99; there are: cuda:0 \("):
            open_device("cuda:99")


@device_kernel("double", ("words", "i32"), max_threads=64)
def double(x, n) -> None:
    i = cuda.grid(1)
    if i < n:
        x[i] = x[i] + x[i]


def test_launches(device, arena, stream) -> None:
    host = np.arange(100, dtype=np.uint32)
    x = arena.upload(host, stream)
    began = stream.record()
    double.launch(stream, 13, 8, x, 100)
    ended = stream.record()
    ended.wait()
    assert ended.is_done() and ended.milliseconds_since(began) >= 0
    found = np.zeros_like(host)
    stream.download(x, found)
    assert np.array_equal(found, 2 * host)
    double.launch(stream, 0, 8, x, 100)  # no blocks: nothing
    stream.download(x, found)
    assert np.array_equal(found, 2 * host)
    arena.free(x, stream)


def test_graphs(device, arena, stream) -> None:
    """A graph runs nothing when it is captured, and all of it each time it is launched."""
    host = np.arange(64, dtype=np.uint32)
    x = arena.upload(host, stream)
    double.launch(stream, 8, 8, x, 64)  # loads the kernel

    def twice() -> None:
        double.launch(stream, 8, 8, x, 64)
        double.launch(stream, 8, 8, x, 64)

    graph = stream.captured(twice)
    for launches in range(3):
        found = np.zeros_like(host)
        stream.download(x, found)
        assert np.array_equal(found, 2 * 4**launches * host)
        graph.launch()
    graph.close()
    stream.synchronize()
    arena.free(x, stream)


def test_launches_that_cannot_be(device, arena, stream) -> None:
    x = arena.allocate(8, stream)
    with pytest.raises(ValueError, match="double takes 2 arguments and up to 64 threads, not 1"):
        double.launch(stream, 1, 8, x)
    with pytest.raises(ValueError, match="not 2 and 128"):
        double.launch(stream, 1, 128, x, 8)
    arena.free(x, stream)
