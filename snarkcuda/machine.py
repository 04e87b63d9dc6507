"""What the machine says about itself: processor, memory, CUDA driver. None is "it does not say".

Standard library only, so that it answers where numba is broken or missing; nothing is judged here
(see `doctor`). Control groups (containers) are read in both versions of the kernel's interface.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

IFMA = frozenset({"avx512f", "avx512ifma"})  # features that vectors of field elements need


def _read(path: str) -> str:
    """A small text file; "" if there is none."""
    try:
        return Path(path).read_text()
    except (OSError, ValueError):
        return ""


# --- processor ----------------------------------------------------------------------------------


def processor_model() -> str | None:
    """The processor's name."""
    match = re.search(r"^model name\s*:\s*(.+)$", _read("/proc/cpuinfo"), re.MULTILINE)
    if match:
        return match[1]
    if sys.platform == "darwin":
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=5).stdout.strip()
        except (OSError, subprocess.SubprocessError):
            pass
    return platform.processor() or platform.machine() or None


def usable_processors() -> int:
    """Processors that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def processor_quota() -> float | None:
    """How many processors' time the control group grants, None without a limit."""
    groups = _control_group("cpu", ["cpu.max"], ["cpu.cfs_quota_us", "cpu.cfs_period_us"])
    settings = [" ".join(texts).split() for texts in groups if all(texts)]
    shares = [int(quota) / int(period) for quota, period in settings if quota.isdigit()]
    return min(shares, default=None)


def compile_target() -> tuple[str, list[str]] | None:
    """LLVM's name of the processor that numba compiles for, and its features ("avx2").

    NUMBA_CPU_NAME and NUMBA_CPU_FEATURES are taken into account, as numba does; None where LLVM
    does not take them.
    """
    if not compiler_survives():
        return None
    try:
        codegen = import_module("numba.core.registry").cpu_target.target_context.codegen()
        _, name, features = codegen.magic_tuple()
    except Exception:  # numba is broken, or its private API has changed
        return None
    return name, [feature[1:] for feature in features.split(",") if feature.startswith("+")]


def compiler_survives() -> bool:
    """Whether LLVM takes NUMBA_CPU_NAME and NUMBA_CPU_FEATURES: it ends the process if not.

    So another process asks it, if one of them is set.
    """
    if not any(os.environ.get(name) for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")):
        return True
    command = [sys.executable, "-c", "import numba; numba.njit(lambda: 1)()"]
    try:
        return subprocess.run(command, capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


def _control_group(controller: str, v2: list[str], v1: list[str]) -> list[list[str]]:
    """The texts of files in our control group and in each above it that has the first of them.

    Args:
        controller: "cpu" or "memory".
        v2: the files in version 2 of the interface.
        v1: those in version 1.
    """
    found = []
    for line in _read("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        root = f"/sys/fs/cgroup/{controller}" if controllers else "/sys/fs/cgroup"
        group = PurePosixPath(path)
        # In a container the path may be the host's, of which only the root is to be seen.
        for folder in (group, *group.parents):
            texts = [_read(f"{root}{folder}/{name}") for name in (v1 if controllers else v2)]
            if texts[0]:
                found.append(texts)
    return found


# --- memory and disk ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Memory:
    """Bytes.

    Attributes:
        total: of the machine.
        available: for programs of our control group now, without swapping.
        limit: of our control group, used or not.
    """

    total: int | None
    available: int | None
    limit: int | None


def memory() -> Memory:
    """The machine's memory, and what of it our control group and those above it may take."""
    page, pages = _sysconf("SC_PAGE_SIZE"), _sysconf("SC_PHYS_PAGES")
    total = page * pages if page and pages else None
    free = [n * 1024 for n in _numbers("MemAvailable:", _read("/proc/meminfo"))]
    groups = _control_group(
        "memory",
        ["memory.max", "memory.current", "memory.stat"],
        ["memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat"],
    )
    limits = []
    for text, usage, stat in groups:
        # Version 1 writes "no limit" as a number of bytes that no machine has.
        if not text.strip().isdigit() or (total is not None and int(text) >= total):
            continue
        limits.append(int(text))
        # Cached files count as used until the kernel needs their pages, as in MemAvailable they
        # do not. In version 1 "total_" is with the groups below, as usage is.
        files = _numbers("total_inactive_file", stat) or _numbers("inactive_file", stat) or [0]
        used = max(0, int(usage or 0) - files[0])
        free.append(max(0, limits[-1] - used))
    return Memory(total, min(free, default=None), min(limits, default=None))


def _numbers(name: str, text: str) -> list[int]:
    """The numbers of the lines that are `name`, a number and perhaps a unit."""
    return [int(n) for n in re.findall(rf"^{name}\s*(\d+)", text, re.MULTILINE)]


def _sysconf(name: str) -> int | None:
    try:
        return os.sysconf(name)
    except (AttributeError, ValueError, OSError):
        return None


def free_bytes(folder: Path) -> int | None:
    """Room on the disk that holds `folder`."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


# --- CUDA ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CudaDriver:
    """The installed driver.

    Attributes:
        version: the newest CUDA that it runs, "12.4".
        error: cuInit's result, 0 if the driver works.
        devices: the names of its devices.
    """

    version: str
    error: int
    devices: list[str]


def cuda_driver() -> CudaDriver | None:
    """Asks the driver itself; no context is made, so that no memory of a device is taken."""
    cuda = _load_cuda()
    if cuda is None:
        return None
    number = ctypes.c_int()
    error = cuda.cuInit(0)
    cuda.cuDriverGetVersion(ctypes.byref(number))
    version = f"{number.value // 1000}.{number.value % 1000 // 10}"
    if error:
        return CudaDriver(version, error, [])
    cuda.cuDeviceGetCount(ctypes.byref(number))
    return CudaDriver(version, 0, [_device_name(cuda, i) for i in range(number.value)])


def _load_cuda() -> Any | None:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None


def _device_name(cuda: Any, index: int) -> str:
    device, name = ctypes.c_int(), ctypes.create_string_buffer(256)
    cuda.cuDeviceGet(ctypes.byref(device), index)
    cuda.cuDeviceGetName(name, len(name), device)
    return name.value.decode(errors="replace")
