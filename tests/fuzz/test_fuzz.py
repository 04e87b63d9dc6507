"""Damaged files of every kind, a few hundred each; `tests/slow/test_fuzz.py` runs many more.

Reports: zcash/zcash#743 (the reader is the attack surface), iden3/snarkjs#622, celestia-app#6754.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.fuzz.harness import CORPUS, fuzz, inputs, kept_inputs
from tests.fuzz.subjects import CASES, SUBJECTS


@pytest.mark.parametrize("kind", SUBJECTS)
def test_damaged_files(kind: str, tmp_path: Path) -> None:
    """Refused, or harmless; the kept inputs first. Both curves at once, each in a child."""
    folders = {curve: tmp_path / curve for curve in CASES}

    def run(curve: str) -> int:
        folders[curve].mkdir()
        outcomes = fuzz(kind, curve, n_listed=150, n_random=150, folder=folders[curve])
        # The damage is real, and not all of it is caught by one check.
        assert outcomes["FormatError"] > 50
        assert len(outcomes) > 1
        return outcomes.total() - len(kept_inputs(kind, curve))

    with ThreadPoolExecutor(len(CASES)) as curves:
        assert min(curves.map(run, CASES)) > 150


def test_kept_inputs_are_run() -> None:
    """Every file of the corpus stands for a kind and a curve that there are, and comes first."""
    seen = set()
    for kind in SUBJECTS:
        for curve in CASES:
            kept = kept_inputs(kind, curve)
            names = [name for name, _ in inputs(kind, curve, 1, 1, 0)]
            assert names[: len(kept)] == [f"corpus/{kind}/{path.name}" for path in kept]
            seen |= set(kept)
    assert seen == {path for path in CORPUS.rglob("*") if path.is_file()} - {CORPUS / "README.md"}


@pytest.mark.parametrize("kind", SUBJECTS)
def test_a_seed_names_its_inputs(kind: str) -> None:
    """One seed, one list of inputs; another seed, another list."""
    one, again, other = (
        [data for _, data in inputs(kind, "bn", seed, 5, 20)] for seed in (1, 1, 2)
    )
    assert one == again
    assert one != other
