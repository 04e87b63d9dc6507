"""The page about changing a kernel: its commands run, on a copy, with its edit."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "change-a-kernel.md").read_text()
SHELL = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
EDIT = re.search(r"^```diff\n--- (.*)\n-(.*)\n\+(.*)\n```$", PAGE, re.MULTILINE)

if not find_spec("numba_cuda"):
    pytest.skip("no numba-cuda", allow_module_level=True)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    ignore = shutil.ignore_patterns("__pycache__", "vectors", "fuzz")
    for name in ("snarkcuda", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def run(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    program, *words = command.split()
    environment = {
        **{k: v for k, v in os.environ.items() if k not in ("NUMBA_ENABLE_CUDASIM",)},
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    for name in [name for name in environment if name.startswith("PYTEST_")]:
        del environment[name]
    return subprocess.run(
        [sys.executable, "-m", program, *words],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=170,
    )  # fmt: skip


@pytest.mark.slow
def test_the_page(copy: Path) -> None:
    (install,), before, after = (block.splitlines() for block in SHELL)
    assert install == "pip install -e '.[test]'"
    for command in before:
        done = run(copy, command)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
    assert EDIT is not None
    file, old, new = EDIT.groups()
    source = (copy / file).read_text()
    assert source.count(old) == 1, "the edit no longer fits"

    (copy / file).write_text(source.replace(old, new))
    tests, compare = after
    done = run(copy, tests)
    assert done.returncode == 0, done.stdout
    done = run(copy, compare)
    assert done.returncode == 0, done.stderr
    found = re.findall(r"([\d,]+) → ([\d,]+) +[\d.]+$", done.stdout, re.MULTILINE)
    more = [int(b.replace(",", "")) - int(a.replace(",", "")) for a, b in found]
    assert len(more) == 2 and all(100 < n < 600 for n in more), done.stdout

    (copy / file).write_text(source.replace(old, new.replace(" * w1", "")))
    done = run(copy, tests)
    assert done.returncode == 1 and "test_against_direct_evaluation" in done.stdout
