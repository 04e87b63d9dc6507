"""Proofs that a device makes: the CPU's bytes, and errors that name it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError
from dataclasses import replace

import numpy as np
import pytest

from snarkcuda.cpu.backend import CpuBackend
from snarkcuda.cpu.matvec import group_by_row
from snarkcuda.cpu.pool import Cancelled
from snarkcuda.curve.params import BN254
from snarkcuda.errors import DeviceError, NotOnCurveError, UnsatisfiedError
from snarkcuda.field.arrays import from_ints
from snarkcuda.formats.proof_json import proof_to_json
from snarkcuda.formats.wtns import read_witness
from snarkcuda.formats.zkey import read_zkey
from snarkcuda.groth16.prove import prove_start
from snarkcuda.groth16.prover import Prover
from snarkcuda.groth16.timeline import Timeline
from snarkcuda.kernels import backend as cuda_backend
from snarkcuda.kernels import device_key, job
from snarkcuda.kernels.backend import CudaBackend
from snarkcuda.kernels.catalog import proof_kernels
from snarkcuda.kernels.evaluate import load_matrices
from snarkcuda.kernels.field import device_field
from snarkcuda.kernels.msm_plan import Geometry, geometry_of, msm_shape
from snarkcuda.kernels.target import simulated
from snarkcuda.warmup.parts import part_named, parts_of_device

pytestmark = pytest.mark.filterwarnings("ignore::snarkcuda.errors.NotZeroKnowledgeWarning")
CASES = ["bn_mul2", "bls_mul2", "bn_no_public", "bn_linear_O0", "bn_poseidon1"]
R, S = 0x1234567890ABCDEF << 100, 0xFEDCBA0987654321 << 90


def proof_on(backend, key, witness) -> str:
    timeline = Timeline()
    with backend:
        resident = backend.load(key, timeline)
        pending = prove_start(backend, resident, witness.values, R, S, timeline)
        return proof_to_json(pending.finish())


def matrices_of(key):
    fr = key.curve.fr
    return group_by_row(fr, key.domain_size, key.n_wires, key.coefficients)


@pytest.fixture
def case(request, vectors):
    folder = vectors / request.param
    return read_zkey(folder / "circuit.zkey"), read_witness(folder / "witness.wtns")


@pytest.mark.parametrize("case", CASES, indirect=True)
def test_proofs_are_the_cpus_bytes(device, case) -> None:
    key, witness = case
    on_cpu = proof_on(CpuBackend(1), key, witness)
    assert proof_on(CudaBackend("cuda", 1), key, witness) == on_cpu


@pytest.mark.parametrize("case", ["bn_mul2"], indirect=True)
def test_the_device_is_named(device, case) -> None:
    key, witness = case
    with Prover(key, threads=1, device="cuda") as prover:
        assert prover.device == str(device)
        stages = [stage.name for stage in prover.prove(witness, seed=b"x").stages]
    assert f"A·w, B·w [{device.label}]" in stages
    assert f"quotient (6 NTTs) [{device.label}]" in stages
    assert f"MSM B2 (G2) [{device.label}]" in stages


@pytest.mark.parametrize("case", ["bn_mul2"], indirect=True)
def test_two_threads_prove_on_one_prover(device, case) -> None:
    key, witness = case
    proofs, problems = [], []

    def work(prover: Prover) -> None:
        try:
            proofs.append(proof_to_json(prover.prove(witness, seed=b"same").proof))
        except Exception as error:
            problems.append(error)

    with Prover(key, threads=1, device="cuda") as prover:
        threads = [threading.Thread(target=work, args=(prover,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not problems and len(set(proofs)) == 1 and len(proofs) == 2


@pytest.mark.parametrize("case", ["bn_mul2"], indirect=True)
def test_a_witness_that_does_not_satisfy(device, case) -> None:
    """The CPU agrees that it is the witness: exit code 2, not the device's 3."""
    key, witness = case
    values = witness.values.copy()
    values[-1, 0] ^= np.uint64(1)
    wrong = type(witness)(witness.curve, values, witness.source)
    with Prover(key, threads=1, device="cuda") as prover:
        with pytest.raises(UnsatisfiedError, match="does not satisfy the circuit"):
            prover.prove(wrong)
        assert json.loads(proof_to_json(prover.prove(witness).proof))["protocol"] == "groth16"


