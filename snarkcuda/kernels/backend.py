"""The CUDA backend's first half: rows and quotient on a device, sums of points on the CPU.

The device's operations of a job run in order on a stream and a thread of their own, beside the
CPU's of the same job; h comes back to the host when it is done. What is printed as the device, and
what an error names, is the device that was asked for: there is no falling back.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import TypeVar, cast
from weakref import WeakSet

import numpy as np

from snarkcuda.cpu import matvec, quotient, resident_key
from snarkcuda.cpu.backend import CpuBackend, CpuJob, Handle, Scalars
from snarkcuda.cpu.ntt import domain_of_size
from snarkcuda.cpu.pool import Cancelled, Pool, submit
from snarkcuda.cpu.resident_key import ResidentKey
from snarkcuda.errors import DeviceError
from snarkcuda.field.arrays import U64Array, from_ints
from snarkcuda.field.params import PrimeField
from snarkcuda.formats.opening import FilePath
from snarkcuda.groth16.keys import ProvingKey
from snarkcuda.groth16.timeline import Timeline
from snarkcuda.kernels.admission import Admission
from snarkcuda.kernels.device import DeviceArray, Stream, open_device
from snarkcuda.kernels.evaluate import DeviceMatrices, evaluate, load_matrices
from snarkcuda.kernels.field import device_field
from snarkcuda.kernels.memory import Arena, Scope, block_size
from snarkcuda.kernels.ntt_plan import Transform, Transforms
from snarkcuda.kernels.quotient import circom_quotient

T = TypeVar("T")


@dataclass(frozen=True)
class CudaKey(ResidentKey):
    """A proving key whose matrices and tables are on a device too.

    Attributes:
        rows: A and B there.
        to_coset: from the domain to its coset.
        held: what the two take of the device.
    """

    rows: DeviceMatrices
    to_coset: Transform
    held: Scope

    def free(self) -> None:
        """Give the device's memory back; no job may use the key any more."""
        self.held.close()


class CudaBackend(CpuBackend):
    """A device and the CPU's threads. Close it, or use it as a context manager.

    Args:
        device: "cuda" or "cuda:N".
        threads: worker threads of the CPU; by default all processors that may be used.
        gpu_memory: bytes of the device to keep to; by default nearly all that are free.

    Raises:
        DeviceError: there is no such device.
    """

    name = "cuda"

    def __init__(
        self, device: str, threads: int | None = None, gpu_memory: int | None = None
    ) -> None:
        self.device = open_device(device)
        self.arena = Arena(self.device, gpu_memory)
        self._keys: WeakSet[Scope] = WeakSet()
        self._admission = Admission(self._room)
        super().__init__(threads)

    def _room(self) -> int:
        """For jobs: what keys leave."""
        return self.arena.budget - sum(held.nbytes for held in self._keys)

    @property
    def label(self) -> str:
        """Where proofs are made: "cuda:0 (NVIDIA H200), cpu (16 threads)"."""
        return f"{self.device}, {super().label}"

    def load(
        self,
        key: ProvingKey,
        timeline: Timeline,
        two_adicity: int | None = None,
        memory: int | None = None,
        cache: FilePath | None = None,
    ) -> CudaKey:
        """Make a key resident on both; arguments and errors are those of `resident_key.load`.

        Raises:
            DeviceError: its matrices and tables do not fit on the device.
        """
        resident = resident_key.load(self.pool, key, timeline, two_adicity, memory, cache)
        F = device_field(key.curve.fr)
        domain = domain_of_size(key.curve.fr, key.domain_size, two_adicity)
        with timeline.stage(f"load {self.device.label}", resident.matrices.nbytes):
            held = self.arena.scope(self.device.stream())
            with ExitStack() as undo:
                undo.callback(held.close)
                rows = load_matrices(held, F, resident.matrices)
                to_coset = Transforms(held, F, domain.log_n).to_coset(domain.shift)
                held.stream.synchronize()
                undo.pop_all()
        self._keys.add(held)
        return CudaKey(**vars(resident), rows=rows, to_coset=to_coset, held=held)

    def job(self, timeline: Timeline) -> CudaJob:
        """A new sequence of operations."""
        job = CudaJob(self.pool, timeline, self.arena, self._admission)
        self._jobs.add(job)
        return job

    def first_wrong_stage(self, key: ResidentKey, witness: U64Array) -> str:
        """Which operation's result on the device is not the CPU's, in words for an error."""
        try:
            stage = self._first_wrong_stage(cast(CudaKey, key), witness)
        except DeviceError as error:
            return f"repeating its operations failed: {error}"
        if stage is None:
            return "done again, each of its operations agrees with the CPU's"
        return f"the first operation that differs: {stage}"

    def _first_wrong_stage(self, key: CudaKey, witness: U64Array) -> str | None:
        stream = self.device.stream()
        abc = matvec.evaluate(self.pool, key.matrices, witness)
        found = np.empty_like(abc)
        sizes = _job_bytes(key, witness)
        with self._admission.entered(sizes), self.arena.scope(stream) as scope:
            values = scope.upload(witness)
            abc_there = scope.adopt(evaluate(self.arena, stream, key.rows, values))
            stream.download(abc_there, found)
            if not _is_congruent(key.matrices.field, found, abc):
                return "A·w, B·w"
            stream.download(circom_quotient(key.to_coset, stream, abc_there), found[0])
        h = quotient.coset_quotient(self.pool, key.tables, abc)
        return None if np.array_equal(h, found[0]) else "quotient (6 NTTs)"

    def close(self) -> None:
        """Cancel what still runs, end the threads and give the device's memory back.

        A device that has failed cannot take it back. That is no news: the operation that met the
        failure has raised it, and the memory ends with the process.
        """
        with ExitStack() as rest:
            rest.enter_context(suppress(DeviceError))
            rest.callback(self.device.close)
            rest.enter_context(suppress(DeviceError))
            rest.callback(self.arena.close)
            super().close()


