"""Keys, witnesses, points and signals made or altered in memory: refused, not trusted."""

import os
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snarkcuda import (
    BLS12_381,
    BN254,
    FormatError,
    NotInFieldError,
    NotOnCurveError,
    NotZeroKnowledgeWarning,
    Proof,
    Prover,
    ProvingKey,
    SnarkcudaError,
    read_proof,
    read_public,
    read_verifying_key,
    read_witness,
    read_zkey,
    verify,
    write_zkey,
)
from snarkcuda.curve import points
from snarkcuda.curve.points import linear_combination
from snarkcuda.field import arrays
from snarkcuda.groth16 import checks, prover
from snarkcuda.groth16.verify import equation_holds

VECTORS = Path(__file__).parents[1] / "vectors"


@pytest.fixture
def key() -> ProvingKey:
    return read_zkey(VECTORS / "bn_mul2" / "circuit.zkey")


def with_coefficient(column: str, value: int) -> Callable[[ProvingKey], ProvingKey]:
    def change(key: ProvingKey) -> ProvingKey:
        records = key.coefficients.copy()
        records[column][1] = value
        return replace(key, coefficients=records)

    return change


def too_large(query: np.ndarray) -> np.ndarray:
    changed = query.copy()
    changed[0, 0] = 2**64 - 1
    return changed


