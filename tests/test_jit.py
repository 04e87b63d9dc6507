"""The kernel cache: fresh after an edit two imports away, warm when nothing changed, never trusted.

Each test builds a small package (module c, imported by b, imported by a, whose kernel runs c's
formula) and runs it in child processes with a cache directory of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import snarkcuda
from snarkcuda import jit, sources

C = """
from snarkcuda.jit import formula

@formula
def step(x):
    return x + 1
"""
B = """
{imports}
from snarkcuda.jit import formula

@formula
def twice(x):
    return {step}({step}(x))
"""
A = """
import numba
from {b} import twice
from snarkcuda.jit import kernel

@kernel
def run(x):
    return twice(x)

@kernel
def other(x):
    return twice(x) + 1

@numba.njit(cache=True)
def plain(x):
    return twice(x)
"""
CHILD = """
import json, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from pkg.a import run, other, plain
    results = [run(10), other(10)] + ([plain(10)] if {plain} else [])
both = (run.stats, other.stats)
print(json.dumps({{
    "results": results,
    "hits": sum(sum(stats.cache_hits.values()) for stats in both),
    "misses": sum(sum(stats.cache_misses.values()) for stats in both),
    "warnings": [str(w.message) for w in caught if "kernel cache" in str(w.message)],
}}))
"""

SOURCE_ROOT = Path(snarkcuda.__file__).parents[1]


@dataclass
class Package:
    """A package in a folder, a cache directory, and children that run it."""

    root: Path

    @property
    def folder(self) -> Path:
        """Where the modules are."""
        return self.root / "pkg"

    @property
    def cache(self) -> Path:
        """The children's cache directory."""
        return self.root / "cache"

    def write(
        self, imports: str = "from .c import step", step: str = "step", b: str = ".b"
    ) -> None:
        """Write the three modules."""
        self.folder.mkdir()
        (self.folder / "__init__.py").write_text("")
        (self.folder / "c.py").write_text(C)
        (self.folder / "b.py").write_text(B.format(imports=imports, step=step))
        (self.folder / "a.py").write_text(A.format(b=b))

    def edit(self, old: str = "x + 1", new: str = "x + 7", name: str = "c.py") -> None:
        """Change one module."""
        path = self.folder / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def start(self, code: str = CHILD, plain: bool = False, **variables: str) -> Any:
        """A child process that runs the package."""
        project = Path(snarkcuda.__file__).parents[1]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(self.root), str(project)]),
            # A source edited twice within a second would meet a stale .pyc of Python's own.
            "PYTHONDONTWRITEBYTECODE": "1",
            "SNARKCUDA_CACHE_DIR": str(self.cache),
            "NUMBA_CACHE_DIR": str(self.root / "numba"),
            **variables,
        }
        return subprocess.Popen(
            [sys.executable, "-c", code.format(plain=plain)],
            cwd=self.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self, child: Any) -> Any:
        """What the child printed."""
        output, errors = child.communicate(timeout=300)
        assert child.returncode == 0, errors
        return json.loads(output)

    def run(self, plain: bool = False, **variables: str) -> Any:
        """Start and finish."""
        return self.finish(self.start(plain=plain, **variables))

    def entries(self) -> dict[str, int]:
        """Cache files and their times."""
        return {path.name: path.stat().st_mtime_ns for path in self.cache.iterdir()}


@pytest.fixture
def package(tmp_path: Path) -> Package:
    """The package with the plainest imports."""
    made = Package(tmp_path)
    made.write()
    return made


# --- freshness --------------------------------------------------------------------------------


def test_edit_two_imports_away_and_no_edit(package: Package) -> None:
    """A second run only loads; after an edit of c both kernels give the new result.

    numba's own cache sees only the kernel's file and gives the old one: the reason for ours.
    """
    first = package.run(plain=True)
    assert first == {"results": [12, 13, 12], "hits": 0, "misses": 2, "warnings": []}
    entries = package.entries()
    assert len(entries) == 2
    second = package.run(plain=True)
    assert second == {"results": [12, 13, 12], "hits": 2, "misses": 0, "warnings": []}
    assert package.entries() == entries
    package.edit()
    third = package.run(plain=True)
    assert third["results"][:2] == [24, 25]
    assert third["misses"] == 2
    assert third["results"][2] == 12, "numba's cache now sees edits of imported modules"
    package.edit("x + 7", "x + 1")
    assert package.run() == {"results": [12, 13], "hits": 2, "misses": 0, "warnings": []}


