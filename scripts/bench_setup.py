"""Setup and key checks: research keys of several sizes, a ceremony's key beside snarkjs, points.

python scripts/bench_setup.py [--log-n 14 16 18] [--curves bn254 bls12_381] [--powers POT.ptau]
                              [--points 1000000] [--snarkjs PATH] [--runs 3] [--out FILE.json]

research    `snarkcuda setup --research` for a MiMC chain that fills 2^log_n rows, whole
            processes: medians of `--runs` after a warm-up
ceremony    for each `--powers` file (prepared, of any curve): `snarkcuda setup` and `snarkjs
            groth16 setup` in turn, on a MiMC chain that fills its power; the bytes are compared
points      curve and subgroup checks of `--points` points a group, in this process, all threads
"""

from __future__ import annotations

import argparse
import filecmp
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from measuring import MEMORY, measure, record, summary

from snarkcuda.cpu.fixed_base import Multiples
from snarkcuda.cpu.point_checks import first_outside_subgroup
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.params import CURVES, Curve, Group, curve_named
from snarkcuda.curve.points import first_off_curve
from snarkcuda.field.arrays import from_ints
from snarkcuda.formats.ptau_header import read_ptau_header

SNARKCUDA = [sys.executable, "-m", "snarkcuda"]


def circuit(folder: Path, curve: Curve, log_n: int) -> str:
    """A MiMC chain that fills 2^log_n rows: one public signal and the constant take two."""
    path = folder / f"{curve.name}_{log_n}.r1cs"
    if not path.exists():
        command = [*SNARKCUDA, "generate", "mimc", str((1 << log_n) - 2), str(path)]
        command += [str(folder / "witness.wtns"), "--curve", curve.name, "-q"]
        subprocess.run(command, check=True)
    return str(path)


def research(folder: Path, curve: Curve, log_n: int, runs: int) -> dict[str, object]:
    files = [circuit(folder, curve, log_n), str(folder / "ours.zkey")]
    command = [*SNARKCUDA, "setup", *files, "--research", "-q"]
    measure(command, dict(os.environ))
    measured = [measure(command, dict(os.environ)) for _ in range(runs)]
    return {
        "curve": curve.name,
        "log_n": log_n,
        "zkey_bytes": (folder / "ours.zkey").stat().st_size,
        "snarkcuda": summary(measured),
    }


def ceremony(folder: Path, powers: Path, snarkjs: str, runs: int) -> dict[str, object]:
    header = read_ptau_header(powers)
    r1cs = circuit(folder, header.curve, header.power)
    keys = [str(folder / "ours.zkey"), str(folder / "theirs.zkey")]
    ours = [*SNARKCUDA, "setup", r1cs, str(powers), keys[0], "-q"]
    theirs = [snarkjs, "groth16", "setup", r1cs, str(powers), keys[1]]
    measure(ours, dict(os.environ))
    pairs = [
        (measure(ours, dict(os.environ)), measure(theirs, dict(os.environ))) for _ in range(runs)
    ]
    return {
        "curve": header.curve.name,
        "log_n": header.power,
        "same_bytes": filecmp.cmp(*keys, shallow=False),
        "snarkcuda": summary([a for a, _ in pairs]),
        "snarkjs": summary([b for _, b in pairs]),
        "snarkjs_over_snarkcuda": round(statistics.median(b.wall / a.wall for a, b in pairs), 2),
    }


def point_checks(curve: Curve, group: Group, n: int, runs: int) -> dict[str, object]:
    """Seconds for n points, each check alone."""
    chunk = 1 << 14
    with Pool() as pool:
        few = Multiples(pool, group, chunk).of(from_ints(range(1, chunk + 1), 4))
        points = np.concatenate([few] * -(-n // chunk))[:n]
        result: dict[str, object] = {"group": group.name, "points": n}
        for name, check in (
            ("on_curve", lambda at: first_off_curve(group, points, at, min(n, at + chunk))),
            (
                "subgroup",
                lambda at: first_outside_subgroup(curve, group, points, at, min(n, at + chunk)),
            ),
        ):
            seconds = []
            check(0)  # compiles or loads the kernel
            for _ in range(runs):
                began = time.perf_counter()
                assert not any(bad is not None for bad in pool.map(check, range(0, n, chunk)))
                seconds.append(time.perf_counter() - began)
            result[name] = {
                "median_s": round(statistics.median(seconds), 3),
                "runs": seconds,
            }
    return result


def table(results: dict[str, list[dict[str, object]]]) -> str:
    lines = [
        "| setup | rows | s | MiB | snarkjs s | MiB | snarkjs / snarkcuda |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind in ("research", "ceremony"):
        for entry in results[kind]:
            ours = entry["snarkcuda"]["median"]  # type: ignore[index]
            cells = [f"{kind}, {entry['curve']}", f"2^{entry['log_n']}", f"{ours['wall']:.2f}"]
            cells.append(f"{ours['anonymous_mb']:.0f}")
            if kind == "ceremony":
                theirs = entry["snarkjs"]["median"]  # type: ignore[index]
                cells += [f"{theirs['wall']:.2f}", f"{theirs['anonymous_mb']:.0f}"]
                cells.append(f"{entry['snarkjs_over_snarkcuda']}")
            else:
                cells += ["", "", ""]
            lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "| points | on the curve, s | in the subgroup, s |", "|---|---|---|"]
    for entry in results["points"]:
        seconds = [entry[name]["median_s"] for name in ("on_curve", "subgroup")]  # type: ignore[index]
        lines.append(f"| {entry['points']}, {entry['group']} | {seconds[0]} | {seconds[1]} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--log-n", type=int, nargs="*", default=[14, 16, 18])
    parser.add_argument("--curves", nargs="*", default=[curve.name for curve in CURVES])
    parser.add_argument("--powers", type=Path, nargs="*", default=[])
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--snarkjs", default=os.environ.get("SNARKJS") or shutil.which("snarkjs"))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--out", type=Path, help="write the record here")
    given = parser.parse_args()
    if given.powers and not given.snarkjs:
        parser.error("--powers compares with snarkjs, and there is none: set SNARKJS")
    curves = [curve for name in given.curves if (curve := curve_named(name))]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        results = {
            "research": [research(folder, c, k, given.runs) for c in curves for k in given.log_n],
            "ceremony": [ceremony(folder, p, given.snarkjs, given.runs) for p in given.powers],
            "points": [
                point_checks(c, g, given.points, given.runs) for c in curves for g in (c.g1, c.g2)
            ],
        }
    record({"memory": MEMORY, **results}, given.out)
    print(table(results))


if __name__ == "__main__":
    main()
