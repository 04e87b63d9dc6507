"""The harness sees the faults that it is for: planted in the child, each is found and named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.harness import FaultFound, fuzz

PLANT = """
from dataclasses import replace
import ctypes, itertools
calls = itertools.count()
def judge(good, path, thoroughly):
    if next(calls) < 3:
        return "read"
    {fault}
    return "read"
harness.SUBJECTS["wtns"] = replace(harness.SUBJECTS["wtns"], judge=judge)
harness.CPU_SECONDS = 1
"""


@pytest.mark.parametrize(
    "fault, words",
    [
        ("[][0]", "IndexError"),
        ("raise RecursionError", "RecursionError"),
        ("bytes(1 << 28)", "MemoryError"),
        ("ctypes.string_at(8)", "Segmentation fault"),
        ("while True: pass", "ended with -24"),  # SIGXCPU
    ],
)
def test_faults_are_found(fault: str, words: str, tmp_path: Path) -> None:
    """An exception that is none of ours, a memory bomb, a crash, a loop without end."""
    with pytest.raises(FaultFound) as caught:
        fuzz("wtns", "bn", 10, 10, tmp_path, seed=7, prelude=PLANT.format(fault=fault))
    told = str(caught.value)
    for word in (words, "wtns, bn, seed 7, ", str(tmp_path / "input.wtns")):
        assert word in told


def test_a_true_verdict_for_another_statement_is_found(tmp_path: Path) -> None:
    """A verifier that says yes to everything."""
    prelude = "from tests.fuzz import subjects; subjects.verify = lambda *_: True"
    with pytest.raises(FaultFound, match="verify says True"):
        fuzz("public", "bn", 0, 100, tmp_path, prelude=prelude)
