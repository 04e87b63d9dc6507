"""Fuzzing (report: zcash/zcash#743, the reader is the attack surface).

Any change of a file ends in success (a byte that nobody uses, or another legal value) or in a
`SnarkcudaError`; nothing else, and never a hang.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from snarkcuda.curve.params import BN254
from snarkcuda.errors import SnarkcudaError
from snarkcuda.formats.describe import describe
from snarkcuda.formats.proof_json import read_proof
from snarkcuda.formats.public_json import read_public
from snarkcuda.formats.r1cs_header import read_r1cs_header
from snarkcuda.formats.vkey_json import read_verifying_key
from snarkcuda.formats.wtns import read_witness
from snarkcuda.formats.zkey import read_zkey

VECTORS = Path(__file__).parents[1] / "vectors"
READERS: dict[str, Callable[[Path], object]] = {
    "circuit.zkey": read_zkey,
    "witness.wtns": read_witness,
    "circuit.r1cs": read_r1cs_header,
    "proof.json": read_proof,
    "public.json": lambda path: read_public(path, BN254),
    "verification_key.json": read_verifying_key,
}
ROUNDS = {"circuit.zkey": 3000, "witness.wtns": 1500}


def outcome(read: Callable[[Path], object], path: Path) -> str:
    """The error's name, or "success"; any other exception fails the test."""
    try:
        read(path)
    except SnarkcudaError as error:
        assert str(error) and error.exit_code == 2
        return type(error).__name__
    return "success"


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("case", ["bn_mul2", "bls_mul2"])
def test_flipped_bits(name: str, case: str, tmp_path: Path) -> None:
    """One to eight random bits; half of the flips in the first kilobyte, where the headers are."""
    good, path = (VECTORS / case / name).read_bytes(), tmp_path / name
    rng = random.Random(f"{case} {name}")
    outcomes = Counter[str]()
    for _ in range(ROUNDS.get(name, 1000)):
        data = bytearray(good)
        for _ in range(rng.choice((1, 1, 1, 2, 8))):
            end = len(data) if rng.random() < 0.5 else min(len(data), 1024)
            data[rng.randrange(end)] ^= 1 << rng.randrange(8)
        path.write_bytes(data)
        outcomes[outcome(READERS[name], path)] += 1
    assert outcomes["FormatError"] > 10
    path.write_bytes(good)
    if name != "public.json" or case == "bn_mul2":
        assert outcome(READERS[name], path) == "success"


@pytest.mark.parametrize("name", READERS)
def test_pieces_moved_about(name: str, tmp_path: Path) -> None:
    """Pieces dropped, doubled, exchanged or replaced by zeros, ones and noise."""
    good, path = (VECTORS / "bn_mul2" / name).read_bytes(), tmp_path / name
    rng = random.Random(name)
    for _ in range(600):
        a, b = sorted(rng.randrange(len(good) + 1) for _ in range(2))
        piece = good[a:b]
        other = rng.choice(
            [b"", piece + piece, bytes(len(piece)), b"\xff" * len(piece), rng.randbytes(b - a)]
        )
        path.write_bytes(good[:a] + other + good[b:])
        outcome(READERS[name], path)
        outcome(describe, path)


@pytest.mark.parametrize("name", READERS)
def test_any_bytes(name: str, tmp_path: Path) -> None:
    """Noise, bare and behind a good beginning."""
    good, path = (VECTORS / "bn_mul2" / name).read_bytes(), tmp_path / name
    rng = random.Random(name)
    for length in range(300):
        for start in (b"", good[:4], good[: length // 2]):
            path.write_bytes(start + rng.randbytes(length))
            assert outcome(READERS[name], path) != "success"
