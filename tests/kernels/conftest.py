"""Kernels run in numba's simulator, and with `-m gpu` the same tests run on a GPU."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM", "0") != "0"
# A platform for which numba-cuda does not exist; the `test` extra installs it elsewhere.
collect_ignore_glob = [] if find_spec("numba_cuda") else ["test_*.py"]


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not SIMULATED and "device" in getattr(item, "fixturenames", ()):
            item.add_marker("gpu")


@pytest.fixture(scope="session")
def device() -> Iterator[Any]:
    """The simulator, or the first GPU."""
    from snarkcuda.kernels.device import open_device

    device = open_device("cuda")
    yield device
    device.close()


@pytest.fixture(scope="session")
def arena(device: Any) -> Iterator[Any]:
    from snarkcuda.kernels.memory import Arena

    with Arena(device) as arena:
        yield arena


@pytest.fixture
def stream(device: Any) -> Any:
    return device.stream()


@pytest.fixture
def scope(arena: Any, stream: Any) -> Iterator[Any]:
    """What a test keeps on the device."""
    with arena.scope(stream) as scope:
        yield scope
