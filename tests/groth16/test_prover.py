"""`Prover`: refusals, determinism, many threads, and a clean state after every way of failing."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snarkcuda.cpu import msm
from snarkcuda.cpu.backend import CpuJob
from snarkcuda.curve.params import CURVES, Curve
from snarkcuda.errors import (
    MismatchError,
    NotOnCurveError,
    NotZeroKnowledgeWarning,
    UnsatisfiedError,
)
from snarkcuda.field.arrays import to_ints
from snarkcuda.formats.wtns import write_witness
from snarkcuda.formats.zkey import write_zkey
from snarkcuda.groth16.keys import Proof, Witness
from snarkcuda.groth16.prover import Proved, Prover, prove
from snarkcuda.groth16.verify import verify
from tests import naive_groth16 as twin
from tests.naive_groth16 import CUBE, LINEAR, MUL, NO_PUBLIC, Setup

ROOT = Path(__file__).parents[2]
curves = pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
STAGES = [
    "check witness",
    "witness digits",
    "A·w, B·w",
    "quotient (6 NTTs)",
    "MSM A (G1)",
    "MSM B1 (G1)",
    "MSM B2 (G2)",
    "MSM L (G1)",
    "MSM H (G1)",
    "assemble",
    "check proof points",
    "self-check",
]


def witness_of(keys: Setup, x: int, y: int = 4) -> Witness:
    """A satisfying assignment."""
    return twin.witness(keys.curve, twin.assignment(keys.r1cs, keys.curve, x, y), f"x={x}.wtns")


def is_good(keys: Setup, witness: Witness, proved: Proved) -> bool:
    """The public signals are the witness' own, and the proof verifies with them."""
    own = to_ints(witness.values[1 : keys.key.n_public + 1])
    return proved.public == own and verify(keys.verifying_key, own, proved.proof)


def same(one: Proof, other: Proof) -> bool:
    """Equal points."""
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in "abc")


@contextmanager
def no_threads_left() -> Iterator[None]:
    """Every thread begun in the block has ended with it."""
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


@curves
def test_wrong_witness(curve: Curve) -> None:
    """Any value changed by one: refused, both files are named, the next proof is good."""
    for r1cs in (MUL, CUBE, NO_PUBLIC, LINEAR, twin.chain(9)):
        keys = twin.setup(curve, r1cs)
        z = twin.assignment(r1cs, curve, 3, 4)
        with Prover(keys.key) as prover:
            for wire in range(1, r1cs.n_wires):
                wrong = list(z)
                wrong[wire] = (wrong[wire] + 1) % curve.fr.modulus
                assert r1cs.first_unsatisfied(wrong, curve.fr.modulus) is not None
                with pytest.raises(UnsatisfiedError) as caught:
                    prover.prove(twin.witness(curve, wrong, "wrong.wtns"))
                assert caught.value.exit_code == 2
                for word in ("wrong.wtns", keys.key.source, "snarkcuda check circuit.r1cs"):
                    assert word in str(caught.value)
                good = twin.witness(curve, z)
                assert is_good(keys, good, prover.prove(good))


@curves
def test_without_the_self_check(curve: Curve) -> None:
    """It is recorded; a good witness gives a good proof, a wrong one a false proof."""
    keys = twin.setup(curve, CUBE)
    good = witness_of(keys, 3)
    wrong = Witness(curve, good.values.copy())
    wrong.values[3, 0] += 1
    with Prover(keys.key) as prover:
        proved = prover.prove(good, check=False)
        assert not proved.checked
        assert is_good(keys, good, proved)
        assert "self-check" not in [stage.name for stage in proved.stages]
        proved = prover.prove(wrong, check=False)
        assert not verify(keys.verifying_key, proved.public, proved.proof)


@curves
def test_seed(curve: Curve) -> None:
    """A seed fixes the proof and warns; without one every proof differs and none warns."""
    keys = twin.setup(curve, CUBE)
    witness = witness_of(keys, 3)
    with Prover(keys.key) as prover:
        with pytest.warns(NotZeroKnowledgeWarning, match="NOT zero-knowledge"):
            first = prover.prove(witness, seed=b"one")
        with pytest.warns(NotZeroKnowledgeWarning):
            again = prove(keys.key, witness, seed=b"one", threads=1)
        with pytest.warns(NotZeroKnowledgeWarning):
            other = prover.prove(witness, seed=b"two")
        with pytest.warns(NotZeroKnowledgeWarning):
            empty = prover.prove(witness, seed=b"")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            free = [prover.prove(witness) for _ in range(3)]
    assert same(first.proof, again.proof)
    assert not first.zero_knowledge
    assert all(proved.zero_knowledge for proved in free)
    everything = [first, other, empty, *free]
    for name in "abc":
        assert len({getattr(proved.proof, name).tobytes() for proved in everything}) == 6
    assert all(is_good(keys, witness, proved) for proved in everything)


