"""Keys from powers of tau: snarkjs's bytes for stored files, and what is refused.

`tests/interop/test_setup.py` compares every case with snarkjs itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from snarkcuda import setup, write_zkey
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.params import BN254, Group
from snarkcuda.curve.points import decode, linear_combination
from snarkcuda.errors import ForgeableKeyWarning, FormatError, MismatchError, NotOnCurveError
from snarkcuda.formats.ptau import TAU_G1, PowersOfTau, read_ptau
from snarkcuda.formats.r1cs import read_r1cs
from snarkcuda.formats.zkey import read_zkey
from snarkcuda.groth16 import circuit_hash as module
from snarkcuda.groth16.circuit_hash import circuit_hash, h_differences, h_pieces
from snarkcuda.groth16.keys import ProvingKey
from snarkcuda.groth16.prover import Prover
from snarkcuda.groth16.snarkjs_overrun import snarkjs_difference
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


def naive_hash(key: ProvingKey, powers: PowersOfTau, extra: int) -> bytes:
    """The circuit hash from integers, H with so many points more than n − 1."""
    curve, vk, n = key.curve, key.verifying_key, key.domain_size
    g1, g2, size = curve.g1, curve.g2, 8 * curve.fq.limbs

    def flat(group: Group, points: np.ndarray) -> bytes:
        zero = (0, 0) if group.is_g2 else 0
        coordinates = [c for point in decode(group, points) for c in point or (zero, zero)]
        parts = [part for c in coordinates for part in (reversed(c) if group.is_g2 else (c,))]
        return b"".join(part.to_bytes(size, "big") for part in parts)

    def query(group: Group, points: np.ndarray) -> bytes:
        return len(points).to_bytes(4, "big") + flat(group, points)

    tau = powers.points(TAU_G1, 0, 2 * n - 1 + extra)
    h = [linear_combination(g1, [tau[n + i], tau[i]], [1, -1]) for i in range(n - 1 + extra)]
    data = flat(g1, np.stack([vk.alpha_g1, key.beta_g1]))
    data += flat(g2, np.stack([vk.beta_g2, vk.gamma_g2])) + flat(g1, key.delta_g1[None])
    data += flat(g2, vk.delta_g2[None]) + query(g1, vk.ic)
    data += (n - 1).to_bytes(4, "big") + flat(g1, np.stack(h)) + query(g1, key.l_query)
    data += query(g1, key.a_query) + query(g1, key.b_g1_query) + query(g2, key.b_g2_query)
    return hashlib.blake2b(data).digest()


@pytest.mark.parametrize("case", CASES)
def test_the_hash_is_of_all_points(case: str) -> None:
    """The naive hash is snarkjs's, here in one piece."""
    key, powers = read_zkey(VECTORS / case / "pot3.zkey"), read_ptau(POWERS[case.split("_")[0]])
    assert naive_hash(key, powers, extra=0) == key.circuit_hash


@pytest.mark.parametrize("case", CASES[:2])
def test_the_hash_of_several_pieces(case: str, pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As from n = 2^15 on: every piece of its own points, and one point of H too many."""
    key, powers = read_zkey(VECTORS / case / "pot3.zkey"), read_ptau(POWERS[case.split("_")[0]])
    monkeypatch.setattr(module, "_PIECE", 2)
    assert h_pieces(key.domain_size) == [(0, 2), (2, 2)]
    assert circuit_hash(pool, key, powers) == naive_hash(key, powers, extra=1)


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


def test_refused() -> None:
    with pytest.raises(MismatchError, match=r"needs 2\^8 rows but .* at most 2\^3"):
        setup(VECTORS / "bn_poseidon2" / "circuit.r1cs", POWERS["bn"])
    with pytest.raises(MismatchError, match="is over bn254 but"):
        setup(VECTORS / "bn_mul2" / "circuit.r1cs", POWERS["bls"])
    with pytest.raises(FormatError, match=r"is a constraint system .* is needed"):
        setup(VECTORS / "bn_mul2" / "circuit.r1cs", VECTORS / "bn_mul2" / "circuit.r1cs")


@pytest.mark.parametrize(
    ("section", "index", "words"),
    [
        (2, 2, r": tau: point 2 is not on bn254.g1"),
        (2, 6, r": tau: point 6 is not on bn254.g1"),
        (4, 0, r": alpha: point 0 is not on bn254.g1"),
        (5, 0, r": beta: point 0 is not on bn254.g1"),
        (6, 0, r": beta: point 0 is not on bn254.g2"),
        (12, 6, r": Lagrange tau: point 3 is not on bn254.g1"),
        (12, 14, r": Lagrange tau \(twice the size\): point 3 is not on bn254.g1"),
        (13, 6, r": Lagrange tau: point 3 is not on bn254.g2"),
        (14, 6, r": Lagrange alpha tau: point 3 is not on bn254.g1"),
        (15, 6, r": Lagrange beta tau: point 3 is not on bn254.g1"),
    ],
)
def test_a_point_off_its_curve(section: int, index: int, words: str, tmp_path: Path) -> None:
    """One bit of one point of each section that a domain of 4 rows reads; the last, mostly."""
    offset, _ = read_ptau(POWERS["bn"]).file.table[section]
    data = bytearray(POWERS["bn"].read_bytes())
    data[offset + index * (128 if section in (6, 13) else 64)] ^= 1
    (tmp_path / "off.ptau").write_bytes(data)
    with pytest.raises(NotOnCurveError, match=words):
        setup(VECTORS / "bn_mul2" / "circuit.r1cs", tmp_path / "off.ptau")


def test_arguments() -> None:
    r1cs = circuit(BN254, CUBE)
    with pytest.raises(ValueError, match="either from powers of tau or with research=True"):
        setup(r1cs)
    with pytest.raises(ValueError, match="either from powers of tau or with research=True"):
        setup(r1cs, POWERS["bn"], research=True)
    with pytest.raises(ValueError, match="seed is for research keys"):
        setup(r1cs, POWERS["bn"], seed=b"x")
    with pytest.raises(ValueError, match="threads must be a whole number from 1 to 4096"):
        setup(r1cs, research=True, threads=0)


def test_a_circuit_in_memory_is_a_circuit_in_a_file() -> None:
    path = VECTORS / "bn_mul2" / "circuit.r1cs"
    assert setup(read_r1cs(path), research=True, seed=b"s") == setup(path, research=True, seed=b"s")
