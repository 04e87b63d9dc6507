"""Two workers from end to end, what a side's settings do, and how a side fails."""

from __future__ import annotations

import io
import json
import subprocess
from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import Any

import pytest

from snarkcuda.bench import sides as sides_module
from snarkcuda.bench.ab import duel, record_of_duels, worker
from snarkcuda.bench.case import Case
from snarkcuda.bench.machine_line import ROOT
from snarkcuda.bench.sides import Side, side_of, sources
from snarkcuda.bench.statistics import FASTER, NO_DIFFERENCE
from snarkcuda.bench.worker import PROTOCOL, serve
from snarkcuda.errors import DeviceError, MismatchError

CASE = Case("matvec", "bn254", 6, scalars="random")
PAIRS = 10

# An operation whose calls take as long as NS says, and which is right on THREADS threads.
FAKE = """
import os, time
from snarkcuda.bench.case import Subject
now = 0
time.perf_counter_ns = lambda: now
print("a print must not break the lines")

def subject(case, pool):
    def call():
        global now
        now += int(os.environ["NS"])
        return pool.threads
    return Subject(call, lambda threads: threads == int(os.environ["THREADS"]), "call", 1)
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Another checkout, in which matvec is `FAKE`."""
    ignored = ignore_patterns("__pycache__")
    copytree(ROOT / "snarkcuda", tmp_path / "tree" / "snarkcuda", ignore=ignored)
    (tmp_path / "tree/snarkcuda/bench/operations/matvec.py").write_text(FAKE)
    return tmp_path / "tree"


def test_identical_sides_are_no_different() -> None:
    side, told = side_of(["threads=1"], None), []
    found = duel(CASE, (side, side), PAIRS, 1, told.append)
    assert found.comparison.verdict == NO_DIFFERENCE
    assert [len(runs) for runs in found.runs_ns] == [PAIRS, PAIRS]
    assert min(map(min, found.runs_ns)) > 0
    assert sum(found.a_first) == PAIRS // 2
    stages = [words.partition(": ")[2] for words in told]
    assert stages[:2] == ["warm up A (threads=1)", "warm up B (threads=1)"]
    record = found.as_dict()
    assert record["a"]["package"] == record["b"]["package"] == str(ROOT)
    assert record["interval"][0] <= record["a_over_b"] <= record["interval"][1]


def test_settings_reach_their_side(tree: Path) -> None:
    """The tree's sources, each side's own environment and threads; the verdict is B's."""
    a = side_of([f"tree={tree}", "env:NS=3000000", "env:THREADS=1", "threads=1"], 2)
    b = side_of([f"tree={tree}", "env:NS=2000000", "env:THREADS=2"], 2)
    found = duel(CASE, (a, b), PAIRS, 5)
    assert found.runs_ns == ([3_000_000] * PAIRS, [2_000_000] * PAIRS)
    assert (found.comparison.ratio, found.comparison.verdict) == (1.5, FASTER)
    assert found.workers[1]["package"] == str(tree)
    again = duel(CASE, (b, b), PAIRS, 5)
    assert (again.comparison.ratio, again.comparison.verdict) == (1.0, NO_DIFFERENCE)
    assert again.a_first == found.a_first  # the seed's order
    record = json.loads(json.dumps(record_of_duels([found, again], 5, 2)))
    assert [each["b_is"] for each in record["duels"]] == [FASTER, NO_DIFFERENCE]
    assert record["duels"][0]["a"]["settings"] == list(a.settings)


def test_a_side_that_fails(tree: Path) -> None:
    """A wrong result, and an exception that is none of ours: which side it was, and why."""
    wrong = side_of([f"tree={tree}", "env:NS=1000", "env:THREADS=3"], 1)
    with pytest.raises(DeviceError, match=r"side B: matvec .* the result is WRONG"):
        duel(CASE, (Side(threads=1), wrong), PAIRS, 1)
    broken = side_of([f"tree={tree}"], 1)
    with pytest.raises(DeviceError, match=r"worker of side A ended \(1\):\n[\s\S]*KeyError: 'NS'"):
        duel(CASE, (broken, wrong), PAIRS, 1)


