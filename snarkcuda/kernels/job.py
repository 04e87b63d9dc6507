"""The operations of one proof on a device: launched in order by one thread, on one stream.

Nothing waits for the device in between: the witness goes up, and when all is launched, the rows of
five sums come down. Times are those of the device's own events.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from snarkcuda.cpu.pool import Cancelled, Stop, submit
from snarkcuda.field.arrays import U64Array
from snarkcuda.groth16.timeline import Timeline
from snarkcuda.kernels.device import DeviceArray, Event
from snarkcuda.kernels.device_key import DeviceKey
from snarkcuda.kernels.evaluate import evaluate
from snarkcuda.kernels.memory import Scope
from snarkcuda.kernels.msm import Bases, Grouping, group_digits, msm_rows, weighted
from snarkcuda.kernels.quotient import circom_quotient

if TYPE_CHECKING:
    from snarkcuda.kernels.admission import Admission
    from snarkcuda.kernels.memory import Arena

T = TypeVar("T")


class SumHandle:
    """A sum whose rows are on the device, or will be."""

    def __init__(
        self, job: CudaJob, bases: Bases, scalars: Future[Grouping], rows: Future[DeviceArray]
    ) -> None:
        self._job, self._bases, self._scalars, self._rows = job, bases, scalars, rows

    def result(self) -> U64Array:
        """Wait for the rows, and weigh them here: one affine point, Montgomery."""
        rows = self._rows.result()
        host = np.empty(rows.size // 2, dtype=np.uint64)
        self._job.stream.download(rows, host)
        return weighted(self._bases.group, self._scalars.result().shape, host)


class CudaJob:
    """See `groth16.backend.Job`. Begins when there is room for it on the device."""

    def __init__(self, arena: Arena, admission: Admission, timeline: Timeline) -> None:
        self.stream = arena.device.stream()
        self._label, self._arena, self._admission = arena.device.label, arena, admission
        self._timeline, self._stop = timeline, Stop()
        self._launching = ThreadPoolExecutor(1, thread_name_prefix="snarkcuda-device")
        self._held: Scope = arena.scope(self.stream)
        self._spans: list[tuple[str, int, Event, Event]] = []
        self._entered = 0
        self._witness: DeviceArray | None = None

    def _start(self, stage: str, n_bytes: int, operation: Callable[[], T]) -> Future[T]:
        def timed() -> T:
            if self._stop.is_set:
                raise Cancelled
            self._timeline.announce(stage)
            began = self.stream.record()
            result = operation()
            self._spans.append((f"{stage} [{self._label}]", n_bytes, began, self.stream.record()))
            return result

        return submit(self._launching, timed)

    def scalars(self, key: DeviceKey, values: U64Array) -> Future[Grouping]:
        """The witness, copied to the device once there is room, and its digits grouped."""

        def operation() -> Grouping:
            self._admission.enter(key.job_bytes, self._look)
            self._entered = key.job_bytes
            self._witness = self._held.upload(values)
            return group_digits(self._held, key.of_witness, self._witness)

        return self._start("witness digits", values.nbytes, operation)

    def _look(self) -> None:
        if self._stop.is_set:
            raise Cancelled

    def evaluate(self, key: DeviceKey, witness: U64Array) -> Future[DeviceArray]:
        """a = A·w, b = B·w, c = a·b on the domain, of the witness that `scalars` took."""

        def operation() -> DeviceArray:
            assert self._witness is not None
            found = evaluate(self._arena, self.stream, key.rows, self._witness)
            return self._held.adopt(found)

        return self._start("A·w, B·w", key.rows.nbytes + witness.nbytes, operation)

    def quotient(self, key: DeviceKey, abc: Future[DeviceArray]) -> Future[Grouping]:
        """h: a·b − c on the coset, its digits grouped."""

        def operation() -> Grouping:
            h = circom_quotient(key.to_coset, self.stream, abc.result())
            return group_digits(self._held, key.of_h, h)

        return self._start("quotient (6 NTTs)", 3 * 8 * 4 * key.key.domain_size, operation)

    def msm(self, stage: str, query: Bases, scalars: Future[Grouping], first: int = 0) -> SumHandle:
        """Σ kᵢ·Pᵢ; `first` says nothing here: bases begin with infinity for scalars before."""

        def operation() -> DeviceArray:
            rows = msm_rows(self._arena, self.stream, query, scalars.result())
            return self._held.adopt(rows)

        rows = self._start(stage, query.table.nbytes, operation)
        return SumHandle(self, query, scalars, rows)

    def close(self) -> None:
        """Wait for the operations, note their times, and give everything back."""
        self._launching.shutdown(wait=True)
        try:
            self.stream.synchronize()
            for name, n_bytes, began, ended in self._spans:
                start = began.milliseconds_since(self._spans[0][2]) / 1e3
                seconds = ended.milliseconds_since(began) / 1e3
                self._timeline.add(name, start, seconds, n_bytes)
            self._spans = []
        finally:
            self._free()

    def cancel(self) -> None:
        """End the operations; what the device has begun goes on to its end, for milliseconds."""
        self._stop.set()
        self._launching.shutdown(wait=True, cancel_futures=True)
        self._free()

    def _free(self) -> None:
        self._held.close()
        if self._entered:
            self._admission.leave(self._entered)
            self._entered = 0

    def __enter__(self) -> CudaJob:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: Any) -> None:
        """No more operations are asked for: those asked for go on, or end if the block raised."""
        if kind is not None:
            self.cancel()
        else:
            self._launching.shutdown(wait=False)
