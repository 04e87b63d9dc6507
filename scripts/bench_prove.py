"""Whole proofs, whole processes: snarkcuda beside snarkjs, run in turn on the same files.

    python scripts/bench_prove.py KEYDIR [KEYDIR …] [--snarkjs PATH] [--runs 5] [--out FILE.json]

A KEYDIR holds circuit.zkey and witness.wtns (`scripts/make_bench_keys.py` makes some;
`tests/vectors/bn_poseidon2` is the 240-constraint one). For each it measures

    cold       one run with an empty kernel cache: start, compile everything, prove, write
    warm       start-up, reading, proof, self-check and writing; median of `--runs` after a warm-up
    snarkjs    `snarkjs groth16 prove` on the same files, each run right after one of ours
    memory     peak of anonymous memory (what the process itself holds; mapped files not counted),
               sampled a hundred times a second, and peak resident memory

The record has the machine, versions, revision, date and every single run.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Run:
    """One finished process: seconds of wall and processor time, peak memory in MB."""

    wall: float
    cpu: float
    anonymous_mb: float
    resident_mb: float


def measure(command: list[str], environment: dict[str, str]) -> Run:
    began = time.perf_counter()
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    peak = [0.0]
    sampler = threading.Thread(target=_sample, args=(process.pid, peak), daemon=True)
    sampler.start()
    assert process.stderr is not None
    words = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{words.decode()}")
    return Run(wall, usage.ru_utime + usage.ru_stime, peak[0], usage.ru_maxrss / 1024)


def _sample(pid: int, peak: list[float]) -> None:
    """Peak RssAnon of a process, until it is gone (Linux; elsewhere it stays 0)."""
    while True:
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return
        for line in status.splitlines():
            if line.startswith("RssAnon"):
                peak[0] = max(peak[0], int(line.split()[1]) / 1024)
        time.sleep(0.01)


def median(runs: list[Run]) -> dict[str, float]:
    return {
        name: round(statistics.median(getattr(run, name) for run in runs), 3)
        for name in ("wall", "cpu", "anonymous_mb", "resident_mb")
    }


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
    record: dict[str, object] = {
        "case": case.name,
        "zkey_bytes": (case / "circuit.zkey").stat().st_size,
        "cold": asdict(cold),
        "warm": {"median": median(warm), "runs": [asdict(run) for run in warm]},
    }
    if other:
        ratio = statistics.median(b.wall / a.wall for a, b in zip(warm, other, strict=True))
        record["snarkjs"] = {"median": median(other), "runs": [asdict(run) for run in other]}
        record["snarkjs_over_snarkcuda"] = round(ratio, 2)
    return record


def machine() -> dict[str, str]:
    import numba
    import numpy

    name = platform.processor()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next((x.partition(":")[2].strip() for x in lines if x.startswith("model name")), "")
    git = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True)
    return {
        "cpu": name,
        "threads": str(len(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else "",
        "load": " ".join(f"{x:.1f}" for x in os.getloadavg()),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numba": numba.__version__,
        "numpy": numpy.__version__,
        "revision": git.stdout.strip(),
    }


def table(records: list[dict[str, object]]) -> str:
    lines = [
        "| case | cold s | warm s | MB | snarkjs s | MB | snarkjs / snarkcuda |",
        "|---|---|---|---|---|---|---|",
    ]
    for record in records:
        cold, warm = record["cold"], record["warm"]
        assert isinstance(cold, dict)
        assert isinstance(warm, dict)
        cells = [str(record["case"]), f"{cold['wall']:.1f}", f"{warm['median']['wall']:.2f}"]
        cells.append(f"{warm['median']['anonymous_mb']:.0f}")
        other = record.get("snarkjs")
        if isinstance(other, dict):
            cells += [f"{other['median']['wall']:.2f}", f"{other['median']['anonymous_mb']:.0f}"]
            cells.append(f"{record['snarkjs_over_snarkcuda']}")
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
    date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    record = {"date": date, "machine": machine(), "cases": records}
    if arguments.out:
        arguments.out.write_text(json.dumps(record, indent=1) + "\n")
    print(", ".join(record["machine"].values()))  # type: ignore[attr-defined]
    print(table(records))


if __name__ == "__main__":
    main()