def _job_bytes(key: CudaKey, witness: U64Array) -> int:
    """What a proof takes of the device: its witness, a, b, c, and partial sums."""
    return block_size(witness.nbytes) + sum(block_size(4 * size) for size in key.rows.needs)


def _is_congruent(field: PrimeField, found: U64Array, expected: U64Array) -> bool:
    """Whether each row, as limbs, is the expected one or p more, as lazy kernels leave it."""
    rows, there = expected.reshape(-1, field.limbs), found.reshape(-1, field.limbs)
    others = np.flatnonzero((rows != there).any(axis=1))
    more, carry = np.empty_like(rows[others]), np.zeros(len(others), dtype=np.uint64)
    for j, limb in enumerate(from_ints([field.modulus], field.limbs)[0]):
        total = rows[others, j] + limb
        more[:, j] = total + carry
        carry = ((total < limb) | (more[:, j] < total)).astype(np.uint64)
    return np.array_equal(more, there[others])


class CudaJob(CpuJob):
    """The operations of one proof: the device's in order on a stream, the CPU's beside them."""

    def __init__(self, pool: Pool, timeline: Timeline, arena: Arena, admission: Admission) -> None:
        super().__init__(pool, timeline)
        self._arena, self._admission = arena, admission
        self._entered = 0
        self._device = ThreadPoolExecutor(1, thread_name_prefix="snarkcuda-device")
        self._stream: Stream = arena.device.stream()
        self._abc: DeviceArray | None = None

    def _start_there(self, stage: str, n_bytes: int, operation: Callable[[], T]) -> Handle[T]:
        def timed() -> T:
            with self._timeline.stage(f"{stage} [{self._arena.device.label}]", n_bytes):
                return operation()

        return submit(self._device, timed)

    def evaluate(self, key: ResidentKey, witness: U64Array) -> Handle[DeviceArray]:
        """a = A·w, b = B·w, c = a·b on the domain, on the device, once there is room for them."""
        there = cast(CudaKey, key)
        rows, n_bytes = there.rows, _job_bytes(there, witness)

        def operation() -> DeviceArray:
            self._admission.enter(n_bytes, self._look)
            self._entered = n_bytes
            with self._arena.scope(self._stream) as scope:
                values = scope.upload(witness)
                self._abc = evaluate(self._arena, self._stream, rows, values)
            self._stream.synchronize()
            return self._abc

        return self._start_there("A·w, B·w", rows.nbytes + witness.nbytes, operation)

    def _look(self) -> None:
        if self._stop.is_set:
            raise Cancelled

    def quotient(self, key: ResidentKey, abc: Handle[DeviceArray]) -> Handle[Scalars]:
        """h: a·b − c on the coset, on the device; then its digits, on the CPU."""
        to_coset = cast(CudaKey, key).to_coset

        def operation() -> U64Array:
            there = circom_quotient(to_coset, self._stream, abc.result())
            h = np.empty((key.matrices.n, key.matrices.field.limbs), dtype=np.uint64)
            self._stream.download(there, h)
            self._free()
            return h

        n_bytes = 3 * 8 * 4 * key.key.domain_size
        h = self._start_there("quotient (6 NTTs)", n_bytes, operation)
        return submit(self._device, lambda: self._digits(key, h.result()))

    def _free(self) -> None:
        """Give the buffers back; h, or nothing, has been taken from them."""
        if self._abc is not None:
            self._arena.free(self._abc, self._stream)
            self._abc = None
        if self._entered:
            self._admission.leave(self._entered)
            self._entered = 0

    def close(self) -> None:
        """Wait for the operations and end the job's threads."""
        super().close()
        self._device.shutdown(wait=True)
        self._free()

    def cancel(self) -> None:
        """End the operations; a transform that has begun goes on to its end, for milliseconds."""
        self._stop.set()
        self._device.shutdown(wait=True, cancel_futures=True)
        super().cancel()
        self._free()

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        """See `CpuJob`."""
        if kind is None:
            self._device.shutdown(wait=False)
        super().__exit__(kind, *rest)
