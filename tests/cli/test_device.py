"""`--device`: what is used is what is asked for, and it says so."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec

import pytest

if not find_spec("numba_cuda"):
    pytest.skip("no numba-cuda", allow_module_level=True)

CASE = "bn_mul2"
SIMULATOR = {"NUMBA_ENABLE_CUDASIM": "1"}


def files(vectors):
    return vectors / CASE / "circuit.zkey", vectors / CASE / "witness.wtns", "p.json", "u.json"


def test_proof_in_the_simulator(run, vectors, tmp_path) -> None:
    """The same bytes as the CPU's with the same seed; the record names the device."""
    words = ("prove", *files(vectors), "--seed", "s", "--json", "--threads", "1")
    done = run(*words, "--device", "cuda", env={**os.environ, **SIMULATOR})
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["device"] == "cuda (simulator)"
    assert "A·w, B·w [cuda]" in [stage["name"] for stage in record["stages"]]
    assert "made on cuda (simulator)" in done.stderr
    proof = (tmp_path / "p.json").read_bytes()
    done = run(*words, "--device", "cpu")
    assert done.returncode == 0 and (tmp_path / "p.json").read_bytes() == proof


def test_no_driver(run, vectors, tmp_path) -> None:
    """Without the simulator, on a machine without a driver: an error, and no file."""
    environment = {k: v for k, v in os.environ.items() if k not in SIMULATOR}
    environment["CUDA_VISIBLE_DEVICES"] = ""  # where there is a driver it has no device
    done = run("prove", *files(vectors), "--device", "cuda", "-q", env=environment)
    assert done.returncode == 3
    assert "driver does not start" in done.stderr or "there is no device" in done.stderr
    assert "Traceback" not in done.stderr and not list(tmp_path.iterdir())


@pytest.mark.parametrize("device", ["gpu", "cuda:x", "cuda:-1", ""])
def test_names_that_are_none(run, vectors, tmp_path, device) -> None:
    done = run("prove", *files(vectors), "--device", device)
    assert done.returncode == 2
    assert 'device must be "cpu", "cuda" or "cuda:N"' in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("operation", ["field", "ntt", "matvec", "msm"])
def test_bench_in_the_simulator(run, operation) -> None:
    words = ("bench", operation, "--log-n", "6", "--runs", "3", "--seconds", "0", "--json", "-q")
    done = run(*words, "--device", "cuda", env={**os.environ, **SIMULATOR})
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["cases"][0]["device"] == "cuda" and "cuda" in record["machine"]
    assert record["cases"][0]["case"].endswith("cuda")


def test_bench_has_no_such_path(run) -> None:
    done = run("bench", "ntt", "--device", "cuda", "--path", "vector")
    assert done.returncode == 2 and "--path is the CPU's" in done.stderr
    done = run("bench", "setup", "--device", "cuda")
    assert done.returncode == 2 and "No such option" in done.stderr
