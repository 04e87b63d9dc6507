"""Shared by all tests: where the vectors are, and what the run depends on."""

import os
from pathlib import Path

import pytest

from snarkcuda import jit


@pytest.fixture(scope="session")
def vectors() -> Path:
    """The committed vectors, one folder a case."""
    return Path(__file__).parent / "vectors"


def pytest_report_header() -> list[str]:
    kernels = len(jit.cache_entries())
    return [
        f"kernel cache: {jit.cache_directory()} ({kernels} kernels)",
        f"public vectors: {os.environ.get('SNARKCUDA_VECTORS', 'SNARKCUDA_VECTORS not set')}",
    ]
