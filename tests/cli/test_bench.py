"""`snarkcuda bench`: the table, the record, comparisons, refusals, and Ctrl-C."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from snarkcuda.bench.machine_line import ROOT
from snarkcuda.bench.record import read_record

QUICK = ("--log-n", "6", "--runs", "3", "--threads", "1")


def test_table_record_and_comparison(run, tmp_path: Path) -> None:
    done = run("bench", "ntt", *QUICK, "--log-n", "7,6", "--path", "scalar", "--out", "old.json")
    assert done.returncode == 0, done.stderr
    title, *rows, machine = done.stdout.splitlines()
    assert title.split()[:3] == ["case", "first", "s"]
    names = ["ntt bn254 2^6 scalar", "ntt bn254 2^7 scalar"]
    assert [row[: len(names[0])] for row in rows] == names
    assert "threads 1, load" in machine
    assert "make data" in done.stderr
    record = json.loads((tmp_path / "old.json").read_text())
    assert [case["case"] for case in record["cases"]] == names
    assert all(len(case["runs_ns"]) == 3 for case in record["cases"])

    options = ("--path", "scalar", "--compare", "old.json", "--json", "-q")
    done = run("bench", "ntt", *QUICK, "--log-n", "8", *options)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert list(found["comparison"]["cases"]) == names[:1]
    assert found["comparison"]["machine_differences"] == []
    assert "compared with old.json" in done.stderr  # the table, as stdout has the record
    assert "not in the earlier record" in done.stderr
    assert "WARNING: another machine" not in done.stderr

    record["machine"]["cpu"] = "One 9000"
    (tmp_path / "old.json").write_text(json.dumps(record))
    done = run("bench", "ntt", *QUICK, "--path", "scalar", "--compare", "old.json", "-q")
    assert "WARNING: another machine than that of old.json: cpu: One 9000 then" in done.stderr


def test_stages_and_both_curves(run, tmp_path: Path) -> None:
    done = run("bench", "matvec", *QUICK, "--curve", "both", "--scalars", "bits", "--out", "a.json")
    assert done.returncode == 0, done.stderr
    found = list(read_record(tmp_path / "a.json").runs)
    assert found == ["matvec bn254 2^6 bits", "matvec bls12_381 2^6 bits"]
    done = run("bench", "prove", *QUICK, "-q")
    assert done.returncode == 0, done.stderr
    assert "\n  MSM B2 (G2) " in done.stdout and "\n  self-check " in done.stdout


def test_ab(run, tmp_path: Path) -> None:
    options = ("--a", "threads=1", "--b", "env:NUMBA_ENABLE_AVX=0", "--pairs", "10", "--seed", "4")
    done = run("bench", "ab", "matvec", "--log-n", "6", *options, "--json", "--out", "ab.json")
    assert done.returncode == 0, done.stderr
    assert (
        "A: threads=1\nB: env:NUMBA_ENABLE_AVX=0\n10 pairs in the order of --seed 4" in done.stderr
    )
    record = json.loads(done.stdout)
    assert record == json.loads((tmp_path / "ab.json").read_text())
    (found,) = record["duels"]
    assert (record["seed"], found["case"]) == (4, "matvec bn254 2^6 random")
    assert found["b_is"] in ("faster", "slower", "no difference")
    assert len(found["a"]["runs_ns"]) == len(found["b"]["runs_ns"]) == 10
    # An ab record is no record to compare with.
    done = run("bench", "matvec", *QUICK, "--compare", "ab.json")
    assert (done.returncode, "is no record of" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("fft",), "No such command 'fft'"),
        (("ab", "fft"), "'fft' is not one of"),
        (("ntt", "--log-n", "5"), "'5' is no integer from 6 to 27"),
        (("ntt", "--log-n", "14,"), "'' is no integer from 6 to 27"),
        (("ntt", "--curve", "ed25519"), "'ed25519' is none of bn254, bn128"),
        (("ntt", "--group", "g2"), "No such option"),
        (("ab", "ntt", "--group", "g2"), "ntt has no --group: it has --path"),
        (("ab", "ntt", "--a", "speed=2"), "'speed=2' is none of threads=N"),
        (("ab", "ntt", "--b", "rev=no-such-revision"), "rev=no-such-revision"),
        (("ab", "ntt", "--pairs", "3"), "3 is not in the range"),
        (("ntt", "--compare", "none.json"), "none.json"),
        (("ntt", "--compare", "other.json"), "other.json is no record of"),
        (("ntt", "--compare", "later.json"), "is a record of version 99"),
        (("ntt", "--out", "nowhere/a.json"), "no folder"),
        (("ntt", "--compare", "later.json", "--out", "later.json"), "later.json"),
    ],
)
def test_refusals(run, tmp_path: Path, arguments, words) -> None:
    """Exit code 2 and one line, before anything is measured."""
    (tmp_path / "other.json").write_text('{"format": "x"}')
    later = '{"format": "snarkcuda bench", "format_version": 99, "machine": {}, "cases": []}'
    (tmp_path / "later.json").write_text(later)
    done = run("bench", *arguments, "--json", "-q")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert words in line
    assert json.loads(done.stdout)["exit_code"] == 2
    assert (tmp_path / "later.json").read_text() == later


def test_wrong_results_end_with_3(run, tmp_path: Path) -> None:
    """A transform that does nothing, by a program that edits it."""
    code = (
        "from snarkcuda.cpu import ntt; from snarkcuda.cli.main import main\n"
        "ntt.to_coset = lambda *given: None\n"
        "main(['bench', 'ntt', '--log-n', '6', '--path', 'scalar', '-q', '--out', 'a.json'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert "the result is WRONG, so no time is given" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_interrupted(tmp_path: Path, number: signal.Signals) -> None:
    """129, 130 or 143, and nothing is left: no process, no unpacked sources."""
    clone, temporary = tmp_path / "clone", tmp_path / "temporary"
    temporary.mkdir()
    shutil.copytree(ROOT / "snarkcuda", clone / "snarkcuda", ignore=shutil.ignore_patterns("__py*"))
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    for words in (["init"], ["add", "."], ["commit", "-m", "All"]):
        subprocess.run(["git", "-C", clone, *identity, *words], check=True, capture_output=True)
    command = [sys.executable, "-m", "snarkcuda", "bench", "ab", "matvec", "--log-n", "6"]
    process = subprocess.Popen(
        [*command, "--a", "rev=HEAD", "--pairs", "10000"],
        stderr=subprocess.PIPE,
        text=True,
        cwd=clone,
        env={**os.environ, "PYTHONPATH": str(clone), "TMPDIR": str(temporary)},
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "pairs of runs" in line:
            break
    workers = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    children = workers.read_text().split() if workers.exists() else []
    assert len(list(temporary.iterdir())) == 1
    process.send_signal(number)
    assert process.wait(timeout=60) == 128 + number
    assert "interrupted; no file was written" in process.stderr.read()
    assert not [pid for pid in children if Path(f"/proc/{pid}").exists()]
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("words", ["msm", "prove", "ab"])
def test_help_is_a_page(run, words: str) -> None:
    told = run("bench", words, "--help").stdout
    assert "Exit codes: 0 done" in told
    assert f"  snarkcuda bench {words}" in told.partition("Example")[2]
    for rule in ("1 %", "p < 0.01", "no difference"):
        assert rule in " ".join(told.split())
