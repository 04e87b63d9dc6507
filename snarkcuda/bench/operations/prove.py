"""A whole proof from a key and a witness in memory, self-check included; the proof verifies."""

from __future__ import annotations

import warnings

from snarkcuda.bench.case import SEED, Case, Subject
from snarkcuda.bench.operations.circuit import circuit
from snarkcuda.cpu.pool import Pool
from snarkcuda.errors import ForgeableKeyWarning
from snarkcuda.groth16.prover import Proved, Prover
from snarkcuda.groth16.research_key import research_key
from snarkcuda.groth16.timeline import Timeline
from snarkcuda.groth16.verify import verify


def subject(case: Case, pool: Pool) -> Subject:
    """Proofs under a research key of a synthetic circuit, by a `Prover` that keeps the key."""
    return proofs_on(case, pool, "cpu")


def proofs_on(case: Case, pool: Pool, device: str) -> Subject:
    """The subject on a device."""
    r1cs, witness = circuit(case, pool)
    key = research_key(r1cs, pool, Timeline(), SEED.encode())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ForgeableKeyWarning)
        prover = Prover(key, threads=pool.threads, device=device)

    def is_right(proved: Proved) -> bool:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ForgeableKeyWarning)
            return verify(key.verifying_key, proved.public, proved.proof)

    return Subject(
        lambda: prover.prove(witness),
        is_right,
        "row",
        key.domain_size,
        stages=lambda proved: proved.stages,
        close=prover.close,
    )
