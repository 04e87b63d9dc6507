"""ethstorage/es-node#409: two proofs that were made at the same time were both wrong.

One prover, or several, in threads or in processes: each proof verifies with its own signals and
with nobody else's. More ways of sharing are in `tests/concurrency`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from snarkcuda.curve.params import BN254, CURVES, Curve
from snarkcuda.formats.proof_json import read_proof
from snarkcuda.formats.public_json import read_public
from snarkcuda.formats.vkey_json import read_verifying_key
from snarkcuda.groth16.prover import Proved, Prover
from snarkcuda.groth16.verify import verify
from tests.naive_groth16 import chain

ROOT = Path(__file__).parents[2]
STARTS = (2, 3, 5, 7)  # of the chain: four witnesses of one circuit
ROUNDS = 10


@pytest.mark.parametrize("n_provers", [1, 2])
@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_threads(curve: Curve, n_provers: int, make_files: Callable) -> None:
    """4 threads, 4 witnesses, 10 rounds, all threads let go at once."""
    files = [make_files(curve, chain(60), x) for x in STARTS]
    vk = read_verifying_key(files[0].vk)
    provers = [Prover(files[0].key, threads=2) for _ in range(n_provers)]
    together = Barrier(len(STARTS))

    def work(i: int) -> list[Proved]:
        proofs = []
        for _ in range(ROUNDS):
            together.wait(timeout=60)
            proofs.append(provers[i % n_provers].prove(files[i].witness, check=False))
        return proofs

    with ThreadPoolExecutor(len(STARTS)) as callers:
        results = list(callers.map(work, range(len(STARTS))))
    for prover in provers:
        prover.close()
    for i, proofs in enumerate(results):
        others = files[i - 1].signals
        assert [proved.public for proved in proofs] == [files[i].signals] * ROUNDS
        for proved in proofs:
            assert verify(vk, files[i].signals, proved.proof)
        assert not verify(vk, others, proofs[0].proof)
    everything = [proved.proof.a.tobytes() for proofs in results for proved in proofs]
    assert len(set(everything)) == len(STARTS) * ROUNDS  # each with randomness of its own


def test_commands_at_once(make_files: Callable, tmp_path: Path) -> None:
    """Four `snarkcuda prove` on one key, started together, each with its own outputs."""
    files = [make_files(BN254, chain(60), x) for x in STARTS]
    running = []
    for i, file in enumerate(files):
        arguments = [files[0].key, file.witness, tmp_path / f"proof{i}", tmp_path / f"public{i}"]
        command = [sys.executable, "-m", "snarkcuda", "prove", *map(str, arguments), "-q"]
        running.append(subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True))
    for process in running:
        _, words = process.communicate(timeout=120)
        assert process.returncode == 0, words
    vk = read_verifying_key(files[0].vk)
    for i, file in enumerate(files):
        assert read_public(tmp_path / f"public{i}", BN254) == file.signals
        assert verify(vk, file.signals, read_proof(tmp_path / f"proof{i}"))
