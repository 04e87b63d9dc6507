"""Every way of failing: an exit code, one clear line, no traceback, no file touched."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import suppress
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
        (
            ["{key}", "{witness}", "proof.json", "public.json", "--memory", "0"],
            ["--memory", "'0' is no size: write a whole number above zero"],
        ),
        (
            ["{key}", "{witness}", "proof.json", "public.json", "--key-cache", ""],
            ["--key-cache", "'' names no directory"],
        ),
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
    assert "snarkcuda check circuit.r1cs" in done.stderr
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


@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_verify_never_says_false_for_trouble_with_its_output(case, arguments):
    """Exit code 1 is a verdict; a full disk or a reader that has gone is not one."""
    files = [str(case / f"{name}.json") for name in ("verification_key", "public", "proof")]
    command = [sys.executable, "-m", "snarkcuda", "verify", *files, *arguments]
    full = Path("/dev/full")
    if full.exists():
        with full.open("w") as sink:
            assert subprocess.run(command, stdout=subprocess.PIPE, stderr=sink).returncode == 0
            done = subprocess.run(command, stdout=sink, stderr=subprocess.PIPE, text=True)
            assert done.returncode == (2 if arguments else 0)
            assert "Traceback" not in done.stderr
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True)
    assert done.returncode == (141 if arguments else 0)
    assert subprocess.run(command, stdout=subprocess.PIPE, stderr=writer).returncode == 0
    os.close(writer)


@pytest.mark.parametrize("closed", [(2,), (0, 1, 2)])
def test_closed_standard_streams(run, case, tmp_path, closed):
    """The proof is made, and nothing that is printed lands in it."""

    def close() -> None:
        for descriptor in closed:
            os.close(descriptor)

    command = [sys.executable, "-m", "snarkcuda", "prove", *(str(case / name) for name in GOOD)]
    done = subprocess.run([*command, "p.json", "q.json"], preexec_fn=close, cwd=tmp_path)
    assert done.returncode == 0
    files = [case / "verification_key.json", tmp_path / "q.json", tmp_path / "p.json"]
    assert run("verify", *files).returncode == 0


def test_signals_end_a_run_whose_output_nobody_reads(case, tmp_path):
    """The outputs are there, the record waits for a pipe that stays full: Ctrl-C still works."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writer, b"x" * 65536)
    os.set_blocking(writer, True)
    command = [sys.executable, "-m", "snarkcuda", "prove", *(str(case / name) for name in GOOD)]
    process = subprocess.Popen(
        [*command, "p.json", "q.json", "-q", "--json"],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    while not (tmp_path / "q.json").exists():
        time.sleep(0.05)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    _, words = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "the outputs were written" in words
    assert (tmp_path / "p.json").exists()
    os.close(reader)
    os.close(writer)


def test_input_behind_a_descriptor_is_not_overwritten(case, tmp_path):
    """`>> witness.wtns` with /dev/stdout as an output, /proc/self/cwd/key: still that file."""
    key, witness = tmp_path / "k", tmp_path / "w"
    key.write_bytes((case / "circuit.zkey").read_bytes())
    witness.write_bytes((case / "witness.wtns").read_bytes())
    command = [sys.executable, "-m", "snarkcuda", "prove", "k", "w"]
    with witness.open("ab") as sink:
        done = subprocess.run([*command, "/dev/stdout", "q"], cwd=tmp_path, stdout=sink)
        assert done.returncode == 2
    done = subprocess.run([*command, "/proc/self/cwd/k", "q"], cwd=tmp_path)
    assert done.returncode == 2
    done = subprocess.run([*command, "/dev/stdout", "/dev/stdout"], cwd=tmp_path)
    assert done.returncode == 2
    log = tmp_path / "log"
    log.write_bytes(b"before\n")
    with log.open("ab") as sink:
        subprocess.run([*command, "/dev/stdout", "q", "-q"], cwd=tmp_path, stdout=sink, check=True)
    assert log.read_bytes().startswith(b"before\n{")
    assert key.read_bytes() == (case / "circuit.zkey").read_bytes()
    assert witness.read_bytes() == (case / "witness.wtns").read_bytes()


@pytest.mark.parametrize(
    ("variable", "value", "code"), [("NUMBA_DISABLE_JIT", "1", 3), ("HOME", "", 0)]
)
def test_environments(run, case, variable, value, code):
    """A setting under which no kernel exists is named; a user without a home still proves."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("XDG")}
    files = [case / f"{name}.json" for name in ("verification_key", "public", "proof")]
    done = run("verify", *files, env={**environment, variable: value})
    assert done.returncode == code
    assert "Traceback" not in done.stderr


def test_usage_errors_are_one_line_and_json(run):
    done = run("prove", "a", "--json")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert json.loads(done.stdout)["error"]["kind"] == "UsageError"


def test_a_large_public_file_is_refused_by_its_size(run, case, tmp_path):
    """Sixteen megabytes for a key with two signals are not parsed."""
    (tmp_path / "large").write_text("[" + "0," * 8_000_000 + "0]")

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))

    files = (case / "verification_key.json", tmp_path / "large", case / "proof.json")
    done = run("verify", *files, preexec_fn=limit)
    assert done.returncode == 2
    assert "public signals" in done.stderr


def test_swapped_arguments_of_verify_are_named(run, case):
    files = [case / f"{name}.json" for name in ("verification_key", "proof", "public")]
    done = run("verify", *files)
    assert done.returncode == 2
    assert "is a proof file, where a public file belongs" in done.stderr
    assert "the order is VK PUBLIC PROOF" in done.stderr
    done = run("verify", case / "circuit.zkey", *files[1:])
    assert "is a zkey file, where a verification_key file belongs" in done.stderr


def test_no_arguments_and_a_dash(run, case):
    assert "Commands:" in run().stderr
    assert run().returncode == 2
    done = run("prove", *(case / name for name in GOOD), "-", "q")
    assert done.returncode == 2
    assert "/dev/stdout" in done.stderr
