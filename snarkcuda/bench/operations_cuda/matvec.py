"""A·w and B·w, and c = a·b, on a device, from a witness that is there."""

from __future__ import annotations

import numpy as np

from snarkcuda.bench.case import Case, Subject
from snarkcuda.bench.operations.circuit import circuit
from snarkcuda.bench.operations.matvec import rows_are_right
from snarkcuda.bench.operations_cuda.clock import Bench, Clocked, device_ns
from snarkcuda.cpu import matvec
from snarkcuda.cpu.pool import Pool
from snarkcuda.groth16.coefficients import key_coefficients
from snarkcuda.kernels.evaluate import evaluate, load_matrices
from snarkcuda.kernels.field import device_field


def subject(case: Case, pool: Pool) -> Subject:
    """The rows of a synthetic circuit, sliced as a key on a device has them."""
    assert case.device is not None
    r1cs, witness = circuit(case, pool)
    fr, n = r1cs.curve.fr, r1cs.domain_size
    coefficients = pool.call(key_coefficients, r1cs)
    matrices = pool.call(matvec.group_by_row, fr, n, r1cs.n_wires, coefficients)
    bench = Bench(case.device)
    loaded = load_matrices(bench.scope, device_field(fr), matrices)
    values = bench.arena.upload(witness.values, bench.stream)

    def call() -> Clocked:
        found = bench.clocked(lambda: evaluate(bench.arena, bench.stream, loaded, values))
        bench.arena.free(found.result, bench.stream)  # its memory is the next call's
        return found

    def is_right(clocked: Clocked) -> bool:
        abc = np.empty((3, n, fr.limbs), dtype=np.uint64)
        bench.stream.download(clocked.result, abc)
        return rows_are_right(r1cs, witness.values, abc)

    units = len(matrices.wires)
    return Subject(call, is_right, "entry", units, device_ns=device_ns, close=bench.close)
