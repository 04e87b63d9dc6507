"""The operations of a GPU, timed by its events, beside the figures of other provers.

    python scripts/bench_cuda.py --out benchmarks/DATE-h200-operations.json

Every operation was compared with the CPU or with integers by `pytest -m gpu`; here transforms are
checked by going there and back, rows by the CPU's. Medians of `--runs` after one that warms up; of
transforms, quotients and rows as graphs, so that the host's time between launches does not count.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from snarkcuda.bench.machine_line import dated, gpu
from snarkcuda.circuits.mimc_chain import mimc_chain
from snarkcuda.circuits.sha_like import sha_like
from snarkcuda.circuits.synthetic import draw_elements
from snarkcuda.cpu import matvec
from snarkcuda.cpu.ntt import domain_of_size
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.params import BLS12_381, BN254, CURVES
from snarkcuda.field.params import FIELDS
from snarkcuda.groth16.coefficients import key_coefficients
from snarkcuda.kernels.device import open_device
from snarkcuda.kernels.evaluate import evaluate, launch_rows, load_matrices
from snarkcuda.kernels.field import device_field
from snarkcuda.kernels.group import point_field
from snarkcuda.kernels.memory import Arena
from snarkcuda.kernels.ntt_plan import Transforms
from snarkcuda.kernels.operations import field_chain
from snarkcuda.kernels.quotient import circom_quotient

# ms on the same card (sppark, CUDA C++): natural to reversed, reversed to natural, H.
SPPARK = {
    20: (0.26, 0.27, 2.10),
    22: (1.04, 1.10, 8.46),
    24: (4.44, 4.66, 35.5),
    26: (21.0, 23.5, 171),
    27: (42.3, 44.3, 331),
}


class Clock:
    """A device, its memory, and times of what runs on it."""

    def __init__(self, name: str, runs: int) -> None:
        self.device = open_device(name)
        self.stream, self.arena, self.runs = self.device.stream(), Arena(self.device), runs

    def graph_ms(self, work) -> dict[str, float]:
        """The same of work that launches only: as a graph, without the host's time between."""
        work()  # loads the kernels
        graph = self.stream.captured(work)
        times = self.ms(graph.launch)
        graph.close()
        return times

    def ms(self, work) -> dict[str, float]:
        work()
        found = []
        for _ in range(self.runs):
            self.stream.synchronize()
            began = self.stream.record()
            work()
            ended = self.stream.record()
            ended.wait()
            found.append(ended.milliseconds_since(began))
        return {"ms": statistics.median(found), "least": min(found), "most": max(found)}


def say(record: dict, **fields: object) -> None:
    record["cases"].append(fields)
    words = (f"{v:.4g}" if isinstance(v, float) else str(v) for v in fields.values())
    print("  ".join(words), flush=True)


