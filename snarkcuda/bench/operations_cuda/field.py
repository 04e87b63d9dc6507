"""Products of field elements, 128 in a row by each thread: Fq (g1) or Fq2 (g2), in registers."""

from __future__ import annotations

from typing import Any

from snarkcuda.bench.case import SEED, Case, Subject
from snarkcuda.bench.operations_cuda.clock import Bench, Clocked, device_ns
from snarkcuda.circuits.synthetic import draw, draw_elements
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.params import curve_named
from snarkcuda.field import arrays
from snarkcuda.field.naive import flatten, unflatten
from snarkcuda.kernels.group import point_field
from snarkcuda.kernels.operations import field_chain
from snarkcuda.kernels.quotient import grid

_STEPS = 64  # of two products
_SAMPLES = 16


def subject(case: Case, pool: Pool) -> Subject:
    """x ← x·y, y ← y·x, for 2^log_n elements x, each with its neighbour as y."""
    curve, n = curve_named(case.curve), 1 << case.log_n
    assert curve is not None and case.device is not None
    bench = Bench(case.device)
    F = point_field(curve.g2 if case.group == "g2" else curve.g1)
    level, prime = F.field.level, F.prime
    rows = draw_elements(prime, SEED, "elements", (n + 1) * level)
    given = bench.arena.upload(rows, bench.stream)
    out = bench.arena.allocate(n * F.words, bench.stream)
    kernel = field_chain(F, "mul")

    def call() -> Clocked:
        return bench.clocked(lambda: kernel.launch(bench.stream, *grid(n), out, given, _STEPS))

    def element(raw: arrays.U64Array) -> Any:
        return unflatten(F.field, [prime.from_montgomery(v) for v in arrays.to_ints(raw)])

    def is_right(clocked: Clocked) -> bool:
        found = rows[: n * level].copy()
        bench.stream.download(out, found)
        for i in (int(word) % n for word in draw(SEED, "samples", _SAMPLES)):
            x = element(rows[i * level : (i + 1) * level])
            y = element(rows[(i + 1) * level : (i + 2) * level])
            for _ in range(_STEPS):
                x = x * y
                y = y * x
            if flatten(element(found[i * level : (i + 1) * level])) != flatten(x):
                return False
        return True

    return Subject(
        call, is_right, "product", 2 * _STEPS * n, device_ns=device_ns, close=bench.close
    )
