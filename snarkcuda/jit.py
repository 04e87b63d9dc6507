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

import ast
import hashlib
import logging
import os
import pickle
import stat
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import llvmlite
import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache, _CacheLocator
from numba.core.serialize import dumps
from numba.extending import intrinsic as numba_intrinsic
from numba.extending import register_jitable
from platformdirs import user_cache_path

from snarkcuda.errors import DeviceError

P = ParamSpec("P")
R = TypeVar("R")

logger = logging.getLogger(__name__)  # one line at level INFO for each kernel that is compiled

CACHE_VARIABLE = "SNARKCUDA_CACHE_DIR"
SUFFIX = ".kernel"


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
    """
    dispatcher = numba.njit(nogil=True, error_model="numpy")(function)
    dispatcher._cache = _kernel_cache(function)
    return cast("Callable[P, R]", dispatcher)


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
    except OSError as error:
        reason = error.strerror or error
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
        for path in sorted(cache_directory().glob(f"*{SUFFIX}")):
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
        for path in cache_directory().glob(f".*{SUFFIX}.tmp"):
            path.unlink(missing_ok=True)
    return deleted


# --- what a kernel depends on -----------------------------------------------------------------

_PACKAGE = __name__.partition(".")[0]
_STARTED = time.time_ns()


def _imports(source: str, module: str, is_package: bool) -> Iterator[str]:
    """Absolute names that a module imports from its package or ours: modules, or names in one."""
    package = module if is_package else module.rpartition(".")[0]
    roots = {module.partition(".")[0], _PACKAGE}
    for node in _statements(ast.parse(source).body):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: package.count(".") + 2 - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        else:
            continue
        yield from (name for name in names if name.partition(".")[0] in roots)


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement, nested ones too; expressions, most of a tree, hold no imports."""
    for statement in body:
        yield statement
        for inner in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from _statements(getattr(statement, inner, ()))


@cache
def _is_module(name: str) -> bool:
    """A module rather than a name in one. May import the packages above it, as their user did."""
    try:
        return name in sys.modules or find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _source_file(module: str) -> Path | None:
    """The .py file that a module was or will be loaded from."""
    loaded = sys.modules.get(module)
    origin = (
        getattr(loaded, "__file__", None) if loaded else getattr(find_spec(module), "origin", None)
    )
    return Path(origin) if origin and origin.endswith(".py") else None


@cache
def _read(module: str, path: Path, modified: int) -> tuple[bytes, tuple[str, ...]]:
    """Digest of a module's source and the modules that it imports; a newer file is read anew."""
    source = path.read_bytes()
    found = set(_imports(source.decode(), module, path.stem == "__init__"))
    # The package's own __init__ names the whole API; importing it is not depending on it.
    names = sorted(name for name in found if name != _PACKAGE and _is_module(name))
    return hashlib.sha256(source).digest(), tuple(names)


def source_digest(module: str) -> str | None:
    """Digest of a module and of all project modules that it imports, directly or not.

    None where that cannot be vouched for: a module without a source file (a notebook), or a file
    changed since the process began, which may or may not be what was loaded.
    """
    digests: dict[str, bytes] = {}
    queue = [module]
    while queue:
        name = queue.pop()
        if name in digests:
            continue
        path = _source_file(name)
        if path is None:
            return None
        modified = path.stat().st_mtime_ns
        if _STARTED <= modified <= time.time_ns():
            return None
        digests[name], imported = _read(name, path, modified)
        queue += imported
    parts = hashlib.sha256()
    for name in sorted(digests):
        parts.update(name.encode() + b"\0" + digests[name])
    return parts.hexdigest()


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


class _Entries:
    """The files of one kernel: digest of the payload, then numba's pickled machine code."""

    def __init__(self, directory: Path, function: Callable[..., Any], stamp: str) -> None:
        self._directory = directory
        self._name = f"{function.__module__}.{function.__qualname__}"
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
        self._fixed = repr((self._name, stamp, versions, settings)).encode()

    def _path(self, key: object) -> Path:
        digest = hashlib.sha256(self._fixed + repr(key).encode()).hexdigest()
        return self._directory / f"{self._name}-{digest[:32]}{SUFFIX}"

    def load(self, key: object) -> Any:
        """The unpickled entry, or None where there is none, or it is damaged or not ours."""
        data = b""
        with suppress(OSError), self._path(key).open("rb") as file:
            status = os.fstat(file.fileno())
            if is_private(status):
                data = file.read()
                # The last use, by which `_forget_old` goes; many systems do not keep it themselves.
                os.utime(file.fileno(), ns=(time.time_ns(), status.st_mtime_ns))
        if hashlib.sha256(data[32:]).digest() == data[:32]:
            try:
                return pickle.loads(data[32:])
            except Exception as error:  # whatever a foreign pickle raises
                logger.info("%s: %r", self._path(key), error)
        logger.info("compiling %s", self._name)
        return None

    def save(self, key: object, data: Any) -> None:
        """Write aside and rename, so that no reader ever sees half of an entry.

        A full disk costs the cache entry, not the proof.
        """
        payload = dumps(data)
        try:
            handle, temporary = tempfile.mkstemp(f"{SUFFIX}.tmp", ".", self._directory)
        except OSError:
            return
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(payload).digest() + payload)
            os.replace(temporary, self._path(key))
            self._forget_old()
        except OSError:
            Path(temporary).unlink(missing_ok=True)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise

    def _forget_old(self) -> None:
        """Drop this kernel's entries, of other sources or versions, unused for a month."""
        oldest = time.time() - 30 * 86_400
        for path in self._directory.glob(f"{self._name}-*{SUFFIX}"):
            with suppress(OSError):
                if path.stat().st_atime < oldest:
                    path.unlink()

    def flush(self) -> None:
        """Forget the kernel's entries (numba calls this on recompile)."""
        for path in self._directory.glob(f"{self._name}-*{SUFFIX}"):
            path.unlink(missing_ok=True)


class _Impl(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = [_Locator]  # noqa: RUF012 (numba reads it so)


class _Cache(FunctionCache):  # type: ignore[misc]
    _impl_class = _Impl

    def __init__(self, directory: Path, function: Callable[..., Any], stamp: str) -> None:
        super().__init__(function)
        self._cache_file = _Entries(directory, function, stamp)


@cache
def _is_usable(directory: Path) -> bool:
    problem = cache_problem(directory)
    if problem:
        warnings.warn(f"{problem}. Kernels compile anew in this process.", stacklevel=2)
    return problem is None


def _kernel_cache(function: Callable[..., Any]) -> Any:
    directory, stamp = cache_directory(), source_digest(function.__module__)
    if stamp is None or not _is_usable(directory):
        return NullCache()
    return _Cache(directory, function, stamp)