@pytest.mark.parametrize(
    "stage, name",
    [
        ("A·w, B·w", "evaluate"),
        ("quotient (6 NTTs) or MSM H", "circom_quotient"),
        ("MSM B2 (G2)", "msm_rows"),
    ],
)
@pytest.mark.parametrize("case", ["bn_mul2"], indirect=True)
def test_a_device_that_computes_wrongly(device, case, stage, name, monkeypatch) -> None:
    """Its proof does not leave; the error names the first operation that differs."""
    key, witness = case
    right = getattr(job, name)

    def wrong(*arguments):
        found = right(*arguments)
        in_g2 = any(getattr(a, "group", None) == key.curve.g2 for a in arguments)
        if name != "msm_rows" or in_g2:
            stream = next(a for a in arguments if hasattr(a, "synchronize"))
            words = found.size if in_g2 else 8  # some rows of a sum may be infinity
            stream.upload(np.full(words, 7, dtype=np.uint32), found.part(0, words))
        return found

    monkeypatch.setattr(job, name, wrong)
    with (
        Prover(key, threads=1, device="cuda") as prover,
        pytest.raises(DeviceError, match="made a false proof") as caught,
    ):
        prover.prove(witness)
    assert f"the first operation that differs: {stage}" in str(caught.value)
    assert "--device cpu works" in str(caught.value) and caught.value.exit_code == 3


@pytest.mark.parametrize("case", ["bn_mul2"], indirect=True)
def test_no_memory_left(device, case) -> None:
    """The error names what is needed and what is there; the next proof works."""
    key, witness = case
    with pytest.raises(DeviceError, match=r"has no 4,096 bytes left of a budget of 10,000: 8,192 "):
        proof_on(CudaBackend("cuda", 1, gpu_memory=10_000), key, witness)
    with pytest.raises(DeviceError, match=r"circuit.zkey needs .* a proof included, and .* left"):
        proof_on(CudaBackend("cuda", 1, gpu_memory=200_000), key, witness)
    backend = CudaBackend("cuda", 1)
    with backend:
        timeline = Timeline()
        resident = backend.load(key, timeline)
        in_use = len(backend.arena._used)
        for more in (0, 1 << 12, 8 << 12):  # the key fits, and some arrays of a proof
            backend.arena.budget = backend.arena._taken + more
            pending = prove_start(backend, resident, witness.values, R, S, timeline)
            with pytest.raises(DeviceError, match="has no"):
                pending.finish()
            assert len(backend.arena._used) == in_use, "what the proof took is given back"
            while backend.arena._give_back():
                pass
        backend.arena.budget = 1 << 30
        pending = prove_start(backend, resident, witness.values, R, S, timeline)
        assert proof_to_json(pending.finish()) == proof_on(CpuBackend(1), key, witness)


@pytest.mark.parametrize("fail_at", [1, 2, 5, 8, 9, 12, 15, 100])
@pytest.mark.parametrize("case", ["bn_mul2"], indirect=True)
def test_a_load_that_fails_leaves_nothing(device, case, fail_at, monkeypatch) -> None:
    """At whichever allocation; the next one works, and a key that is freed leaves nothing."""
    key, witness = case
    backend = CudaBackend("cuda", 1)
    allocate, calls = backend.device.allocate, []

    def failing(n_bytes):
        calls.append(n_bytes)
        return None if len(calls) == fail_at else allocate(n_bytes)

    with backend:
        monkeypatch.setattr(backend.device, "allocate", failing)
        resident = None
        try:
            resident = backend.load(key, Timeline())  # or a free block was given back for it
        except DeviceError as error:
            assert "has no" in str(error)
            assert not backend.arena._used
        resident = resident or backend.load(key, Timeline())
        pending = prove_start(backend, resident, witness.values, R, S, Timeline())
        assert proof_to_json(pending.finish()) == proof_on(CpuBackend(1), key, witness)
        resident.free()
        assert not backend.arena._used


@pytest.mark.parametrize(
    "case, block",
    [
        ("bn_mul2", 3),
        pytest.param("bls_mul2", 2, marks=pytest.mark.slow),
        pytest.param("bn_no_public", 3, marks=pytest.mark.slow),
    ],
    indirect=["case"],
)
def test_streamed_points_give_the_same_bytes(device, case, block, monkeypatch) -> None:
    """Slices, the last one shorter; public wires have no points in L."""
    key, witness = case
    shape = msm_shape(key.curve.fr, block, 1, 5, geometry_of(device))
    monkeypatch.setattr(device_key, "plan", lambda *_: (shape, shape, block))
    on_cpu = proof_on(CpuBackend(1), key, witness)
    assert proof_on(CudaBackend("cuda", 1), key, witness) == on_cpu


