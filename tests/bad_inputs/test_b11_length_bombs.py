"""celestiaorg/celestia-app#6754, Consensys/gnark#1307: a count of 2³² − 1 asked for 256 GiB.

Each reader alone is measured in `test_formats_length_bombs.py`; here the prover and the command.
"""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from snarkcuda.curve.params import BLS12_381, BN254, CURVES, Curve
from snarkcuda.errors import FormatError
from snarkcuda.formats.sections import SectionFile
from snarkcuda.formats.wtns import WTNS
from snarkcuda.formats.zkey_header import ZKEY
from snarkcuda.groth16.prover import Prover, prove
from tests.naive_groth16 import MUL, chain

MOST = 0xFFFFFFFF
curves = pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
BOMBS = ["wires", "public", "domain", "coefficients", "witness"]


@contextmanager
def little_memory() -> Iterator[None]:
    """Less than 10 MB more at any time in the block, numpy's arrays included."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def plant(bomb: str, curve: Curve, key: Path, witness: Path, value: int = MOST) -> Path:
    """Write a count into a good file; returns which."""
    path = witness if bomb == "witness" else key
    table = SectionFile(path, WTNS if bomb == "witness" else ZKEY).table
    header = 8 + 8 * curve.fq.limbs + 32
    section, at = {
        "wires": (2, header),
        "public": (2, header + 4),
        "domain": (2, header + 8),
        "coefficients": (4, 0),
        "witness": (1, 36),
    }[bomb]
    data = bytearray(path.read_bytes())
    struct.pack_into("<I", data, table[section][0] + at, value)
    path.write_bytes(data)
    return path


@curves
@pytest.mark.parametrize("bomb", BOMBS)
def test_prover(bomb: str, curve: Curve, make_files: Callable) -> None:
    """An error from comparing lengths, little memory, and a good proof next."""
    files = make_files(curve, chain(8))
    good = {path: path.read_bytes() for path in (files.key, files.witness)}
    # The largest domain that passes for one: a power of two within the two-adicity.
    value = 1 << min(31, curve.fr.two_adicity) if bomb == "domain" else MOST
    path = plant(bomb, curve, files.key, files.witness, value)
    with little_memory(), pytest.raises(FormatError) as caught:
        prove(files.key, files.witness, threads=1)
    assert str(path) in str(caught.value)
    assert "bytes" in str(caught.value) or str(value) in str(caught.value)
    for path, data in good.items():
        path.write_bytes(data)
    with Prover(files.key) as prover:
        assert prover.prove(files.witness).public == files.signals


def test_the_measurement_sees_memory() -> None:
    """A block that allocates 16 MB fails."""
    with pytest.raises(AssertionError), little_memory():
        bytes(16 << 20)


@pytest.mark.parametrize("bomb", ["wires, 600 bytes", "coefficients", "witness"])
def test_command_line(bomb: str, make_files: Callable, prove_fails: Callable[..., str]) -> None:
    """The report's three files: exit code 2, the file named, nothing written."""
    curve = BLS12_381 if bomb == "coefficients" else BN254
    files = make_files(curve, MUL)
    path = plant(bomb.split(",")[0], curve, files.key, files.witness)
    if "600" in bomb:
        path.write_bytes(path.read_bytes()[:600])
    assert str(path) in prove_fails(files.key, files.witness)
