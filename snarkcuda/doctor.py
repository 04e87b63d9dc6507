"""What this machine offers snarkcuda, and what stands in the way, each with its remedy.

    examine() → findings: versions · kernels · processor · settings · cache · memory · CUDA

A doctor must not fall ill of what it looks for: nothing is imported here that may be broken (numba
is tried, never taken for granted), and what a system does not tell is "unknown". Nothing is
compiled and nothing changed, but that the directory of the kernel cache is made.
"""

from __future__ import annotations

import math
import operator
import os
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from snarkcuda import __version__, machine
from snarkcuda.errors import SnarkcudaError

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        name, value: the thing and what was found.
        problem, fix: what is wrong with it and what to do; both or neither.
        prevents_proving: the problem stands in the way of proofs on the CPU.
    """

    name: str
    value: str
    problem: str | None = None
    fix: str | None = None
    prevents_proving: bool = False


def examine() -> list[Finding]:
    """Every finding, in the order of the module's picture. Takes half a second, for numba."""
    return [
        Finding("snarkcuda", f"{__version__}, {Path(__file__).parent}"),
        *_versions(),
        _kernels(),
        *_processor(),
        *_settings(),
        *_cache(),
        _memory(),
        *_cuda(),
    ]


# --- versions -----------------------------------------------------------------------------------

_NEEDED = ["click", "llvmlite", "numba", "numpy", "platformdirs"]
_COMPARISONS = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _declared() -> tuple[str, list[str]] | None:
    """The Python and the packages that our metadata asks for: ">=3.10", ["numba<0.69,>=0.68"]."""
    try:
        ours = metadata.metadata("snarkcuda")
    except metadata.PackageNotFoundError:  # run from a folder, never installed
        return None
    return ours["Requires-Python"] or "", ours.get_all("Requires-Dist") or []


def _versions() -> Iterator[Finding]:
    """Outside a declared range nothing has been tested: that counts as preventing proofs."""
    python, packages = _declared() or ("", _NEEDED)
    found = platform.python_version()
    value = f"{found}, {platform.python_implementation()}, {platform.system()} {platform.machine()}"
    yield _judge("python", found, python, value, f"make an environment with Python {python}")
    if packages is _NEEDED:
        problem = "snarkcuda is not installed, so that nothing tells the versions that it needs"
        yield Finding("packages", "in the versions below", problem, "pip install .")
    for requirement in packages:
        parts = re.match(r"([\w.-]+)\s*\(?([^;)]*)", requirement)
        if parts is None or "extra ==" in requirement:
            continue
        name, wanted = parts[1], parts[2].strip()
        fix, version = f"pip install '{name}{wanted}'", _version(name)
        if version is None:
            yield Finding(name, "not installed", f"snarkcuda needs {name}", fix, True)
        else:
            yield _judge(name, version, wanted, version, fix)


def _judge(name: str, version: str, wanted: str, value: str, fix: str) -> Finding:
    if _fits(version, wanted):
        return Finding(name, value)
    problem = f"{name} {version} is not in the range that snarkcuda is tested with, {wanted}"
    return Finding(name, value, problem, fix, True)


def _fits(version: str, wanted: str) -> bool:
    """Whether "0.68.1" is in ">=0.68,<0.69"."""
    bounds = re.findall(r"([<>=!]=|[<>])\s*([\d.]+)", wanted)
    return all(_COMPARISONS[sign](*_padded(version, bound)) for sign, bound in bounds)


def _padded(*versions: str) -> list[list[int]]:
    """The leading numbers of each version, with zeros to one length."""
    numbers = [[int(n) for n in re.findall(r"\d+", re.split(r"[^\d.]", v)[0])] for v in versions]
    longest = max(map(len, numbers))
    return [parts + [0] * (longest - len(parts)) for parts in numbers]


# --- kernels ------------------------------------------------------------------------------------


