"""Compiling ahead: the parts are all that commands need, and processes come to a clean end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from snarkcuda import DeviceError, jit
from snarkcuda.cli import first_run
from snarkcuda.cli.main import cli
from snarkcuda.cli.report import Progress
from snarkcuda.cli.signals import KERNELS_ARE_KEPT, NOTHING_WRITTEN
from snarkcuda.cpu.msm_once import VECTOR_TERMS
from snarkcuda.cpu.resident_key import VECTOR_ROWS
from snarkcuda.curve.params import BLS12_381, BN254, CURVES, Curve
from snarkcuda.formats.zkey import read_zkey
from snarkcuda.groth16.timeline import Timeline
from snarkcuda.warmup import processes, records
from snarkcuda.warmup.parts import (
    Part,
    part_named,
    parts_of_everything,
    parts_of_key_check,
    parts_of_pairing,
    parts_of_proof,
    parts_of_setup,
    parts_of_verification,
)
from snarkcuda.warmup.processes import compile_parts
from tests.field.values import named

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "tests" / "vectors"
CASES = {BN254: ("bn_mul2", "pot3_bn128"), BLS12_381: ("bls_mul2", "pot3_bls12381")}
curves = pytest.mark.parametrize("curve", CURVES, ids=named)

# Told the kernels that each command loads or compiles; a circuit of its own has none yet.
TELL = """
import logging, sys
from snarkcuda import jit
from snarkcuda.cli.main import cli

cli.main(sys.argv[1].split(), standalone_mode=False)
jit.logger.setLevel(logging.DEBUG)
jit.logger.addHandler(logging.StreamHandler(sys.stdout))
for command in sys.argv[2:]:
    cli.main([*command.split(), "-q"], standalone_mode=False)
"""


def commands(curve: Curve) -> list[str]:
    """What `warmup` promises, on keys below and above the size from which vectors are used."""
    case, powers = (VECTORS / name for name in CASES[curve])
    return [
        f"prove {case}/circuit.zkey {case}/witness.wtns p.json s.json",
        f"verify {case}/verification_key.json {case}/public.json {case}/proof.json",
        f"setup {case}/circuit.r1cs {powers}.ptau small.zkey",
        f"check {case}/circuit.r1cs {case}/witness.wtns",
        f"check {case}/circuit.zkey {case}/circuit.r1cs",
        "setup large.r1cs large.zkey --research",
        "prove large.zkey large.wtns p.json s.json",
        "check large.zkey --again",
        "check large.zkey large.wtns",
    ]


@pytest.mark.timeout(600)  # where no kernel is there yet, it compiles them all
@pytest.mark.parametrize(
    "curve", [BN254, pytest.param(BLS12_381, marks=pytest.mark.slow)], ids=["bn254", "bls12_381"]
)
def test_parts_are_all_that_commands_need(curve: Curve, tmp_path: Path) -> None:
    """Every kernel that a command touches is one that a part has compiled, or found."""
    done = compile_parts(parts_of_everything(curve), jobs=2)
    warmed = frozenset[str]().union(*(part.compiled | part.loaded for part in done))
    generate = f"generate mimc {VECTOR_ROWS - 2} large.r1cs large.wtns --curve {curve.name} -q"
    touched = kernels_touched(tmp_path, generate, *commands(curve))
    assert len(touched) > 30
    assert touched <= warmed


def kernels_touched(folder: Path, *commands: str) -> set[str]:
    """Those that commands load or compile, in one process in a folder."""
    told = subprocess.run(
        [sys.executable, "-c", TELL, *commands],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return {line.split()[1] for line in told.splitlines() if line.split()[0].endswith("ing")}


OF_A_COMMAND = {
    "verify case/verification_key.json case/public.json case/proof.json": parts_of_verification(
        BN254
    ),
    "setup case/circuit.r1cs key.zkey --research": parts_of_setup(BN254, True, vectors=False),
    "setup case/circuit.r1cs case.ptau key.zkey": parts_of_setup(BN254, False, vectors=False),
    "check case/circuit.zkey --again": parts_of_key_check(BN254, vectors=False),
    "check case/circuit.zkey case/witness.wtns": (
        parts_of_proof(BN254, vectors=False) + parts_of_pairing(BN254)
    ),
}
PROVE = "prove case/circuit.zkey case/witness.wtns p.json s.json"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Where the files of these commands are: `check` writes beside the key."""
    shutil.copytree(VECTORS / "bn_mul2", tmp_path / "case")
    shutil.copy(VECTORS / "pot3_bn128.ptau", tmp_path / "case.ptau")
    return tmp_path


