"""Every way of failing: an exit code, one clear line, no traceback, no file touched."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

GOOD = ("circuit.zkey", "witness.wtns")


@pytest.fixture
def case(vectors):
    return vectors / "bn_mul2"


def outputs_untouched(tmp_path: Path) -> bool:
    return all(path.read_bytes() == b"keep me" for path in tmp_path.glob("*.json")) and not list(
        tmp_path.glob(".snarkcuda*")
    )


@pytest.fixture(autouse=True)
def existing_outputs(tmp_path):
    for name in ("proof.json", "public.json"):
        (tmp_path / name).write_bytes(b"keep me")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no-such.zkey", "{witness}", "proof.json", "public.json"], ["no-such.zkey", "No such"]),
        (["{key}", "no-such.wtns", "proof.json", "public.json"], ["no-such.wtns"]),
        (["{key}", "{key}", "proof.json", "public.json"], ["circuit.zkey", "wtns"]),
        (["{witness}", "{witness}", "proof.json", "public.json"], ["witness.wtns", "zkey"]),
        (["{folder}", "{witness}", "proof.json", "public.json"], ["a directory"]),
        (["{key}", "{witness}", "proof.json", "proof.json"], ["same file"]),
        (["{key}", "{witness}", "no/such/folder/p.json", "public.json"], ["no folder"]),
        (["{key}", "{witness}", ".", "public.json"], ["directory"]),
        (
            ["{key}", "{other}", "proof.json", "public.json"],
            ["witness.wtns", "circuit.zkey", "243", "4"],
        ),
        (["{key}", "{bls}", "proof.json", "public.json"], ["bls12_381", "bn254"]),
        (["{key}", "{witness}", "proof.json"], ["Missing argument"]),
        (["{key}", "{witness}", "proof.json", "public.json", "--threads", "0"], ["--threads"]),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_prove_refuses(run, vectors, case, tmp_path, arguments, words, as_json):
    names = {
        "key": case / "circuit.zkey",
        "witness": case / "witness.wtns",
        "other": vectors / "bn_poseidon2" / "witness.wtns",
        "bls": vectors / "bls_mul2" / "witness.wtns",
        "folder": case,
    }
    done = run(
        "prove", *(argument.format(**names) for argument in arguments), *["--json"] * as_json
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
    if as_json and "Usage" not in done.stderr:
        assert json.loads(done.stdout)["exit_code"] == 2
    assert outputs_untouched(tmp_path)


def test_input_is_never_overwritten(run, case, tmp_path):
    key, witness = tmp_path / "k", tmp_path / "w"
    key.write_bytes((case / "circuit.zkey").read_bytes())
    witness.write_bytes((case / "witness.wtns").read_bytes())
    os.link(key, tmp_path / "hard")
    os.symlink(witness, tmp_path / "soft")
    for proof, public in (("k", "public.json"), ("proof.json", "hard"), ("soft", "public.json")):
        done = run("prove", "k", "w", proof, public)
        assert done.returncode == 2
        assert "same file" in done.stderr
    assert key.read_bytes() == (case / "circuit.zkey").read_bytes()
    assert witness.read_bytes() == (case / "witness.wtns").read_bytes()
    assert outputs_untouched(tmp_path)


def test_witness_that_does_not_satisfy(run, case, tmp_path):
    data = bytearray((case / "witness.wtns").read_bytes())
    data[-32] ^= 1  # the lowest bit of the last, private value
    (tmp_path / "bad.wtns").write_bytes(data)
    done = run("prove", case / "circuit.zkey", "bad.wtns", "proof.json", "public.json")
    assert done.returncode == 2
    assert "does not satisfy" in done.stderr
    assert "wtns check" in done.stderr
    assert outputs_untouched(tmp_path)


def test_full_disk(run, case, tmp_path):
    """A limit on the size of files stands for a disk that is full."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    files = (case / "circuit.zkey", case / "witness.wtns", "proof.json", "public.json")
    done = run("prove", *files, preexec_fn=limit)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "nothing was changed" in done.stderr
    assert outputs_untouched(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("delay", [0.0, 0.2, 1.0, 3.0])
def test_interrupt_ends_promptly_and_leaves_nothing(case, tmp_path, number, delay):
    """With a cold cache the run lasts half a minute: the signal meets reading and compiling."""
    environment = {**os.environ, "SNARKCUDA_CACHE_DIR": str(tmp_path / "kernels")}
    files = (case / "circuit.zkey", case / "witness.wtns", "proof.json", "public.json")
    process = subprocess.Popen(
        [sys.executable, "-m", "snarkcuda", "prove", *map(str, files)],
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment,
    )
    assert process.stderr is not None
    assert "read key" in process.stderr.readline()
    time.sleep(delay)
    process.send_signal(number)
    _, words = process.communicate(timeout=20)
    assert process.returncode == 128 + number
    assert "interrupted; no file was written" in words
    assert "Traceback" not in words
    assert outputs_untouched(tmp_path)
