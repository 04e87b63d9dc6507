"""Runs the command line as users do: a child process, with a time limit."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """`run("prove", key, …)`: the finished process; its working directory is tmp_path."""

    def call(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "snarkcuda", *map(str, arguments)]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=300, cwd=tmp_path, **options
        )

    return call
