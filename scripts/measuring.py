"""What the scripts share: whole processes measured, their medians, the record."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from snarkcuda.bench.machine_line import dated, machine_line
from snarkcuda.machine import usable_processors

MEMORY = (
    "MiB. anonymous_mb: peak of RssAnon in /proc/PID/status (memory that the process itself holds, "
    "mapped files not counted), sampled every 10 ms; resident_mb: ru_maxrss, mapped files counted"
)
"""How `Run` measures memory; part of each record."""


@dataclass(frozen=True)
class Run:
    """One finished process: seconds of wall and processor time, peak memory (see `MEMORY`)."""

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


def summary(runs: list[Run]) -> dict[str, object]:
    """The medians and every single run."""
    return {"median": median(runs), "runs": [asdict(run) for run in runs]}


def record(results: dict[str, Any], out: Path | None) -> dict[str, Any]:
    """The results with date and machine, printed and, if asked, written."""
    whole = {**dated(usable_processors()), **results}
    if out:
        out.write_text(json.dumps(whole, indent=1) + "\n")
    print(machine_line(whole))
    return whole
