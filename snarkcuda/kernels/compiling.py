"""From a kernel's Python source to machine code for one architecture, without a GPU.

    numba-cuda, NVVM: PTX  ──▶  nvJitLink: cubin, with what ptxas says of it  ──▶  cubin cache

A cubin is kept in the directory of the CPU's kernels (`jit.cache_directory`), by the digest of all
that it depends on: the sources that the kernel's module imports, the kernel's label, signature and
bounds, the versions of the compilers and the architecture. numba-cuda's own cache looks at one file
only, and never finds a kernel that was made by a factory again.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from snarkcuda import jit
from snarkcuda.errors import DeviceError
from snarkcuda.kernels.target import INSTALL
from snarkcuda.sources import source_digest

if TYPE_CHECKING:
    from snarkcuda.kernels.launch import DeviceKernel

Architecture = tuple[int, int]  # compute capability: (9, 0) is sm_90
_INSTRUCTION = 16  # bytes, from compute capability 7.0 on


@dataclass(frozen=True)
class Cubin:
    """A compiled kernel.

    Attributes:
        code: the cubin, an ELF file.
        entry: the kernel's name in it.
        registers: of a thread.
        spilled: bytes of registers that a thread keeps in local memory, stores and loads.
        shared: bytes of static shared memory.
        instructions: with the padding at the end.
        floats: instructions of PTX on floating-point numbers: an integer of 64 bits met one of
            another sign, and numba made a float of both.
        seconds: numba and NVVM, then ptxas; of the compilation, also where it was long ago.
    """

    code: bytes
    entry: str
    registers: int
    spilled: int
    shared: int
    instructions: int
    floats: int
    seconds: tuple[float, float]


def compiled(kernel: DeviceKernel, architecture: Architecture, fresh: bool = False) -> Cubin:
    """The machine code of a kernel, from the cache, or compiled and kept there.

    Args:
        kernel: the kernel.
        architecture: compute capability.
        fresh: compile even if it is in the cache.

    Raises:
        DeviceError: NVVM or nvJitLink cannot be loaded, or the kernel does not compile.
    """
    path = _cache_path(kernel, architecture)
    if path is not None and not fresh and (payload := jit.read_entry(path)) is not None:
        jit.logger.debug("loading %s", kernel.label)
        head, _, code = payload.partition(b"\0")
        return Cubin(
            code=code, **{**(found := json.loads(head)), "seconds": tuple(found["seconds"])}
        )
    jit.logger.info("compiling %s", kernel.label)
    cubin = _compile(kernel, architecture)
    if path is not None:
        head = json.dumps({k: v for k, v in asdict(cubin).items() if k != "code"}).encode()
        jit.write_entry(path, head + b"\0" + cubin.code)
    return cubin


def ptx_of(kernel: DeviceKernel, architecture: Architecture) -> str:
    """A kernel's PTX, by numba-cuda and NVVM."""
    from numba.core.errors import NumbaError
    from numba.cuda import compiler, types
    from numba.cuda.cudadrv.error import NvvmError
    from numba.cuda.cudadrv.nvvm import NVVM, LibDevice

    kinds = {
        "words": types.Array(types.uint32, 1, "C"),
        "i32": types.int32,
        "i64": types.int64,
        "u32": types.uint32,
    }
    signature = types.void(*(kinds[kind] for kind in kernel.signature))
    with _libraries():
        NVVM()
        LibDevice()
    try:
        with _device_of(architecture):
            ptx, _ = compiler.compile(
                kernel.function,
                signature,
                device=False,
                abi="numba",
                cc=(*architecture, ""),
                output="ptx",
                launch_bounds=(kernel.max_threads, kernel.min_blocks),
            )
    except (NumbaError, NvvmError) as error:
        raise DeviceError(f"{kernel.label} does not compile: {error}") from error
    except RuntimeError as error:
        if "compute capability" not in str(error):
            raise
        raise DeviceError(f"{error}: see what the GPU has, or update the toolkit") from error
    return str(ptx)


@contextmanager
def _libraries() -> Iterator[None]:
    """A library of NVIDIA's that cannot be found as a `DeviceError`; each loads when it is used."""
    try:
        yield
    except (RuntimeError, OSError, ImportError) as error:  # cuda.pathfinder's, numba-cuda's
        words = (str(error) or repr(error)).splitlines()[0]
        raise DeviceError(
            "CUDA kernels cannot be compiled, as a library of the CUDA toolkit does not load "
            f"({words}): {INSTALL}, or set CUDA_HOME to a CUDA toolkit"
        ) from error


_COMPILING = threading.Lock()


