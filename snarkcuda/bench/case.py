"""A case: which operation is measured, at which size, on which variant of the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from snarkcuda.groth16.timeline import Stage

CHOICES = {  # the first is the default
    "group": ("g1", "g2"),
    "scalars": ("random", "bits"),
    "path": ("auto", "vector", "scalar"),
}
DEVICE = "device"  # a variant with names without end: cpu, cuda, cuda:N
OPERATIONS = {  # and the variants that each has
    "field": ("group", "path", DEVICE),
    "msm": ("group", "scalars", "path", DEVICE),
    "ntt": ("path", DEVICE),
    "matvec": ("scalars", DEVICE),
    "setup": ("scalars",),
    "prove": ("scalars", DEVICE),
}
LOG_N = (6, 27)  # vectors transform 64 points at once; checks in Python take a minute at 2^24
DEFAULT_LOG_N = 14
SEED = "snarkcuda bench"


@dataclass(frozen=True)
class Case:
    """One line of a bench's table.

    Attributes:
        operation: a key of `OPERATIONS`.
        curve: "bn254" or "bls12_381".
        log_n: log2 of the points, rows or elements.
        group, scalars, path: one of `CHOICES`, None where the operation has no such variant.
        device: "cuda" or "cuda:N"; None is the CPU.
    """

    operation: str
    curve: str
    log_n: int
    group: str | None = None
    scalars: str | None = None
    path: str | None = None
    device: str | None = None

    def __str__(self) -> str:
        """What a record calls it, and by which `--compare` finds it again."""
        variants = [getattr(self, name) for name in (*CHOICES, DEVICE)]
        words = [self.operation, self.curve, f"2^{self.log_n}", *filter(None, variants)]
        return " ".join(words)

    @classmethod
    def of(cls, operation: str, curve: str, log_n: int, variants: dict[str, str | None]) -> Case:
        """A case with the operation's defaults for variants that are not given.

        Raises:
            ValueError: the operation has no such variant.
        """
        takes = OPERATIONS[operation]
        device = variants.get(DEVICE)
        if device == "cpu":
            device = None
        for name, value in variants.items():
            if value not in (None, "cpu") and name not in takes:
                raise ValueError(f"{operation} has no --{name}")
        if device and variants.get("path"):
            raise ValueError("--path is the CPU's: there is one on a GPU")
        chosen = {
            name: variants.get(name) or CHOICES[name][0]
            for name in takes
            if name in CHOICES and not (device and name == "path")
        }
        return cls(operation, curve, log_n, **chosen, device=device)

    def as_dict(self) -> dict[str, Any]:
        """The fields that apply, for JSON."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in found.items() if value is not None}


@dataclass(frozen=True)
class Subject:
    """An operation with its data, ready to be called again and again.

    Attributes:
        call: what is timed.
        is_right: whether the first call's result is; the figure it is compared with is found in
            another way, in Python integers where that is feasible.
        unit, n_units: what a call's time is divided by ("addition").
        stages: the named parts of a result's time.
        device_ns: a result's time by the device's own clock, which is then what counts.
        close: ends what the subject started.
    """

    call: Callable[[], Any]
    is_right: Callable[[Any], bool]
    unit: str
    n_units: int
    stages: Callable[[Any], Sequence[Stage]] = lambda result: ()
    device_ns: Callable[[Any], int] | None = None
    close: Callable[[], None] = lambda: None
