"""SIGHUP, SIGINT and SIGTERM at each stage of `snarkcuda prove`: it ends and leaves nothing behind.

The signal is sent when the stage's line appears on stderr: by the process to itself, so that the
stage cannot be over before it arrives; and, at any moment, by another process.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from snarkcuda import jit, read_proof, read_public, read_verifying_key, verify
from snarkcuda.cli.signals import KERNELS_ARE_KEPT

ROOT = Path(__file__).parents[2]
CASE = Path(__file__).parents[1] / "vectors" / "bn_poseidon2"
FILES = [str(CASE / "circuit.zkey"), str(CASE / "witness.wtns"), "proof.json", "public.json"]
SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
KEPT = b"bytes of an older run"

AT_STAGE = """
import os, signal, sys
from snarkcuda.cli import main, report

stage, number, hangup, *arguments = sys.argv[1:]
signal.signal(signal.SIGHUP, signal.Handlers[hangup])
show = report.Progress.__call__

def show_and_signal(self, name):
    show(self, name)
    if name == stage:
        os.kill(os.getpid(), int(number))

report.Progress.__call__ = show_and_signal
main.main(["prove", *arguments])
"""


def prove_process(folder: Path, *prefix: str, **environment: str) -> subprocess.Popen[str]:
    """`snarkcuda prove` in a folder that holds older outputs."""
    folder.mkdir()
    for name in FILES[2:]:
        (folder / name).write_bytes(KEPT)
    return subprocess.Popen(
        [sys.executable, *prefix, *FILES],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        stderr=subprocess.PIPE,
        text=True,
    )


def is_untouched(folder: Path) -> bool:
    """The two older outputs, and no other file."""
    return sorted((path.name, path.read_bytes()) for path in folder.iterdir()) == [
        (name, KEPT) for name in FILES[2:]
    ]


def is_complete(folder: Path) -> bool:
    """A true proof with its signals, and no other file."""
    if sorted(path.name for path in folder.iterdir()) != FILES[2:]:
        return False
    vk = read_verifying_key(CASE / "verification_key.json")
    public = read_public(folder / "public.json", vk.curve)
    return verify(vk, public, read_proof(folder / "proof.json"))


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Every stage that a run tells of, in order."""
    for turn in ("first", "next"):  # the first may have a stage more, that of compiling
        folder = tmp_path_factory.mktemp("stages") / turn
        _, words = prove_process(folder, "-m", "snarkcuda", "prove").communicate(timeout=120)
        assert is_complete(folder)
    told = [line.strip(" …") for line in words.splitlines() if line.endswith(" …")]
    assert {"read key", "load kernels", "A·w, B·w", "MSM B2 (G2)", "self-check", "write"} <= {*told}
    return told


@pytest.mark.parametrize("turn", [0, *(pytest.param(i, marks=pytest.mark.slow) for i in (1, 2))])
def test_at_every_stage(stages: list[str], turn: int, tmp_path: Path) -> None:
    """The signals in turn, stage by stage: 129, 130 or 143, older outputs whole, no other file."""

    def interrupted(i: int) -> None:
        number, folder = SIGNALS[(i + turn) % 3], tmp_path / str(i)
        process = prove_process(folder, "-c", AT_STAGE, stages[i], str(int(number)), "SIG_DFL")
        _, words = process.communicate(timeout=60)
        assert process.returncode == 128 + number, (stages[i], words)
        assert f"  {stages[i]} …" in words
        assert words.endswith("snarkcuda: interrupted; no file was written\n")
        assert "Traceback" not in words and "Exception" not in words
        assert is_untouched(folder), stages[i]

    with ThreadPoolExecutor(2) as processes:
        assert len(list(processes.map(interrupted, range(len(stages))))) > 15


def test_nohup(tmp_path: Path) -> None:
    """Where SIGHUP is ignored from the start, it ends nothing."""
    folder = tmp_path / "proof"
    arguments = "-c", AT_STAGE, "self-check", str(int(signal.SIGHUP)), "SIG_IGN"
    process = prove_process(folder, *arguments)
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert is_complete(folder)


def test_first_proof_while_it_compiles(tmp_path: Path) -> None:
    """That nothing was written is half of the truth."""
    stage = "compile missing kernels, in 2 processes"
    folder = tmp_path / "proof"
    arguments = "-c", AT_STAGE, stage, str(int(signal.SIGINT)), "SIG_DFL", "--threads", "2"
    process = prove_process(folder, *arguments, **{jit.CACHE_VARIABLE: str(tmp_path / "kernels")})
    words = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert words.endswith(f"snarkcuda: interrupted; no file was written; {KERNELS_ARE_KEPT}\n")
    assert is_untouched(folder)


@pytest.mark.parametrize("stage", ["quotient (6 NTTs)", "self-check", "write"])
def test_at_any_moment(stage: str, tmp_path: Path) -> None:
    """From outside, near the end: all or nothing, and the process says which."""
    for i, number in enumerate(SIGNALS):
        folder = tmp_path / str(i)
        process = prove_process(folder, "-m", "snarkcuda", "prove")
        assert process.stderr is not None
        words = ""
        while f"  {stage} …" not in words:
            words += process.stderr.readline()
        process.send_signal(number)
        words += process.communicate(timeout=60)[1]
        assert "Traceback" not in words
        if "no file was written" in words:
            assert process.returncode == 128 + number
            assert is_untouched(folder)
        else:  # it came after the outputs were in place
            assert process.returncode in (128 + number, 0)
            assert is_complete(folder)
