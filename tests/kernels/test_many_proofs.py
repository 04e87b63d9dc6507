"""Many proofs of one key on a device, one after the other and at the same time: each its own.

Reports from the field B08 and B09: proofs of GPUs that were false some of the time, or those of two
threads mixed up.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest

from snarkcuda.circuits.mimc_chain import mimc_chain
from snarkcuda.circuits.synthetic import draw_elements, solved
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.params import BLS12_381, BN254
from snarkcuda.errors import DeviceError
from snarkcuda.groth16.prover import Prover
from snarkcuda.groth16.research_key import research_key
from snarkcuda.groth16.timeline import Timeline
from snarkcuda.groth16.verify import verify
from snarkcuda.kernels import msm
from snarkcuda.kernels.target import simulated

pytestmark = pytest.mark.filterwarnings("ignore::snarkcuda.errors.ForgeableKeyWarning")
ROWS = 5 if simulated() else (1 << 14) - 2
THREADS, ROUNDS = (2, 1) if simulated() else (4, 10)


@pytest.fixture(scope="module")
def chain():
    """A key, and witnesses with outputs of their own."""
    r1cs, _ = mimc_chain(BN254, ROWS, "many")
    inputs = [draw_elements(BN254.fr, "many", f"inputs {i}", 2) for i in range(THREADS)]
    rows = r1cs.a, r1cs.b, r1cs.c
    with Pool(2) as pool:
        key = research_key(r1cs, pool, Timeline(), b"many")
    return key, [solved(BN254, "chain", two, rows)[1] for two in inputs]


def is_right(key, witness, proved) -> bool:
    assert proved.public == [int.from_bytes(witness.values[1].tobytes(), "little")]
    return verify(key.verifying_key, proved.public, proved.proof)


def all_at_once(provers, key, witnesses) -> list[bool]:
    """Each thread with its own witness, on its prover."""
    found: list[object] = []

    def work(prover, witness) -> None:
        try:
            found.extend(is_right(key, witness, prover.prove(witness)) for _ in range(ROUNDS))
        except Exception as error:
            found.append(error)

    threads = [
        threading.Thread(target=work, args=(provers[i % len(provers)], witness))
        for i, witness in enumerate(witnesses)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_threads_on_one_prover(device, chain) -> None:
    key, witnesses = chain
    with Prover(key, threads=1, device="cuda") as prover:
        assert all_at_once([prover], key, witnesses) == [True] * (THREADS * ROUNDS)


def test_two_provers_on_one_device(device, chain) -> None:
    key, witnesses = chain
    budget = {} if simulated() else {"gpu_memory": 4 << 30}
    with (
        Prover(key, threads=1, device="cuda", **budget) as one,
        Prover(key, threads=1, device="cuda", **budget) as two,
    ):
        assert all_at_once([one, two], key, witnesses) == [True] * (THREADS * ROUNDS)


@pytest.mark.gpu
@pytest.mark.parametrize("curve", [BN254, BLS12_381], ids=lambda c: c.name)
def test_fifty_proofs(device, curve) -> None:
    r1cs, witness = mimc_chain(curve, (1 << 14) - 2, "fifty")
    with Pool() as pool:
        key = research_key(r1cs, pool, Timeline(), b"fifty")
    with Prover(key, device="cuda") as prover:
        proofs = [prover.prove(witness) for _ in range(50)]
    assert all(is_right(key, witness, proved) for proved in proofs)
    assert len({proved.proof.a.tobytes() for proved in proofs}) == 50


def test_one_bit_of_one_bucket(device, chain, monkeypatch) -> None:
    """Flipped between two kernels: the proof does not leave, and the error names the sum."""
    key, witnesses = chain
    right = msm._point_kernels

    def kernels(F, cold):
        sum_chunks, sum_runs, *rest = right(F, cold)

        class Flipping:
            @staticmethod
            def launch(stream, blocks, threads, sums, *arguments, shared):
                sum_runs.launch(stream, blocks, threads, sums, *arguments, shared=shared)
                words = np.empty(sums.size, dtype=np.uint32)
                stream.download(sums, words)
                starts = np.empty(state["starts"].size, dtype=np.uint32)
                stream.download(state["starts"], starts)
                bucket = 1 + int(np.flatnonzero(np.diff(starts[1:].astype(np.int64)))[-1])
                words[4 * F.words * bucket] ^= 1
                stream.upload(words, sums)

        return sum_chunks, Flipping if F.field.level == 2 else sum_runs, *rest

    state = {}
    rows = msm.msm_rows

    def remember(arena, stream, bases, grouping, *rest):
        state["starts"] = grouping.starts
        return rows(arena, stream, bases, grouping, *rest)

    monkeypatch.setattr(msm, "_point_kernels", kernels)
    monkeypatch.setattr("snarkcuda.kernels.job.msm_rows", remember)
    with (
        Prover(key, threads=1, device="cuda") as prover,
        pytest.raises(DeviceError, match=r"the first operation that differs: MSM B2 \(G2\)"),
    ):
        prover.prove(witnesses[0])