@curves
def test_number_of_threads_does_not_change_the_proof(curve: Curve) -> None:
    """1, 2, 7 and 40 threads, one seed, one proof."""
    keys = twin.setup(curve, twin.chain(62))
    witness = witness_of(keys, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotZeroKnowledgeWarning)
        proofs = [prove(keys.key, witness, threads=n, seed=b"s").proof for n in (1, 2, 7, 40)]
    assert all(same(proofs[0], proof) for proof in proofs[1:])


THREADS = "threads must be a whole number from 1 to 4096, or None, not "
MEMORY = "memory must be a whole number of bytes, at least 1, or None, not "
KEY_CACHE = "key_cache must name a directory (str or Path), or be None, not "


@pytest.mark.parametrize(
    "name, value, words",
    [
        *(("threads", value, THREADS) for value in (0, 1.5, True, 10**6, "2", np.zeros(2, int))),
        *(("memory", value, MEMORY) for value in (0, -1, 1.5, True, "1G")),
        *(("key_cache", value, KEY_CACHE) for value in ("", b"x", 5)),
    ],
)
def test_arguments_without_a_meaning(name: str, value: Any, words: str) -> None:
    """Refused before the key, which is not there, is looked for."""
    with pytest.raises(ValueError, match=re.escape(f"{words}{value!r}")):
        Prover("no.zkey", **{name: value})


def test_numpy_integers_are_numbers() -> None:
    numbers: Any = {"threads": np.int32(2), "memory": np.uint64(1 << 30)}
    with Prover(twin.setup(CURVES[0], CUBE).key, **numbers) as prover:
        assert prover.device == "cpu (2 threads)"


@curves
@pytest.mark.parametrize("n_provers", [1, 2])
def test_many_proofs_at_once(curve: Curve, n_provers: int) -> None:
    """4 threads, 10 rounds, 4 witnesses, one or two provers: each proof has its own signals.

    Report: ethstorage/es-node#409 (two proofs made at the same time were both wrong).
    """
    keys = twin.setup(curve, twin.chain(30))
    witnesses = [witness_of(keys, x) for x in (2, 3, 5, 7)]
    with no_threads_left():
        provers = [Prover(keys.key, threads=2) for _ in range(n_provers)]
        with ThreadPoolExecutor(4) as callers:
            for _ in range(10):
                barrier = threading.Barrier(4)

                def work(i: int, barrier: threading.Barrier = barrier) -> Proved:
                    barrier.wait(timeout=60)
                    return provers[i % n_provers].prove(witnesses[i], check=False)

                results = list(callers.map(work, range(4)))
                for witness, proved in zip(witnesses, results, strict=True):
                    assert is_good(keys, witness, proved)
        for prover in provers:
            prover.close()


def test_provers_of_different_circuits_and_curves_at_once() -> None:
    """Four provers, two curves, two circuits, started together."""
    many = [twin.setup(curve, r1cs) for curve in CURVES for r1cs in (CUBE, twin.chain(14))]

    def work(keys: Setup) -> bool:
        with Prover(keys.key, threads=2) as prover:
            witnesses = [witness_of(keys, x) for x in range(2, 7)]
            return all(is_good(keys, w, prover.prove(w)) for w in witnesses)

    with no_threads_left(), ThreadPoolExecutor(4) as callers:
        assert list(callers.map(work, many)) == [True] * 4


@curves
def test_the_key_is_only_read(curve: Curve) -> None:
    """Every array of key, resident key and witness is as before, after good and bad proofs."""
    keys = twin.setup(curve, twin.chain(14))
    witness = witness_of(keys, 3)
    wrong = Witness(curve, witness.values.copy())
    wrong.values[5, 0] ^= np.uint64(1)
    with Prover(keys.key) as prover:
        resident, key, vk = prover._resident, prover.key, prover.key.verifying_key
        tables, matrices = resident.tables, resident.matrices

        def digest() -> str:
            arrays = [tables.roots, tables.inverse_roots, tables.scale]
            arrays += [
                matrices.start,
                matrices.wires,
                matrices.codes,
                matrices.table,
                witness.values,
            ]
            arrays += [key.coefficients, key.beta_g1, key.delta_g1, vk.alpha_g1, vk.ic]
            arrays += [vk.beta_g2, vk.gamma_g2, vk.delta_g2, key.a_query, key.b_g1_query]
            arrays += [key.b_g2_query, key.l_query, key.h_query, resident.h_query.points]
            return hashlib.sha256(b"".join(a.tobytes() for a in arrays)).hexdigest()

        before = digest()
        assert is_good(keys, witness, prover.prove(witness))
        with pytest.raises(UnsatisfiedError):
            prover.prove(wrong)
        assert digest() == before


