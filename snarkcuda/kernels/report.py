"""What compiling says of every kernel, compared with an earlier report."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from snarkcuda.curve.params import Curve
from snarkcuda.errors import FormatError
from snarkcuda.formats.opening import FilePath
from snarkcuda.kernels.catalog import kernels_of
from snarkcuda.kernels.compiling import Architecture, compiled
from snarkcuda.kernels.launch import DeviceKernel

FORMAT = "snarkcuda kernels"
COMPARED = ("registers", "spilled", "shared", "instructions")


@dataclass(frozen=True)
class Line:
    """A kernel's figures, see `compiling.Cubin`; `may_spill` is what its source allows."""

    label: str
    registers: int
    spilled: int
    shared: int
    instructions: int
    floats: int
    may_spill: bool
    seconds: float

    @property
    def problem(self) -> str | None:
        """What must not be: floats, or registers in memory where the source does not allow it."""
        if self.floats:
            return (
                f"{self.label} computes with floats, which numba makes of integers of 64 bits and "
                "different sign: give literals a type"
            )
        if self.spilled and not self.may_spill:
            return (
                f"registers of {self.label} spill to memory: hold fewer values at a time, lower "
                "min_blocks, or set may_spill where a measurement says that it pays"
            )
        return None


def report(
    curves: Iterable[Curve],
    architecture: Architecture,
    only: str = "",
    arithmetic: str | None = None,
    done: Callable[[str], None] = lambda label: None,
) -> list[Line]:
    """Compile the kernels of curves whose label holds `only`, or find them in the cache.

    Args:
        curves: whose kernels.
        architecture: compute capability.
        only: a part of labels.
        arithmetic: that of `DeviceField`, "ptx" by default.
        done: called with each label.
    """
    kernels = {k.label: k for curve in curves for k in kernels_of(curve, arithmetic)}
    found = []
    for label, kernel in kernels.items():
        if only in label:
            found.append(_line(kernel, architecture))
            done(label)
    return found


def _line(kernel: DeviceKernel, architecture: Architecture) -> Line:
    cubin = compiled(kernel, architecture)
    return Line(
        kernel.label,
        cubin.registers,
        cubin.spilled,
        cubin.shared,
        cubin.instructions,
        cubin.floats,
        kernel.may_spill,
        round(sum(cubin.seconds), 3),
    )


def read_report(path: FilePath) -> dict[str, dict[str, Any]]:
    """An earlier report's kernels by label.

    Raises:
        FormatError: it is not one.
    """
    try:
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
        if record["format"] != FORMAT:
            raise KeyError("format")
        return {
            line["label"]: {key: int(line[key]) for key in COMPARED} for line in record["kernels"]
        }
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FormatError(f"{path} is no report that `snarkcuda kernels --out` wrote") from error


def table(lines: list[Line], earlier: dict[str, dict[str, Any]] | None = None) -> str:
    """The lines for people; figures that differ from the earlier report's show both."""

    def cell(line: Line, key: str) -> str:
        now = getattr(line, key)
        before = (earlier or {}).get(line.label, {}).get(key, now)
        return f"{now:,}" if before == now else f"{before:,} → {now:,}"

    head = ("kernel", "registers", "spilled B", "shared B", "instructions", "s")
    rows = [
        (line.label, *(cell(line, key) for key in COMPARED), f"{line.seconds:.1f}")
        for line in lines
    ]
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    return "\n".join(
        "  ".join(
            c.ljust(w) if i == 0 else c.rjust(w)
            for i, (c, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in (head, *rows)
    )
