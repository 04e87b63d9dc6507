"""Where and when a figure was taken: processor, threads, load, versions, revision, date."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

import snarkcuda
from snarkcuda.machine import processor_model, usable_processors

ROOT = Path(snarkcuda.__file__).parents[1]  # of these sources


def machine(threads: int) -> dict[str, str]:
    """The machine line; `threads` are those that were used."""
    found = {
        "cpu": processor_model() or "unknown processor",
        "threads": str(threads),
        "load": " ".join(f"{x:.1f}" for x in os.getloadavg()),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numba": version("numba"),
        "numpy": version("numpy"),
        "snarkcuda": snarkcuda.__version__,
    }
    revision = source_revision()
    return {**found, "revision": revision} if revision else found


def gpu(device: str) -> str:
    """A GPU's name, driver and clock, now and at most, as nvidia-smi has them."""
    ordinal = device.partition(":")[2] or "0"
    what = "name,driver_version,clocks.sm,clocks.max.sm"
    command = ["nvidia-smi", f"--id={ordinal}", f"--query-gpu={what}", "--format=csv,noheader"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return said.stdout.strip() if said.returncode == 0 else "unknown"


def source_revision() -> str | None:
    """The git revision of these sources, "-dirty" if edited; None outside of a checkout."""
    if not (ROOT / ".git").exists():
        return None
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.strip() or None
    except OSError:  # no git
        return None


def dated(threads: int) -> dict[str, Any]:
    """What every record begins with, the scripts' too."""
    date = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    return {"date": date, "machine": machine(threads)}


def is_busy(machine: dict[str, str]) -> bool:
    """Whether more ran in the minute before than there are processors to run it."""
    try:
        return float(machine.get("load", "0").split()[0]) > usable_processors() + 0.5
    except (ValueError, IndexError):
        return False


def machine_line(record: dict[str, Any]) -> str:
    """Date and machine in one line."""
    words = [f"{name} {value}" for name, value in record["machine"].items() if name != "cpu"]
    return ", ".join([record["machine"]["cpu"], *words, record["date"]])
