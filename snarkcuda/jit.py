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
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import llvmlite
import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache, _CacheLocator
from numba.extending import intrinsic as numba_intrinsic
from numba.extending import register_jitable
from platformdirs import user_cache_path

P = ParamSpec("P")
R = TypeVar("R")

logger = logging.getLogger(__name__)  # one line at level INFO for each kernel that is compiled

CACHE_VARIABLE = "SNARKCUDA_CACHE_DIR"
SUFFIX = ".kernel"


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
    """Where compiled kernels are kept (it need not exist yet)."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen) if chosen else user_cache_path("snarkcuda", appauthor=False)


def cache_problem() -> str | None:
    """Why the cache cannot be used, with the way out; None if it can. Creates the directory."""
    directory = cache_directory()
    way_out = f"set {CACHE_VARIABLE} to a directory that only you can write"
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = directory.stat()
        if hasattr(os, "getuid"):
            if status.st_uid != os.getuid():
                return f"the kernel cache {directory} belongs to another user; {way_out}"
            if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                return f"others can write the kernel cache {directory}; chmod go-w it, or {way_out}"
        tempfile.TemporaryFile(dir=directory).close()
    except OSError as error:
        reason = error.strerror or error
        return f"the kernel cache {directory} cannot be written ({reason}); {way_out}"
    return None


def cache_entries() -> list[Path]:
    """The compiled kernels on disk, whatever version of the project they belong to."""
    return sorted(cache_directory().glob(f"*{SUFFIX}"))


def clear_cache() -> int:
    """Delete every compiled kernel; returns how many there were."""
    entries = cache_entries()
    for entry in entries:
        entry.unlink(missing_ok=True)
    return len(entries)


# --- what a kernel depends on -----------------------------------------------------------------

_PACKAGE = __name__.partition(".")[0]


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
def _module_file(module: str) -> Path | None:
    """The source file of a module, found without running it; None if there is no such module."""
    loaded = sys.modules.get(module)
    try:
        origin = loaded.__file__ if loaded else getattr(find_spec(module), "origin", None)
    except (ModuleNotFoundError, ValueError):  # a name in a module, not a module
        return None
    return Path(origin) if origin and origin.endswith(".py") else None


@cache
def _direct(module: str) -> tuple[bytes, tuple[str, ...]]:
    """Digest of a module's source and the project modules that it names in imports."""
    path = _module_file(module)
    source = path.read_bytes() if path else b""
    found = set(_imports(source.decode(), module, path is not None and path.stem == "__init__"))
    # The package's own __init__ names the whole API; importing it is not depending on it.
    names = sorted(n for n in found if n != _PACKAGE and _module_file(n) is not None)
    return hashlib.sha256(source).digest(), tuple(names)


def source_digest(module: str) -> str:
    """Digest of a module and of all project modules that it imports, directly or not."""
    seen = {module}
    queue = [module]
    while queue:
        for name in _direct(queue.pop())[1]:
            if name not in seen:
                seen.add(name)
                queue.append(name)
    parts = hashlib.sha256()
    for name in sorted(seen):
        parts.update(name.encode() + b"\0" + _direct(name)[0])
    return parts.hexdigest()


# --- numba's side -----------------------------------------------------------------------------


class _Locator(_CacheLocator):  # type: ignore[misc]
    """Tells numba where a kernel's entries are and what its freshness depends on."""

    def __init__(self, function: Callable[..., Any], source: str) -> None:
        self._py_file = source
        self._line = function.__code__.co_firstlineno
        self._stamp = source_digest(function.__module__)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator:
        return cls(py_func, py_file)

    def get_cache_path(self) -> str:
        return str(cache_directory())

    def get_source_stamp(self) -> str:
        return self._stamp

    def get_disambiguator(self) -> str:
        return str(self._line)


class _Entries:
    """The files of one kernel: digest of the payload, then numba's pickled machine code."""

    def __init__(self, function: Callable[..., Any], stamp: str) -> None:
        self._name = f"{function.__module__}.{function.__qualname__}"
        versions = (numba.__version__, llvmlite.__version__, sys.version, sys.byteorder)
        # numba keys an entry by the processor, but not by settings that change the code it makes.
        config = numba.core.config
        settings = (config.BOUNDSCHECK, config.OPT, config.LOOP_VECTORIZE, config.SLP_VECTORIZE)
        self._fixed = repr((self._name, stamp, versions, settings)).encode()

    def _path(self, key: object) -> Path:
        digest = hashlib.sha256(self._fixed + repr(key).encode()).hexdigest()
        return cache_directory() / f"{self._name}-{digest[:32]}{SUFFIX}"

    def load(self, key: object) -> Any:
        """The unpickled entry, or None where there is none or it is damaged."""
        try:
            data = self._path(key).read_bytes()
        except OSError:
            data = b""
        if hashlib.sha256(data[32:]).digest() != data[:32]:
            logger.info("compiling %s", self._name)
            return None
        return pickle.loads(data[32:])

    def save(self, key: object, data: Any) -> None:
        """Write aside and rename, so that no reader ever sees half of an entry.

        A full disk costs the cache entry, not the proof.
        """
        from numba.core.serialize import dumps

        payload = dumps(data)
        path = self._path(key)
        try:
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
        except OSError:
            return
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(payload).digest() + payload)
            os.replace(temporary, path)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise

    def flush(self) -> None:
        """Forget the kernel's entries (numba calls this on recompile)."""
        for path in cache_directory().glob(f"{self._name}-*{SUFFIX}"):
            path.unlink(missing_ok=True)


class _Impl(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = [_Locator]  # noqa: RUF012 (numba reads it so)


class _Cache(FunctionCache):  # type: ignore[misc]
    _impl_class = _Impl

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _Entries(function, self._impl.locator.get_source_stamp())


@cache
def _usable() -> bool:
    problem = cache_problem()
    if problem:
        warnings.warn(f"{problem}. Kernels compile anew in this process.", stacklevel=2)
    return problem is None


def _kernel_cache(function: Callable[..., Any]) -> Any:
    if not _usable():
        return NullCache()
    return _Cache(function)