@pytest.mark.timeout(600)
@pytest.mark.parametrize("command, parts", OF_A_COMMAND.items())
def test_parts_of_a_command_are_all_that_it_needs(
    command: str, parts: list[Part], files: Path
) -> None:
    """After them a first run has nothing left to compile in one process."""
    done = compile_parts(parts, jobs=2)
    warmed = frozenset[str]().union(*(part.compiled | part.loaded for part in done))
    touched = kernels_touched(files, "info case/circuit.r1cs", command)
    assert touched and touched <= warmed


def test_every_part_has_a_name_of_its_own() -> None:
    parts = [part for curve in CURVES for part in parts_of_everything(curve)]
    assert len({str(part) for part in parts}) == len(parts)
    assert [part_named(str(part)) for part in parts] == parts


# --- the command ------------------------------------------------------------------------------


def warmup(*options: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "snarkcuda", "warmup", "--curve", "bn254", *options],
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_second_time_nothing_is_compiled() -> None:
    """And the record adds up; --quiet leaves nothing but it."""
    for _ in range(2):
        told, words = warmup("--json", "-q", "--jobs", "2").communicate()
        assert words == ""
    record = json.loads(told)
    assert (record["compiled"], record["jobs"], record["curves"]) == (0, 2, ["bn254"])
    assert record["present"] > 30
    assert {part["part"] for part in record["parts"]} == {*map(str, parts_of_everything(BN254))}
    words = warmup().communicate()[1]
    assert "  compile kernels, in " in words
    assert f"0 kernels compiled, {record['present']} were there already, in " in words


def test_a_cache_that_others_can_write_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    process = warmup(SNARKCUDA_CACHE_DIR=str(tmp_path))
    assert "others can write" in process.communicate()[1]
    assert process.returncode == DeviceError.exit_code


def test_interrupt_ends_the_processes(tmp_path: Path) -> None:
    """In the midst of compiling, sent to the parent alone: 130, no half of a file is left."""
    process = warmup("--jobs", "2", SNARKCUDA_CACHE_DIR=str(tmp_path))
    assert process.stderr is not None
    while "compile kernels" not in process.stderr.readline():
        pass
    process.send_signal(signal.SIGINT)
    words = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert words.endswith(f"snarkcuda: interrupted; {KERNELS_ARE_KEPT}: run it again to go on\n")
    assert "Traceback" not in words
    assert not list(tmp_path.glob("*.tmp"))


