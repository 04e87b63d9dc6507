"""Σ kᵢ·Pᵢ on a device, from scalars that are there to the rows that the host weighs."""

from __future__ import annotations

import numpy as np

from snarkcuda.bench.case import Case, Subject
from snarkcuda.bench.operations.msm import known_sum
from snarkcuda.bench.operations_cuda.clock import Bench, Clocked, device_ns, stages
from snarkcuda.cpu.pool import Pool
from snarkcuda.kernels.msm import group_digits, load_bases, msm_rows, weighted
from snarkcuda.kernels.msm_plan import geometry_of, msm_shape


def subject(case: Case, pool: Pool) -> Subject:
    """The sum of 2^log_n points, of which as many multiples are resident as there are windows."""
    assert case.device is not None
    data = known_sum(case, pool)
    bench = Bench(case.device)
    shape = msm_shape(data.curve.fr, len(data.scalars), geometry=geometry_of(bench.device))
    bases, _ = load_bases(bench.scope, data.group, data.points, shape)
    scalars = bench.scope.upload(data.scalars)
    host = np.empty((1 + shape.rows) * 2 * bases.F.words, dtype=np.uint64)

    def work() -> None:
        with bench.arena.scope(bench.stream) as scope:
            grouping = group_digits(scope, shape, scalars)
            bench.mark("digits")
            rows = scope.adopt(msm_rows(bench.arena, bench.stream, bases, grouping, bench.mark))
            bench.stream.download(rows, host)

    def is_right(_: Clocked) -> bool:
        return data.is_right(weighted(data.group, shape, host))

    return Subject(
        lambda: bench.clocked(work),
        is_right,
        "scalar",
        len(data.scalars),
        stages=stages,
        device_ns=device_ns,
        close=bench.close,
    )
