"""Many proofs and many damaged inputs in one process: no wrong proof, no crash, no leak."""

import random
import threading
from pathlib import Path

import pytest

from snarkcuda import Prover, SnarkcudaError, read_verifying_key, read_witness, verify

pytestmark = pytest.mark.slow
SEED = 20261130


def resident_kb() -> int:
    status = Path("/proc/self/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("RssAnon")))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc (Linux)")
def test_hundreds_of_proofs_hold_no_memory(vectors) -> None:
    """300 proofs and 30 provers: what the process holds does not grow with their number."""
    case = vectors / "bn_poseidon2"
    witness = read_witness(case / "witness.wtns")

    def rounds(n: int) -> None:
        for _ in range(n):
            with Prover(case / "circuit.zkey") as prover:
                for _ in range(10):
                    prover.prove(witness)

    rounds(5)
    before, threads = resident_kb(), threading.active_count()
    rounds(30)
    assert resident_kb() < before + 20_000
    assert threading.active_count() == threads


@pytest.mark.parametrize("name", ["circuit.zkey", "witness.wtns"])
@pytest.mark.parametrize("case", ["bn_mul2", "bls_mul2"])
def test_flipped_bits_never_give_a_wrong_proof(vectors, tmp_path, case: str, name: str) -> None:
    """Each proof that comes out of a damaged key or witness verifies under the good key, or under
    the verifying key that the damaged file itself holds.
    """
    rng = random.Random(SEED)
    folder = vectors / case
    good = (folder / name).read_bytes()
    vk = read_verifying_key(folder / "verification_key.json")
    paths = {"circuit.zkey": folder / "circuit.zkey", "witness.wtns": folder / "witness.wtns"}
    paths[name] = tmp_path / name
    outcomes = {"proved": 0, "refused": 0}
    for _ in range(1500):
        data = bytearray(good)
        for _ in range(rng.choice([1, 1, 1, 2, 8])):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        paths[name].write_bytes(data)
        try:
            with Prover(paths["circuit.zkey"], threads=1) as prover:
                proved = prover.prove(paths["witness.wtns"])
                own = prover.key.verifying_key
        except SnarkcudaError:
            outcomes["refused"] += 1
            continue
        outcomes["proved"] += 1
        assert verify(own, proved.public, proved.proof)
        assert own != vk or verify(vk, proved.public, proved.proof)
    print(f"{case} {name}, seed {SEED}: {outcomes}")
    assert outcomes["refused"] > 500
