"""The operations of one proof on a device: launched in order by one thread, on one stream.

Nothing waits for the device in between: the witness goes up, and when all is launched, the rows of
five sums come down. Times are those of the device's own events.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from snarkcuda.cpu.pool import Cancelled, Stop, submit
from snarkcuda.curve.params import Group
from snarkcuda.curve.points import linear_combination, point_shape
from snarkcuda.field.arrays import U64Array
from snarkcuda.groth16.timeline import Timeline
from snarkcuda.kernels.device import DeviceArray, Event
from snarkcuda.kernels.device_key import DeviceKey, Query
from snarkcuda.kernels.evaluate import evaluate
from snarkcuda.kernels.memory import Scope
from snarkcuda.kernels.msm import Grouping, group_digits, msm_rows, weighted
from snarkcuda.kernels.msm_plan import MsmShape
from snarkcuda.kernels.msm_stream import StreamedBases, streamed_rows
from snarkcuda.kernels.quotient import circom_quotient

if TYPE_CHECKING:
    from snarkcuda.kernels.admission import Admission, Entry
    from snarkcuda.kernels.memory import Arena

T = TypeVar("T")


@dataclass(frozen=True)
class DeviceScalars:
    """Scalars on the device, and their digits where points are resident."""

    words: DeviceArray
    shape: MsmShape
    grouping: Grouping | None


class SumHandle:
    """A sum whose rows are on the device, or will be; several sets of them from slices."""

    def __init__(
        self,
        job: CudaJob,
        group: Group,
        scalars: Future[DeviceScalars],
        rows: Future[list[DeviceArray]],
    ) -> None:
        self._job, self._group, self._scalars, self._rows = job, group, scalars, rows

    def result(self) -> U64Array:
        """Wait for the rows, and weigh them here: one affine point, Montgomery."""
        shape, parts = self._scalars.result().shape, []
        for rows in self._rows.result():
            host = np.empty(rows.size // 2, dtype=np.uint64)
            try:
                self._job.stream.download(rows, host)
            finally:  # a later operation may have failed, and given the rows back
                self._job.look()
            parts.append(weighted(self._group, shape, host))
        if len(parts) == 1:
            return parts[0]
        parts = parts or [np.zeros(point_shape(self._group), dtype=np.uint64)]
        return linear_combination(self._group, parts, [1] * len(parts))


class CudaJob:
    """See `groth16.backend.Job`. Begins when there is room for it on the device."""

    def __init__(self, arena: Arena, admission: Admission, timeline: Timeline) -> None:
        self.stream, self._copies = arena.device.stream(), arena.device.stream()
        self._label, self._arena, self._admission = arena.device.label, arena, admission
        self._timeline, self._stop = timeline, Stop()
        self._launching = ThreadPoolExecutor(1, thread_name_prefix="snarkcuda-device")
        self._held: Scope = arena.scope(self.stream)
        self._spans: list[tuple[str, int, Event, Event]] = []
        self._entry: Entry | None = None
        self._failure: BaseException | None = None
        self._witness: DeviceArray | None = None

    def _start(self, stage: str, n_bytes: int, operation: Callable[[], T]) -> Future[T]:
        def timed() -> T:
            try:
                self.look()
                self._timeline.announce(stage)
                began = self.stream.record()
                result = operation()
                ended = self.stream.record()
                self._spans.append((f"{stage} [{self._label}]", n_bytes, began, ended))
                self.look()
            except BaseException as error:
                # Here, not where somebody waits for it: another job may wait for the room.
                self._failure = self._failure or error
                self._free()
                raise
            return result

        return submit(self._launching, timed)

    def scalars(self, key: DeviceKey, values: U64Array) -> Future[DeviceScalars]:
        """The witness, copied to the device once there is room, and its digits grouped."""

        def operation() -> DeviceScalars:
            self._witness = self._held.upload(values)
            return self._scalars(key, key.of_witness, self._witness)

        submit(self._launching, self._enter, key.job_bytes)
        return self._start("witness digits", values.nbytes, operation)

    def _enter(self, n_bytes: int) -> None:
        """Wait for room: before any span, as this is no work of the device."""
        with suppress(Cancelled):  # the operations after it say so
            self._entry = self._admission.enter(n_bytes, self.look)

    def _scalars(self, key: DeviceKey, shape: MsmShape, words: DeviceArray) -> DeviceScalars:
        grouping = None if key.block else group_digits(self._held, shape, words)
        return DeviceScalars(words, shape, grouping)

    def look(self) -> None:
        """Raise what the first operation that failed has raised, or that all were cancelled."""
        if self._failure is not None:
            raise self._failure
        if self._stop.is_set:
            raise Cancelled

    def evaluate(self, key: DeviceKey, witness: U64Array) -> Future[DeviceArray]:
        """a = A·w, b = B·w, c = a·b on the domain, of the witness that `scalars` took."""

        def operation() -> DeviceArray:
            assert self._witness is not None
            found = evaluate(self._arena, self.stream, key.rows, self._witness)
            return self._held.adopt(found)

        return self._start("A·w, B·w", key.rows.nbytes + witness.nbytes, operation)

    def quotient(self, key: DeviceKey, abc: Future[DeviceArray]) -> Future[DeviceScalars]:
        """h: a·b − c on the coset, its digits grouped."""

        def operation() -> DeviceScalars:
            h = circom_quotient(key.to_coset, self.stream, abc.result())
            return self._scalars(key, key.of_h, h)

        return self._start("quotient (6 NTTs)", 3 * 8 * 4 * key.key.domain_size, operation)

    def msm(
        self, stage: str, query: Query, scalars: Future[DeviceScalars], first: int = 0
    ) -> SumHandle:
        """Σ kᵢ·Pᵢ; `first` says nothing here: queries know which scalars have no point."""

        def operation() -> list[DeviceArray]:
            k, arena, stream = scalars.result(), self._arena, self.stream
            if isinstance(query, StreamedBases):
                rows = streamed_rows(arena, stream, self._copies, query, k.words)
            else:
                assert k.grouping is not None
                rows = [msm_rows(arena, stream, query, k.grouping)]
            return [self._held.adopt(each) for each in rows]

        n_bytes = query.points.nbytes if isinstance(query, StreamedBases) else query.table.nbytes
        return SumHandle(self, query.group, scalars, self._start(stage, n_bytes, operation))

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
        """End the operations; what runs goes on to its end, a kernel's compilation too."""
        self._stop.set()
        self._launching.shutdown(wait=True, cancel_futures=True)
        self._free()

    def _free(self) -> None:
        self._held.close()
        if self._entry is not None:
            self._entry.leave()

    def __enter__(self) -> CudaJob:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: Any) -> None:
        """No more operations are asked for: those asked for go on, or end if the block raised."""
        if kind is not None:
            self.cancel()
        else:
            self._launching.shutdown(wait=False)
