"""Provers shared, doubled, closed, forked while others prove: each call ends as it would alone."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from snarkcuda.curve.params import BLS12_381, BN254
from snarkcuda.errors import MismatchError, UnsatisfiedError
from snarkcuda.groth16.keys import Witness
from snarkcuda.groth16.prover import Prover
from snarkcuda.groth16.verify import verify
from tests import naive_groth16 as twin
from tests.naive_groth16 import CUBE, MUL, Setup, chain

ROOT = Path(__file__).parents[2]
VECTORS = Path(__file__).parents[1] / "vectors"


def witness_of(keys: Setup, x: int) -> Witness:
    return twin.witness(keys.curve, twin.assignment(keys.r1cs, keys.curve, x, 4), f"x={x}")


def good_proof(prover: Prover, keys: Setup, x: int) -> bool:
    """A proof of the chain from x verifies with the signals of x."""
    proved = prover.prove(witness_of(keys, x))
    own = twin.assignment(keys.r1cs, keys.curve, x, 4)[1 : keys.r1cs.n_public + 1]
    return proved.public == own and verify(keys.verifying_key, own, proved.proof)


@contextmanager
def no_threads_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


def test_provers_come_and_go() -> None:
    """Four threads, each with provers of its own, of changing circuits and curves."""
    many = [twin.setup(c, r1cs) for c in (BN254, BLS12_381) for r1cs in (CUBE, MUL)]

    def work(i: int) -> int:
        good = 0
        for n in range(6):
            keys = many[(i + n) % len(many)]
            with Prover(keys.key, threads=1 + n % 3) as prover:
                good += good_proof(prover, keys, 3 + i)
        return good

    with no_threads_left(), ThreadPoolExecutor(4) as callers:
        assert list(callers.map(work, range(4))) == [6] * 4


def test_an_error_in_one_thread_is_that_threads_alone() -> None:
    """Wrong witnesses, of four kinds, between good ones, on one prover."""
    keys = twin.setup(BN254, chain(60))
    wrong = witness_of(keys, 3).values.copy()
    wrong[5, 0] ^= np.uint64(1)
    together = threading.Barrier(4)

    def good(x: int) -> Counter[str]:
        ends: Counter[str] = Counter()
        for _ in range(10):
            together.wait(timeout=60)
            ends["good" if good_proof(prover, keys, x) else "wrong"] += 1
        return ends

    def bad(_: int) -> Counter[str]:
        ends: Counter[str] = Counter()
        for n in range(10):
            together.wait(timeout=60)
            try:
                if n % 2:
                    prover.prove(Witness(BN254, wrong))
                else:
                    prover.prove(Witness(BN254, wrong[:-1]))
            except (UnsatisfiedError, MismatchError) as error:
                ends[type(error).__name__] += 1
        return ends

    with no_threads_left(), Prover(keys.key, threads=2) as prover, ThreadPoolExecutor(4) as callers:
        tasks = [callers.submit(call, x) for call, x in ((good, 2), (good, 3), (good, 5), (bad, 0))]
        ends = [task.result() for task in tasks]
    assert ends == [{"good": 10}] * 3 + [{"UnsatisfiedError": 5, "MismatchError": 5}]


def test_close_while_others_prove() -> None:
    """Every call ends in a good proof or in "closed"; `close` waits, and no thread stays."""
    keys = twin.setup(BN254, chain(60))
    ends: Counter[str] = Counter()
    for _ in range(5):
        prover, proving = Prover(keys.key, threads=2), threading.Semaphore(0)

        def work(x: int, prover: Prover = prover, proving: threading.Semaphore = proving) -> str:
            for _ in range(50):
                try:
                    assert good_proof(prover, keys, x)
                except RuntimeError as error:
                    assert "closed" in str(error)
                    return "closed"
                proving.release()
            return "never closed"

        with no_threads_left(), ThreadPoolExecutor(4) as callers:
            tasks = [callers.submit(work, x) for x in (2, 3, 5, 7)]
            proving.acquire()
            prover.close()
            ends += Counter(task.result() for task in tasks)
    assert ends["closed"] > 0


PROCESSES = """
import multiprocessing, os, sys
from snarkcuda import Prover, read_verifying_key, verify

FOLDER = sys.argv[1]

def work(n):
    with Prover(f"{FOLDER}/circuit.zkey", threads=1) as prover:
        proofs = [prover.prove(f"{FOLDER}/witness.wtns") for _ in range(3)]
    vk = read_verifying_key(f"{FOLDER}/verification_key.json")
    return all(verify(vk, proved.public, proved.proof) for proved in proofs)

def inherited(n):
    try:
        PARENT.prove(f"{FOLDER}/witness.wtns")
    except RuntimeError as error:
        return "before a fork" in str(error)

if __name__ == "__main__":
    with Prover(f"{FOLDER}/circuit.zkey", threads=2) as PARENT:
        PARENT.prove(f"{FOLDER}/witness.wtns")
        with multiprocessing.get_context(sys.argv[2]).Pool(3) as pool:
            print(pool.map(work, range(6), chunksize=1))
            if sys.argv[2] == "fork":
                print(pool.map(inherited, range(3)))
        PARENT.prove(f"{FOLDER}/witness.wtns")
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes(method: str, tmp_path: Path) -> None:
    """A prover in each of three processes; one from before a fork says so instead of hanging."""
    script = tmp_path / "script.py"
    script.write_text(PROCESSES)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script), str(VECTORS / "bn_mul2"), method],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    expected = [str([True] * 6), *[str([True] * 3)] * (method == "fork")]
    assert done.stdout.splitlines() == expected