@pytest.mark.parametrize(
    "imports, step, b",
    [
        ("from . import c", "c.step", "pkg.b"),
        ("from pkg import c as renamed", "renamed.step", ".b"),
        ("try:\n    import pkg.c as c\nexcept ImportError:\n    pass", "c.step", "pkg.b"),
        ("from .inner import step", "step", ".b"),
    ],
    ids=["from . import", "from pkg import", "import in try", "through a package"],
)
def test_every_form_of_import(tmp_path: Path, imports: str, step: str, b: str) -> None:
    """Relative, absolute, renamed, nested in a statement, or through a package's __init__."""
    package = Package(tmp_path)
    package.write(imports, step, b)
    if "inner" in imports:
        inner = package.folder / "inner"
        inner.mkdir()
        (inner / "__init__.py").write_text("from ..c import step\n")
    assert package.run()["results"] == [12, 13]
    package.edit()
    assert package.run()["results"] == [24, 25]


def test_the_digest_covers_what_is_imported(package: Package, monkeypatch: Any) -> None:
    """And nothing else: a module that a does not import does not make its kernels stale."""
    monkeypatch.syspath_prepend(str(package.root))

    def digest() -> str:
        sources._is_module.cache_clear()
        monkeypatch.setattr(sources, "_STARTED", time.time_ns())
        result = sources.source_digest("pkg.a")
        assert result is not None
        return result

    first = digest()
    (package.folder / "d.py").write_text("x = 1\n")
    assert digest() == first
    package.edit("x + 1", "x + 2")
    second = digest()
    assert second != first
    package.edit("from snarkcuda.jit", "from .d import x\nfrom snarkcuda.jit", "c.py")
    third = digest()
    (package.folder / "d.py").write_text("x = 2\n")
    assert len({first, second, third, digest()}) == 4
    for name in ("pkg", "pkg.a"):
        sys.modules.pop(name, None)
    sources._is_module.cache_clear()


def test_a_file_edited_after_it_was_loaded_leaves_no_entry(package: Package) -> None:
    """Its digest would be the new source's, its code the old one's: poison for later processes."""
    code = (
        "import pathlib, pkg.c\n"
        "path = pathlib.Path(pkg.c.__file__)\n"
        "path.write_text(path.read_text().replace('x + 1', 'x + 100'))\n"
        "import pkg.a\n"
        "print(int(pkg.a.run(1)))"
    )
    package.finish(package.start(code))
    assert not list(package.cache.glob("pkg.a*"))


def test_reloaded_modules_run_their_new_code(package: Package) -> None:
    """As a notebook's autoreload does: edited, loaded again, and run in the same process."""
    code = (
        "import importlib, pathlib, pkg.a, pkg.b, pkg.c\n"
        "before = pkg.a.run(1)\n"
        "path = pathlib.Path(pkg.c.__file__)\n"
        "path.write_text(path.read_text().replace('x + 1', 'x + 100'))\n"
        "for module in (pkg.c, pkg.b, pkg.a): importlib.reload(module)\n"
        "print([int(x) for x in (before, pkg.a.run(1), pkg.a.run.py_func(1))])"
    )
    before, compiled, plain = package.finish(package.start(code))
    assert compiled == plain != before


@pytest.mark.parametrize("source", ["-c", "script"])
def test_kernels_without_a_source_file_run_uncached(
    tmp_path: Path, cache: Path, source: str
) -> None:
    """A notebook, `python -c`, a script that is not called .py: nothing vouches for their code."""
    code = "from snarkcuda.jit import kernel\n@kernel\ndef f(x): return x + {}\nprint(f(1))"
    for constant in (1, 5):
        text = code.format(constant)
        (tmp_path / "script").write_text(text)
        arguments = ["-c", text] if source == "-c" else [str(tmp_path / "script")]
        environment = {**os.environ, "PYTHONPATH": str(SOURCE_ROOT)}
        done = subprocess.run(
            [sys.executable, *arguments], env=environment, capture_output=True, text=True
        )
        assert done.stdout == f"{1 + constant}\n", done.stderr
    assert not list(cache.glob("*.kernel"))


