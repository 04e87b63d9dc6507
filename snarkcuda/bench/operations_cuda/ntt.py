"""The six transforms of a proof on a device: three polynomials, domain to coset, in place."""

from __future__ import annotations

from snarkcuda.bench.case import SEED, Case, Subject
from snarkcuda.bench.operations.ntt import POLYNOMIALS, butterflies, is_on_the_coset
from snarkcuda.bench.operations_cuda.clock import Bench, Clocked, device_ns
from snarkcuda.circuits.synthetic import draw_elements
from snarkcuda.cpu.ntt import domain_of_size
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.params import curve_named
from snarkcuda.kernels.field import device_field
from snarkcuda.kernels.ntt_plan import Transforms


def subject(case: Case, pool: Pool) -> Subject:
    """Transforms of 2^log_n points; a call's output is the next one's input."""
    curve = curve_named(case.curve)
    assert curve is not None and case.device is not None
    fr, n = curve.fr, 1 << case.log_n
    domain = domain_of_size(fr, n)
    before = draw_elements(fr, SEED, "values", POLYNOMIALS * n).reshape(POLYNOMIALS, n, fr.limbs)
    bench = Bench(case.device)
    x = bench.arena.upload(before, bench.stream)
    transforms = Transforms(bench.scope, device_field(fr), case.log_n)
    transform = transforms.to_coset(domain.shift)
    bench.stream.synchronize()

    def call() -> Clocked:
        return bench.clocked(lambda: transform.run(bench.stream, x))

    def is_right(clocked: Clocked) -> bool:
        after = before.copy()
        bench.stream.download(x, after)
        return is_on_the_coset(domain, before, after)

    units = butterflies(case.log_n)
    return Subject(call, is_right, "butterfly", units, device_ns=device_ns, close=bench.close)
