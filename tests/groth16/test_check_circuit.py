"""A key against a circuit: every case of circom and snarkjs fits; every difference is named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from snarkcuda.circuits.r1cs import R1cs
from snarkcuda.errors import MismatchError
from snarkcuda.field.arrays import from_ints
from snarkcuda.formats.r1cs import read_r1cs
from snarkcuda.formats.zkey import read_zkey
from snarkcuda.groth16 import check_circuit as module
from snarkcuda.groth16.check_circuit import check_circuit
from snarkcuda.groth16.keys import ProvingKey

VECTORS = Path(__file__).parents[1] / "vectors"
CASES = sorted(p.name for p in VECTORS.iterdir() if p.is_dir() and not p.name.startswith("neg_"))


def read(case: str) -> tuple[ProvingKey, R1cs]:
    return read_zkey(VECTORS / case / "circuit.zkey"), read_r1cs(VECTORS / case / "circuit.r1cs")


@pytest.mark.parametrize("case", CASES)
def test_keys_of_snarkjs_fit_their_circuits(case: str) -> None:
    check_circuit(*read(case))


@pytest.mark.parametrize(
    "other, words",
    [
        ("bls_over_domain", "the curve is bn254 and bls12_381"),
        ("bn_full_domain", "the number of wires is 33 and 32"),
        ("bn_public_40", "the number of wires is 33 and 62"),
    ],
)
def test_other_circuits(other: str, words: str) -> None:
    key, _ = read("bn_over_domain")
    with pytest.raises(MismatchError, match=words) as caught:
        check_circuit(key, read(other)[1])
    assert caught.value.exit_code == 2
    for name in ("circuit.zkey", "circuit.r1cs"):
        assert name in str(caught.value)


def test_sizes() -> None:
    key, r1cs = read("bn_over_domain")
    for name, value in (
        ("number of public signals", replace(r1cs, n_outputs=2)),
        ("domain size", replace(r1cs, a=half(r1cs.a), b=half(r1cs.b), c=half(r1cs.c))),
    ):
        with pytest.raises(MismatchError, match=f"the {name} is"):
            check_circuit(key, value)
    with pytest.raises(MismatchError, match="the number of entries in A and B is"):
        check_circuit(replace(key, coefficients=key.coefficients[:-1]), r1cs)


def half(matrix):
    return replace(matrix, start=matrix.start[: len(matrix) // 2 + 1])


@pytest.mark.parametrize("block", [1, 7, 1 << 16])
@pytest.mark.parametrize("case", ["bn_isequal", "bls_mux3"])
def test_each_entry_counts(case: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrix, row, wire and value of each entry in turn; the first that differs is named."""
    monkeypatch.setattr(module, "_BLOCK", block)
    key, r1cs = read(case)
    for index, entry in enumerate(key.coefficients):
        for column in ("matrix", "constraint", "wire", "value"):
            changed = key.coefficients.copy()
            if column == "value":
                changed["value"][index, 0] ^= 1
            else:
                changed[column][index] ^= 1
            changed["wire"][index + 1 :] ^= 1
            with pytest.raises(MismatchError, match=rf"entry {index} is ") as caught:
                check_circuit(replace(key, coefficients=changed), r1cs)
            place = f"[row {entry['constraint']}, wire {entry['wire']}] = "
            assert f"and {'AB'[entry['matrix']]}{place}" in str(caught.value)


def test_values_are_shown_as_the_circuit_has_them() -> None:
    """bn_mul2 is −w₂·w₃ = −w₁: −1, not r − 1, and not value·R²."""
    key, r1cs = read("bn_mul2")
    values = r1cs.a.values.copy()
    values[0] = from_ints([5], 4)[0]
    other = replace(r1cs, a=replace(r1cs.a, values=values))
    with pytest.raises(MismatchError, match=r"entry 0 is A\[row 0, wire 3\] = -1 and .* = 5$"):
        check_circuit(key, other)