CHANGES: dict[str, Callable[[ProvingKey], ProvingKey]] = {
    "row 2^31": with_coefficient("constraint", 2**31),
    "row n": with_coefficient("constraint", 4),
    "wire 2^31": with_coefficient("wire", 2**31),
    "matrix 2": with_coefficient("matrix", 2),
    "value": with_coefficient("value", 2**64 - 1),
    "A cut": lambda key: replace(key, a_query=key.a_query[:1]),
    "B1 cut": lambda key: replace(key, b_g1_query=key.b_g1_query[:1]),
    "B2 cut": lambda key: replace(key, b_g2_query=key.b_g2_query[:1]),
    "L longer": lambda key: replace(key, l_query=key.a_query),
    "H cut": lambda key: replace(key, h_query=key.h_query[:1]),
    "B2 in G1": lambda key: replace(key, b_g2_query=key.b_g1_query),
    "A of int64": lambda key: replace(key, a_query=key.a_query.astype(np.int64)),
    "A a list": lambda key: replace(key, a_query=key.a_query.tolist()),
    "coefficients a list": lambda key: replace(key, coefficients=[]),
    "A not canonical": lambda key: replace(key, a_query=too_large(key.a_query)),
    "domain 3": lambda key: replace(key, domain_size=3),
    "domain 0": lambda key: replace(key, domain_size=0),
    "domain 2^40": lambda key: replace(key, domain_size=2**40),
    "n_public": lambda key: replace(key, n_public=1),
    "n_wires": lambda key: replace(key, n_wires=2**31),
    "IC empty": lambda key: replace(
        key, n_public=-1, verifying_key=replace(key.verifying_key, ic=key.verifying_key.ic[:0])
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_altered_keys_are_refused(key: ProvingKey, change: Callable[[Any], Any]) -> None:
    """Lengths and indices are what kernels go by: none reaches one."""
    with pytest.raises(SnarkcudaError):
        Prover(change(key))
    with Prover(key) as good:
        assert good.prove(VECTORS / "bn_mul2" / "witness.wtns").checked


@pytest.mark.parametrize(
    "values",
    [
        np.zeros((4, 4), np.uint64),
        np.ones((4, 4), np.int64),
        np.ones((4,), np.uint64),
        np.ones((0, 4), np.uint64),
        [[1, 0, 0, 0]] * 4,  # a list
        np.array([[1, 0, 0, 0], [2**64 - 1] * 4, [0] * 4, [0] * 4], np.uint64),
    ],
)
def test_malformed_witnesses_are_refused(key: ProvingKey, values: np.ndarray) -> None:
    witness = replace(read_witness(VECTORS / "bn_mul2" / "witness.wtns"), values=values)
    with Prover(key) as prover, pytest.raises((FormatError, NotInFieldError)):
        prover.prove(witness)


def small_order_point() -> np.ndarray:
    """A point of E(Fq) of BLS12-381 whose order divides the cofactor, not r: r·P for a random P."""
    q, curve = BLS12_381.fq.modulus, BLS12_381
    x = 5
    while True:
        y = pow((x**3 + 4) % q, (q + 1) // 4, q)
        if y * y % q == (x**3 + 4) % q:
            point = points.encode(curve.g1, [(x, y)])[0]
            # r·P by its bits, since linear_combination takes scalars mod r.
            total = linear_combination(curve.g1, [point, point], [curve.fr.modulus - 1, 1])
            if not points.is_infinity(total):
                return total
        x += 1


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("query", ["a_query", "b_g1_query", "l_query", "h_query"])
def test_a_key_that_would_leak_the_witness(tmp_path: Path, query: str, check: bool) -> None:
    """A query point of small order is on the curve, invisible to the pairing, and carries a wire.

    The wire's residue would stand in the proof unblinded; such a proof never leaves.
    """
    good = read_zkey(VECTORS / "bls_poseidon2" / "circuit.zkey")
    assert (
        checks.points.first_outside_subgroup(BLS12_381, BLS12_381.g1, small_order_point()[None])
        == 0
    )
    evil_query = np.array(getattr(good, query))
    last = len(evil_query) - 1
    evil_query[last] = linear_combination(
        BLS12_381.g1, [evil_query[last], small_order_point()], [1, 1]
    )
    write_zkey(tmp_path / "evil.zkey", replace(good, **{query: evil_query}))
    with (
        Prover(tmp_path / "evil.zkey") as prover,
        pytest.raises(NotOnCurveError, match=r"evil.zkey .* outside the subgroup .* leak"),
    ):
        prover.prove(VECTORS / "bls_poseidon2" / "witness.wtns", check=check)


def test_the_pairing_alone_would_not_have_seen_it() -> None:
    """Why the points are checked: the equation holds for A plus a point of small order."""
    case = VECTORS / "bls_mul2"
    vk = read_verifying_key(case / "verification_key.json")
    public = read_public(case / "public.json", BLS12_381)
    proof = read_proof(case / "proof.json", BLS12_381)
    bent = replace(
        proof, a=linear_combination(BLS12_381.g1, [proof.a, small_order_point()], [1, 1])
    )
    assert equation_holds(vk, public, bent)
    with pytest.raises(NotOnCurveError, match="pi_a"):
        verify(vk, public, bent)


def changed_proof(proof: Proof, **changes: Any) -> Proof:
    return replace(proof, **changes)


def test_verify_refuses_malformed_arrays_and_signals() -> None:
    case = VECTORS / "bn_mul2"
    vk = read_verifying_key(case / "verification_key.json")
    public = read_public(case / "public.json", BN254)
    proof = read_proof(case / "proof.json", BN254)
    q = BN254.fq.modulus
    plus_q = arrays.from_ints([v + q for v in arrays.to_ints(proof.a)], 4)
    for bad in (plus_q, proof.a.astype(np.int64), proof.b, proof.a[:1], proof.a.reshape(-1), [1]):
        with pytest.raises((NotInFieldError, FormatError)):
            verify(vk, public, changed_proof(proof, a=bad))
    with pytest.raises((NotInFieldError, FormatError)):
        verify(replace(vk, ic=vk.ic.astype(np.int64)), public, proof)
    for signal in (1.0, True, "5", None, np.bool_(True)):
        with pytest.raises(NotInFieldError, match="public signal 0"):
            verify(vk, [signal, *public[1:]], proof)  # type: ignore[list-item]
    assert verify(vk, public, proof)
    zeros = [np.uint64(0)] * len(public)
    assert not verify(vk, zeros, proof)  # numpy's integers are integers


def test_equality_hash_and_pickle() -> None:
    """Files read twice are equal; equal curves from elsewhere are the same curve."""
    case = VECTORS / "bn_mul2"
    read = {
        "proof.json": lambda path: read_proof(path, BN254),
        "verification_key.json": read_verifying_key,
        "circuit.zkey": read_zkey,
        "witness.wtns": read_witness,
    }
    for name, reader in read.items():
        first, second = reader(case / name), reader(case / name)
        assert first == second
        assert len({first, second}) == 1
        assert first != object()
    proof = read_proof(case / "proof.json", pickle.loads(pickle.dumps(BN254)))
    assert proof != replace(proof, c=proof.a)


def test_secrets_are_not_in_representations() -> None:
    witness = read_witness(VECTORS / "bn_poseidon2" / "witness.wtns")
    assert "array" not in repr(witness)
    assert len(repr(read_zkey(VECTORS / "bn_poseidon2" / "circuit.zkey"))) < 10_000


def test_one_seed_gives_two_witnesses_different_randomness(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same r, the difference of two proofs' A would be that of the witnesses."""
    drawn = []
    start = prover.prove_start

    def spy(backend: Any, key: Any, z: Any, r: int, s: int, timeline: Any) -> Any:
        drawn.append((r, s))
        return start(backend, key, z, r, s, timeline)

    monkeypatch.setattr(prover, "prove_start", spy)
    for case in ("bn_mul2", "bn_mul2", "bn_mul2_zero"):
        witness = VECTORS / case / "witness.wtns"
        with (
            Prover(VECTORS / "bn_mul2" / "circuit.zkey") as one,
            pytest.warns(NotZeroKnowledgeWarning),
        ):
            one.prove(witness, seed=b"seed")
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_key_that_changes_while_it_is_read(tmp_path: Path) -> None:
    """The map shows what another program writes: an error, or a proof that verifies; no crash."""
    source, path = VECTORS / "bn_mul2" / "circuit.zkey", tmp_path / "key.zkey"
    data = source.read_bytes()
    path.write_bytes(data)
    place = data.index(read_zkey(source).coefficients[1:2].tobytes())

    def scribble(stage: str) -> None:
        if stage == "check key points":  # the grouping begins within
            with path.open("r+b") as file:
                os.pwrite(file.fileno(), b"\xff\xff\xff\x7f", place + 4)

    with pytest.raises(FormatError, match="changed while it was read"):
        Prover(path, progress=scribble)
