"""The one place that wraps numba: `kernel` compiles, `formula` shares, the cache is right.

    @formula     plain Python that every element type can run: ints, bounds, njit, later CUDA
    @kernel      an njit function (releases the GIL) whose machine code is kept on disk

    @intrinsic   emits LLVM IR for a word that numba does not have

Why an own cache: numba looks only at the kernel's own file, so an edit of `curve/formulas.py` under
a cached kernel of `cpu/msm.py` would give the old result. Here a kernel is fresh only while the
digest of all project modules that its module imports, directly or not, is unchanged. Entries are
single files named by a digest of everything they depend on, so two processes can never swap each
other's code (numba's index file can), and a damaged file is a miss, not a crash.

The directory is `SNARKCUDA_CACHE_DIR`, or the user's cache directory; never the install, which may
be read-only. Numba unpickles what it finds, so a directory that somebody else owns or can write is
refused: kernels then compile anew in each process, with one warning that says why.

The classes subclass private API of numba.core.caching; pyproject caps numba for that reason, and
`tests/test_jit.py` edits a module two imports away.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import stat
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, TypeVar, cast

import llvmlite.binding
import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache, _CacheLocator
from numba.core.errors import TypingError
from numba.core.registry import cpu_target
from numba.core.runtime import _nrt_python
from numba.core.serialize import dumps
from numba.extending import intrinsic as numba_intrinsic
from numba.extending import register_jitable
from platformdirs import user_cache_path

from snarkcuda.errors import DeviceError
from snarkcuda.sources import source_digest

P = ParamSpec("P")
R = TypeVar("R")

logger = logging.getLogger(__name__)  # a kernel: INFO "compiling …", or DEBUG "loading …"

CACHE_VARIABLE = "SNARKCUDA_CACHE_DIR"
SUFFIX = ".kernel"
CUBIN_SUFFIX = ".cubin"  # of a GPU's kernels (`kernels/compiling.py`)
RECORD_SUFFIX = ".warm"  # of the records of `warmup/records.py`


if numba.config.DISABLE_JIT:
    raise DeviceError(
        "NUMBA_DISABLE_JIT is set, but kernels exist only compiled: unset it (formulas run as "
        "plain Python on the elements of snarkcuda.field.naive)"
    )


def formula(function: Callable[P, R]) -> Callable[P, R]:
    """Mark plain Python as callable from kernels; called from Python it stays plain Python."""
    return cast("Callable[P, R]", register_jitable(function))


def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """A word for kernels that emits LLVM IR; `function(typing_context, *types)`, as in numba."""
    return cast("Callable[..., Any]", numba_intrinsic(function))


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` with numba: GIL released, no bounds checks, cached on disk.

    The function must live at module level and take what it depends on as arguments (a field tag, a
    group tag, arrays): numba cannot cache closures, and never sees a global that is bound anew.
    Kernels are called from Python only; what they share is a `formula`.
    """
    dispatcher = numba.njit(nogil=True, error_model="numpy")(function)
    dispatcher._cache = _kernel_cache(function)
    dispatcher.get_call_template = _refuse_call
    return cast("Callable[P, R]", dispatcher)


def _refuse_call(*_: object) -> NoReturn:
    raise TypingError("a kernel cannot call a kernel: mark the one that is called @formula")


# --- where the cache lives --------------------------------------------------------------------


def cache_directory() -> Path:
    """Where compiled kernels are kept (it need not exist yet).

    Raises:
        DeviceError: the choice is a relative path, and the folder that it starts from is gone.
    """
    chosen = os.environ.get(CACHE_VARIABLE)
    try:
        if chosen:
            return Path(chosen).absolute()
        return user_cache_path("snarkcuda", appauthor=False).absolute()
    except RuntimeError:  # a container's user may have no home
        return Path(tempfile.gettempdir()) / f"snarkcuda-{os.getuid()}"
    except FileNotFoundError as error:
        raise DeviceError(
            "the working directory has been deleted: go to one that exists, or set "
            f"{CACHE_VARIABLE} to an absolute path"
        ) from error


