"""`doctor`: a table or a record, and an exit code that says whether proofs can be made."""

from __future__ import annotations

import json
import os


def test_ready(run):
    """Where the tests run, proofs can be made."""
    done = run("doctor")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("ready to prove on the CPU\n")
    assert "--device cuda: rows and transforms" in done.stdout
    done = run("doctor", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    record = json.loads(done.stdout)
    assert record["can_prove"] is True
    names = [finding["name"] for finding in record["findings"]]
    assert {"python", "numba", "kernels", "kernel cache", "memory", "CUDA driver"} <= set(names)
    keys = {"name", "value", "problem", "fix", "prevents_proving"}
    assert all(set(finding) == keys for finding in record["findings"])


def test_not_ready(run):
    """Each problem with its fix, and exit code 3; a record says the same."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = run("doctor", env=environment)
    assert (done.returncode, done.stderr) == (3, "")
    assert "PROBLEM: kernels: NUMBA_DISABLE_JIT is set" in done.stdout
    assert "\n  fix: unset NUMBA_DISABLE_JIT" in done.stdout
    assert done.stdout.endswith("NOT ready to prove\n")
    done = run("doctor", "--json", env=environment)
    assert done.returncode == 3
    record = json.loads(done.stdout)
    assert record["can_prove"] is False
    assert [f["name"] for f in record["findings"] if f["prevents_proving"]] == ["kernels"]


def test_numba_that_is_broken(run, tmp_path):
    """A package named numba that raises: its error is shown, there is no traceback."""
    (tmp_path / "numba.py").write_text("raise SystemError('broken build')")
    done = run("doctor", env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert (done.returncode, done.stderr) == (3, "")
    assert "importing numba fails: SystemError: broken build" in done.stdout