# --- processes --------------------------------------------------------------------------------


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[str]]:
    """The processes that are started."""
    found: list[subprocess.Popen[str]] = []
    popen = subprocess.Popen

    def start(*arguments: Any, **options: Any) -> subprocess.Popen[str]:
        found.append(popen(*arguments, **options))
        return found[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    return found


@pytest.mark.parametrize(
    "program, end",
    [
        ("import sys; sys.exit('no room')", "exit code 1; its last words: no room"),
        ("import os; os.kill(os.getpid(), 9)", "signal 9; its last words: none"),
    ],
)
def test_a_process_that_dies(
    program: str,
    end: str,
    started: list[subprocess.Popen[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it said is told, and the others are ended."""
    monkeypatch.setattr(processes, "_PROGRAM", program)
    with pytest.raises(DeviceError, match=r"bn254 (Miller loop|final exponentiation)") as error:
        compile_parts(parts_of_pairing(BN254), jobs=2)
    assert end in str(error.value)
    assert "--jobs 1" in str(error.value)
    assert len(started) == 2
    assert all(process.returncode is not None for process in started)


def test_interrupt_while_processes_hang(
    started: list[subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those too that do not listen."""
    deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); print('x', flush=True)"
    monkeypatch.setattr(processes, "_PROGRAM", f"{deaf}; time.sleep(100)")
    main = threading.get_ident()
    timer = threading.Timer(1.0, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        compile_parts(parts_of_pairing(BN254), jobs=2)
    timer.join()
    assert len(started) == 2
    assert all(process.returncode is not None for process in started)


def test_signals_of_the_terminal_are_the_parent_s() -> None:
    """They come to every process of its group; a worker goes on until its parent ends it."""
    worker, (part, _) = processes._Worker(), parts_of_pairing(BN254)
    try:
        worker.compile(part)  # the handlers are in place
        for number in (signal.SIGHUP, signal.SIGINT):
            worker._process.send_signal(number)
        assert worker.compile(part).compiled == frozenset()
    finally:
        worker.ask_to_end()
        worker.end(time.monotonic() + 10)
    assert worker._process.returncode == 128 + signal.SIGTERM


# --- first runs -------------------------------------------------------------------------------


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Part]:
    """Parts that `first_run` compiles; none really is, in an empty cache."""
    monkeypatch.setenv(jit.CACHE_VARIABLE, str(tmp_path / "kernels"))
    found: list[Part] = []
    monkeypatch.setattr(first_run, "compile_parts", lambda parts, *_: found.extend(parts))
    monkeypatch.setattr(first_run, "default_jobs", lambda limit: limit)
    return found


def test_records(compiled: list[Part], monkeypatch: pytest.MonkeyPatch) -> None:
    """A part is missing until it is remembered, after a change again, and after `cache clear`."""
    parts = parts_of_pairing(BN254)
    jit.cache_directory().mkdir()
    records.remember(parts[:1])
    (record,) = jit.cache_directory().glob(f"*{jit.RECORD_SUFFIX}")
    os.utime(record, (0, 0))
    assert records.missing(parts) == parts[1:]
    assert record.stat().st_mtime > 0, "not used for long, by its time"
    assert records.missing(parts_of_pairing(BLS12_381)) == parts_of_pairing(BLS12_381)
    with monkeypatch.context() as context:
        context.setattr(records, "source_digest", lambda module: "edited")
        assert records.missing(parts) == parts
    jit.clear_cache()
    assert records.missing(parts) == parts


def test_several_missing_parts_are_compiled(compiled: list[Part]) -> None:
    """One part, or one process, has nothing to run beside it."""
    parts = parts_of_pairing(BN254)
    for threads, expected in ((1, []), (2, parts)):
        assert first_run.compile_missing(parts, threads, Progress(quiet=True), Timeline()) == parts
        assert compiled == expected
    records.remember(parts[:1])
    assert first_run.compile_missing(parts, 2, Progress(quiet=True), Timeline()) == parts[1:]
    assert compiled == parts


@pytest.mark.parametrize("threads", [1, 2])
def test_words_of_an_interrupt(
    threads: int, compiled: list[Part], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kernels are spoken of while some are being compiled: with one thread, throughout."""
    said: list[str] = []
    monkeypatch.setattr(first_run, "if_interrupted", said.append)
    first_run.compile_missing(parts_of_pairing(BN254), threads, Progress(quiet=True), Timeline())
    assert said[0] == f"{NOTHING_WRITTEN}; {KERNELS_ARE_KEPT}"
    assert said[1:] == ([NOTHING_WRITTEN] if threads > 1 else [])


@pytest.mark.parametrize("vectors", [False, True])
def test_the_check_of_a_key_compiles_the_sums_it_uses(
    compiled: list[Part], vectors: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its wires, as `msm_once` chooses, whatever its rows."""
    monkeypatch.setattr("snarkcuda.cpu.msm_once.has_vectors", lambda: True)
    key = replace(
        read_zkey(VECTORS / "bn_mul2" / "circuit.zkey"),
        domain_size=1 << 12,
        n_wires=VECTOR_TERMS - (not vectors),
    )
    with first_run.kernels_of_key_check(2, Progress(quiet=True), Timeline())(key):
        assert compiled == parts_of_key_check(BN254, vectors)


class Compiling(Exception):
    """Instead of it."""


@pytest.mark.parametrize(
    "command, parts",
    [
        *OF_A_COMMAND.items(),
        (PROVE, parts_of_proof(BN254, vectors=False) + parts_of_pairing(BN254)),
        (f"{PROVE} --check-key", parts_of_key_check(BN254, vectors=False)),
    ],
)
def test_first_runs_of_commands(
    command: str,
    parts: list[Part],
    compiled: list[Part],
    monkeypatch: pytest.MonkeyPatch,
    files: Path,
) -> None:
    """Each has the parts that it needs compiled before it runs a kernel, by --threads processes."""

    def stop(parts: list[Part], jobs: int, report: object) -> None:
        raise Compiling(parts, jobs)

    monkeypatch.chdir(files)
    monkeypatch.setattr(first_run, "compile_parts", stop)
    limits: list[int | None] = []
    monkeypatch.setattr(first_run, "default_jobs", lambda limit: limits.append(limit) or 3)
    words = command.split()
    threads = [] if words[0] == "verify" else ["--threads", "3"]
    with pytest.raises(Compiling) as stopped:
        cli.main([*words, *threads, "-q"], standalone_mode=False)
    assert stopped.value.args == (parts, 3)
    assert limits == ([3] if threads else [None])


@pytest.mark.parametrize("command", [*OF_A_COMMAND, f"{PROVE} --check-key"])
def test_compilation_is_a_stage(
    command: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    files: Path,
) -> None:
    """In the record of a run that compiled in processes, and of no other."""
    monkeypatch.chdir(files)
    monkeypatch.setattr(first_run, "default_jobs", lambda _: 2)
    monkeypatch.setattr(first_run, "compile_parts", lambda *_: time.sleep(0.01))
    for first in (True, False):
        monkeypatch.setattr(first_run, "missing", list if first else lambda _: [])
        cli.main([*command.split(), "--json", "-q"], standalone_mode=False)
        stages = json.loads(capsys.readouterr().out)["stages"]
        seconds = [stage["seconds"] for stage in stages if stage["name"] == "compile kernels"]
        assert len(seconds) == (first + (first and "--check-key" in command))
        assert all(each >= 0.01 for each in seconds)


def test_a_proof_goes_on_if_a_process_dies(
    compiled: list[Part], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def die(*_: object) -> None:
        raise DeviceError("it died")

    monkeypatch.setattr(first_run, "compile_parts", die)
    parts = parts_of_pairing(BN254)
    assert first_run.compile_missing(parts, 2, Progress(quiet=True), Timeline()) == parts
    assert "note: it died; compiling in one process" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.timeout(600)
@curves
def test_a_first_proof_compiles_in_processes(curve: Curve, tmp_path: Path) -> None:
    """Nothing is left for itself; the next one finds all."""
    case = VECTORS / CASES[curve][0]
    files = [str(case / "circuit.zkey"), str(case / "witness.wtns"), "p.json", "s.json"]
    environment = {"PYTHONPATH": str(ROOT), "SNARKCUDA_CACHE_DIR": str(tmp_path / "kernels")}
    for first in (True, False):
        words = subprocess.run(
            [sys.executable, "-m", "snarkcuda", "prove", *files, "--threads", "2"],
            cwd=tmp_path,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            check=True,
        ).stderr
        assert ("compile missing kernels, in 2 processes" in words) == first
        assert "compiling kernels" not in words
