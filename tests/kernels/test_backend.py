"""Proofs whose rows and quotient a device computes: the CPU's bytes, and errors that name it."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

from snarkcuda.cpu.backend import CpuBackend
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.params import BN254
from snarkcuda.errors import DeviceError, UnsatisfiedError
from snarkcuda.formats.proof_json import proof_to_json
from snarkcuda.formats.wtns import read_witness
from snarkcuda.formats.zkey import read_zkey
from snarkcuda.groth16.prove import prove_start
from snarkcuda.groth16.prover import Prover
from snarkcuda.groth16.timeline import Timeline
from snarkcuda.kernels import backend as cuda_backend
from snarkcuda.kernels import matvec_plan
from snarkcuda.kernels.backend import CudaBackend
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
        assert prover.device == f"{device}, cpu (1 threads)".replace("cuda:0", device.label)
        stages = [stage.name for stage in prover.prove(witness, seed=b"x").stages]
    assert f"A·w, B·w [{device.label}]" in stages
    assert f"quotient (6 NTTs) [{device.label}]" in stages


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


@pytest.mark.parametrize("stage", ["A·w, B·w", "quotient (6 NTTs)"])
@pytest.mark.parametrize("case", ["bn_mul2"], indirect=True)
def test_a_device_that_computes_wrongly(device, case, stage, monkeypatch) -> None:
    """Its proof does not leave; the error names the first operation that differs."""
    key, witness = case
    name = "evaluate" if stage.startswith("A") else "circom_quotient"
    right = getattr(cuda_backend, name)

    def wrong(*arguments):
        found = right(*arguments)
        stream = next(a for a in arguments if hasattr(a, "synchronize"))
        stream.upload(np.full(8, 7, dtype=np.uint32), found.part(0, 8))
        return found

    monkeypatch.setattr(cuda_backend, name, wrong)
    with (
        Prover(key, threads=1, device="cuda") as prover,
        pytest.raises(DeviceError, match="made a false proof") as caught,
    ):
        prover.prove(witness)
    assert f"first operation that differs: {stage}" in str(caught.value)
    assert "--device cpu works" in str(caught.value) and caught.value.exit_code == 3


@pytest.mark.parametrize("case", ["bn_mul2"], indirect=True)
def test_no_memory_left(device, case) -> None:
    """The error names what is needed and what is there; the next proof works."""
    key, witness = case
    with pytest.raises(DeviceError, match=r"has no 4,096 bytes left of a budget of 10,000: 8,192 "):
        proof_on(CudaBackend("cuda", 1, gpu_memory=10_000), key, witness)
    backend = CudaBackend("cuda", 1)
    with backend:
        timeline = Timeline()
        resident = backend.load(key, timeline)
        in_use = len(backend.arena._used)
        for more in range(0, 3 << 12, 1 << 12):  # the key fits; one more array of a proof each time
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


@pytest.mark.parametrize("device_name", ["gpu", "cuda:", 3, None])
def test_names_that_are_no_device(device_name, vectors) -> None:
    with pytest.raises(ValueError, match='device must be "cpu", "cuda" or "cuda:N"'):
        Prover(vectors / "bn_mul2" / "circuit.zkey", device=device_name)


def test_warmup_knows_what_a_device_needs(device) -> None:
    """A part that a process of its own finds by name, and after which slicing is compiled."""
    (part,) = parts_of_device(BN254, "cuda")
    assert part_named(str(part)) == part and "CUDA kernels for" in str(part)
    with Pool(1) as pool:
        part.work(pool, BN254)
    assert matvec_plan._slice.overloads
    with pytest.raises(KeyError):
        part_named("bn254 CUDA kernels for nothing")
