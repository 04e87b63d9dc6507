"""One prover a curve for all rows, and the command line run in this process."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from snarkcuda import Prover, VerifyingKey, read_verifying_key
from snarkcuda.cli import main

VECTORS = Path(__file__).parents[1] / "vectors"


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Case:
    """A circuit's files, its prover and its verifying key."""

    folder: Path
    prover: Prover
    vk: VerifyingKey

    def __truediv__(self, name: str) -> Path:
        return self.folder / name


Cli = Callable[..., Ended]


@pytest.fixture(scope="session", params=["bn_mul2", "bls_mul2"])
def mul(request: pytest.FixtureRequest) -> Iterator[Case]:
    """c = a·b, with c = 33 and b = 11 public: on both curves."""
    folder = VECTORS / request.param
    with Prover(folder / "circuit.zkey", threads=2) as prover:
        yield Case(folder, prover, read_verifying_key(folder / "verification_key.json"))


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Cli]:
    """`cli("verify", vk, public, proof)`; what the command changes in the process is put back."""
    monkeypatch.setattr(main, "handle_signals", lambda: None)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    logger = logging.getLogger("snarkcuda.jit")
    state = logger.level, logger.propagate, list(logger.handlers)

    def run(*arguments: object) -> Ended:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main.main([str(argument) for argument in arguments])
        told = capsys.readouterr()
        assert "Traceback" not in told.err
        return Ended(int(end.value.code or 0), told.out, told.err)

    yield run
    logger.setLevel(state[0])
    logger.propagate, logger.handlers = state[1], state[2]