def cache_problem(directory: Path) -> str | None:
    """Why a cache cannot be used, with the way out; None if it can. Creates the directory."""
    way_out = f"set {CACHE_VARIABLE} to a new directory that only you can write"
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = directory.stat()
        if hasattr(os, "getuid") and status.st_uid != os.getuid():
            return f"the kernel cache {directory} belongs to another user; {way_out}"
        if not is_private(status):
            return f"others can write the kernel cache {directory}; {way_out}"
        tempfile.TemporaryFile(dir=directory).close()
    except (OSError, ValueError, RecursionError) as error:  # \0 in a name, a thousand levels
        reason = getattr(error, "strerror", None) or error
        return f"the kernel cache {directory} cannot be written ({reason}); {way_out}"
    return None


def is_private(status: os.stat_result) -> bool:
    """Ours, and writable by nobody else: what is unpickled from it we wrote ourselves."""
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def cache_entries() -> dict[Path, int]:
    """The compiled kernels on disk with their sizes, whatever version of the project made them."""
    found = {}
    with suppress(OSError):  # a directory that we may not read
        paths = (
            p for suffix in (SUFFIX, CUBIN_SUFFIX) for p in cache_directory().glob(f"*{suffix}")
        )
        for path in sorted(paths):
            with suppress(OSError):  # another process may delete it
                status = path.stat()
                if stat.S_ISREG(status.st_mode):
                    found[path] = status.st_size
    return found


def clear_cache() -> int:
    """Delete every compiled kernel, half-written ones too; returns how many there were."""
    deleted = 0
    for path in cache_entries():
        with suppress(OSError):
            path.unlink()
            deleted += 1
    with suppress(OSError):
        for leftover in (f".*{SUFFIX}.tmp", f".*{CUBIN_SUFFIX}.tmp", f"*{RECORD_SUFFIX}"):
            for path in cache_directory().glob(leftover):
                path.unlink(missing_ok=True)
    return deleted


def read_entry(path: Path) -> bytes | None:
    """What `write_entry` was given, without the rest; None where it is damaged or not ours."""
    with suppress(OSError), path.open("rb") as file:
        status = os.fstat(file.fileno())
        if is_private(status):
            digest, size = file.read(32), file.read(8)
            payload = file.read(min(int.from_bytes(size, "little"), status.st_size))
            # The last use, by which old entries go; many systems do not keep it themselves.
            os.utime(file.fileno(), ns=(time.time_ns(), status.st_mtime_ns))
            if hashlib.sha256(size + payload).digest() == digest:
                return payload
    return None