@pytest.mark.parametrize("case", ["bn_mul2"], indirect=True)
def test_a_streamed_key_off_its_curve(device, case, monkeypatch) -> None:
    key, _ = case
    l_query = key.l_query.copy()
    l_query[-1, 1, 0] ^= np.uint64(1)
    shape = msm_shape(key.curve.fr, 2, 1, 7, geometry_of(device))
    monkeypatch.setattr(device_key, "plan", lambda *_: (shape, shape, 2))
    with CudaBackend("cuda", 1) as backend:
        rule = f"point {len(l_query) - 1} of the L query is not on bn254.g1"
        with pytest.raises(NotOnCurveError, match=rule):
            backend.load(replace(key, l_query=l_query), Timeline())
        assert not backend.arena._used


def test_less_room_means_fewer_multiples(device, scope, vectors) -> None:
    """Then slices, then an error: and what is planned fits in the room each time."""
    key = read_zkey(vectors / "bn_poseidon1" / "circuit.zkey")
    rows = load_matrices(scope, device_field(key.curve.fr), matrices_of(key))
    key = replace(key, n_wires=1 << 20, domain_size=1 << 20)  # all that a plan looks at
    room, found = 1 << 40, []
    while room > 1000:
        try:
            shape, h, block = device_key.plan(key, rows, room, scope, Geometry())
        except DeviceError as error:
            assert "allow more (--gpu-mem)" in str(error)
            found.append(None)
            break
        needs = device_key._job_bytes(key, rows, shape, h, block)
        needs += 0 if block else device_key._table_bytes(key, shape, h)
        assert needs <= room
        found.append((shape.multiples, block))
        room = needs - 1
    multiples = [m for m, block in found[:-1] if not block]
    blocks = [block for _, block in found[:-1] if block]
    assert multiples == sorted(multiples, reverse=True) and len(set(multiples)) > 2
    assert found[-1] is None
    assert blocks == sorted(blocks, reverse=True) and blocks[-1] < 1 << 15


@pytest.mark.parametrize("fail_at", [1, 4, 9, 14, 20])
@pytest.mark.parametrize("case", ["bn_mul2"], indirect=True)
def test_a_proof_that_fails_leaves_nothing(device, case, fail_at, monkeypatch) -> None:
    """At whichever allocation; the next one works."""
    key, witness = case
    backend = CudaBackend("cuda", 1)
    with backend:
        resident = backend.load(key, Timeline())
        in_use, allocate, calls = len(backend.arena._used), backend.device.allocate, []
        while backend.arena._give_back():
            pass

        def failing(n_bytes):
            calls.append(n_bytes)
            return None if len(calls) == fail_at else allocate(n_bytes)

        monkeypatch.setattr(backend.device, "allocate", failing)
        pending = prove_start(backend, resident, witness.values, R, S, Timeline())
        # It may be that a block that is free can be given back, and the allocation made again.
        proof = None
        try:
            proof = proof_to_json(pending.finish())
        except DeviceError as error:
            assert "has no" in str(error)
        assert len(calls) >= fail_at and len(backend.arena._used) == in_use
        on_cpu = proof_on(CpuBackend(1), key, witness)
        assert proof in (None, on_cpu)
        pending = prove_start(backend, resident, witness.values, R, S, Timeline())
        assert proof_to_json(pending.finish()) == on_cpu


@pytest.mark.parametrize("case", ["bn_mul2"], indirect=True)
def test_proofs_take_turns_where_memory_is_short(device, case) -> None:
    """Room for the key and one proof: three threads' proofs all come, one after the other."""
    key, witness = case
    backend, proofs, problems = CudaBackend("cuda", 1), [], []
    with backend:
        resident = backend.load(key, Timeline())
        backend.arena.budget = backend.arena._taken + resident.job_bytes

        def work() -> None:
            try:
                pending = prove_start(backend, resident, witness.values, R, S, Timeline())
                proofs.append(proof_to_json(pending.finish()))
            except Exception as error:
                problems.append(error)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not problems and set(proofs) == {proof_on(CpuBackend(1), key, witness)}
    assert len(proofs) == 3


@pytest.mark.parametrize("case", ["bn_mul2"], indirect=True)
def test_a_proof_that_fails_makes_room_at_once(device, case, monkeypatch) -> None:
    """Nobody asks it for its result; the next one, which waits for its room, is made."""
    key, witness = case
    with CudaBackend("cuda", 1) as backend:
        resident = backend.load(key, Timeline())
        backend.arena.budget = backend.arena._taken + resident.job_bytes
        right, failed = job.evaluate, []

        def once(*arguments):
            if not failed:
                failed.append(True)
                raise DeviceError("the first failure")
            return right(*arguments)

        monkeypatch.setattr(job, "evaluate", once)
        first = prove_start(backend, resident, witness.values, R, S, Timeline())
        second = prove_start(backend, resident, witness.values, R, S, Timeline())
        assert proof_to_json(second.finish()) == proof_on(CpuBackend(1), key, witness)
        with pytest.raises(DeviceError, match="the first failure"):
            first.finish()


