"""Single operations beside zksnake, which calls arkworks on one thread: MSMs and transforms.

    pip install zksnake
    python scripts/bench_operations.py [--curves bn254 bls12_381] [--log-n 14 16 18] [--runs 5]
                                       [--threads 2] [--out FILE.json]

msm       ours: digits cut and sorted, buckets, their sums; the points are resident in vector form,
          as a key's are. Scalars are random, or `bits`: 50 % zeros, 40 % ones, 10 % random. 2^12
          distinct points repeat, as zksnake takes up to a millisecond to make one
scalar    the same in a process without AVX (`NUMBA_ENABLE_AVX=0`), random scalars in G1
ntt       ours: a sixth of `to_coset` for three polynomials, which is three inverse transforms, a
          scaling and three forward ones; theirs: one `fft`

Both take turns, and their results are compared. zksnake's calls take lists of Python's integers and
of points, whose conversion is none of arkworks' work and is taken off:

msm       the same call with zeros as scalars, and the conversion of n full integers
ntt       in = (sum of two lists − out)/2,  out = fft of a single coefficient, which only copies

Its whole call and what remains of it are both shown; a ratio is the median over the turns. The
record has every single figure.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from measuring import record

from snarkcuda.cpu import ntt
from snarkcuda.cpu.digits import sorted_digits
from snarkcuda.cpu.fixed_base import Multiples
from snarkcuda.cpu.msm import msm
from snarkcuda.cpu.pool import Pool
from snarkcuda.cpu.vector_form import to_vector_form
from snarkcuda.curve.params import CURVES, Curve, Group, curve_named
from snarkcuda.curve.points import decode, point_shape
from snarkcuda.field.arrays import U64Array, from_ints, packed, to_ints
from snarkcuda.field.params import prime_of
from snarkcuda.field.vector_type import has_vectors

_DISTINCT = 1 << 12
_POLYNOMIALS = 3
Seconds = dict[str, list[float]]


def seconds(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def in_turn(calls: dict[str, Callable[[], Any]], runs: int) -> Seconds:
    """Each call in each turn, after ours has been called once (which loads kernels)."""
    calls["ours"]()
    turns = [{name: seconds(call) for name, call in calls.items()} for _ in range(runs)]
    return {name: [turn[name] for turn in turns] for name in calls}


def result(name: str, log_n: int, runs: Seconds) -> dict[str, Any]:
    """One line of the record."""
    line: dict[str, Any] = {"operation": name, "log_n": log_n, "ours_ms": middle_ms(runs["ours"])}
    for key in ("zksnake", "zksnake_call"):
        line[f"{key}_ms"] = middle_ms(runs[key])
        ratios = [b / a for a, b in zip(runs["ours"], runs[key], strict=True)]
        line[f"{key}_over_ours"] = round(statistics.median(ratios), 2)
    return {**line, "seconds": runs}


def middle_ms(values: Sequence[float]) -> float:
    return round(1000 * statistics.median(values), 2)


# --- our side -----------------------------------------------------------------------------------


def scalars_of(group: Group, n: int, kind: str) -> list[int]:
    """Seeded, so that both sides, and the process without AVX, have the same."""
    rng, r = random.Random(f"{group.name} {n} {kind}"), group.order
    if kind == "random":
        return [rng.randrange(r) for _ in range(n)]
    return [rng.choices((0, 1, rng.randrange(r)), (50, 40, 10))[0] for _ in range(n)]


def distinct_points(pool: Pool, group: Group) -> U64Array:
    exponents = scalars_of(group, _DISTINCT, "random")
    return Multiples(pool, group, _DISTINCT).of(from_ints(exponents, 4))


def our_msm(
    pool: Pool, group: Group, points: U64Array, scalars: Sequence[int]
) -> Callable[[], U64Array]:
    """The MSM as the backend calls it."""
    values, bits = from_ints(scalars, 4), group.order.bit_length()
    resident, vectors = packed(points), has_vectors()
    if vectors:
        resident = to_vector_form(pool, prime_of(group.field), points)
    return lambda: msm(pool, group, resident, sorted_digits(pool, values, bits), vectors=vectors)


# --- zksnake --------------------------------------------------------------------------------------


def peer(curve: Curve) -> tuple[Any, Any]:
    """Its points and its polynomials of a curve; it must be imported with one thread set."""
    os.environ["RAYON_NUM_THREADS"] = "1"
    try:
        algebra = importlib.import_module("zksnake._algebra")
    except ImportError:
        sys.exit("the peer is missing: pip install zksnake")
    return getattr(algebra, f"ec_{curve.name}"), getattr(algebra, f"polynomial_{curve.name}")


def conversions(polynomials: Any, numbers: list[int]) -> dict[str, Callable[[], Any]]:
    """Calls whose work is the conversion of n integers: two lists in and one out; one out."""
    n = len(numbers)
    return {
        "two in, one out": lambda: polynomials.add_over_evaluation_domain(n, numbers, numbers),
        "one out": lambda: polynomials.fft(numbers[:1], n),
    }


def one_in(runs: Seconds) -> list[float]:
    return [(a - b) / 2 for a, b in zip(runs["two in, one out"], runs["one out"], strict=True)]


def bench_msm(
    pool: Pool, curve: Curve, group: Group, log_n: int, runs: int
) -> list[dict[str, Any]]:
    points, polynomials = peer(curve)
    n, is_g2 = 1 << log_n, group is curve.g2
    ours = np.resize(distinct_points(pool, group), (n, *point_shape(group)))
    make, multiexp = (
        (points.PointG2, points.multiscalar_mul_g2)
        if is_g2
        else (points.PointG1, points.multiscalar_mul_g1)
    )
    few = [
        make(*x, *y) if is_g2 else make(x, y) for x, y in decode(group, ours[: min(n, _DISTINCT)])
    ]
    theirs = few * (n // len(few))
    results = []
    for kind in ("random", "bits"):
        scalars = scalars_of(group, n, kind)
        call = our_msm(pool, group, ours, scalars)
        expected = multiexp(theirs, scalars)
        if decode(group, call()[None]) != [coordinates(expected)]:
            sys.exit(f"{group.name}, 2^{log_n}, {kind}: the two sums differ")
        calls: dict[str, Callable[[], Any]] = {
            "ours": call,
            "zksnake_call": partial(multiexp, theirs, scalars),
            "zeros": partial(multiexp, theirs, [0] * n),
            **conversions(polynomials, scalars),
        }
        measured = in_turn(calls, runs)
        parts = zip(measured["zksnake_call"], measured["zeros"], one_in(measured), strict=True)
        measured["zksnake"] = [whole - zeros - integers for whole, zeros, integers in parts]
        results.append(result(f"msm {group.name}, {kind}", log_n, measured))
    return results


def coordinates(point: Any) -> Any:
    x, y = point.x, point.y
    return (tuple(x), tuple(y)) if isinstance(x, list) else (x, y)


def bench_ntt(pool: Pool, curve: Curve, log_n: int, runs: int) -> dict[str, Any]:
    _, polynomials = peer(curve)
    n, field, rng = 1 << log_n, curve.fr, random.Random(log_n)
    domain = ntt.domain_of_size(field, n)
    tables = ntt.tables(pool, domain, has_vectors())
    numbers = [rng.randrange(field.modulus) for _ in range(n)]
    values = from_ints([field.to_montgomery(x) for x in numbers] * _POLYNOMIALS, field.limbs)
    x = values.reshape(_POLYNOMIALS, n, field.limbs)
    ntt.to_coset(pool, tables, x)
    found = [field.from_montgomery(value) for value in to_ints(x[-1])]
    if found != their_coset(polynomials, domain, numbers):
        sys.exit(f"{curve.name}, 2^{log_n}: the two transforms differ")
    calls = {
        "ours": lambda: ntt.to_coset(pool, tables, x),
        "zksnake_call": lambda: polynomials.fft(numbers, n),
        **conversions(polynomials, numbers),
    }
    measured = in_turn(calls, runs)
    measured["ours"] = [t / (2 * _POLYNOMIALS) for t in measured["ours"]]
    parts = zip(measured["zksnake_call"], one_in(measured), measured["one out"], strict=True)
    measured["zksnake"] = [whole - a - b for whole, a, b in parts]
    return result(f"ntt {curve.name}", log_n, measured)


def their_coset(polynomials: Any, domain: ntt.Domain, numbers: list[int]) -> list[int]:
    """`to_coset` by zksnake's transforms, whose root of unity may be another: θ = ωʲ."""
    n, p = domain.n, domain.field.modulus
    theta, j = polynomials.get_nth_root_of_unity(n, 1), 0
    for bit in range(domain.log_n):  # j's bits, the lowest first
        rest = theta * pow(domain.root, -j, p)
        if pow(rest, 1 << (domain.log_n - 1 - bit), p) != 1:
            j |= 1 << bit
    coefficients = polynomials.ifft([numbers[i * j % n] for i in range(n)], n)
    shifted, power = [], 1
    for coefficient in coefficients:
        shifted.append(coefficient * power % p)
        power = power * domain.shift % p
    values = [0] * n
    for i, value in enumerate(polynomials.fft(shifted, n)):
        values[i * j % n] = value
    return values


