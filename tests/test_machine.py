"""What the machine says is read right, in each spelling, and its silence is no error."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from snarkcuda import machine
from snarkcuda.machine import CudaDriver, Memory


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The only small files that there are: fill it."""
    found: dict[str, str] = {}
    monkeypatch.setattr(machine, "_read", lambda path: found.get(path.replace("//", "/"), ""))
    return found


def test_a_file_that_is_not_there_is_empty(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    assert machine._read(str(tmp_path / "none")) == ""
    assert machine._read(str(tmp_path)) == ""
    assert machine._read(str(tmp_path / "binary")) == ""


def test_silent_system(files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither /proc nor sysconf nor a driver: None everywhere, and at least one processor."""

    def unknown(name: str) -> int:
        raise ValueError(name)

    monkeypatch.setattr(os, "sysconf", unknown)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr("platform.processor", lambda: "")
    monkeypatch.setattr("platform.machine", lambda: "")
    monkeypatch.setattr(machine, "_load_cuda", lambda: None)
    assert machine.memory() == Memory(None, None, None)
    assert machine.processor_model() is None
    assert machine.usable_processors() == 1
    assert machine.processor_quota() is None
    assert machine.cuda_driver() is None
    assert machine.free_bytes(Path("/no/such/folder")) is None


def test_processor_model(files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux on x86 names it; on macOS sysctl does, and if it fails the architecture is told."""
    files["/proc/cpuinfo"] = "processor\t: 0\nmodel name\t: One 9000\nmodel name\t: One 9000\n"
    assert machine.processor_model() == "One 9000"
    files.clear()
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr("platform.processor", lambda: "arm")

    def refuse(*arguments: object, **options: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr("subprocess.run", refuse)
    assert machine.processor_model() == "arm"


@pytest.mark.parametrize(
    ("texts", "quota"),
    [
        ({}, None),
        ({"/proc/self/cgroup": "0::/\n"}, None),
        ({"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
        ({"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "150000 100000\n"}, 1.5),
        (  # the narrowest of our group and those above it
            {
                "/proc/self/cgroup": "0::/a/b\n",
                "/sys/fs/cgroup/a/b/cpu.max": "max 100000\n",
                "/sys/fs/cgroup/a/cpu.max": "200000 100000\n",
                "/sys/fs/cgroup/cpu.max": "400000 100000\n",
            },
            2.0,
        ),
        (  # version 1, seen from a container: the path is the host's
            {
                "/proc/self/cgroup": "4:memory:/docker/1\n3:cpu,cpuacct:/docker/1\n",
                "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "50000\n",
                "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            0.5,
        ),
        (
            {
                "/proc/self/cgroup": "3:cpu:/\n",
                "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            None,
        ),
    ],
)
def test_processor_quota(files: dict[str, str], texts: dict[str, str], quota: float | None) -> None:
    files |= texts
    assert machine.processor_quota() == quota


def test_memory(files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit above the machine's memory, as version 1 writes "none", is no limit."""
    sizes = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1000}
    monkeypatch.setattr(os, "sysconf", sizes.__getitem__)
    files["/proc/meminfo"] = "MemTotal:  4000 kB\nMemAvailable:    3000 kB\n"
    files["/proc/self/cgroup"] = "0::/\n1:memory:/\n"
    files["/sys/fs/cgroup/memory/memory.limit_in_bytes"] = "9223372036854771712\n"
    assert machine.memory() == Memory(4_096_000, 3_072_000, None)
    files["/sys/fs/cgroup/memory.max"] = "1000000\n"
    assert machine.memory() == Memory(4_096_000, 1_000_000, 1_000_000)
    files["/sys/fs/cgroup/memory.max"] = "max\n"
    assert machine.memory() == Memory(4_096_000, 3_072_000, None)


V2 = {"/proc/self/cgroup": "0::/a/b\n"}
V1 = {"/proc/self/cgroup": "4:memory:/docker/1\n"}


@pytest.mark.parametrize(
    ("texts", "available"),
    [
        (  # what the group uses is gone
            V2
            | {"/sys/fs/cgroup/a/b/memory.max": "1000\n"}
            | {"/sys/fs/cgroup/a/b/memory.current": "700\n"},
            300,
        ),
        (  # but for files that were read; anon and active_file stay
            V2
            | {"/sys/fs/cgroup/a/b/memory.max": "1000\n"}
            | {"/sys/fs/cgroup/a/b/memory.current": "700\n"}
            | {"/sys/fs/cgroup/a/b/memory.stat": "anon 1\ninactive_file 250\nactive_file 50\n"},
            550,
        ),
        (  # a group above, which other groups fill, has less left, though its limit is higher
            V2
            | {"/sys/fs/cgroup/a/b/memory.max": "1000\n"}
            | {"/sys/fs/cgroup/a/b/memory.current": "100\n"}
            | {"/sys/fs/cgroup/a/memory.max": "2000\n"}
            | {"/sys/fs/cgroup/a/memory.current": "1950\n"},
            50,
        ),
        (  # the limit was lowered below what is used
            V2
            | {"/sys/fs/cgroup/a/b/memory.max": "1000\n"}
            | {"/sys/fs/cgroup/a/b/memory.current": "1200\n"},
            0,
        ),
        (  # no limit on the group, the parent's holds
            V2
            | {"/sys/fs/cgroup/a/b/memory.max": "max\n"}
            | {"/sys/fs/cgroup/a/b/memory.current": "900\n"}
            | {"/sys/fs/cgroup/a/memory.max": "1000\n"}
            | {"/sys/fs/cgroup/a/memory.current": "950\n"},
            50,
        ),
        (  # version 1; inactive_file is the group's alone, usage that of the groups below too
            V1
            | {"/sys/fs/cgroup/memory/memory.limit_in_bytes": "1000\n"}
            | {"/sys/fs/cgroup/memory/memory.usage_in_bytes": "900\n"}
            | {"/sys/fs/cgroup/memory/memory.stat": "inactive_file 5\ntotal_inactive_file 300\n"},
            400,
        ),
        (  # more files cached than used: counters are read one after the other
            V1
            | {"/sys/fs/cgroup/memory/memory.limit_in_bytes": "1000\n"}
            | {"/sys/fs/cgroup/memory/memory.usage_in_bytes": "100\n"}
            | {"/sys/fs/cgroup/memory/memory.stat": "total_inactive_file 300\n"},
            1000,
        ),
        (  # usage is not told
            V2 | {"/sys/fs/cgroup/a/b/memory.max": "1000\n"},
            1000,
        ),
        (  # the machine itself has less
            V2
            | {"/sys/fs/cgroup/a/b/memory.max": "1000000\n"}
            | {"/sys/fs/cgroup/a/b/memory.current": "0\n"},
            2048,
        ),
    ],
)
def test_available_memory(
    files: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    texts: dict[str, str],
    available: int,
) -> None:
    sizes = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1000}
    monkeypatch.setattr(os, "sysconf", sizes.__getitem__)
    files |= {"/proc/meminfo": "MemTotal: 4000 kB\nMemAvailable: 2 kB\n"} | texts
    assert machine.memory().available == available


class Driver:
    """Stands for libcuda: results are written through pointers, as there."""

    def __init__(self, error: int, names: list[bytes]) -> None:
        self.error, self.names = error, names

    def cuInit(self, flags: int) -> int:
        return self.error

    def cuDriverGetVersion(self, version: Any) -> int:
        version._obj.value = 12_040
        return 0

    def cuDeviceGetCount(self, count: Any) -> int:
        count._obj.value = len(self.names)
        return 0

    def cuDeviceGet(self, device: Any, index: int) -> int:
        device._obj.value = 7 + index
        return 0

    def cuDeviceGetName(self, name: Any, length: int, device: ctypes.c_int) -> int:
        name.value = self.names[device.value - 7][: length - 1]
        return 0


@pytest.mark.parametrize(
    ("driver", "expected"),
    [
        (Driver(0, [b"One", b"Two"]), CudaDriver("12.4", 0, ["One", "Two"])),
        (Driver(0, []), CudaDriver("12.4", 0, [])),
        (Driver(100, [b"One"]), CudaDriver("12.4", 100, [])),
    ],
)
def test_cuda_driver(driver: Driver, expected: CudaDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_load_cuda", lambda: driver)
    assert machine.cuda_driver() == expected


def test_compile_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM's own words; None when numba is broken."""
    name, features = machine.compile_target() or ("", [])
    assert name and "" not in features

    def broken(module: str) -> None:
        raise ImportError(module)

    monkeypatch.setattr(machine, "import_module", broken)
    assert machine.compile_target() is None
