"""Keys from powers of tau: snarkjs's bytes for stored files, and what is refused.

`tests/interop/test_setup.py` compares every case with snarkjs itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from snarkcuda import setup, write_zkey
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.params import BN254
from snarkcuda.errors import FormatError, MismatchError, NotOnCurveError
from snarkcuda.formats.ptau import read_ptau
from snarkcuda.formats.r1cs import read_r1cs
from snarkcuda.formats.zkey import read_zkey
from snarkcuda.groth16.circuit_hash import h_differences, h_pieces
from snarkcuda.groth16.prover import Prover
from snarkcuda.groth16.snarkjs_overrun import snarkjs_difference
from snarkcuda.groth16.trust import ForgeableKeyWarning
from snarkcuda.groth16.verify import verify
from tests.naive_groth16 import CUBE, circuit

VECTORS = Path(__file__).parents[1] / "vectors"
POWERS = {"bn": VECTORS / "pot3_bn128.ptau", "bls": VECTORS / "pot3_bls12381.ptau"}
# A domain of half the ceremony's size, and one of all of it.
CASES = ["bn_mul2", "bls_mul2", "bn_no_public", "bls_no_public"]

pytestmark = pytest.mark.filterwarnings("ignore::snarkcuda.ForgeableKeyWarning")


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(2) as pool:
        yield pool


@pytest.mark.parametrize("case", CASES)
def test_the_bytes_of_snarkjs(case: str, tmp_path: Path) -> None:
    key = setup(VECTORS / case / "circuit.r1cs", POWERS[case.split("_")[0]])
    write_zkey(tmp_path / "ours.zkey", key)
    assert (tmp_path / "ours.zkey").read_bytes() == (VECTORS / case / "pot3.zkey").read_bytes()


@pytest.mark.parametrize("case", CASES)
def test_it_proves_and_warns(case: str) -> None:
    with pytest.warns(ForgeableKeyWarning, match="anyone can forge"):
        key = setup(VECTORS / case / "circuit.r1cs", POWERS[case.split("_")[0]])
    assert not key.verifying_key.is_research
    with Prover(key) as prover:
        proved = prover.prove(VECTORS / case / "witness.wtns")
    assert verify(key.verifying_key, proved.public, proved.proof)


def test_a_stored_key_keeps_its_hash(tmp_path: Path) -> None:
    key = read_zkey(VECTORS / "bn_mul2" / "pot3.zkey")
    assert any(key.circuit_hash)
    write_zkey(tmp_path / "again.zkey", key)
    again = (tmp_path / "again.zkey").read_bytes()
    assert again == (VECTORS / "bn_mul2" / "pot3.zkey").read_bytes()


def test_pieces_of_h() -> None:
    """All n − 1 points up to n = 2^14 + 1; from 2^15 on full pieces, one point too many."""
    assert h_pieces(2) == [(0, 1)]
    assert h_pieces(1 << 14) == [(0, (1 << 14) - 1)]
    assert h_pieces(1 << 15) == [(0, 1 << 14), (1 << 14, 1 << 14)]
    assert sum(count for _, count in h_pieces(1 << 17)) == 1 << 17


def test_the_point_beyond_the_powers(pool: Pool) -> None:
    """One point too many is asked of a full ceremony: the next section's bytes are taken for it."""
    powers = read_ptau(POWERS["bn"])
    good = h_differences(pool, powers, 8, 0, 7)
    over = h_differences(pool, powers, 8, 0, 8)
    assert (over[:7] == good).all()
    low = powers.points(2, 7, 1)
    data = powers.bytes_after(2, 64)
    words = tuple(int.from_bytes(data[i : i + 32], "little") for i in (0, 32))
    x, y = (int.from_bytes(low[0, i].tobytes(), "little") for i in (0, 1))
    expected = snarkjs_difference(BN254.fq, words, (x, y))
    assert tuple(int.from_bytes(over[7, i].tobytes(), "little") for i in (0, 1)) == expected


def test_refused(tmp_path: Path, pool: Pool) -> None:
    with pytest.raises(MismatchError, match=r"needs 2\^8 rows but .* at most 2\^3"):
        setup(VECTORS / "bn_poseidon2" / "circuit.r1cs", POWERS["bn"])
    with pytest.raises(MismatchError, match="is over bn254 but"):
        setup(VECTORS / "bn_mul2" / "circuit.r1cs", POWERS["bls"])
    with pytest.raises(FormatError, match=r"is a constraint system .* is needed"):
        setup(VECTORS / "bn_mul2" / "circuit.r1cs", VECTORS / "bn_mul2" / "circuit.r1cs")
    powers = read_ptau(POWERS["bn"])
    offset, _ = powers.file.table[14]
    data = bytearray(POWERS["bn"].read_bytes())
    data[offset + 3 * 64] ^= 1
    (tmp_path / "off.ptau").write_bytes(data)
    with pytest.raises(NotOnCurveError, match=r"Lagrange alpha tau: point 0 is not on bn254.g1"):
        setup(VECTORS / "bn_mul2" / "circuit.r1cs", tmp_path / "off.ptau")


def test_arguments() -> None:
    r1cs = circuit(BN254, CUBE)
    with pytest.raises(ValueError, match="either from powers of tau or with research=True"):
        setup(r1cs)
    with pytest.raises(ValueError, match="either from powers of tau or with research=True"):
        setup(r1cs, POWERS["bn"], research=True)
    with pytest.raises(ValueError, match="seed is for research keys"):
        setup(r1cs, POWERS["bn"], seed=b"x")
    with pytest.raises(ValueError, match="at least 1"):
        setup(r1cs, research=True, threads=0)


def test_a_circuit_in_memory_is_a_circuit_in_a_file() -> None:
    path = VECTORS / "bn_mul2" / "circuit.r1cs"
    assert setup(read_r1cs(path), research=True, seed=b"s") == setup(path, research=True, seed=b"s")
