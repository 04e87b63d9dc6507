"""The CUDA backend: a device, its memory, and the keys and proofs that share it.

What is printed as the device, and what an error names, is the device that was asked for: there is
no falling back.
"""

from __future__ import annotations

import warnings
from contextlib import ExitStack, suppress
from typing import Any
from weakref import WeakSet

import numpy as np

from snarkcuda.cpu.backend import CpuBackend
from snarkcuda.cpu.pool import Pool
from snarkcuda.cpu.resident_key import ResidentKey
from snarkcuda.errors import DeviceError
from snarkcuda.field.arrays import U64Array, from_ints
from snarkcuda.field.params import PrimeField
from snarkcuda.formats.opening import FilePath
from snarkcuda.groth16.keys import ProvingKey
from snarkcuda.groth16.timeline import Timeline
from snarkcuda.kernels import device_key
from snarkcuda.kernels.admission import Admission
from snarkcuda.kernels.device import open_device
from snarkcuda.kernels.device_key import DeviceKey
from snarkcuda.kernels.job import CudaJob
from snarkcuda.kernels.memory import Arena
from snarkcuda.kernels.msm_plan import geometry_of


class CudaBackend:
    """See `groth16.backend.Backend`. Close it, or use it as a context manager.

    Args:
        device: "cuda" or "cuda:N".
        threads: worker threads of the CPU, while a key is loaded; by default all that may be used.
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
        self.pool = Pool(threads)
        self._jobs: WeakSet[CudaJob] = WeakSet()
        self._admission = Admission(lambda: self.arena.budget)

    @property
    def label(self) -> str:
        """Where proofs are made: "cuda:0 (NVIDIA H200)"."""
        return str(self.device)

    def load(
        self,
        key: ProvingKey,
        timeline: Timeline,
        two_adicity: int | None = None,
        memory: int | None = None,
        cache: FilePath | None = None,
    ) -> DeviceKey:
        """Hold a key ready on the device: see `device_key.load`.

        Args:
            key: the key.
            timeline: receives the stages.
            two_adicity: lowered by tests to reach the quotient's edge case.
            memory: of the CPU; not needed here.
            cache: of the CPU's layout; not read here.
        """
        held, geometry = self.arena.scope(self.device.stream()), geometry_of(self.device)
        if cache is not None:
            warnings.warn("a key cache is of the CPU's: it is not used on a GPU", stacklevel=3)
        return device_key.load(
            self.pool, held, self._admission, key, timeline, two_adicity, geometry
        )

    def job(self, timeline: Timeline) -> CudaJob:
        """A new sequence of operations."""
        job = CudaJob(self.arena, self._admission, timeline)
        self._jobs.add(job)
        return job

    def close(self) -> None:
        """Cancel what still runs, end the threads and give the device's memory back.

        A device that has failed cannot take it back. That is no news: the operation that met the
        failure has raised it, and the memory ends with the process.
        """
        for job in list(self._jobs):
            job.cancel()
        # Not where that was interrupted: a job may run on, and the memory is its.
        with ExitStack() as rest:
            rest.enter_context(suppress(DeviceError))
            rest.callback(self.device.close)
            rest.enter_context(suppress(DeviceError))
            rest.callback(self.arena.close)
            self.pool.close()

    def __enter__(self) -> CudaBackend:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def first_wrong_stage(
        self, key: DeviceKey, cpu: CpuBackend, resident: ResidentKey, witness: U64Array
    ) -> str:
        """Which operation's result on the device is not the CPU's, in words for an error."""
        try:
            stage = self._first_wrong_stage(key, cpu, resident, witness)
        except DeviceError as error:
            return f"repeating its operations failed: {error}"
        if stage is None:
            return "done again, each of its operations agrees with the CPU's"
        return f"the first operation that differs: {stage}"

    def _first_wrong_stage(
        self, key: DeviceKey, cpu: CpuBackend, resident: ResidentKey, witness: U64Array
    ) -> str | None:
        first_private = key.key.n_public + 1
        with self.job(Timeline()) as there, cpu.job(Timeline()) as here:
            sides: list[tuple[Any, Any]] = [(there, key), (here, resident)]
            scalars = [job.scalars(k, witness) for job, k in sides]
            abc = [job.evaluate(k, witness) for job, k in sides]
            rows = abc[1].result().copy()  # the CPU's quotient works in place
            found = np.empty_like(rows)
            there.stream.download(abc[0].result(), found)
            if not _is_congruent(key.key.curve.fr, found, rows):
                return "A·w, B·w"
            h = [job.quotient(k, values) for (job, k), values in zip(sides, abc, strict=True)]
            for name, stage, of, first in (
                ("h_query", "quotient (6 NTTs) or MSM H", h, 0),
                ("a_query", "MSM A (G1)", scalars, 0),
                ("b_g1_query", "MSM B1 (G1)", scalars, 0),
                ("b_g2_query", "MSM B2 (G2)", scalars, 0),
                ("l_query", "MSM L (G1)", scalars, first_private),
            ):
                sums = [
                    job.msm(stage, getattr(k, name), values, first).result()
                    for (job, k), values in zip(sides, of, strict=True)
                ]
                if not np.array_equal(*sums):
                    return stage
            there.close()
        return None


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
