"""iden3/rapidsnark#2, iden3/circom-witnesscalc#12: another circuit's witness, read past its end.

Counts are compared before any work; both files and both counts are named; nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import pytest

from snarkcuda.curve.params import BLS12_381, BN254, CURVES, Curve
from snarkcuda.errors import MismatchError, UnsatisfiedError
from snarkcuda.formats.wtns import read_witness, write_witness
from snarkcuda.groth16.keys import Witness
from snarkcuda.groth16.prover import Prover
from snarkcuda.groth16.verify import verify
from tests.naive_groth16 import CUBE, LINEAR, MUL, ORPHANS, chain

VECTORS = Path(__file__).parents[1] / "vectors"
curves = pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)


@curves
def test_witness_of_mul_for_a_chain(curve: Curve, make_files: Callable) -> None:
    """The report's input: 4 values for a key that has 10 wires; no stage of a proof begins."""
    files, other = make_files(curve, chain(8)), make_files(curve, MUL)
    heard: list[str] = []
    with Prover(files.key, progress=heard.append) as prover:
        heard.clear()
        with pytest.raises(MismatchError) as caught:
            prover.prove(other.witness)
        assert caught.value.exit_code == 2
        for word in (f"{other.witness} has 4 values", str(files.key), "expects 10"):
            assert word in str(caught.value)
        assert heard == ["check witness"]
        proved = prover.prove(files.witness)
    assert verify(files.keys.verifying_key, files.signals, proved.proof)


@curves
@pytest.mark.parametrize("change", [-9, -1, 1, 100])
def test_some_values_too_few_or_too_many(curve: Curve, change: int, make_files: Callable) -> None:
    """Also one: the last wire must not be taken as 0, nor a spare value be dropped."""
    files = make_files(curve, chain(8))
    values = read_witness(files.witness).values
    padded = values.repeat(20, axis=0)[:: 20 if change < 0 else 1][: 10 + change]
    cut = files.witness.with_name("cut.wtns")
    write_witness(cut, Witness(curve, padded))
    with Prover(files.key) as prover:
        with pytest.raises(MismatchError, match=rf"cut.wtns has {10 + change} values .* 10\b"):
            prover.prove(cut)
        assert prover.prove(files.witness).public == files.signals


def test_corpus_witnesses_with_other_keys() -> None:
    """Pairs of snarkjs' own files, both ways, same curve."""
    names = ["bn_mul2", "bn_no_public", "bn_isequal", "bn_babyadd", "bn_public_40", "bn_poseidon1"]
    for one, other in permutations(names, 2):
        key, witness = VECTORS / one / "circuit.zkey", VECTORS / other / "witness.wtns"
        with Prover(key, threads=1) as prover:
            with pytest.raises(MismatchError) as caught:
                prover.prove(witness)
            for word in (key, witness, prover.key.n_wires, len(read_witness(witness).values)):
                assert str(word) in str(caught.value)


@pytest.mark.parametrize("r1cs, other", [(MUL, LINEAR), (CUBE, ORPHANS), (ORPHANS, CUBE)])
def test_equal_counts_of_different_circuits(r1cs, other, make_files: Callable) -> None:
    """Counts cannot tell; the self-check does, and nothing comes out."""
    files, wrong = make_files(BN254, r1cs), make_files(BN254, other, 5)
    with Prover(files.key) as prover:
        with pytest.raises(UnsatisfiedError) as caught:
            prover.prove(wrong.witness)
        assert str(wrong.witness) in str(caught.value)
        assert str(files.key) in str(caught.value)
        assert prover.prove(files.witness).public == files.signals


def test_witness_over_another_curve(make_files: Callable) -> None:
    """Equal counts, other field."""
    for one, other in ((BN254, BLS12_381), (BLS12_381, BN254)):
        files, wrong = make_files(one, CUBE), make_files(other, CUBE, 4)
        with Prover(files.key) as prover, pytest.raises(MismatchError) as caught:
            prover.prove(wrong.witness)
        for word in (wrong.witness, files.key, one.name, other.name):
            assert str(word) in str(caught.value)


def test_command_line(make_files: Callable, prove_fails: Callable[..., str]) -> None:
    """Exit code 2, both names, both counts, no file made or overwritten."""
    files, other = make_files(BN254, chain(8)), make_files(BN254, MUL)
    told = prove_fails(files.key, other.witness)
    for word in (str(files.key), str(other.witness), "4 values", "expects 10"):
        assert word in told