def _kernels() -> Finding:
    """Whether numba and what we use of it can be imported."""
    set_here = [name for name in sorted(os.environ) if name.startswith("NUMBA_")]
    if not machine.compiler_survives():
        problem = "numba or LLVM ends the process for the processor that the environment names"
        fix = "unset NUMBA_CPU_NAME and NUMBA_CPU_FEATURES"
        return Finding("kernels", "cannot be compiled", problem, fix, True)
    for module in ("numba", "snarkcuda.jit"):
        try:
            import_module(module)
        except SnarkcudaError as error:
            fix = "unset NUMBA_DISABLE_JIT, and look for disable_jit in .numba_config.yaml"
            return Finding("kernels", "cannot be compiled", str(error), fix, True)
        except Exception as error:  # whatever a broken extension module raises
            problem = f"importing {module} fails: {type(error).__name__}: {error}"
            fix = "see the packages above; if none is at fault, reinstall numba and llvmlite"
            if set_here:
                fix = f"unset {', '.join(set_here)}, then {fix}"
            return Finding("kernels", "cannot be compiled", problem, fix, True)
    return Finding("kernels", "numba can be imported")


# --- processor ----------------------------------------------------------------------------------

_FEATURES = ("avx2", "bmi2", "adx", "avx512f", "avx512ifma", "neon", "sve")  # that matter to us


def _processor() -> Iterator[Finding]:
    yield Finding("processor", machine.processor_model() or UNKNOWN)
    yield _threads()
    value, target = UNKNOWN, machine.compile_target()
    if target is not None:
        name, features = target
        found = [feature for feature in _FEATURES if feature in features]
        value = f"{name}, with {', '.join(found) or 'none of ' + ', '.join(_FEATURES)}"
    yield Finding("compiled for", value)
    vectors = target is not None and set(target[1]) >= machine.IFMA
    path = "eight elements at a time, 52-bit limbs (AVX-512 IFMA)" if vectors else "one at a time"
    yield Finding("sums, transforms", f"{path}; all else in scalar 64-bit limbs")


def _threads() -> Finding:
    usable, quota = machine.usable_processors(), machine.processor_quota()
    value = f"{usable} of {os.cpu_count() or UNKNOWN}"
    if quota is None or quota >= usable:
        return Finding("processors", value)
    threads = max(1, min(usable, math.ceil(quota)))
    return Finding("processors", f"{value}, time for {quota:g}: {threads} threads by default")


# --- settings -----------------------------------------------------------------------------------

# What a variable does to kernels, and the value at which it does nothing. NUMBA_DISABLE_JIT is
# `_kernels`'s.
_HARMFUL = {
    "NUMBA_BOUNDSCHECK": ("0", "every index is checked: kernels are slow"),
    "NUMBA_CPU_FEATURES": ("", "kernels are compiled for these features, not this processor's"),
    "NUMBA_CPU_NAME": ("", "kernels are compiled for that processor, not for this one"),
    "NUMBA_DEBUGINFO": ("0", "kernels are compiled for a debugger, which makes them slow"),
    "NUMBA_ENABLE_AVX": ("1", "kernels do without AVX"),
    "NUMBA_OPT": ("3", "kernels are optimised in another way than measured, and may be slow"),
}
_WITHOUT_EFFECT = {
    "NUMBA_CACHE_DIR": "SNARKCUDA_CACHE_DIR moves the kernels",
    "NUMBA_NUM_THREADS": "--threads is the number of threads",
    "NUMBA_THREADING_LAYER": "threads are our own",
}


def _settings() -> Iterator[Finding]:
    for name, value in sorted(os.environ.items()):
        if name == "NUMBA_ENABLE_CUDASIM":
            simulator = value not in ("", "0")
            yield Finding(
                name, f"{value} (--device cuda is {'the simulator' if simulator else 'a GPU'})"
            )
            continue
        if name in _WITHOUT_EFFECT:
            yield Finding(name, f"{value} (no effect: {_WITHOUT_EFFECT[name]})")
        elif name in _HARMFUL and value not in ("", _HARMFUL[name][0]):
            yield Finding(name, value, _HARMFUL[name][1], f"unset {name}")
        elif name.startswith("NUMBA_"):
            yield Finding(name, value)