# --- a process without AVX ------------------------------------------------------------------------


def scalar_path(curve: Curve, log_n: int, runs: int, threads: int) -> list[float]:
    """Seconds of our MSM in G1 on the scalar kernels."""
    command = [sys.executable, __file__, "--child", "--curves", curve.name]
    command += ["--log-n", str(log_n), "--runs", str(runs), "--threads", str(threads)]
    environment = {**os.environ, "NUMBA_ENABLE_AVX": "0"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    measured: list[float] = json.loads(done.stdout)
    return measured


def child(pool: Pool, curve: Curve, log_n: int, runs: int) -> None:
    assert not has_vectors()
    group, n = curve.g1, 1 << log_n
    points = np.resize(distinct_points(pool, group), (n, *point_shape(group)))
    call = our_msm(pool, group, points, scalars_of(group, n, "random"))
    print(json.dumps(in_turn({"ours": call}, runs)["ours"]))


def bench(pool: Pool, curve: Curve, log_n: int, runs: int) -> list[dict[str, Any]]:
    results = []
    for group in (curve.g1, curve.g2):
        random_one, bits = bench_msm(pool, curve, group, log_n, runs)
        bits["share_of_random"] = round(bits["ours_ms"] / random_one["ours_ms"], 2)
        results += [random_one, bits]
    scalar = {**results[0]["seconds"], "ours": scalar_path(curve, log_n, runs, pool.threads)}
    results.append(result(f"msm {curve.g1.name}, random, scalar path", log_n, scalar))
    results.append(bench_ntt(pool, curve, log_n, runs))
    for entry in results:
        print(row(entry), file=sys.stderr)
    return results


_COLUMNS = {
    "ours_ms": "ms",
    "zksnake_ms": "zksnake ms",
    "zksnake_over_ours": "/ ours",
    "zksnake_call_ms": "its call ms",
    "zksnake_call_over_ours": "/ ours",
    "share_of_random": "of random",
}


def row(entry: dict[str, Any]) -> str:
    cells = [entry["operation"], f"2^{entry['log_n']}", *(entry.get(key, "") for key in _COLUMNS)]
    return f"| {' | '.join(map(str, cells))} |"


def table(results: list[dict[str, Any]]) -> str:
    head = f"| operation | n | {' | '.join(_COLUMNS.values())} |"
    return "\n".join([head, "|---" * (2 + len(_COLUMNS)) + "|", *map(row, results)])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--curves", nargs="*", default=[curve.name for curve in CURVES])
    parser.add_argument("--log-n", type=int, nargs="*", default=[14, 16, 18])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, help="write the record here")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    curves = [curve for name in given.curves if (curve := curve_named(name))]
    with Pool(given.threads) as pool:
        if given.child:
            child(pool, curves[0], given.log_n[0], given.runs)
            return
        results = [
            entry for c in curves for k in given.log_n for entry in bench(pool, c, k, given.runs)
        ]
    record(
        {"threads": given.threads, "zksnake": version("zksnake"), "operations": results}, given.out
    )
    print(table(results))


if __name__ == "__main__":
    main()
