"""`snarkcuda kernels`: what the compiler says of every kernel, without a GPU."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from snarkcuda.curve.params import CURVES

if not find_spec("numba_cuda"):  # a platform that numba-cuda does not exist for
    pytest.skip("no numba-cuda", allow_module_level=True)

from snarkcuda.kernels.catalog import OF_GROUPING, kernels_of
from snarkcuda.kernels.report import Line


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of the module's own: the first test compiles, the others find."""
    return tmp_path_factory.mktemp("kernels", numbered=False) / "cache"


def test_every_kernel_is_as_it_should_be(run, cache, tmp_path) -> None:
    """None computes with floats; none spills but where its source says why. sm_90."""
    environment = {**os.environ, "SNARKCUDA_CACHE_DIR": str(cache)}
    done = run("kernels", "--json", "--out", "report.json", env=environment)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record == json.loads((tmp_path / "report.json").read_text())
    lines = {line["label"]: line for line in record["kernels"]}
    every = [kernel for curve in CURVES for kernel in kernels_of(curve, "limbs")]
    shared = len(OF_GROUPING) * (len(CURVES) - 1)  # that both curves have
    assert record["architecture"] == "sm_90" and len(lines) == len(every) - shared
    for label, line in lines.items():
        assert line["floats"] == 0, label
        assert line["spilled"] == 0 or line["may_spill"], label
        assert 16 <= line["registers"] <= 255 and line["instructions"] > 100, label
    # Beside kernels whose products are calls, which save registers by the convention of calls.
    in_place = [label for label in lines if lines[label]["may_spill"] and ",calls]" not in label]
    assert in_place == ["ntt_pass[bn254_fr,ptx]", "ntt_pass[bls12_381_fr,ptx]"]
    # Registers leave room for as many blocks as each kernel asks for.
    assert lines["ntt_pass[bn254_fr,ptx]"]["registers"] <= 128
    assert lines["matvec_rows[bn254_fr,ptx]"]["registers"] <= 64
    assert len(list(cache.glob("*.cubin"))) == len(lines)


def test_comparison(run, cache, tmp_path) -> None:
    environment = {**os.environ, "SNARKCUDA_CACHE_DIR": str(cache)}
    words = ("kernels", "--only", "products", "--curve", "bn254", "-q")
    done = run(*words, "--out", "before.json", env=environment)
    assert done.returncode == 0 and "→" not in done.stdout, done.stderr
    head, line = done.stdout.splitlines()
    assert head.split()[:2] == ["kernel", "registers"] and line.startswith("products[bn254_fr,ptx]")
    record = json.loads((tmp_path / "before.json").read_text())
    now = record["kernels"][0]["registers"]
    record["kernels"][0]["registers"] = now + 3
    (tmp_path / "before.json").write_text(json.dumps(record))
    done = run(*words, "--compare", "before.json", env=environment)
    assert f"{now + 3} → {now}" in done.stdout


@pytest.mark.parametrize("architecture", ["sm_10", "sm_999"])
def test_architectures_that_nobody_has(run, cache, architecture) -> None:
    environment = {**os.environ, "SNARKCUDA_CACHE_DIR": str(cache)}
    done = run("kernels", "--architecture", architecture, "--only", "products", env=environment)
    assert done.returncode == 3 and "see what the GPU has, or update the toolkit" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--architecture", "90"), "is no architecture, such as sm_90"),
        (("--only", "nothing"), "no kernel's name holds 'nothing'"),
        (("--compare", "none.json"), "none.json cannot be read: No such file"),
        (("--compare", "bad.json"), "bad.json is no report that `snarkcuda kernels --out` wrote"),
    ],
)
def test_refusals(run, cache, tmp_path, words, message) -> None:
    (tmp_path / "bad.json").write_text('{"format": "snarkcuda kernels", "kernels": [3]}')
    environment = {**os.environ, "SNARKCUDA_CACHE_DIR": str(cache)}
    done = run("kernels", *words, env=environment)
    assert done.returncode == 2 and message in done.stderr
    assert "Traceback" not in done.stderr


def test_problems() -> None:
    line = Line("k", 128, 8, 0, 100, 0, may_spill=True, seconds=1.0)
    assert line.problem is None
    assert "registers of k spill to memory" in str(Line("k", 1, 8, 0, 1, 0, False, 1.0).problem)
    assert "k computes with floats" in str(Line("k", 1, 0, 0, 1, 2, True, 1.0).problem)