# --- cache and memory ---------------------------------------------------------------------------

_LEAST_FREE = 100_000_000  # bytes; the kernels of one version take less, for both curves


def _cache() -> Iterator[Finding]:
    try:
        jit: Any = import_module("snarkcuda.jit")
    except Exception:  # see `_kernels`
        yield Finding("kernel cache", UNKNOWN)
        return
    directory, entries = jit.cache_directory(), jit.cache_entries()
    value = f"{directory}: {len(entries)} kernels, {_megabytes(sum(entries.values()))}"
    problem, _, fix = (jit.cache_problem(directory) or "").rpartition("; ")
    if problem:
        problem += "; kernels are compiled anew in each process"
    yield Finding("kernel cache", value, problem or None, fix or None)

    value, free = "free on its disk", machine.free_bytes(directory)
    if free is None or free >= _LEAST_FREE:
        yield Finding(value, _megabytes(free))
        return
    problem = "there may be no room for compiled kernels"
    fix = f"free {_megabytes(_LEAST_FREE)}, or set {jit.CACHE_VARIABLE} to a folder elsewhere"
    yield Finding(value, _megabytes(free), problem, fix)


def _memory() -> Finding:
    found = machine.memory()
    value = f"{_megabytes(found.total)}, available {_megabytes(found.available)}"
    if found.limit is not None:
        value += f", the control group's limit {_megabytes(found.limit)}"
    return Finding("memory", value)


def _megabytes(n_bytes: int | None) -> str:
    return UNKNOWN if n_bytes is None else f"{n_bytes / 1e6:,.0f} MB"


# --- CUDA ---------------------------------------------------------------------------------------


def _cuda() -> Iterator[Finding]:
    yield Finding("CUDA", "--device cuda: rows and transforms; sums of points are the CPU's")
    yield _numba_cuda()
    toolkit = _toolkit()
    yield Finding("CUDA compiler", f"nvJitLink {toolkit}" if toolkit else "not installed")
    driver = machine.cuda_driver()
    if driver is None:
        yield Finding("CUDA driver", "none found")
        return
    value = f"for CUDA {driver.version}, devices: {', '.join(driver.devices) or 'none'}"
    if driver.error:
        problem = f"it does not start: cuInit gives error {driver.error}"
        fix = "see what nvidia-smi says; a container must be given the GPU when it is started"
        yield Finding("CUDA driver", value, problem, fix)
    elif toolkit and _padded(driver.version, toolkit)[0][0] < _padded(toolkit)[0][0]:
        problem = f"it is for CUDA {driver.version}, older than the compiler, {toolkit}"
        major = driver.version.partition(".")[0]
        fix = f"update the driver, or pip install 'numba-cuda[cu{major}]'"
        yield Finding("CUDA driver", value, problem, fix)
    else:
        yield Finding("CUDA driver", value)


def _toolkit() -> str | None:
    """The version of what makes machine code for a GPU: "13.5"."""
    try:
        nvjitlink: Any = import_module("cuda.bindings.nvjitlink")
        return ".".join(map(str, nvjitlink.version()))
    except Exception:  # whatever a library that is not there raises
        return None


def _numba_cuda() -> Finding:
    version, numpy = _version("numba-cuda"), _version("numpy")
    if version is None:
        return Finding("numba-cuda", "not installed")
    if numpy is not None and _fits(version, "<0.31") and _fits(numpy, ">=2.5"):
        problem = f"numba-cuda {version} fails with numpy {numpy}, which has no np.row_stack"
        return Finding("numba-cuda", version, problem, "pip install 'numpy<2.5'")
    return Finding("numba-cuda", version)
