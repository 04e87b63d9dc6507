"""Damaged files, over a hundred thousand; SNARKCUDA_FUZZ_SEED=2, 3, … goes on with others."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.fuzz.harness import SEED, fuzz
from tests.fuzz.subjects import CASES, SUBJECTS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
RANDOM = 12_000  # for each kind and curve, with the listed ones: more than 230,000 in all


@pytest.mark.parametrize("kind", SUBJECTS)
def test_damaged_files(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All the damage that can be listed, and random damage; what became of it is printed."""

    def run(curve: str) -> Counter[str]:
        folder = tmp_path / curve
        folder.mkdir()
        return fuzz(kind, curve, 1 << 30, RANDOM, folder, every=16, patience=800)

    with ThreadPoolExecutor(len(CASES)) as curves:
        tallies = dict(zip(CASES, curves.map(run, CASES), strict=True))
    with capsys.disabled():
        for curve, outcomes in tallies.items():
            parts = ", ".join(f"{name} {n}" for name, n in sorted(outcomes.items()))
            print(f"\n  {kind} {curve}, seed {SEED}: {outcomes.total()} inputs: {parts}", end="")
    assert all(outcomes.total() > RANDOM for outcomes in tallies.values())
