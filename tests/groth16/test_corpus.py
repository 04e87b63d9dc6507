"""Keys and witnesses of circom and snarkjs: every case of `tests/vectors` proves and verifies.

Keys, witnesses, verifying keys, public signals and the proofs to compare with were all made by
snarkjs, so that no mistake of ours can be in both sides of a comparison.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from snarkcuda.curve.params import BLS12_381, BN254
from snarkcuda.curve.points import linear_combination
from snarkcuda.errors import FormatError, NotOnCurveError
from snarkcuda.formats.proof_json import read_proof, write_proof
from snarkcuda.formats.public_json import public_to_json, read_public
from snarkcuda.formats.vkey_json import read_verifying_key
from snarkcuda.groth16.keys import Proof
from snarkcuda.groth16.prover import Prover
from snarkcuda.groth16.verify import verify

VECTORS = Path(__file__).parents[1] / "vectors"
CASES = sorted(p.name for p in VECTORS.iterdir() if p.is_dir() and not p.name.startswith("neg_"))
cases = pytest.mark.parametrize("case", CASES)


def test_the_corpus_is_there() -> None:
    """Both curves; an empty list of cases would pass every test below."""
    assert len(CASES) >= 33
    assert {case.partition("_")[0] for case in CASES} == {"bn", "bls"}


@cases
def test_proves_and_verifies(case: str, tmp_path: Path) -> None:
    """With snarkjs' verifying key, from the proof as written and read again; equal public.json."""
    folder = VECTORS / case
    with Prover(folder / "circuit.zkey") as prover:
        assert prover.key.curve is (BN254 if case.startswith("bn_") else BLS12_381)
        proved = prover.prove(folder / "witness.wtns")
    assert proved.checked
    assert proved.zero_knowledge
    assert public_to_json(proved.public).encode() == (folder / "public.json").read_bytes()

    write_proof(tmp_path / "proof.json", proved.proof)
    again = read_proof(tmp_path / "proof.json")
    key = read_verifying_key(folder / "verification_key.json")
    assert verify(key, proved.public, again)
    assert verify(prover.key.verifying_key, proved.public, again)


@cases
def test_proof_of_snarkjs_verifies_and_changed_ones_do_not(case: str) -> None:
    """Each signal changed, each point replaced by another of its group: false; off it: refused."""
    folder = VECTORS / case
    key = read_verifying_key(folder / "verification_key.json")
    curve, proof = key.curve, read_proof(folder / "proof.json")
    public = read_public(folder / "public.json", curve)
    assert verify(key, public, proof)

    for index in sorted({0, len(public) // 2, len(public) - 1}) if public else ():
        changed = list(public)
        changed[index] = (changed[index] + 1) % curve.fr.modulus
        assert not verify(key, changed, proof)

    for name, group in (("a", curve.g1), ("b", curve.g2), ("c", curve.g1)):
        points = {"a": proof.a, "b": proof.b, "c": proof.c}
        doubled = linear_combination(group, [points[name]], [2])
        assert not verify(key, public, Proof(curve, **points | {name: doubled}))
        bent = points[name].copy()
        bent.reshape(-1, curve.fq.limbs)[0] = points[name].reshape(-1, curve.fq.limbs)[-1]
        assert not np.array_equal(bent, points[name])
        with pytest.raises(NotOnCurveError, match=f"pi_{name}"):
            verify(key, public, Proof(curve, **points | {name: bent}))


@pytest.mark.parametrize(
    "case, protocol", [("neg_plonk_key", "PLONK"), ("neg_fflonk_key", "FFLONK")]
)
def test_key_of_another_protocol_is_refused_by_name(case: str, protocol: str) -> None:
    """The message names the file, the protocol found and the one needed."""
    path = next((VECTORS / case).glob("*.zkey"))
    with pytest.raises(FormatError, match=rf"{path.name}.*\({protocol}\).*Groth16") as caught:
        Prover(path)
    assert str(path) in str(caught.value)