CALLER = """
from snarkcuda.jit import kernel

@kernel
def inner(x):
    return x + 1

@kernel
def outer(x):
    return inner(x)
"""


def test_a_kernel_cannot_call_a_kernel(package: Package) -> None:
    """Whether the inner one is on disk or not: entries hold no code that could be linked."""
    (package.folder / "caller.py").write_text(CALLER)
    code = (
        "import json, numba.core.errors, pkg.caller\n"
        "pkg.caller.inner(1)\n"
        "try: pkg.caller.outer(1)\n"
        "except numba.core.errors.TypingError as error: print(json.dumps(str(error)))"
    )
    for _ in range(2):
        assert "mark the one that is called @formula" in package.finish(package.start(code))


def test_entries_that_others_can_write_are_not_unpickled(cache: Path) -> None:
    """The directory may have been open to others before its mode was mended."""
    assert jit.kernel(increment)(1) == 2
    (entry,) = jit.cache_entries()
    before = entry.stat().st_mtime_ns
    entry.chmod(0o666)
    assert jit.kernel(increment)(1) == 2  # compiled anew, and written anew
    assert entry.stat().st_mtime_ns != before
    assert entry.stat().st_mode & 0o022 == 0


def test_entries_unused_for_a_month_go(cache: Path) -> None:
    """When the same kernel is saved again, from another source, say."""
    run = jit.kernel(increment)
    assert run(1) == 2
    (entry,) = jit.cache_entries()
    os.utime(entry, (0, 0))
    assert run(1.5) == 2.5
    assert entry not in jit.cache_entries()
    assert len(jit.cache_entries()) == 1


def test_another_processor_has_its_own_entries(package: Package) -> None:
    """Code for the host's features must not run where NUMBA_CPU_NAME asks for plainer code."""
    package.run()
    host = package.entries()
    generic = package.run(NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="")
    assert generic == {"results": [12, 13], "hits": 0, "misses": 2, "warnings": []}
    assert len(package.entries()) == 4
    assert package.run()["hits"] == 2
    assert host.items() <= package.entries().items()


# --- the files --------------------------------------------------------------------------------

DAMAGE = """
import json, pathlib
from pkg.a import run
from snarkcuda.jit import cache_entries, kernel

def flip(place):
    def damage(data):
        data = bytearray(data)
        data[place] ^= 1
        return bytes(data)
    return damage

run(10)
(entry,) = cache_entries()
good = entry.read_bytes()
outcomes = []
end = 40 + int.from_bytes(good[32:40], "little")  # of what is loaded
for damage in (
    lambda data: data[: end // 2],
    lambda data: data[: end - 1],
    lambda data: data[:32],
    lambda data: data[:5],
    lambda data: b"",
    flip(0), flip(32), flip(39), flip(40), flip(end // 2), flip(end - 1),
    lambda data: data,
):
    entry.write_bytes(damage(good))
    again = kernel(run.py_func)
    result = again(10)
    stats = again.stats
    outcomes.append([result, len(stats.cache_hits), len(stats.cache_misses)])
    if outcomes[-1][1] == 0:
        assert kernel(run.py_func)(10) == result
        assert len(cache_entries()) == 1
print(json.dumps(outcomes))
"""


def test_damaged_entry_is_a_miss(package: Package) -> None:
    """What is loaded cut or with one bit flipped anywhere: compiled again, right, and mended."""
    outcomes = package.finish(package.start(DAMAGE.replace("{", "{{").replace("}", "}}")))
    assert outcomes == [[12, 0, 1]] * 11 + [[12, 1, 0]]


def test_two_processes_at_once(package: Package) -> None:
    """Both are right, and leave whole entries and no others."""
    children = [package.start() for _ in range(2)]
    for child in children:
        assert package.finish(child)["results"] == [12, 13]
    assert len(package.entries()) == 2
    assert package.run()["hits"] == 2
    assert not [name for name in package.entries() if not name.endswith(jit.SUFFIX)]


