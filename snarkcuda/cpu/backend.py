"""The CPU backend: the operations of a proof as asynchronous handles.

Operations of one `Job` run in the order they were asked for, each on all threads of the backend's
pool; several jobs (proofs started from several Python threads) share the pool. A handle's
`result()` waits; an operation that needs another's result takes its handle. Nothing here is global:
threads belong to the backend, the stop flag to the job, tables to the resident key.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar
from weakref import WeakSet

from snarkcuda.cpu import matvec, resident_key
from snarkcuda.cpu.digits import SortedDigits, sorted_digits
from snarkcuda.cpu.msm import msm
from snarkcuda.cpu.msm_blocks import PlainScalars, msm_blocks
from snarkcuda.cpu.pool import Pool, Stop, submit
from snarkcuda.cpu.quotient import coset_quotient
from snarkcuda.cpu.resident_key import Query, ResidentKey
from snarkcuda.field.arrays import U64Array
from snarkcuda.formats.opening import FilePath
from snarkcuda.groth16.keys import ProvingKey
from snarkcuda.groth16.timeline import Timeline

T = TypeVar("T")
Scalars = SortedDigits | PlainScalars
Handle = Future  # `result()` waits, and raises what the operation raised


class CpuBackend:
    """Threads and the operations that run on them. Close it, or use it as a context manager.

    Args:
        threads: worker threads; by default all processors that this process may use.
    """

    name = "cpu"

    def __init__(self, threads: int | None = None) -> None:
        self.pool = Pool(threads)
        self._jobs: WeakSet[CpuJob] = WeakSet()

    @property
    def label(self) -> str:
        """Where proofs are made: "cpu (2 threads)"."""
        return f"cpu ({self.pool.threads} threads)"

    def load(
        self,
        key: ProvingKey,
        timeline: Timeline,
        two_adicity: int | None = None,
        memory: int | None = None,
        cache: FilePath | None = None,
    ) -> ResidentKey:
        """Make a key resident; arguments and errors are those of `resident_key.load`."""
        return resident_key.load(self.pool, key, timeline, two_adicity, memory, cache)

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
        if key.block:
            return PlainScalars(values, key.matrices.field.bits)
        return sorted_digits(self._pool, values, key.matrices.field.bits, self._stop)

    def evaluate(self, key: ResidentKey, witness: U64Array) -> Handle[Any]:
        """a = A·w, b = B·w, c = a·b on the domain, where and as the backend's `quotient` wants."""
        n_bytes = key.matrices.nbytes + witness.nbytes

        def operation() -> U64Array:
            return matvec.evaluate(self._pool, key.matrices, witness, self._stop)

        return self._start("A·w, B·w", n_bytes, operation)

    def quotient(self, key: ResidentKey, abc: Handle[Any]) -> Handle[Scalars]:
        """h: a·b − c on the coset, as scalars of the H query; three inverse, three forward NTTs."""

        def operation() -> Scalars:
            h = coset_quotient(self._pool, key.tables, abc.result(), self._stop)
            return self._digits(key, h)

        n_bytes = 3 * 8 * 4 * key.key.domain_size
        return self._start("quotient (6 NTTs)", n_bytes, operation)

    def msm(
        self, stage: str, query: Query, scalars: Handle[Scalars], first: int = 0
    ) -> Handle[U64Array]:
        """Σ kᵢ·Pᵢ over a query and the scalars from index `first` on."""

        def operation() -> U64Array:
            digits = scalars.result().tail(first)
            if isinstance(digits, PlainScalars):
                return msm_blocks(self._pool, query, digits, self._stop)
            arguments = query.group, query.points, digits, self._stop, query.infinite
            return msm(self._pool, *arguments, vectors=query.vectors)

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
