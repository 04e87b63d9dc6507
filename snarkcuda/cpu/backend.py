"""The CPU backend: a key made resident, and the operations of a proof as asynchronous handles.

Operations of one `Job` run in the order they were asked for, each on all threads of the backend's
pool; several jobs (proofs started from several Python threads) share the pool. A handle's
`result()` waits; an operation that needs another's result takes its handle. Nothing here is global:
threads belong to the backend, the stop flag to the job, tables to the resident key.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from snarkcuda.cpu import matvec, msm, msm_affine, ntt
from snarkcuda.cpu.point_checks import first_off_curve
from snarkcuda.cpu.pool import Pool, Stop, submit
from snarkcuda.cpu.vector_form import to_vector_form
from snarkcuda.curve.params import Group
from snarkcuda.errors import NotOnCurveError
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.params import prime_of
from snarkcuda.field.vector_type import has_vectors
from snarkcuda.groth16.keys import ProvingKey
from snarkcuda.groth16.timeline import Timeline

T = TypeVar("T")
Scalars = msm.Digits | msm_affine.SortedDigits
VECTOR_ROWS = 1 << 12  # for fewer, loading the vector kernels takes longer than they save
Handle = Future  # `result()` waits, and raises what the operation raised


def uses_vectors(key: ProvingKey) -> bool:
    """Whether proofs with a key are made on vectors."""
    return has_vectors() and key.domain_size >= VECTOR_ROWS


@dataclass(frozen=True)
class Query:
    """The points of one MSM, packed: affine, in Montgomery form or, with vectors, vector form."""

    group: Group
    points: NDArray[np.uint8]


@dataclass(frozen=True)
class ResidentKey:
    """A proving key as the CPU kernels read it.

    With `vectors` the queries are copies in vector form, and else views of the mapped file.
    """

    key: ProvingKey
    vectors: bool
    matrices: matvec.Matrices
    tables: ntt.Tables
    a_query: Query
    b_g1_query: Query
    b_g2_query: Query
    l_query: Query
    h_query: Query


class CpuBackend:
    """Threads and the operations that run on them. Close it, or use it as a context manager.

    Args:
        threads: worker threads; by default all processors that this process may use.
    """

    name = "cpu"

    def __init__(self, threads: int | None = None) -> None:
        self.pool = Pool(threads)
        self._jobs: WeakSet[CpuJob] = WeakSet()

    def load(
        self, key: ProvingKey, timeline: Timeline, two_adicity: int | None = None
    ) -> ResidentKey:
        """Make a key resident: check its points, group its coefficients, compute the tables.

        Args:
            key: the proving key.
            timeline: receives the stages.
            two_adicity: lowered by tests to reach the quotient's edge case.

        Raises:
            NotOnCurveError: a query holds a point that is off its curve.
        """
        curve, fr = key.curve, key.curve.fr
        vectors = uses_vectors(key)
        queries = {
            "A query": (curve.g1, key.a_query),
            "B1 query": (curve.g1, key.b_g1_query),
            "B2 query": (curve.g2, key.b_g2_query),
            "L query": (curve.g1, key.l_query),
            "H query": (curve.g1, key.h_query),
        }
        with timeline.stage("check key points", sum(q.nbytes for _, q in queries.values())):
            for name, (group, query) in queries.items():
                self._check_on_curve(key, name, group, query)
        with timeline.stage("group coefficients", key.coefficients.nbytes):
            matrices = matvec.group_by_row(
                fr, key.domain_size, key.n_wires, key.coefficients, key.source
            )
        with timeline.stage("domain tables", 2 * key.domain_size * 8 * fr.limbs):
            domain = ntt.domain_of_size(fr, key.domain_size, two_adicity)
            tables = ntt.tables(self.pool, domain, vectors)
        if vectors:
            with timeline.stage("vector form", sum(q.nbytes for _, q in queries.values())):
                resident = [
                    Query(g, to_vector_form(self.pool, prime_of(g.field), q))
                    for g, q in queries.values()
                ]
        else:
            resident = [Query(g, arrays.packed(q)) for g, q in queries.values()]
        return ResidentKey(key, vectors, matrices, tables, *resident)

    def _check_on_curve(self, key: ProvingKey, name: str, group: Group, query: U64Array) -> None:
        index = first_off_curve(self.pool, group, query)
        if index is not None:
            raise NotOnCurveError(
                f"{key.source}: point {index} of the {name} is not on {group.name}: the key is "
                "damaged; download it or make it again"
            )

    def job(self, timeline: Timeline) -> CpuJob:
        """A new sequence of operations."""
        job = CpuJob(self.pool, timeline)
        self._jobs.add(job)
        return job

    def close(self) -> None:
        """Cancel what still runs and end the threads."""
        for job in list(self._jobs):
            job.cancel()
        self.pool.close()

    def __enter__(self) -> CpuBackend:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class CpuJob:
    """The operations of one proof, in order, on a thread of their own.

    A context manager: a block that raises, on Ctrl-C too, ends the operations.
    """

    def __init__(self, pool: Pool, timeline: Timeline) -> None:
        self._pool = pool
        self._timeline = timeline
        self._stop = Stop()
        self._conductor = ThreadPoolExecutor(1, thread_name_prefix="snarkcuda-job")

    def _start(self, stage: str, n_bytes: int, operation: Callable[[], T]) -> Handle[T]:
        def timed() -> T:
            with self._timeline.stage(stage, n_bytes):
                return operation()

        return submit(self._conductor, timed)

    def scalars(self, key: ResidentKey, values: U64Array) -> Handle[Scalars]:
        """The witness as MSM scalars, cut into digits once for all queries: uint64 (n, 4)."""
        return self._start("witness digits", values.nbytes, lambda: self._digits(key, values))

    def _digits(self, key: ResidentKey, values: U64Array) -> Scalars:
        cut = msm_affine.sorted_digits if key.vectors else msm.signed_digits
        return cut(self._pool, values, key.matrices.field.bits, self._stop)

    def evaluate(self, key: ResidentKey, witness: U64Array) -> Handle[U64Array]:
        """a = A·w, b = B·w, c = a·b on the domain."""
        n_bytes = key.matrices.values.nbytes + witness.nbytes

        def operation() -> U64Array:
            return matvec.evaluate(self._pool, key.matrices, witness, self._stop)

        return self._start("A·w, B·w", n_bytes, operation)

    def quotient(self, key: ResidentKey, abc: Handle[U64Array]) -> Handle[Scalars]:
        """h: a·b − c on the coset, as scalars of the H query; three inverse, three forward NTTs."""

        def operation() -> Scalars:
            x = abc.result()
            ntt.to_coset(self._pool, key.tables, x, self._stop)
            h = matvec.quotient_scalars(self._pool, key.matrices.field, x, self._stop)
            return self._digits(key, h)

        n_bytes = 3 * key.tables.scale.nbytes
        return self._start("quotient (6 NTTs)", n_bytes, operation)

    def msm(
        self, stage: str, query: Query, scalars: Handle[Scalars], first: int = 0
    ) -> Handle[U64Array]:
        """Σ kᵢ·Pᵢ over a query and the scalars from index `first` on."""

        def operation() -> U64Array:
            digits = scalars.result().tail(first)
            if isinstance(digits, msm_affine.SortedDigits):
                return msm_affine.msm_affine(
                    self._pool, query.group, query.points, digits, self._stop
                )
            return msm.msm(self._pool, query.group, query.points, digits, self._stop)

        return self._start(stage, query.points.nbytes, operation)

    def close(self) -> None:
        """Wait for the operations and end the job's thread."""
        self._conductor.shutdown(wait=True)

    def cancel(self) -> None:
        """End the operations, running and queued, and wait until none touches memory any more."""
        self._stop.set()
        self._conductor.shutdown(wait=True, cancel_futures=True)

    def __enter__(self) -> CpuJob:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        """No more operations are asked for: those asked for go on, or end if the block raised."""
        if kind is not None:
            self.cancel()
        else:
            self._conductor.shutdown(wait=False)