def test_read_only_package(package: Package) -> None:
    """Nothing is written beside the sources."""
    before = sorted(package.folder.rglob("*"))
    package.folder.chmod(0o555)
    try:
        assert package.run()["results"] == [12, 13]
        assert package.run()["hits"] == 2
    finally:
        package.folder.chmod(0o755)
    assert sorted(package.folder.rglob("*")) == before


def writable_by_others(directory: Path) -> None:
    directory.mkdir()
    directory.chmod(0o777)


def in_the_way(directory: Path) -> None:
    directory.write_text("a file")


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="1 case: no owners and modes here")
@pytest.mark.parametrize(
    "prepare, reason",
    [(writable_by_others, "others can write"), (in_the_way, "cannot be written")],
    ids=["writable by others", "not a directory"],
)
def test_unusable_directory(package: Package, prepare: Callable[[Path], None], reason: str) -> None:
    """One warning for both kernels, with the way out; right results; nothing written."""
    prepare(package.cache)
    done = package.run()
    assert done["results"] == [12, 13]
    (warning,) = done["warnings"]
    assert reason in warning
    assert str(package.cache) in warning
    assert "SNARKCUDA_CACHE_DIR" in warning
    assert package.cache.is_file() or not list(package.cache.iterdir())


# --- in this process --------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: Any) -> Path:
    """A cache directory for this test alone."""
    directory = tmp_path / "kernels" / "deep"
    monkeypatch.setenv(jit.CACHE_VARIABLE, str(directory))
    return directory


def increment(x: int) -> int:
    return x + 1


def test_directory_is_made_for_its_owner_alone(cache: Path) -> None:
    """Parents too; no problem then."""
    assert jit.cache_directory() == cache
    assert jit.cache_problem(jit.cache_directory()) is None
    assert cache.stat().st_mode & 0o077 == 0 or os.name == "nt"
    assert jit.cache_entries() == {}


def test_directory_of_another_user(cache: Path, monkeypatch: Any) -> None:
    """Its owner could have put code there."""
    cache.mkdir(parents=True)
    monkeypatch.setattr(os, "getuid", lambda: cache.stat().st_uid + 1, raising=False)
    problem = jit.cache_problem(jit.cache_directory())
    assert problem is not None
    assert "belongs to another user" in problem


def test_default_directory_is_the_users(monkeypatch: Any) -> None:
    """Unset and empty mean the same."""
    for value in (None, ""):
        if value is None:
            monkeypatch.delenv(jit.CACHE_VARIABLE, raising=False)
        else:
            monkeypatch.setenv(jit.CACHE_VARIABLE, value)
        assert jit.cache_directory().name.lower() == "snarkcuda"


def test_entries_and_clear(cache: Path) -> None:
    """They count and delete kernels only."""
    assert jit.clear_cache() == 0
    assert jit.cache_problem(jit.cache_directory()) is None
    run = jit.kernel(increment)
    assert run(1) == 2
    assert run(1.5) == 2.5
    assert len(jit.cache_entries()) == 2
    assert all(path.name.startswith(f"{__name__}.increment-") for path in jit.cache_entries())
    (cache / "notes.txt").write_text("mine")
    assert jit.clear_cache() == 2
    assert [path.name for path in cache.iterdir()] == ["notes.txt"]
    run.recompile()  # type: ignore[attr-defined]
    assert len(jit.cache_entries()) == 2


def test_full_disk_costs_only_the_entry(cache: Path, monkeypatch: Any) -> None:
    """The kernel runs; no temporary file is left."""

    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    run = jit.kernel(increment)
    monkeypatch.setattr(os, "replace", full)
    assert run(1) == 2
    assert list(cache.iterdir()) == []
    shutil.rmtree(cache)
    assert jit.kernel(increment)(1) == 2


def test_formula_stays_plain_python() -> None:
    """Called from Python it is the function itself."""
    assert jit.formula(increment) is increment


@pytest.mark.parametrize("setting", ["NUMBA_BOUNDSCHECK", "NUMBA_DEBUGINFO", "NUMBA_OPT"])
def test_settings_that_change_code_have_their_own_entries(package: Package, setting: str) -> None:
    """A run with bounds checks neither finds unchecked kernels nor leaves checked ones."""
    package.run()
    done = package.run(**{setting: "1"})
    assert done == {"results": [12, 13], "hits": 0, "misses": 2, "warnings": []}
    assert package.run()["hits"] == 2