def test_stages() -> None:
    """A proof's stages are those of the paper, in order; progress hears of each as it begins."""
    heard: list[str] = []
    keys = twin.setup(CURVES[0], CUBE)
    with Prover(keys.key, progress=heard.append) as prover:
        loading = len(heard)
        assert [stage.name for stage in prover.load_stages] == heard
        proved = prover.prove(witness_of(keys, 3))
    assert [stage.name for stage in proved.stages] == STAGES
    assert sorted(heard[loading:]) == sorted(STAGES)
    assert all(stage.seconds >= 0 and stage.start >= 0 for stage in proved.stages)


# --- failing in the middle --------------------------------------------------------------------


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, MemoryError])
def test_error_in_any_stage(stage: str, error: type[BaseException]) -> None:
    """It reaches the caller as it is; no thread of the proof stays; the next proof is good."""
    keys = twin.setup(CURVES[0], CUBE)
    witness, armed = witness_of(keys, 3), threading.Event()

    def progress(name: str) -> None:
        if armed.is_set() and name == stage:
            raise error("in the middle")

    with no_threads_left(), Prover(keys.key, progress=progress) as prover:
        assert is_good(keys, witness, prover.prove(witness))
        threads = set(threading.enumerate())
        armed.set()
        for _ in range(2):
            with pytest.raises(error, match="in the middle"):
                prover.prove(witness)
            assert set(threading.enumerate()) <= threads
        armed.clear()
        assert is_good(keys, witness, prover.prove(witness))


def test_error_in_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that raises is the proof's exception, never a wrong proof."""

    def broken(*_: object) -> None:
        raise MemoryError("no buckets")

    keys = twin.setup(CURVES[0], CUBE)
    witness = witness_of(keys, 3)
    with no_threads_left(), Prover(keys.key) as prover:
        with monkeypatch.context() as patch:
            patch.setattr(msm, "_task", broken)
            with pytest.raises(MemoryError, match="no buckets"):
                prover.prove(witness)
        assert is_good(keys, witness, prover.prove(witness))


@curves
@pytest.mark.parametrize("query", ["a_query", "b_g1_query", "b_g2_query", "l_query", "h_query"])
def test_key_point_off_the_curve(curve: Curve, query: str) -> None:
    """Refused when the key is loaded, by its index; no thread stays."""
    key = twin.setup(curve, twin.chain(14)).key
    points = getattr(key, query).copy()
    word = {"a": "A", "l": "L", "h": "H", "b_g1": "B1", "b_g2": "B2"}[query[: -len("_query")]]
    index = len(points) - 2
    points[index].reshape(-1)[0] ^= np.uint64(1)
    damaged = type(key)(**{**vars(key), query: points})
    with (
        no_threads_left(),
        pytest.raises(
            NotOnCurveError,
            match=rf"{re.escape(key.source)}: point {index} of the {word} query is not",
        ),
    ):
        Prover(damaged)


@curves
def test_key_header_point_is_checked(curve: Curve) -> None:
    """The proving key's own header points too, not only those of the verifying key."""
    key = twin.setup(curve, MUL).key
    for name in ("beta_g1", "delta_g1"):
        point = getattr(key, name).copy()
        point[1, 0] ^= np.uint64(1)
        with no_threads_left(), pytest.raises(NotOnCurveError):
            Prover(type(key)(**{**vars(key), name: point}))


@curves
def test_witness_of_another_shape(curve: Curve) -> None:
    """Too few, too many, another curve: both sources and counts are named."""
    keys = twin.setup(curve, CUBE)
    other = next(c for c in CURVES if c != curve)
    with Prover(keys.key) as prover:
        for z in ([1], [1, 2, 3, 4], [1, 2, 3, 4, 5, 6]):
            with pytest.raises(MismatchError, match=rf"z.wtns has {len(z)} values .* expects 5\b"):
                prover.prove(twin.witness(curve, z, "z.wtns"))
        with pytest.raises(MismatchError, match=rf"z.wtns is over {other.name} .*{curve.name}"):
            prover.prove(twin.witness(other, [1, 2, 3, 4, 5], "z.wtns"))
        assert is_good(keys, witness_of(keys, 3), prover.prove(witness_of(keys, 3)))


# --- closing ----------------------------------------------------------------------------------


def test_closed_prover_refuses_at_once() -> None:
    """It raises; it does not wait for threads that are gone. Closing twice is fine."""
    keys = twin.setup(CURVES[0], CUBE)
    with no_threads_left():
        prover = Prover(keys.key)
        prover.prove(witness_of(keys, 3))
        prover.close()
        prover.close()
        with pytest.raises(RuntimeError):
            prover.prove(witness_of(keys, 3))