@pytest.mark.parametrize("case", ["bn_mul2"], indirect=True)
def test_cancelling_a_proof_that_waits_for_room(device, case) -> None:
    key, witness = case
    with CudaBackend("cuda", 1) as backend:
        resident = backend.load(key, Timeline())
        backend.arena.budget = backend.arena._taken + resident.job_bytes
        entry = backend._admission.enter(resident.job_bytes)
        waits = prove_start(backend, resident, witness.values, R, S, Timeline())
        time.sleep(0.3)
        waits.job.cancel()
        with pytest.raises((Cancelled, CancelledError)):
            waits.a.result()
        entry.leave()
        pending = prove_start(backend, resident, witness.values, R, S, Timeline())
        assert proof_to_json(pending.finish()) == proof_on(CpuBackend(1), key, witness)


@pytest.mark.parametrize("case", ["bn_mul2"], indirect=True)
def test_a_device_that_fails_half_way(device, case, monkeypatch) -> None:
    """What failed first is told, not that its memory cannot be given back; threads end."""
    key, witness = case
    before = threading.active_count()

    def faulty(*_):
        raise DeviceError("an illegal address")

    def work() -> None:
        with Prover(key, threads=1, device="cuda") as prover:
            monkeypatch.setattr(prover._backend.device, "release", faulty)
            prover.prove(witness)

    monkeypatch.setattr(job, "circom_quotient", faulty)
    with pytest.raises(DeviceError, match="an illegal address"):
        work()
    assert threading.active_count() == before


@pytest.mark.parametrize("case", ["bn_mul2"], indirect=True)
def test_operations_that_cannot_be_repeated(device, case, monkeypatch) -> None:
    """The proof is false, and the search for the operation fails: both are told."""
    key, witness = case
    right, calls = job.circom_quotient, []

    def wrong(to_coset, stream, abc):
        calls.append(abc)
        if len(calls) > 1:
            raise DeviceError("out of order")
        found = right(to_coset, stream, abc)
        stream.upload(np.full(8, 7, dtype=np.uint32), found.part(0, 8))
        return found

    monkeypatch.setattr(job, "circom_quotient", wrong)
    rule = "made a false proof .* repeating its operations failed: out of order"
    with Prover(key, threads=1, device="cuda") as prover, pytest.raises(DeviceError, match=rule):
        prover.prove(witness)


@pytest.mark.parametrize("case", ["bn_mul2"], indirect=True)
def test_memory_to_keep_to(device, case) -> None:
    key, _ = case
    with pytest.raises(DeviceError, match=r"of a budget of 5,000: .* allow more \(--gpu-mem\)"):
        Prover(key, threads=1, device="cuda", gpu_memory=5000)
    with pytest.raises(ValueError, match="gpu_memory must be a whole number of bytes"):
        Prover(key, threads=1, device="cuda", gpu_memory=0)


def test_values_below_2p_are_compared_by_limbs() -> None:
    field = BN254.fr
    some = [0, 1, field.modulus - 1, (1 << 192) - 1]
    expected = from_ints(some, field.limbs)
    for more in ([0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 0, 1]):
        found = from_ints([v + k * field.modulus for v, k in zip(some, more, strict=True)], 4)
        assert cuda_backend._is_congruent(field, found, expected)
        found[2, 1] ^= np.uint64(1)
        assert not cuda_backend._is_congruent(field, found, expected)


@pytest.mark.parametrize("device_name", ["gpu", "cuda:", 3, None])
def test_names_that_are_no_device(device_name, vectors) -> None:
    with pytest.raises(ValueError, match='device must be "cpu", "cuda" or "cuda:N"'):
        Prover(vectors / "bn_mul2" / "circuit.zkey", device=device_name)


def test_warmup_knows_what_a_device_needs(device) -> None:
    """Parts that a process of its own finds by name, and after which slicing is compiled."""
    parts = parts_of_device(BN254, "cuda")
    assert [part_named(str(part)) for part in parts] == parts
    kernels = [part for part in parts if " for sm_" in str(part)]
    assert len(kernels) == (0 if simulated() else len(proof_kernels(BN254)))
    program = (
        "from snarkcuda.warmup.parts import part_named; from snarkcuda.cpu.pool import Pool\n"
        "from snarkcuda.curve.params import BN254; from snarkcuda.kernels import matvec_plan, msm\n"
        f"for part in {[str(part) for part in parts if part not in kernels]}:\n"
        "    with Pool(1) as pool: part_named(part).work(pool, BN254)\n"
        "assert matvec_plan._slice.overloads and len(msm._weighted.overloads) == 2\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    with pytest.raises(KeyError):
        part_named("bn254 nothing for sm_90")
