"""Shared by all tests: where the vectors are, and what the run depends on."""

import os
import sys
from itertools import pairwise
from pathlib import Path

import pytest


def wants_gpu(arguments: list[str]) -> bool:
    """Whether `-m` selects the tests that need a GPU."""
    chosen = [value for flag, value in pairwise(arguments) if flag == "-m"]
    chosen += [word[2:] for word in arguments if word.startswith("-m") and word != "-m"]
    return any("gpu" in value and "not gpu" not in value for value in chosen)


# numba reads this once, when it is imported: CUDA kernels run in its simulator unless a GPU is
# asked for. xdist's workers inherit it.
if "PYTEST_XDIST_WORKER" not in os.environ and not wants_gpu(sys.argv):
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

from snarkcuda import jit  # noqa: E402


@pytest.fixture(scope="session")
def vectors() -> Path:
    """The committed vectors, one folder a case."""
    return Path(__file__).parent / "vectors"


def pytest_report_header() -> list[str]:
    kernels = len(jit.cache_entries())
    simulated = os.environ.get("NUMBA_ENABLE_CUDASIM", "0") != "0"
    return [
        f"kernel cache: {jit.cache_directory()} ({kernels} kernels)",
        f"public vectors: {os.environ.get('SNARKCUDA_VECTORS', 'SNARKCUDA_VECTORS not set')}",
        f"CUDA kernels: {'in the simulator' if simulated else 'on a GPU'}",
    ]
