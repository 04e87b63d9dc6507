"""What users of other provers have asked for: proofs that are right, inputs that are refused.

Each test is named after a request and cites where it was made; the numbers only name them. Most is
tested in depth elsewhere; here it is what a user meets.
"""

from __future__ import annotations

import json
import mmap
import os
import re
import struct
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snarkcuda import (
    BLS12_381,
    BN254,
    FormatError,
    MismatchError,
    NotInFieldError,
    NotOnCurveError,
    NotZeroKnowledgeWarning,
    Prover,
    SnarkcudaError,
    UnsatisfiedError,
    Witness,
    proof_to_json,
    prove,
    read_proof,
    read_public,
    read_verifying_key,
    read_witness,
    read_zkey,
    verify,
    write_proof,
    write_witness,
)
from snarkcuda.circuits.r1cs import domain_size
from snarkcuda.cpu.digits import sorted_digits
from snarkcuda.cpu.msm import msm
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.points import encode, linear_combination
from snarkcuda.field import arrays
from tests.naive_groth16 import outside_subgroup
from tests.users.conftest import VECTORS, Case, Cli

SIZE_MAX = 0xFFFFFFFF


def changed(path: Path, at: int, value: bytes, to: Path) -> Path:
    """A copy with other bytes in one place."""
    data = bytearray(path.read_bytes())
    data[at : at + len(value)] = value
    to.write_bytes(data)
    return to


def verified(case: str) -> bool:
    """Prove a case of snarkjs' files; its own verifying key accepts the proof."""
    folder = VECTORS / case
    proved = prove(folder / "circuit.zkey", folder / "witness.wtns", threads=1)
    vk = read_verifying_key(folder / "verification_key.json")
    return verify(vk, read_public(folder / "public.json", vk.curve), proved.proof)


def sum_of(points: Any, scalars: list[int]) -> Any:
    with Pool(2) as pool:
        digits = sorted_digits(pool, arrays.from_ints(scalars, 4), BN254.fr.bits)
        return msm(pool, BN254.g1, arrays.packed(points), digits)


def test_row_01_no_invalid_proof_is_written(mul: Case, cli: Cli, tmp_path: Path) -> None:
    """ingonyama-zk/icicle-snark#18: the proof was written although it did not verify."""
    size = (mul / "witness.wtns").stat().st_size
    witness = changed(mul / "witness.wtns", size - 32, b"\x04", tmp_path / "w")
    ended = cli("prove", mul / "circuit.zkey", witness, tmp_path / "proof", tmp_path / "public")
    assert ended.code == 2
    assert "does not satisfy the circuit" in ended.stderr
    assert os.listdir(tmp_path) == ["w"]


def test_row_02_every_run_gives_the_right_proof(mul: Case) -> None:
    """risc0/risc0#3760: two proofs of ten were bad. One seed, one proof, byte for byte."""
    with pytest.warns(NotZeroKnowledgeWarning):
        many = [mul.prover.prove(mul / "witness.wtns", seed=b"one") for _ in range(10)]
    assert len({proof_to_json(proved.proof) for proved in many}) == 1
    fresh = [mul.prover.prove(mul / "witness.wtns") for _ in range(10)]
    assert all(verify(mul.vk, proved.public, proved.proof) for proved in fresh)


def test_row_08_witness_length_differs_from_key(mul: Case) -> None:
    """iden3/rapidsnark#2, iden3/circom-witnesscalc#12: both files and both counts, at once."""
    other = VECTORS / mul.folder.name.replace("mul2", "no_public") / "witness.wtns"
    with pytest.raises(MismatchError) as caught:
        mul.prover.prove(other)
    for word in (f"{other} has 6 values", str(mul / "circuit.zkey"), "expects 4"):
        assert word in str(caught.value)