def test_lines(tree: Path) -> None:
    """The protocol as it stands in `worker`."""
    asked = {"protocol": PROTOCOL, "case": CASE.as_dict(), "threads": 1}
    answers = io.StringIO()
    serve(io.StringIO(f"{json.dumps(asked)}\n2\n1\n"), answers)
    ready, *runs = map(json.loads, answers.getvalue().splitlines())
    assert list(ready["ready"]) == ["first_ns", "call_ns", "package", "revision"]
    assert [list(run) for run in runs] == [["ns"], ["ns"]]
    asked["protocol"] = PROTOCOL + 1
    with pytest.raises(MismatchError, match=f"version {PROTOCOL} of the bench's lines"):
        serve(io.StringIO(json.dumps(asked)), io.StringIO())


@pytest.mark.parametrize(
    "settings",
    [["threads"], ["env:=1"], ["env:X"], ["tree="], ["rew=HEAD"]],
)
def test_what_is_no_setting(settings: list[str]) -> None:
    with pytest.raises(ValueError, match="is none of threads=N, env:NAME=VALUE"):
        side_of(settings, None)


@pytest.mark.parametrize("value", ["0", "-1", "two", "1.5", "", "4097", "9" * 12])
def test_what_is_no_number_of_threads(value: str) -> None:
    with pytest.raises(ValueError, match="threads must be a whole number from 1 to 4096"):
        side_of([f"threads={value}"], None)


def test_settings() -> None:
    side = side_of(["env:X=", "env:Y=a=b", "rev=v1"], 3)
    assert side == Side(side.settings, 3, {"X": "", "Y": "a=b"}, None, "v1")
    assert side_of(["threads=2"], 3).threads == 2
    assert str(Side()) == "as it is"
    with pytest.raises(ValueError, match="not both"):
        side_of(["rev=a", "tree=b"], None)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout whose HEAD has the bench and whose HEAD~1 has not; it is where we run from."""
    root = tmp_path / "repository"
    package = root / "snarkcuda"
    (package / "bench").mkdir(parents=True)

    def git(*words: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", root, *identity, *words], check=True, capture_output=True)

    git("init")
    for number, name in enumerate(("__init__.py", "bench/worker.py")):
        (package / name).write_text(f"# {number}")
        git("add", ".")
        git("commit", "-m", name)
    (package / "__init__.py").write_text("# not committed")
    monkeypatch.setattr(sides_module, "ROOT", root)
    return root


def test_revisions_are_unpacked_and_removed(repository: Path) -> None:
    with sources(Side(revision="HEAD")) as root:
        assert (root / "snarkcuda/bench/worker.py").read_text() == "# 1"
        assert (root / "snarkcuda/__init__.py").read_text() == "# 0"
    assert not root.exists()
    listed = subprocess.run(
        ["git", "-C", repository, "worktree", "list"], capture_output=True, text=True
    )
    assert len(listed.stdout.splitlines()) == 1


def test_sources_that_are_not_there(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(side: Side) -> Any:
        with pytest.raises(MismatchError) as error, sources(side):
            pass
        return str(error.value)

    old = refused(Side(revision="HEAD~1"))
    assert "rev=HEAD~1 has no snarkcuda/bench/worker.py" in old and "name it by tree=" in old
    assert "git knows no such revision" in refused(Side(revision="no-such"))
    assert "git knows no such revision" in refused(Side(revision="--all"))
    empty = f"tree={repository / 'snarkcuda'} has no snarkcuda/__init__.py"
    assert empty in refused(Side(tree=str(repository / "snarkcuda")))
    monkeypatch.setattr(sides_module, "ROOT", repository / "snarkcuda")
    assert "no git checkout" in refused(Side(revision="HEAD"))


def test_no_git(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(DeviceError, match="rev= needs git"), sources(Side(revision="HEAD")):
        pass


@pytest.mark.parametrize(
    "line",
    ["garbage", "{}", "[]", "null", '{"ready": 5}', '{"error": 5}', '{"ready": {"package": 1}}'],
)
def test_answers_that_no_worker_gives(line: str, tmp_path: Path) -> None:
    """Another tree's program is asked, and need not keep to the lines: the side is named."""
    package = tmp_path / "snarkcuda" / "bench"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    (package / "worker.py").write_text(f"input(); print({line!r}, flush=True); input()")
    with (
        worker("A", Side(tree=tmp_path), tmp_path) as each,
        pytest.raises(MismatchError) as refused,
    ):
        each.start(Case("matvec", "bn254", 6), None, tmp_path)
    assert "side A answers" in str(refused.value)
