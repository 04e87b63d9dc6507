"""Sums of points on a GPU, timed by its events, on points and scalars that everybody can make.

    python scripts/bench_msm.py --out benchmarks/DATE-h200-msm.json
    python scripts/bench_msm.py --curve bls12_381 --log-n 22 --vary window chunks bounds

Scalars are splitmix64 from state 0x5EED0001, four words each, cut to the bits of r, less r where
they are not below it; P_i = (B + i·A)·G, where A and B are the first two scalars from 0x5EED0002.
Each sum is (Σ k_i·(B + i·A) mod r)·G; to 2^22 that is computed here, and the x of larger ones is
one that sppark and yrrid's entry to ZPrize 2023 gave too. Medians of `--runs` after one that warms
up, with all multiples of the points resident; the host's weighing of the last rows is apart.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from snarkcuda.bench.machine_line import dated, gpu
from snarkcuda.cpu.affine import differences
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.params import CURVES, curve_named
from snarkcuda.curve.points import decode, encode, linear_combination
from snarkcuda.kernels import msm
from snarkcuda.kernels.device import open_device
from snarkcuda.kernels.group import point_field
from snarkcuda.kernels.memory import Arena
from snarkcuda.kernels.msm import group_digits, load_bases, msm_rows, weighted
from snarkcuda.kernels.msm_plan import geometry_of, msm_shape

KNOWN_X = {  # of G1
    ("bn254", 24): 0x2837D81530196112C4A649E7D45506F10D2E06DDECF8E2AD1081BBAFF34ECBCE,
    ("bn254", 26): 0x1342E60EEEF6EFD4D8B2376CAAD51F951BB5EBBB2D9C71A66D2AF131357922C8,
    ("bls12_381", 24): int(
        "158d5a40fd15b82198f1b127c16eb777d5e31c78a6a80773ad3ac20172fe56aa"
        "220ff716bb6a5b9c4783df8336885668", 16),
    ("bls12_381", 26): int(
        "0678ea20ef1d1a9679a96755e27ed1a831a18eff8d291c00c8583d171410fedb"
        "8db66d6456402b8b7fe01eed3647a683", 16),
}  # fmt: skip
# ms on the same card: the best of sppark, yrrid's entry and era-bellman-cuda.
PEERS = {
    ("bls12_381", "g1"): {20: 20.1, 22: 25.2, 24: 92.5, 26: 414},
    ("bn254", "g1"): {20: 4.5, 22: 14.1, 24: 46.1, 26: 165},
    ("bls12_381", "g2"): {20: 47.3, 22: 136.7, 24: 446},
    ("bn254", "g2"): {20: 24.6, 22: 63.9},
}


def splitmix(state: int, n: int) -> np.ndarray:
    """The first n words of splitmix64."""
    z = np.uint64(state) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def scalars(field, state: int, n: int) -> np.ndarray:
    """n canonical scalars: uint64 (n, 4)."""
    found = splitmix(state, 4 * n).reshape(n, 4)
    found[:, 3] &= np.uint64((1 << (field.bits - 192)) - 1)
    r = [np.uint64(field.modulus >> (64 * j) & (2**64 - 1)) for j in range(4)]
    at_least = np.ones(n, dtype=bool)
    for j in range(4):  # from the lowest limb: the highest that differs decides
        at_least = np.where(found[:, j] == r[j], at_least, found[:, j] > r[j])
    rows, borrow = found[at_least], np.uint64(0)
    for j in range(4):
        less = rows[:, j] - r[j]
        found_borrow = (rows[:, j] < r[j]) | (less < borrow)
        rows[:, j] = less - borrow
        borrow = found_borrow.astype(np.uint64)
    found[at_least] = rows
    return found


def ints(rows: np.ndarray) -> list[int]:
    return [int.from_bytes(row.tobytes(), "little") for row in rows]


def points(pool: Pool, group, n: int, a: int, b: int) -> np.ndarray:
    """(b + i·a)·G for i < n, by adding multiples of a·G to what is there."""
    generator = encode(group, [group.generator])[0]
    found = np.empty((n, *generator.shape), dtype=np.uint64)
    found[0] = linear_combination(group, [generator], [b])
    have = 1
    while have < n:
        count = min(have, n - have)
        step = linear_combination(group, [generator], [-a * have])
        steps = np.broadcast_to(step, (count, *step.shape)).copy()
        found[have : have + count] = differences(pool, group, found[:count], steps)
        have += count
    return found


class Data:
    """Points and scalars of a group up to a size."""

    def __init__(self, curve, group, n: int, pool: Pool) -> None:
        self.curve, self.group = curve, group
        self.a, self.b = ints(scalars(curve.fr, 0x5EED0002, 2))
        self.points = points(pool, group, n, self.a, self.b)
        self.scalars = scalars(curve.fr, 0x5EED0001, n)

    def check(self, scalars: np.ndarray, found: np.ndarray, heavy: bool) -> str:
        """In which way the sum was found to be right."""
        n = len(scalars)
        if n > 1 << 22:
            known = KNOWN_X.get((self.curve.name, n.bit_length() - 1))
            if known is None or self.group.is_g2 or heavy:
                return "not checked"
            assert decode(self.group, found[None])[0][0] == known, "WRONG sum"
            return "x as others'"
        some = enumerate(ints(scalars))
        total = sum(k * (self.b + i * self.a) for i, k in some) % self.curve.fr.modulus
        generator = encode(self.group, [self.group.generator])[0]
        assert np.array_equal(found, linear_combination(self.group, [generator], [total])), "WRONG"
        return "k·G"


class Clock:
    """A device, its memory, and the time of what runs on it."""

    def __init__(self, name: str, runs: int) -> None:
        self.device = open_device(name)
        self.stream, self.arena, self.runs = self.device.stream(), Arena(self.device), runs

    def sums(self, data: Data, n: int, shape, heavy: bool = False) -> dict:
        """One shape: its times, and whether the sum is right."""
        k = data.scalars[:n]
        if heavy:  # 35 % 0, 35 % 1
            draw = splitmix(0x5EED0003, n) & np.uint64(255)
            k = k.copy()
            k[draw < 180] = 0
            k[(draw >= 90) & (draw < 180), 0] = 1
        with self.arena.scope(self.stream) as held:
            began = time.perf_counter()
            bases, _ = load_bases(held, data.group, data.points[:n], shape)
            self.stream.synchronize()
            load_s = time.perf_counter() - began
            there = held.upload(k)
            host = np.empty((1 + shape.rows) * 2 * bases.F.words, dtype=np.uint64)
            found: dict[str, list[float]] = {}
            for run in range(self.runs + 1):
                marks: list = []

                def mark(name: str, marks: list = marks) -> None:
                    marks.append((name, self.stream.record()))

                mark("")
                with self.arena.scope(self.stream) as work:
                    grouping = group_digits(work, shape, there)
                    mark("digits")
                    rows = msm_rows(self.arena, self.stream, bases, grouping, mark)
                    work.adopt(rows)
                    self.stream.download(rows, host)
                if run:
                    for (_, a), (name, b) in pairwise(marks):
                        found.setdefault(name, []).append(b.milliseconds_since(a))
                    found.setdefault("ms", []).append(marks[-1][1].milliseconds_since(marks[0][1]))
            began = time.perf_counter()
            result = weighted(data.group, shape, host)
            host_ms = 1e3 * (time.perf_counter() - began)
        right = data.check(k, result, heavy)
        return {
            **{name: statistics.median(times) for name, times in found.items()},
            "host_ms": host_ms,
            "load_s": load_s,
            "table_bytes": bases.table.nbytes,
            "right": right,
        }


def say(record: dict, **fields: object) -> None:
    record["cases"].append(fields)
    words = (f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in fields.items())
    print("  ".join(words), flush=True)


def variants(shape, vary: list[str]):
    """(words, shape, bounds): the default, then one thing at a time."""
    yield "", shape, None
    g = shape.geometry
    if "window" in vary:
        for c in range(shape.window - 3, shape.window + 4):
            if c != shape.window and 4 <= c <= 24:
                yield f"window {c}", msm_shape(shape.field, shape.n, window=c, geometry=g), None
    if "chunks" in vary:
        for factor in (0.25, 0.5, 2, 4):
            chunks = int(g.chunks * factor)
            yield f"chunks {chunks}", replace(shape, geometry=replace(g, chunks=chunks)), None
    if "bins" in vary:
        for more in (-2, -1, 1, 2):
            found = replace(shape, log_bins=shape.log_bins + more)
            yield f"bins 2^{found.log_bins}", found, None
    if "tile" in vary:
        for tile in (9, 10, 11):
            yield f"tile {tile}", replace(shape, geometry=replace(g, log_tile=tile)), None
    if "threads" in vary:
        for threads in (256, 1024):
            yield f"sort {threads}", replace(shape, geometry=replace(g, sort=threads)), None
    if "bounds" in vary:
        for blocks in (2, 3, 4):
            yield f"{blocks} blocks", shape, blocks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--curve", nargs="*", default=[curve.name for curve in CURVES])
    parser.add_argument("--group", nargs="*", default=["g1", "g2"])
    parser.add_argument("--log-n", type=int, nargs="*", default=[10, 12, 14, 16, 18, 20, 22, 24])
    parser.add_argument("--vary", nargs="*", default=[])
    parser.add_argument("--heavy", action="store_true", help="70 %% of scalars 0 or 1 as well")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    record = dated(1) | {"cases": []}
    clock = Clock(options.device, options.runs)
    record["machine"]["gpu"] = str(clock.device)
    kernels = msm._point_kernels
    with Pool() as pool:
        for name in options.curve:
            curve = curve_named(name)
            for kind in options.group:
                group = curve.g2 if kind == "g2" else curve.g1
                began = time.perf_counter()
                data = Data(curve, group, 1 << max(options.log_n), pool)
                print(f"{group.name}: data in {time.perf_counter() - began:.1f} s", flush=True)
                for log_n in options.log_n:
                    shape = msm_shape(curve.fr, 1 << log_n, geometry=geometry_of(clock.device))
                    peer = PEERS[name, kind].get(log_n)
                    for words, form, blocks in variants(shape, options.vary):
                        if blocks:
                            found = kernels(point_field(group), msm.cold_field(group))
                            bound = replace(found[0], min_blocks=blocks, may_spill=True)
                            msm._point_kernels = lambda F, cold, b=bound, f=found: (b, *f[1:])
                        for heavy in (False, True) if options.heavy else (False,):
                            times = clock.sums(data, 1 << log_n, form, heavy)
                            say(record, operation="msm", group=group.name, log_n=log_n,
                                variant=words, scalars="70 % 0 or 1" if heavy else "random",
                                window=form.window, windows=form.windows, bins=form.log_bins,
                                best_peer=peer, **times)  # fmt: skip
                        msm._point_kernels = kernels
                    if options.out:
                        record["machine"]["clocks"] = gpu(options.device)
                        options.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
