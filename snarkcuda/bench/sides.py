"""The sides of `bench ab`: settings as they are written, and the sources that they name.

    threads=N        worker threads
    env:NAME=VALUE   an environment variable
    tree=PATH        the sources of another checkout
    rev=REVISION     those of a revision of this checkout, unpacked into a temporary folder

A revision is unpacked by `git archive`, so that nothing is registered in the repository that an
interrupted run would leave behind.
"""

from __future__ import annotations

import re
import subprocess
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from snarkcuda.arguments import MAX_THREADS
from snarkcuda.bench.machine_line import ROOT
from snarkcuda.errors import DeviceError, MismatchError

FORMS = "threads=N, env:NAME=VALUE, tree=PATH, rev=REVISION"


@dataclass(frozen=True)
class Side:
    """One of the two: without settings, what runs now."""

    settings: tuple[str, ...] = ()
    threads: int | None = None
    environment: dict[str, str] = field(default_factory=dict)
    tree: str | None = None
    revision: str | None = None

    def __str__(self) -> str:
        return " ".join(self.settings) or "as it is"


def side_of(settings: Sequence[str], threads: int | None) -> Side:
    """Read settings; `threads` holds where they say nothing of it.

    Raises:
        ValueError: a setting that is none, threads that are not 1 to 4096, or two sources for
            one side.
    """
    environment: dict[str, str] = {}
    sources: dict[str, str] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if name == "threads" and equals:
            threads = _threads_of(setting, value)
        elif name.startswith("env:") and name != "env:" and equals:
            environment[name.removeprefix("env:")] = value
        elif name in ("tree", "rev") and value:
            sources[name] = value
        else:
            raise ValueError(f"{setting!r} is none of {FORMS}")
    if len(sources) > 1:
        raise ValueError("a side has one tree= or one rev=, not both")
    return Side(tuple(settings), threads, environment, sources.get("tree"), sources.get("rev"))


def _threads_of(setting: str, value: str) -> int:
    if not (re.fullmatch("[0-9]{1,9}", value) and 1 <= int(value) <= MAX_THREADS):
        raise ValueError(f"{setting!r}: threads must be a whole number from 1 to {MAX_THREADS}")
    return int(value)


@contextmanager
def sources(side: Side) -> Iterator[Path]:
    """The folder whose `snarkcuda` a side runs.

    Raises:
        MismatchError: there is no such tree or revision, or it is older than the bench.
        DeviceError: git is not there, or fails.
    """
    if side.revision is not None:
        with TemporaryDirectory(prefix="snarkcuda-bench-") as folder:
            _unpack(side.revision, Path(folder))
            yield _checked(Path(folder), f"rev={side.revision}")
    elif side.tree is not None:
        yield _checked(Path(side.tree).absolute(), f"tree={side.tree}")
    else:
        yield ROOT


def _checked(root: Path, setting: str) -> Path:
    if not (root / "snarkcuda" / "__init__.py").is_file():
        raise MismatchError(f"{setting} has no snarkcuda/__init__.py: name the root of a checkout")
    if not (root / "snarkcuda" / "bench" / "worker.py").is_file():
        raise MismatchError(
            f"{setting} has no snarkcuda/bench/worker.py, it is older than `bench ab`: make a "
            "checkout of it, copy this snarkcuda/bench there, and name it by tree="
        )
    return root


def _unpack(revision: str, folder: Path) -> None:
    if not (ROOT / ".git").exists():
        raise MismatchError(
            f"rev={revision}: snarkcuda runs from {ROOT}, which is no git checkout: install a "
            "clone in place (`pip install -e .`), or name a checkout of the revision by tree="
        )
    commit = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if commit is None:
        raise MismatchError(f"rev={revision}: git knows no such revision in {ROOT}")
    archive = folder / "sources.zip"
    if _git("archive", "--format=zip", f"--output={archive}", commit, "snarkcuda") is None:
        raise MismatchError(f"rev={revision} has no folder snarkcuda")
    with zipfile.ZipFile(archive) as files:
        files.extractall(folder)


def _git(*arguments: str) -> str | None:
    """What git says, None if it refuses."""
    try:
        done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True)
    except OSError as error:
        raise DeviceError(f"rev= needs git, and it cannot be run ({error.strerror})") from error
    return None if done.returncode else done.stdout.strip()
