"""Whole proofs, whole processes: snarkcuda beside snarkjs, run in turn on the same files.

    python scripts/bench_prove.py KEYDIR [KEYDIR …] [--snarkjs PATH] [--runs 5] [--out FILE.json]

A KEYDIR holds circuit.zkey and witness.wtns (`scripts/make_bench_key.sh` makes one;
`tests/vectors/bn_poseidon2` is the 240-constraint one). For each it measures

    cold       one run with an empty kernel cache: start, compile everything, prove, write
    warm       start-up, reading, proof, self-check and writing; median of `--runs` after a warm-up
    snarkjs    `snarkjs groth16 prove` on the same files, each run right after one of ours
    memory     peaks of anonymous and of resident memory, as `measuring.MEMORY` says

The record has the machine, versions, revision, date and every single run.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from measuring import MEMORY, measure, record, summary


def bench(case: Path, runs: int, snarkjs: str | None, out: Path) -> dict[str, object]:
    inputs = [str(case / "circuit.zkey"), str(case / "witness.wtns")]
    outputs = [str(out / "proof.json"), str(out / "public.json")]
    ours = [sys.executable, "-m", "snarkcuda", "prove", *inputs, *outputs, "--quiet"]
    theirs = [snarkjs, "groth16", "prove", *inputs, *outputs] if snarkjs else None
    environment = {**os.environ, "SNARKCUDA_CACHE_DIR": str(out / f"kernels-{case.name}")}

    cold = measure(ours, environment)
    print(f"{case.name}: cold {cold.wall:.1f} s", file=sys.stderr)
    measure(ours, environment)
    warm, other = [], []
    for _ in range(runs):
        warm.append(measure(ours, environment))
        if theirs:
            other.append(measure(theirs, dict(os.environ)))
    result: dict[str, object] = {
        "case": case.name,
        "zkey_bytes": (case / "circuit.zkey").stat().st_size,
        "cold": asdict(cold),
        "warm": summary(warm),
    }
    if other:
        ratio = statistics.median(b.wall / a.wall for a, b in zip(warm, other, strict=True))
        result["snarkjs"] = summary(other)
        result["snarkjs_over_snarkcuda"] = round(ratio, 2)
    return result


def table(records: list[dict[str, object]]) -> str:
    lines = [
        "| case | cold s | warm s | MiB | snarkjs s | MiB | snarkjs / snarkcuda |",
        "|---|---|---|---|---|---|---|",
    ]
    for result in records:
        cold, warm = result["cold"], result["warm"]
        assert isinstance(cold, dict)
        assert isinstance(warm, dict)
        cells = [str(result["case"]), f"{cold['wall']:.1f}", f"{warm['median']['wall']:.2f}"]
        cells.append(f"{warm['median']['anonymous_mb']:.0f}")
        other = result.get("snarkjs")
        if isinstance(other, dict):
            cells += [f"{other['median']['wall']:.2f}", f"{other['median']['anonymous_mb']:.0f}"]
            cells.append(f"{result['snarkjs_over_snarkcuda']}")
        else:
            cells += ["", "", ""]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("cases", nargs="+", type=Path)
    parser.add_argument("--snarkjs", default=os.environ.get("SNARKJS") or shutil.which("snarkjs"))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", type=Path, help="write the record here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        records = [
            bench(case, arguments.runs, arguments.snarkjs, Path(folder)) for case in arguments.cases
        ]
    record({"memory": MEMORY, "cases": records}, arguments.out)
    print(table(records))


if __name__ == "__main__":
    main()
