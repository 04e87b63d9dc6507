"""A key that does not fit is summed block by block: the same proofs, bounded memory."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from snarkcuda.cpu import memory_plan, msm_blocks, resident_key
from snarkcuda.cpu.memory_plan import MAX_BLOCK, MIN_BLOCK, available_memory, block_size
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.params import BN254, CURVES, Curve
from snarkcuda.errors import NotOnCurveError, NotZeroKnowledgeWarning
from snarkcuda.field.vector_type import has_vectors
from snarkcuda.formats.proof_json import proof_to_json
from snarkcuda.groth16.keys import ProvingKey, Witness
from snarkcuda.groth16.prover import Prover
from snarkcuda.machine import Memory
from tests import naive_groth16 as twin

vectors = pytest.mark.skipif(not has_vectors(), reason="no AVX-512 IFMA: nothing is converted")
curves = pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
CHAIN = twin.chain(62)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors and blocks for the smallest circuits."""
    monkeypatch.setattr(resident_key, "VECTOR_ROWS", 1)
    monkeypatch.setattr(memory_plan, "MIN_BLOCK", 16)


def proof(key: ProvingKey, witness: Witness, memory: int | None) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotZeroKnowledgeWarning)
        with Prover(key, threads=2, memory=memory) as prover:
            assert bool(prover._resident.block) == (memory == 1)
            return proof_to_json(prover.prove(witness, seed=b"seed").proof)


@vectors
@curves
def test_same_proof(curve: Curve, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """For blocks of one vector, more and less than one, and one block for all."""
    key = twin.setup(curve, CHAIN).key
    witness = twin.witness(curve, twin.assignment(CHAIN, curve, 3))
    expected = proof(key, witness, None)
    for block in (4, 8, 16, 32, 64, 1 << 20):
        monkeypatch.setattr(memory_plan, "MIN_BLOCK", block)
        assert proof(key, witness, 1) == expected


@vectors
@curves
@pytest.mark.parametrize("query", ["a_query", "b_g1_query", "b_g2_query", "l_query", "h_query"])
def test_point_off_the_curve(curve: Curve, query: str, small: None) -> None:
    """Found by the sum that meets it, by its index in the query; the prover stays in order."""
    key = twin.setup(curve, CHAIN).key
    points = getattr(key, query).copy()
    points[37].reshape(-1)[0] ^= np.uint64(1)
    witness = twin.witness(curve, twin.assignment(CHAIN, curve, 3))
    match = rf"{re.escape(key.source)}: point 37 of the .* query is not on"
    with Prover(replace(key, **{query: points}), threads=2, memory=1) as prover:
        for _ in range(2):
            with pytest.raises(NotOnCurveError, match=match):
                prover.prove(witness)


@vectors
def test_progress_counts_blocks(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """It grows within a sum and begins anew with the next."""
    key = twin.setup(BN254, CHAIN).key
    witness = twin.witness(BN254, twin.assignment(CHAIN, BN254, 3))
    seen: list[float | None] = []
    with Prover(key, threads=1, memory=1) as prover:
        convert = msm_blocks.points_in_vector_form

        def spy(*arguments: object) -> int | None:
            seen.append(prover.fraction())
            return convert(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(msm_blocks, "points_in_vector_form", spy)
        prover.prove(witness)
        assert prover.fraction() is None
    shares = [i / 4 for i in range(4)]
    assert seen[:4] == shares and seen.count(0.0) == 5 and seen[-4:] == shares


def test_steps_that_are_left() -> None:
    with Pool(1) as pool:
        steps = pool.steps(2)
        assert [(i, pool.fraction()) for i in steps] == [(0, 0.0), (1, 0.5)]
        steps = pool.steps(2)
        assert next(steps) == 0 and pool.fraction() == 0
        steps.close()
        assert pool.fraction() is None


# --- what fits ------------------------------------------------------------------------------------


def test_block_size() -> None:
    """All of it, or a power of two that grows with the memory."""
    key = twin.setup(BN254, CHAIN).key
    assert block_size(key, None) == block_size(key, 1 << 40) == 0
    assert block_size(key, 1) == MIN_BLOCK

    class Huge:
        """As long as a query of 2^26 points, in no memory."""

        nbytes = 64 << 26

        def __len__(self) -> int:
            return 1 << 26

    names = ("a_query", "b_g1_query", "b_g2_query", "l_query", "h_query")
    huge = replace(key, **{name: Huge() for name in names})
    sizes = [block_size(huge, 1 << k) for k in range(20, 36)]
    assert sizes == sorted(sizes)
    assert sizes[0] == MIN_BLOCK and sizes[-1] == MAX_BLOCK
    assert all(size & (size - 1) == 0 for size in sizes)


def test_memory_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three quarters of what can be had; `machine` knows of control groups."""
    for memory, expected in (
        (Memory(16 << 30, 8 << 30, None), 6 << 30),
        (Memory(16 << 30, 0, 4 << 30), 0),
        (Memory(None, None, None), None),
    ):
        monkeypatch.setattr(memory_plan.machine, "memory", lambda memory=memory: memory)
        assert available_memory() == expected


# --- a real key -----------------------------------------------------------------------------------

CHILD = """
import sys, threading, time, warnings
from pathlib import Path
from snarkcuda import Prover, proof_to_json
from snarkcuda.cpu import memory_plan
warnings.simplefilter("ignore")
memory_plan.MIN_BLOCK = 1 << 12
key, witness, memory = sys.argv[1], sys.argv[2], int(sys.argv[3]) or None

def private():
    words = Path("/proc/self/status").read_text().split("RssAnon:")[1].split()
    return int(words[0]) << 10

def proof():
    with Prover(key, threads=2, memory=memory) as prover:
        peak, done = [0], threading.Event()
        def sample():
            while not done.wait(0.002):
                peak[0] = max(peak[0], private())
        sampler = threading.Thread(target=sample)
        sampler.start()
        text = proof_to_json(prover.prove(witness, seed=b"seed").proof)
        done.set()
        sampler.join()
    return text, peak[0]

proof()  # loads the kernels, whose memory stays
before = private()
text, peak = proof()
print(peak - before)
print(" ".join(text.split()))
"""


@vectors
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no RssAnon here")
@pytest.mark.parametrize("curve", ["bn254", "bls12_381"])
def test_a_real_key(curve: str, tmp_path: Path) -> None:
    """2^16 rows: the same bytes, without most of the private memory of the queries' copies."""

    def run(*arguments: object) -> str:
        command = [sys.executable, *map(str, arguments)]
        return subprocess.run(
            command, cwd=tmp_path, check=True, timeout=300, capture_output=True, text=True
        ).stdout

    n = (1 << 16) - 2
    run("-m", "snarkcuda", "generate", "mimc", n, "c.r1cs", "w.wtns", "--curve", curve)
    run("-m", "snarkcuda", "setup", "c.r1cs", "k.zkey", "--research")
    (whole, one), (blocks, other) = (
        run("-c", CHILD, "k.zkey", "w.wtns", memory).splitlines() for memory in (0, 1)
    )
    assert one == other
    copies = 6 * (64 if curve == "bn254" else 96) << 16  # six G1 points' worth of a wire
    assert int(blocks) < int(whole) - copies * 6 // 10  # the heap keeps some of the first proof