@contextmanager
def _device_of(architecture: Architecture) -> Iterator[None]:
    """Tell numba-cuda what it compiles for: for a formula that a kernel calls it asks the GPU."""
    from numba.cuda import dispatcher

    with _COMPILING:
        ask = dispatcher.get_current_device
        dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=architecture)
        try:
            yield
        finally:
            dispatcher.get_current_device = ask


def _compile(kernel: DeviceKernel, architecture: Architecture) -> Cubin:
    began = time.perf_counter()
    ptx = ptx_of(kernel, architecture)
    translated = time.perf_counter()
    code, log = _link(ptx, architecture, kernel.label)
    ended = time.perf_counter()
    entry = re.search(r"\.entry\s+([\w$.]+)", ptx)
    registers = re.search(r"Used (\d+) registers", log)
    if entry is None or registers is None:
        raise DeviceError(f"{kernel.label}: nvJitLink says nothing of registers: {log[:200]!r}")
    spills = re.findall(r"(\d+) bytes spill", log)
    shared = re.search(r"(\d+) bytes smem", log)
    return Cubin(
        code=code,
        entry=entry[1],
        registers=int(registers[1]),
        spilled=sum(map(int, spills)),
        shared=int(shared[1]) if shared else 0,
        instructions=_code_bytes(code) // _INSTRUCTION,
        floats=len(re.findall(r"\.(?:b?f16|f32|f64)\b", ptx)),
        seconds=(round(translated - began, 3), round(ended - translated, 3)),
    )


def _link(ptx: str, architecture: Architecture, label: str) -> tuple[bytes, str]:
    """PTX to a cubin, and what ptxas says."""
    with _libraries():
        from cuda.bindings import nvjitlink

        nvjitlink.version()  # loads it

    options = [f"-arch=sm_{architecture[0]}{architecture[1]}", "-verbose"]
    text = ptx.encode()
    try:
        handle = nvjitlink.create(len(options), options)
    except nvjitlink.nvJitLinkError as error:
        toolkit = ".".join(map(str, nvjitlink.version()))
        raise DeviceError(
            f"nvJitLink {toolkit} knows no {options[0][6:]} ({error}): see what the GPU has, "
            "or update the toolkit"
        ) from error
    try:
        try:
            nvjitlink.add_data(handle, nvjitlink.InputType.PTX, text, len(text), label)
            nvjitlink.complete(handle)
        except nvjitlink.nvJitLinkError as error:
            log = bytearray(nvjitlink.get_error_log_size(handle))
            nvjitlink.get_error_log(handle, log)
            raise DeviceError(
                f"{label} does not compile to sm_{architecture[0]}{architecture[1]}: "
                f"{log.decode(errors='replace').strip(chr(0)).strip() or error}"
            ) from error
        log = bytearray(nvjitlink.get_info_log_size(handle))
        nvjitlink.get_info_log(handle, log)
        code = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, code)
    finally:
        nvjitlink.destroy(handle)
    return bytes(code), log.decode(errors="replace")


def _code_bytes(cubin: bytes) -> int:
    """Bytes of the sections ".text.…" of a 64-bit little-endian ELF file."""
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", cubin, 0x3A)
    sections = [struct.unpack_from("<IIQQQQ", cubin, table + i * size) for i in range(count)]
    names = sections[names_at][4]
    return sum(
        length for name, _, _, _, _, length in sections if cubin.startswith(b".text.", names + name)
    )


# --- the cache ----------------------------------------------------------------------------------


def _cache_path(kernel: DeviceKernel, architecture: Architecture) -> Path | None:
    """Where a kernel's cubin is kept; None where its sources cannot be vouched for."""
    directory = jit.cache_directory()
    stamp = source_digest(kernel.function.__module__)
    if stamp is None or not jit.is_usable(directory):
        return None
    parts: tuple[Any, ...] = (
        stamp,
        kernel.label,
        kernel.signature,
        kernel.max_threads,
        kernel.min_blocks,
        architecture,
        _versions(),
        jit.versions_and_settings(),
    )
    digest = hashlib.sha256(repr(parts).encode()).hexdigest()
    name = re.sub(r"\W+", "_", kernel.label).strip("_")
    return directory / f"{name}-{digest[:32]}{jit.CUBIN_SUFFIX}"


@cache
def _versions() -> tuple[object, ...]:
    """Of what compiles, NVVM and nvJitLink as they are loaded."""
    with _libraries():
        from cuda.bindings import nvjitlink
        from numba.cuda.cudadrv.nvvm import NVVM

        return version("numba-cuda"), NVVM().get_version(), nvjitlink.version()