def fields(clock: Clock, record: dict) -> None:
    n = clock.device.multiprocessors * 8 * 256
    groups = [point_field(curve.g2) for curve in CURVES]
    for F in [*(device_field(f) for f in FIELDS), *groups]:
        rows = draw_elements(F.prime, "bench", "field", (n + 1) * F.field.level)
        given = clock.arena.upload(rows, clock.stream)
        out = clock.arena.allocate(n * F.words, clock.stream)
        for operation in ("mul", "sqr", "add"):
            kernel, steps = field_chain(F, operation), 2000 if F.field.level == 1 else 500
            launch = partial(kernel.launch, clock.stream, n // 256, 256, out, given, steps)
            times = clock.ms(launch)
            rate = 2 * steps * n / times["ms"] / 1e6
            say(record, operation=f"field {operation}", field=F.field.name, G_per_s=rate, **times)
        for array in (given, out):
            clock.arena.free(array, clock.stream)


def transforms(clock: Clock, record: dict, sizes: list[int]) -> None:
    for curve in (BLS12_381, BN254):
        fr = curve.fr
        for log_n in sizes:
            n = 1 << log_n
            host = draw_elements(fr, "bench", "ntt", min(n, 1 << 20))
            host = np.tile(host, (n // len(host), 1))
            x = clock.arena.upload(host, clock.stream)
            began = time.perf_counter()
            tables = clock.arena.scope(clock.stream)
            T = Transforms(tables, device_field(fr), log_n)
            down, up = T.to_reversed(), T.to_natural(inverse=True)
            there = T.to_reversed(inverse=True, scale=pow(n, -1, fr.modulus))
            back = T.to_natural()
            clock.stream.synchronize()
            tables_s = time.perf_counter() - began
            there.run(clock.stream, x)
            back.run(clock.stream, x)
            found = np.empty_like(host)
            clock.stream.download(x, found)
            # Below 2p: compare from 2p down where p fits twice.
            wrong = found != host
            if wrong.any():
                from snarkcuda.field.arrays import to_ints

                rows = np.flatnonzero(wrong.any(axis=1))[:100_000]
                pairs = zip(to_ints(found[rows]), to_ints(host[rows]), strict=True)
                assert all((a - b) % fr.modulus == 0 for a, b in pairs), "WRONG transform"
            for name, transform, peer in (("to reversed", down, 0), ("to natural", up, 1)):
                times = clock.graph_ms(partial(transform.run, clock.stream, x))
                peers = SPPARK.get(log_n, (None,) * 3)[peer] if curve is BLS12_381 else None
                say(record, operation=f"ntt {name}", field=fr.name, log_n=log_n, sppark=peers,
                    **times)  # fmt: skip
            clock.arena.free(x, clock.stream)
            tables.close()
            if log_n <= 26:
                quotient(clock, record, curve, log_n, tables_s)


def quotient(clock: Clock, record: dict, curve, log_n: int, tables_s: float) -> None:
    fr, n = curve.fr, 1 << log_n
    host = draw_elements(fr, "bench", "h", min(3 * n, 3 << 18))
    abc = clock.arena.allocate(3 * n * 2 * fr.limbs, clock.stream)
    for first in range(0, 3 * n, len(host)):
        clock.stream.upload(host, abc.part(first * 8, len(host) * 8))
    tables = clock.arena.scope(clock.stream)
    shift = domain_of_size(fr, n).shift
    to_coset = Transforms(tables, device_field(fr), log_n).to_coset(shift)
    times = clock.graph_ms(lambda: circom_quotient(to_coset, clock.stream, abc))
    peer = SPPARK.get(log_n, (None,) * 3)[2] if curve is BLS12_381 else None
    say(record, operation="quotient, 6 transforms", field=fr.name, log_n=log_n, sppark=peer,
        tables_s=tables_s, table_bytes=tables.nbytes, **times)  # fmt: skip
    clock.arena.free(abc, clock.stream)
    tables.close()


def rows(clock: Clock, record: dict, log_n: int) -> None:
    """Beside the time that the bytes take: entries, sums and distinct witness values once."""
    copy = clock.arena.allocate(1 << 28, clock.stream)
    from cuda.bindings import driver

    from snarkcuda.kernels.staging import check

    half = copy.nbytes // 2
    handle = clock.stream._handle

    def half_to_half() -> None:
        check("copying", driver.cuMemcpyDtoDAsync(copy.buffer, copy.buffer + half, half, handle))

    times = clock.ms(half_to_half)
    bandwidth = 2 * half / times["ms"] / 1e6
    say(record, operation="device copy", GB_per_s=bandwidth, **times)
    clock.arena.free(copy, clock.stream)
    for name, make in (("mimc_chain", mimc_chain), ("sha_like", sha_like)):
        r1cs, witness = make(BLS12_381, (1 << log_n) - 2, "bench")
        fr, n = r1cs.curve.fr, r1cs.domain_size
        m = matvec.group_by_row(fr, n, r1cs.n_wires, key_coefficients(r1cs))
        began = time.perf_counter()
        held = clock.arena.scope(clock.stream)
        loaded = load_matrices(held, device_field(fr), m)
        clock.stream.synchronize()
        load_s = time.perf_counter() - began
        values = clock.arena.upload(witness.values, clock.stream)

        out = clock.arena.allocate(3 * n * 2 * fr.limbs, clock.stream)
        partials = clock.arena.allocate(max(1, loaded.partials) * 2 * fr.limbs, clock.stream)
        times = clock.graph_ms(partial(launch_rows, clock.stream, loaded, values, out, partials))
        abc = evaluate(clock.arena, clock.stream, loaded, values)
        found = np.empty((3, n, fr.limbs), dtype=np.uint64)
        clock.stream.download(abc, found)
        with Pool() as pool:
            right = matvec.evaluate(pool, m, witness.values)
        assert np.array_equal(found, right), "WRONG rows"  # Fr of BLS12-381 is never lazy
        # Slices as stored, the witness, a and b written, read again, c written.
        n_bytes = loaded.nbytes + witness.values.nbytes + 5 * 32 * n
        least = n_bytes / bandwidth / 1e6
        say(record, operation="matvec", circuit=name, log_n=log_n, entries=len(m.wires),
            bytes=n_bytes, ms_of_bytes=least, load_s=load_s, **times)  # fmt: skip
        for array in (abc, values, out, partials):
            clock.arena.free(array, clock.stream)
        held.close()


def start_up(record: dict, cache: str) -> None:
    """A first and a second process: every kernel compiled, then loaded."""
    program = (
        "import time; t = time.perf_counter();"
        "from snarkcuda.kernels.device import open_device;"
        "from snarkcuda.kernels.catalog import proof_kernels;"
        "from snarkcuda.curve.params import CURVES;"
        "d = open_device('cuda');"
        "[d.loaded(k) for c in CURVES for k in proof_kernels(c)];"
        "print(time.perf_counter() - t)"
    )
    environment = {**os.environ, "SNARKCUDA_CACHE_DIR": cache}
    for name in ("first process, compiling", "second process"):
        began = time.perf_counter()
        said = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True
        )
        assert said.returncode == 0, said.stderr
        say(record, operation=name, kernels_s=float(said.stdout),
            s=time.perf_counter() - began)  # fmt: skip


def launches(clock: Clock, record: dict) -> None:
    """The host's time of a launch."""
    F = device_field(BN254.fr)
    kernel = field_chain(F, "add")
    x = clock.arena.allocate(64 * F.words, clock.stream)
    kernel.launch(clock.stream, 1, 32, x, x, 1)
    clock.stream.synchronize()
    began, n = time.perf_counter(), 2000
    for _ in range(n):
        kernel.launch(clock.stream, 1, 32, x, x, 1)
    us = 1e6 * (time.perf_counter() - began) / n
    clock.stream.synchronize()
    say(record, operation="launch", host_us=us)

    def hundred() -> None:
        for _ in range(100):
            kernel.launch(clock.stream, 1, 32, x, x, 1)

    graph = clock.stream.captured(hundred)
    say(record, operation="graph of 100 launches", **clock.ms(graph.launch))
    graph.close()
    clock.arena.free(x, clock.stream)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--log-n", type=int, nargs="*", default=[16, 18, 20, 22, 24, 26, 27])
    parser.add_argument("--rows", type=int, default=22)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    record = dated(1) | {"cases": []}
    clock = Clock(options.device, options.runs)
    record["machine"]["gpu"] = str(clock.device)
    with tempfile.TemporaryDirectory() as cache:  # a new one: the first process compiles
        start_up(record, cache)
    launches(clock, record)
    fields(clock, record)
    transforms(clock, record, options.log_n)
    record["machine"]["clocks"] = gpu(options.device)
    if options.out:
        options.out.write_text(json.dumps(record, indent=1) + "\n")
    rows(clock, record, options.rows)
    if options.out:
        options.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
