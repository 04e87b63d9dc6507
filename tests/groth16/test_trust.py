"""`key_warnings`: each reason is seen, alone and with others, and none where there is none."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from snarkcuda import setup
from snarkcuda.curve import points
from snarkcuda.errors import ForgeableKeyWarning
from snarkcuda.formats.vkey_json import read_verifying_key
from snarkcuda.formats.zkey import read_zkey, write_zkey
from snarkcuda.groth16.prover import Prover, prove
from snarkcuda.groth16.trust import key_warnings

VECTORS = Path(__file__).parents[1] / "vectors"
EQUAL, GENERATOR = "delta equals gamma", "delta is the generator"
RESEARCH, GAMMA = "a research key", "gamma is not the generator"
curves = pytest.mark.parametrize("curve", ["bn", "bls"])


def reasons(found: list[str]) -> list[str]:
    """Which of the four each sentence is."""
    return [
        next(r for r in (EQUAL, GENERATOR, RESEARCH, GAMMA) if r in sentence) for sentence in found
    ]


@curves
def test_files(curve: str) -> None:
    """A contributed key is not warned of, one straight from `snarkjs groth16 setup` is."""
    for case, expected in ((f"{curve}_mul2", []), (f"{curve}_mul2_fresh", [GENERATOR])):
        key = read_zkey(VECTORS / case / "circuit.zkey")
        vk = read_verifying_key(VECTORS / case / "verification_key.json")
        assert reasons(key_warnings(vk)) == expected
        assert reasons(key_warnings(key.verifying_key, key)) == expected


@curves
def test_each_reason_alone(curve: str) -> None:
    """Put into a good key; with −G or −δ proofs can be forged as well."""
    key = read_zkey(VECTORS / f"{curve}_mul2" / "circuit.zkey")
    vk, groups = key.verifying_key, (key.curve.g1, key.curve.g2)
    one1, one2 = (points.encode(group, [group.generator])[0] for group in groups)
    minus1 = points.linear_combination(groups[0], [one1], [-1])
    minus2 = points.linear_combination(groups[1], [one2], [-1])
    minus_delta = points.linear_combination(groups[1], [vk.delta_g2], [-1])
    for gamma in (vk.delta_g2, minus_delta):
        assert reasons(key_warnings(replace(vk, gamma_g2=gamma))) == [EQUAL, GAMMA]
    assert reasons(key_warnings(replace(vk, delta_g2=one2))) == [GENERATOR]
    assert reasons(key_warnings(replace(vk, gamma_g2=minus2))) == [GAMMA]
    assert reasons(key_warnings(vk, replace(key, delta_g1=one1))) == [GENERATOR]
    assert reasons(key_warnings(replace(vk, is_research=True))) == [RESEARCH]
    assert reasons(key_warnings(replace(vk, gamma_g2=minus2, is_research=True))) == [RESEARCH]
    assert reasons(key_warnings(replace(vk, delta_g2=minus2))) == [GENERATOR]
    assert reasons(key_warnings(vk, replace(key, delta_g1=minus1))) == [GENERATOR]


def test_prover_warns_once_and_names_the_key(tmp_path: Path) -> None:
    """At construction, in the caller's line; all reasons in one warning, none for a good key."""
    folder = VECTORS / "bn_mul2_fresh"
    with pytest.warns(ForgeableKeyWarning) as seen:
        Prover(folder / "circuit.zkey", threads=1).close()
    assert len(seen) == 1
    assert seen[0].filename == __file__
    words = str(seen[0].message)
    assert words.startswith(f"{folder / 'circuit.zkey'}: ")
    assert GENERATOR in words

    key = read_zkey(VECTORS / "bn_mul2" / "circuit.zkey")
    marked = replace(key, verifying_key=replace(key.verifying_key, is_research=True))
    write_zkey(tmp_path / "research.zkey", marked)
    with pytest.warns(ForgeableKeyWarning, match=RESEARCH):
        prove(tmp_path / "research.zkey", VECTORS / "bn_mul2" / "witness.wtns", threads=1)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Prover(key, threads=1).close()


def test_a_research_key_that_lost_its_mark(tmp_path: Path) -> None:
    """snarkjs copies the sections that it knows: the mark goes, γ stays."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ForgeableKeyWarning)
        key = setup(VECTORS / "bn_mul2" / "circuit.r1cs", research=True)
    assert reasons(key_warnings(key.verifying_key, key)) == [RESEARCH]
    unmarked = replace(key.verifying_key, is_research=False)
    assert reasons(key_warnings(unmarked)) == [GAMMA]