CLOSE_WHILE_PROVING = """
import sys, threading
from snarkcuda.groth16.prover import Prover

outcomes = []
for _ in range(40):
    prover, begun = Prover(sys.argv[1], threads=2), threading.Semaphore(0)

    def work():
        try:
            prover.prove(sys.argv[2], check=False)
            outcomes.append("proved")
        except RuntimeError:
            outcomes.append("closed")
        except BaseException as error:
            outcomes.append(repr(error))

    prover._progress = lambda stage: stage == "A·w, B·w" and begun.release()
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        begun.acquire()
    prover.close()
    for thread in threads:
        thread.join()
print(sorted(set(outcomes)), len(threading.enumerate()))
"""

INTERRUPTED = """
import sys, threading, time
from snarkcuda.groth16.prover import Prover

def job_threads():
    return [t.name for t in threading.enumerate() if t.name.startswith("snarkcuda-job")]

with Prover(sys.argv[1], threads=2) as prover:
    prover.prove(sys.argv[2])
    try:
        print("proving", flush=True)
        while True:
            prover.prove(sys.argv[2])
    except KeyboardInterrupt:
        # A thread that Ctrl-C met while it was being started is joined by nobody: it ends itself.
        deadline = time.monotonic() + 5
        while job_threads() and time.monotonic() < deadline:
            time.sleep(0.01)
        print("interrupted", job_threads(), flush=True)
    prover.prove(sys.argv[2])
print("proved again", len(threading.enumerate()), flush=True)
"""


@pytest.fixture
def child(tmp_path: Path) -> Callable[[str], subprocess.Popen[str]]:
    """Starts a script on the files of a chain that takes tens of milliseconds to prove."""
    keys = twin.setup(CURVES[0], twin.chain(500))
    write_zkey(tmp_path / "key.zkey", keys.key)
    write_witness(tmp_path / "witness.wtns", witness_of(keys, 3))

    def start(script: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-c", script, "key.zkey", "witness.wtns"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


def finished(process: subprocess.Popen[str]) -> str:
    """Its output; a process that hangs is ended, and fails the test with its threads' stacks."""
    try:
        out, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)  # faulthandler is on
        out, err = process.communicate()
        pytest.fail(f"the process hangs: {out}\n{err}")
    assert process.returncode == 0, err
    return out


def test_close_while_proving(child: Callable[[str], subprocess.Popen[str]]) -> None:
    """Proofs under way are finished first, as `close` says; nothing hangs."""
    assert finished(child(CLOSE_WHILE_PROVING)).strip() == "['proved'] 1"


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
@pytest.mark.parametrize("delay", [0.0, 0.017, 0.05])
def test_ctrl_c_while_proving(
    child: Callable[[str], subprocess.Popen[str]], tmp_path: Path, delay: float
) -> None:
    """A real SIGINT: the proof ends, no file is left, the same process proves again."""
    before = sorted(tmp_path.iterdir())
    process = child(INTERRUPTED)
    assert process.stdout is not None
    assert process.stdout.readline() == "proving\n"
    threading.Event().wait(delay)
    process.send_signal(signal.SIGINT)
    # Python loses an interrupt that meets it in a weak reference's callback: users press again.
    again = threading.Timer(15, process.send_signal, [signal.SIGINT])
    again.start()
    try:
        assert finished(process).splitlines() == ["interrupted []", "proved again 1"]
    finally:
        again.cancel()
    assert sorted(tmp_path.iterdir()) == before


def test_interrupt_between_two_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while a proof is being started: what was begun is stopped, and no thread stays."""
    keys = twin.setup(CURVES[0], CUBE)
    witness, real, calls = witness_of(keys, 3), CpuJob.msm, []

    def interrupted(self: CpuJob, *arguments: Any, **more: Any) -> Any:
        calls.append(self)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(self, *arguments, **more)

    with no_threads_left(), Prover(keys.key) as prover:
        prover.prove(witness)
        with monkeypatch.context() as patch:
            patch.setattr(CpuJob, "msm", interrupted)
            with pytest.raises(KeyboardInterrupt):
                prover.prove(witness)
        assert calls[0]._stop.is_set
        assert is_good(keys, witness, prover.prove(witness))


def test_an_interrupt_at_the_end_of_a_proof() -> None:
    """Whatever Ctrl-C leaves behind in the thread that closes, close does not wait for it."""
    keys = twin.setup(CURVES[0], CUBE)
    prover = Prover(keys.key, threads=1)
    prover._proving.add(threading.get_ident())  # as if its removal had been interrupted
    prover.close()