@pytest.mark.parametrize("case", ["bn_linear_O0", "bn_num2bits64", "bls_linear_O0"])
def test_row_09_no_private_wires_or_only_linear_rows(case: str) -> None:
    """iden3/snarkjs#309, #252, #114: "scalar size does not match" on tutorial circuits."""
    assert verified(case)


def test_row_10_no_public_signals(cli: Cli) -> None:
    """iden3/snarkjs#447: verify threw."""
    folder = VECTORS / "bn_no_public"
    assert verified("bn_no_public")
    files = [folder / f"{name}.json" for name in ("verification_key", "public", "proof")]
    assert cli("verify", *files).code == 0


@pytest.mark.parametrize("words", ["info key", "check key", "info ptau", "setup r1cs ptau new"])
def test_row_11_truncated_files(words: str, cli: Cli, tmp_path: Path) -> None:
    """iden3/snarkjs#622, #614, #623, LFDT-Paladin/zeto#138: hours at 100 % CPU."""
    files = {name: tmp_path / name for name in ("key", "ptau", "new")}
    files["r1cs"] = VECTORS / "bn_mul2" / "circuit.r1cs"
    for name, source in (("key", "bn_mul2/circuit.zkey"), ("ptau", "pot3_bn128.ptau")):
        data = (VECTORS / source).read_bytes()
        files[name].write_bytes(data[: len(data) // 2])
    ended = cli(*(files.get(word, word) for word in words.split()))
    assert ended.code == 2
    assert re.search(r"/(key|ptau): section \d+ \(.+ needs \d+ bytes, \d+ there", ended.stderr)
    assert "cut short" in ended.stderr
    assert not files["new"].exists()


def test_row_12_missing_section(mul: Case, cli: Cli, tmp_path: Path) -> None:
    """privacy-ethereum/maci#469, iden3/snarkjs#183: "Missing section 10", and nothing else."""
    data = (mul / "circuit.zkey").read_bytes()
    at, kept = 12, []
    while at < len(data):
        number, length = struct.unpack_from("<IQ", data, at)
        if number != 7:
            kept.append(data[at : at + 12 + length])
        at += 12 + length
    path = tmp_path / "key"
    path.write_bytes(data[:8] + struct.pack("<I", len(kept)) + b"".join(kept))
    told = cli("info", path).stderr
    for word in (f"{path} has no section 7 (B2 query)", "proof element B", "unfinished"):
        assert word in told


def test_row_13_keys_over_4_gb(mul: Case, tmp_path: Path) -> None:
    """iden3/snarkjs#397, #293, hardhat-circom#70: a section that ends beyond 2^32 bytes."""
    data, path, gap = (mul / "circuit.zkey").read_bytes(), tmp_path / "key", 5 << 30
    at, sections = 12, []
    while at < len(data):
        number, length = struct.unpack_from("<IQ", data, at)
        if number != 10:
            sections.append(data[at : at + 12 + length])
        at += 12 + length
    with path.open("wb") as file:  # sparse: takes no room
        file.write(data[:8] + struct.pack("<IIQ", len(sections) + 1, 10, gap))
        file.seek(gap, os.SEEK_CUR)
        file.write(b"".join(sections))
    assert path.stat().st_blocks * 512 < 1 << 26
    assert prove(path, mul / "witness.wtns", threads=1).checked
    path.unlink()


def test_row_14_keys_are_not_copied_when_loaded() -> None:
    """zkmopro/mopro#25, #29: 70 s to load a key. Queries are views of the mapped file."""
    path = VECTORS / "bn_poseidon2_O1" / "circuit.zkey"
    tracemalloc.start()
    key = read_zkey(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < path.stat().st_size
    for query in (key.a_query, key.b_g2_query, key.h_query, key.coefficients):
        owner: Any = query
        while isinstance(owner, np.ndarray):
            owner = owner.base
        assert isinstance(owner.obj if isinstance(owner, memoryview) else owner, mmap.mmap)


def test_row_17_proofs_made_together(mul: Case) -> None:
    """ethstorage/es-node#409: proofs made at the same time failed on the chain."""
    with ThreadPoolExecutor(4) as callers:
        many = list(callers.map(mul.prover.prove, [mul / "witness.wtns"] * 12))
    assert all(verify(mul.vk, proved.public, proved.proof) for proved in many)


def test_row_23_infinity_points_in_the_key(cli: Cli) -> None:
    """ingonyama-zk/icicle#169: one point at infinity made the whole sum zero."""
    path = VECTORS / "bn_poseidon2" / "circuit.zkey"
    told = json.loads(cli("info", path, "--json").stdout)
    assert told["points_at_infinity"]["B1"] == 83
    assert verified("bn_poseidon2")


@pytest.mark.parametrize("signs", [(1, 1, 1, 1), (1, -1, 1, -1), (1, -1, 1, 1), (1, 1, -1, 5)])
def test_row_24_equal_and_opposite_points(signs: tuple[int, ...]) -> None:
    """ProvableHQ/snarkVM#548: P + P and P − P broke the addition."""
    g, r = encode(BN254.g1, [BN254.g1.generator])[0], BN254.fr.modulus
    points = np.stack([linear_combination(BN254.g1, [g], [sign]) for sign in signs] * 50)
    expected = linear_combination(BN254.g1, [g], [9 * 50 * sum(signs) % r])
    assert np.array_equal(sum_of(points, [9] * len(points)), expected)


@pytest.mark.parametrize("scalar", [0, 1, 2**16 - 1, 2**128, BN254.fr.modulus - 1])
def test_row_25_scalars_of_every_shape(scalar: int) -> None:
    """privacy-ethereum/halo2curves#212: some vectors of scalars panicked. All equal, here."""
    g, r, n = encode(BN254.g1, [BN254.g1.generator])[0], BN254.fr.modulus, 300
    points = np.stack([linear_combination(BN254.g1, [g], [i]) for i in range(n)])
    expected = linear_combination(BN254.g1, [g], [scalar * n * (n - 1) // 2 % r])
    assert np.array_equal(sum_of(points, [scalar] * n), expected)


@pytest.mark.parametrize("case", ["bls_full_domain", "bls_over_domain", "bn_full_domain"])
def test_row_26_circuits_at_a_power_of_two(case: str) -> None:
    """arkworks-rs/groth16#60: on BLS12-381 the proof was invalid."""
    assert verified(case)


def test_row_27_the_domain_counts_public_signals() -> None:
    """privacy-ethereum/zkey-manager#5: one constraint and three public signals need 8 rows."""
    assert domain_size(1, 3) == 8
    for case in ("bn_full_domain", "bn_over_domain", "bn_mul2"):
        key = read_zkey(VECTORS / case / "circuit.zkey")
        rows = int(key.coefficients["constraint"].max()) + 1
        assert key.domain_size == domain_size(rows - key.n_public - 1, key.n_public)


def test_row_28_keys_of_snarkjs(mul: Case) -> None:
    """arkworks-rs/circom-compat#35, #75, groth16#65: both ways, our proof and snarkjs's."""
    public = read_public(mul / "public.json", mul.vk.curve)
    assert verify(mul.vk, public, read_proof(mul / "proof.json"))
    assert verify(mul.vk, public, mul.prover.prove(mul / "witness.wtns").proof)


def test_row_29_one_signal_one_number(mul: Case, cli: Cli, tmp_path: Path) -> None:
    """iden3/snarkjs#480, #479, #436, #26, kobigurk/semaphore#16: v + r passed for v."""
    r = mul.vk.curve.fr.modulus
    public = tmp_path / "public"
    public.write_text(json.dumps(["33", str(11 + r)]))
    ended = cli("verify", mul / "verification_key.json", public, mul / "proof.json")
    assert ended.code == 2
    assert "signal 1 is" in ended.stderr and "not below r" in ended.stderr
    with pytest.raises(NotInFieldError, match="public signal 1"):
        verify(mul.vk, [33, 11 + r], read_proof(mul / "proof.json"))
    size = (mul / "witness.wtns").stat().st_size
    alias = (3 + r).to_bytes(32, "little")
    with pytest.raises(NotInFieldError, match=r"value 3 .* not below r"):
        read_witness(changed(mul / "witness.wtns", size - 32, alias, tmp_path / "w"))


@pytest.mark.parametrize("signals", [[], ["33"], ["33", "11", "0"]])
def test_row_30_wrong_number_of_signals(
    mul: Case, cli: Cli, signals: list[str], tmp_path: Path
) -> None:
    """iden3/js-jwz#46: how many were expected, how many came; never padded, never cut."""
    public = tmp_path / "public"
    public.write_text(json.dumps(signals))
    ended = cli("verify", mul / "verification_key.json", public, mul / "proof.json")
    assert ended.code == 2
    assert f"{len(signals)} public signals" in ended.stderr
    assert "expects 2" in ended.stderr


@pytest.mark.parametrize("signal", ["-11", " 11", "1.1e1", "11.0", "0b1011", "", "11n", "011"])
def test_row_31_signals_that_are_no_plain_numbers(
    mul: Case, cli: Cli, signal: str, tmp_path: Path
) -> None:
    """iden3/snarkjs#359, js-jwz#46: also negative ones; the signal is named."""
    public = tmp_path / "public"
    public.write_text(json.dumps(["33", signal]))
    ended = cli("verify", mul / "verification_key.json", public, mul / "proof.json")
    assert ended.code == 2
    assert "signal 1" in ended.stderr


def test_row_32_points_off_the_curve_or_subgroup(mul: Case) -> None:
    """Consensys/gnark#2, scipr-lab/libsnark#61, BitVM/BitVM#109: in proofs, and in keys."""
    proof, curve = read_proof(mul / "proof.json"), mul.vk.curve
    wrong = proof.a.copy()
    wrong[1, 0] ^= np.uint64(1)
    with pytest.raises(NotOnCurveError, match="pi_a does not satisfy the equation"):
        verify(mul.vk, [33, 11], replace(proof, a=wrong))
    with pytest.raises(NotOnCurveError, match="pi_b is on the curve but outside the subgroup"):
        verify(mul.vk, [33, 11], replace(proof, b=outside_subgroup(curve, curve.g2)))
    key = mul.prover.key
    queries = key.h_query.copy()
    queries[2, 1, 0] ^= np.uint64(1)
    with pytest.raises(NotOnCurveError, match="point 2 of the H query"):
        Prover(replace(key, h_query=queries))


@pytest.mark.parametrize("what", ["wires", "coefficients", "values"])
def test_row_34_lengths_that_ask_for_gigabytes(mul: Case, what: str, tmp_path: Path) -> None:
    """celestiaorg/celestia-app#6754, Consensys/gnark#1307: sizes come from the bytes there."""
    name = "witness.wtns" if what == "values" else "circuit.zkey"
    data = (mul / name).read_bytes()
    header = 8 + mul.vk.curve.fq.limbs * 8 + 32
    section, at = {"wires": (2, header), "coefficients": (4, 0), "values": (1, 36)}[what]
    place = 12
    while struct.unpack_from("<I", data, place)[0] != section:
        place += 12 + struct.unpack_from("<Q", data, place + 4)[0]
    bomb = changed(mul / name, place + 12 + at, struct.pack("<I", SIZE_MAX), tmp_path / "bomb")
    tracemalloc.start()
    with pytest.raises(FormatError, match="bytes"):
        (read_witness if what == "values" else read_zkey)(bomb)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_row_35_short_proofs(mul: Case, cli: Cli, tmp_path: Path) -> None:
    """succinctlabs/sp1#2081: short proofs panicked. Cut anywhere, or with a coordinate less."""
    text, path = (mul / "proof.json").read_text(), tmp_path / "proof"
    for length in range(0, len(text), 29):
        path.write_text(text[:length])
        assert cli("verify", mul / "verification_key.json", mul / "public.json", path).code == 2
    value = json.loads(text)
    value["pi_b"][0].pop()
    path.write_text(json.dumps(value))
    ended = cli("verify", mul / "verification_key.json", mul / "public.json", path)
    assert ended.code == 2
    assert f"{path}: pi_b[0] must have 2 entries, not 1" in ended.stderr


@pytest.mark.parametrize("name", ["circuit.zkey", "witness.wtns", "proof.json"])
def test_row_36_hostile_files(mul: Case, name: str, tmp_path: Path) -> None:
    """zcash/zcash#743: the reader is the attack surface. A changed byte is harmless or refused."""
    data, path = (mul / name).read_bytes(), tmp_path / name
    readers: dict[str, Any] = {"circuit.zkey": read_zkey, "witness.wtns": read_witness}
    refused = 0
    for at in range(0, len(data), 7):
        path.unlink(missing_ok=True)
        changed(mul / name, at, bytes([data[at] ^ 0x81]), path)
        try:
            readers.get(name, read_proof)(path)
        except SnarkcudaError as error:
            refused += str(path) in str(error)
    assert refused > 10


def test_row_40_randomness(mul: Case, cli: Cli, tmp_path: Path) -> None:
    """penumbra-zone/penumbra#2188: fresh by default; with a seed the same proof, and a warning."""
    inputs = (mul / "circuit.zkey", mul / "witness.wtns")
    texts = []
    for i, more in enumerate(([], [], ["--seed", "s"], ["--seed", "s"])):
        proof = tmp_path / f"proof{i}"
        ended = cli("prove", *inputs, proof, tmp_path / "public", "-q", "--json", *more)
        assert json.loads(ended.stdout)["zero_knowledge"] is not bool(more)
        assert ("NOT zero-knowledge" in ended.stderr) is bool(more)
        texts.append(proof.read_text())
    assert texts[0] != texts[1] != texts[2] == texts[3]


def test_row_44_both_curves_and_never_mixed(mul: Case, cli: Cli, tmp_path: Path) -> None:
    """iden3/snarkjs#122, #209, TaceoLabs/co-snarks#10, zkmopro/mopro#374: both names are told."""
    other = BN254 if mul.vk.curve == BLS12_381 else BLS12_381
    folder = VECTORS / ("bn_mul2" if other == BN254 else "bls_mul2")
    with pytest.raises(MismatchError, match=f"{other.name}.*{mul.vk.curve.name}"):
        mul.prover.prove(folder / "witness.wtns")
    files = (mul / "verification_key.json", mul / "public.json", folder / "proof.json")
    ended = cli("verify", *files)
    assert ended.code == 2
    assert mul.vk.curve.name in ended.stderr and other.name in ended.stderr


def test_row_54_every_low_digit_is_kept(mul: Case, tmp_path: Path) -> None:
    """numba/numba#4631, #1386, #7888: uint64 turned into a float, and low digits were lost."""
    r = mul.vk.curve.fr.modulus
    for a, b in (((1 << 64) - 1, (1 << 53) + 1), (r - 1, r - 2), ((1 << 200) + 1, 3)):
        values = arrays.from_ints([1, a * b % r, b, a], 4)
        write_witness(tmp_path / "w", Witness(mul.vk.curve, values))
        proved = mul.prover.prove(tmp_path / "w")
        assert proved.public == [a * b % r, b]
        write_proof(tmp_path / "proof", proved.proof)
        assert verify(mul.vk, proved.public, read_proof(tmp_path / "proof"))
        values[1, 0] ^= np.uint64(1)
        with pytest.raises(UnsatisfiedError):
            mul.prover.prove(Witness(mul.vk.curve, values))
