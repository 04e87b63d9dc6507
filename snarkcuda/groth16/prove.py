"""The Groth16 prover: read this page first.

With z = (1, public, private) the assignment, r and s random, and queries as `keys.py` names them:

    h        = (a·b − c) on the coset, where a = A·z, b = B·z, c = a·b on the domain
    A        = α + Σ zᵢ·a_queryᵢ + r·δ                                  in G1
    B        = β + Σ zᵢ·b_queryᵢ + s·δ                                  in G2, and once more in G1
    C        = Σ_private zᵢ·l_queryᵢ + Σ hᵢ·h_queryᵢ + s·A + r·B₁ − r·s·δ

Source: Groth, eprint 2016/260, §3.2. Each line below is one operation of the backend, which runs it
asynchronously; `tests/naive_groth16.py` is the same page on Python ints.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from snarkcuda.curve.points import linear_combination
from snarkcuda.field.arrays import U64Array
from snarkcuda.groth16.keys import Proof
from snarkcuda.groth16.timeline import Timeline

if TYPE_CHECKING:
    from snarkcuda.groth16.backend import Backend, Handle, Job, LoadedKey


def prove_start(
    backend: Backend, key: LoadedKey, z: U64Array, r: int, s: int, timeline: Timeline
) -> PendingProof:
    """Start a proof; `finish()` waits for it.

    Args:
        backend: where it runs.
        key: a key resident on that backend.
        z: the assignment, uint64 (n_wires, 4), canonical, z₀ = 1.
        r, s: the two random scalars, below the group order; fixed values give a fixed proof.
        timeline: receives the stages.
    """
    first_private = key.key.n_public + 1

    with backend.job(timeline) as job:
        scalars = job.scalars(key, z)
        abc = job.evaluate(key, z)
        h = job.quotient(key, abc)
        return PendingProof(
            job,
            key,
            r,
            s,
            timeline,
            a=job.msm("MSM A (G1)", key.a_query, scalars),
            b1=job.msm("MSM B1 (G1)", key.b_g1_query, scalars),
            b2=job.msm("MSM B2 (G2)", key.b_g2_query, scalars),
            l=job.msm("MSM L (G1)", key.l_query, scalars, first_private),
            h=job.msm("MSM H (G1)", key.h_query, h),
        )


@dataclass(frozen=True)
class PendingProof:
    """A proof under way: the handles of its five sums."""

    job: Job
    key: LoadedKey
    r: int = field(repr=False)  # secret: with it the proof is not zero-knowledge
    s: int = field(repr=False)
    timeline: Timeline
    a: Handle
    b1: Handle
    b2: Handle
    l: Handle  # noqa: E741 (the paper's name)
    h: Handle

    def finish(self) -> Proof:
        """Wait for the sums and assemble the proof; on any error or Ctrl-C, stop the rest."""
        with self.job:
            sums = [handle.result() for handle in (self.a, self.b1, self.b2, self.l, self.h)]
            self.job.close()
        with self.timeline.stage("assemble"):
            return self._assemble(*sums)

    def _assemble(
        self,
        sum_a: U64Array,
        sum_b1: U64Array,
        sum_b2: U64Array,
        sum_l: U64Array,
        sum_h: U64Array,
    ) -> Proof:
        r, s = self.r, self.s
        key, vk, curve = self.key.key, self.key.key.verifying_key, self.key.key.curve

        a = linear_combination(curve.g1, [vk.alpha_g1, sum_a, key.delta_g1], [1, 1, r])
        b1 = linear_combination(curve.g1, [key.beta_g1, sum_b1, key.delta_g1], [1, 1, s])
        b2 = linear_combination(curve.g2, [vk.beta_g2, sum_b2, vk.delta_g2], [1, 1, s])
        c = linear_combination(curve.g1, [sum_l, sum_h, a, b1, key.delta_g1], [1, 1, s, r, -r * s])
        return Proof(curve, a, b2, c)