def write_entry(path: Path, payload: bytes, rest: bytes = b"") -> None:
    """Write aside and rename, so that no reader ever sees half of an entry.

    A file: SHA-256 of what is loaded, its length (u64), the payload; after that what is not loaded.
    A full disk costs the entry, not the proof.
    """
    loaded = len(payload).to_bytes(8, "little") + payload
    try:
        handle, temporary = tempfile.mkstemp(f"{path.suffix}.tmp", ".", path.parent)
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(loaded).digest() + loaded + rest)
        os.replace(temporary, path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _forget_old(path)


def _forget_old(path: Path) -> None:
    """Drop the kernel's other entries, of other sources or versions, unused for a month."""
    oldest = time.time() - 30 * 86_400
    name = path.name.rpartition("-")[0]
    with suppress(OSError):
        for other in path.parent.glob(f"{name}-*{path.suffix}"):
            with suppress(OSError):
                if other.stat().st_atime < oldest:
                    other.unlink()


# --- numba's side -----------------------------------------------------------------------------


class _Locator(_CacheLocator):  # type: ignore[misc]
    """Tells numba where a kernel's entries are and what its freshness depends on."""

    def __init__(self, function: Callable[..., Any], source: str) -> None:
        self._py_file = source
        self._line = function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator:
        return cls(py_func, py_file)

    def ensure_cache_path(self) -> None:
        """Nothing: a directory that has gone costs the entry (`_Entries.save`), not the proof."""

    def get_cache_path(self) -> str:
        return str(cache_directory())

    def get_source_stamp(self) -> str:
        return ""  # part of the entry's name, see `_Entries`

    def get_disambiguator(self) -> str:
        return str(self._line)


def versions_and_settings() -> tuple[object, ...]:
    """What compiled code depends on besides its source and the processor."""
    versions = (numba.__version__, llvmlite.__version__, sys.version, sys.byteorder)
    # numba keys an entry by the processor, but not by settings that change the code it makes.
    config = numba.core.config
    settings = (
        config.BOUNDSCHECK,
        config.DEBUGINFO_DEFAULT,
        config.OPT,
        config.LOOP_VECTORIZE,
        config.SLP_VECTORIZE,
    )
    return versions, settings


def processor() -> tuple[str, ...]:
    """The processor that numba compiles for, with its features, as numba's keys have it."""
    target: tuple[str, ...] = cpu_target.target_context.codegen().magic_tuple()
    return target


class _Entries:
    """The files of one kernel: numba's pickle, and behind it the bitcode, at which tests look."""

    def __init__(self, directory: Path, function: Callable[..., Any], stamp: str) -> None:
        self._directory = directory
        self._name = f"{function.__module__}.{function.__qualname__}"
        self._fixed = repr((self._name, stamp, *versions_and_settings())).encode()

    def _path(self, key: object) -> Path:
        digest = hashlib.sha256(self._fixed + repr(key).encode()).hexdigest()
        return self._directory / f"{self._name}-{digest[:32]}{SUFFIX}"

    def load(self, key: object) -> Any:
        """The unpickled entry, or None where there is none, or it is damaged or not ours."""
        path = self._path(key)
        pickled = read_entry(path)
        if pickled is not None:
            try:
                found = pickle.loads(pickled)
                logger.debug("loading %s", path.stem)
                return found
            except Exception as error:  # whatever a foreign pickle raises
                logger.info("%s: %r", path, error)
        logger.info("compiling %s", path.stem)
        return None

    def bitcode(self, key: object) -> bytes:
        """The optimised LLVM module of an entry that is there."""
        data = self._path(key).read_bytes()
        return data[40 + int.from_bytes(data[32:40], "little") :]

    def save(self, key: object, data: Any) -> None:
        """Keep an entry."""
        entry, bitcode = data
        write_entry(self._path(key), dumps(entry), bitcode)

    def flush(self) -> None:
        """Forget the kernel's entries (numba calls this on recompile)."""
        for path in self._directory.glob(f"{self._name}-*{SUFFIX}"):
            path.unlink(missing_ok=True)


class _Impl(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = [_Locator]  # noqa: RUF012 (numba reads it so)

    def reduce(self, result: Any) -> Any:
        """Machine code, and the bitcode apart, which is there for other kernels to inline.

        None does (`kernel`), and it takes longer to parse than the machine code to load. numba
        looks into it for one name, the entry's.
        """
        (name, kind, (code, bitcode)), fndesc, *rest = super().reduce(result)
        entry = f'define void @"{fndesc.llvm_cpython_wrapper_name}"() {{ ret void }}'
        stub = llvmlite.binding.parse_assembly(entry).as_bitcode()
        return ((name, kind, (code, stub)), fndesc, *rest), bitcode


class _Cache(FunctionCache):  # type: ignore[misc]
    _impl_class = _Impl

    def __init__(self, directory: Path, function: Callable[..., Any], stamp: str) -> None:
        super().__init__(function)
        self._cache_file = _Entries(directory, function, stamp)

    def bitcode(self, signature: Any) -> bytes:
        """The LLVM module of a signature that has been compiled and kept."""
        key = self._index_key(signature, cpu_target.target_context.codegen())
        return self._cache_file.bitcode(key)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """As numba's, but the compiler's registries, a tenth of a second, load if it compiles."""
        _offer_runtime()
        return self._load_overload(signature, target)


@cache
def _offer_runtime() -> None:
    """Tell LLVM where the functions of numba's runtime are that loaded code calls."""
    for name, address in _nrt_python.c_helpers.items():
        symbol = name if name.startswith("_") else f"NRT_{name}"
        llvmlite.binding.add_symbol(symbol, address)


@cache
def is_usable(directory: Path) -> bool:
    """Whether the cache can be used; warns once of what prevents it."""
    problem = cache_problem(directory)
    if problem:
        warnings.warn(f"{problem}. Kernels compile anew in this process.", stacklevel=2)
    return problem is None


def _kernel_cache(function: Callable[..., Any]) -> Any:
    directory, stamp = cache_directory(), source_digest(function.__module__)
    if stamp is None or not is_usable(directory):
        return NullCache()
    return _Cache(directory, function, stamp)
