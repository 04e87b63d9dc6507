"""Proving keys: every corpus key reads, survives a round trip, and foreign keys are refused."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snarkcuda.curve.params import BLS12_381, BN254
from snarkcuda.errors import FormatError, NotOnCurveError
from snarkcuda.field.arrays import to_ints
from snarkcuda.formats.section_writer import write_sections
from snarkcuda.formats.sections import SectionFile
from snarkcuda.formats.vkey_json import read_verifying_key, verifying_key_to_json
from snarkcuda.formats.zkey import read_zkey, write_zkey
from snarkcuda.formats.zkey_header import ZKEY
from snarkcuda.groth16.keys import ProvingKey

VECTORS = Path(__file__).parents[1] / "vectors"
CASES = sorted(p.name for p in VECTORS.iterdir() if p.is_dir() and not p.name.startswith("neg_"))
QUERIES = ("a_query", "b_g1_query", "b_g2_query", "l_query", "h_query")


def arrays_of(key: ProvingKey) -> dict[str, np.ndarray[Any, Any]]:
    """Every array of a key by name."""
    named = {name: getattr(key, name) for name in (*QUERIES, "beta_g1", "delta_g1", "coefficients")}
    vk = key.verifying_key
    return named | {
        name: getattr(vk, name) for name in ("alpha_g1", "beta_g2", "gamma_g2", "delta_g2", "ic")
    }


def assert_same_key(one: ProvingKey, other: ProvingKey) -> None:
    """Equal curve, sizes and arrays."""
    sizes = ("curve", "n_wires", "n_public", "domain_size")
    assert [getattr(one, s) for s in sizes] == [getattr(other, s) for s in sizes]
    theirs = arrays_of(other)
    for name, array in arrays_of(one).items():
        np.testing.assert_array_equal(array, theirs[name], err_msg=name)


def sections_of(path: Path) -> dict[int, bytes]:
    """The bytes of each section."""
    file = SectionFile(path, ZKEY)
    return {number: file.section(number).data.tobytes() for number in file.table}


def write_key(path: Path, sections: list[tuple[int, bytes]]) -> Path:
    """A zkey of these sections in this order."""
    chunks = write_sections(b"zkey", 1, [(number, [data]) for number, data in sections])
    path.write_bytes(b"".join(bytes(chunk) for chunk in chunks))
    return path


@pytest.mark.parametrize("case", CASES)
def test_key_of_the_corpus(case: str, tmp_path: Path) -> None:
    """Shapes follow from the sizes; write, read gives equal arrays, infinities included."""
    key = read_zkey(VECTORS / case / "circuit.zkey")
    assert key.curve is (BN254 if case.startswith("bn_") else BLS12_381)
    limbs, wires = key.curve.fq.limbs, key.n_wires
    assert key.a_query.shape == key.b_g1_query.shape == (wires, 2, limbs)
    assert key.b_g2_query.shape == (wires, 2, 2, limbs)
    assert key.l_query.shape == (wires - key.n_public - 1, 2, limbs)
    assert key.h_query.shape == (key.domain_size, 2, limbs)
    assert key.verifying_key.n_public == key.n_public

    again = tmp_path / "again.zkey"
    write_zkey(again, key)
    assert_same_key(read_zkey(again), key)
    ours, theirs = sections_of(again), sections_of(VECTORS / case / "circuit.zkey")
    assert list(ours) == [1, 2, 4, 3, 9, 8, 5, 6, 7, 10]
    assert {n: ours[n] for n in range(1, 10)} == {n: theirs[n] for n in range(1, 10)}


@pytest.mark.parametrize("case", CASES)
def test_key_holds_the_exported_verifying_key(case: str) -> None:
    """What snarkjs exported from a key is what we read from the key."""
    key = read_zkey(VECTORS / case / "circuit.zkey")
    exported = read_verifying_key(VECTORS / case / "verification_key.json")
    assert verifying_key_to_json(key.verifying_key) == verifying_key_to_json(exported)


@pytest.mark.parametrize("case", ["bn_mul2", "bls_mul2"])
def test_sections_in_any_order_at_any_alignment(case: str, tmp_path: Path) -> None:
    """Order and place of the sections change nothing; arrays are contiguous and read-only."""
    good = read_zkey(VECTORS / case / "circuit.zkey")
    sections = sections_of(VECTORS / case / "circuit.zkey")
    rng = random.Random(5)
    for shift in range(16):
        order = list(sections)
        rng.shuffle(order)
        shifted = sections | {10: bytes(shift)}
        path = write_key(tmp_path / f"{shift}.zkey", [(n, shifted[n]) for n in order])
        key = read_zkey(path)
        assert_same_key(key, good)
        for name, array in arrays_of(key).items():
            assert not array.flags.writeable, name
            assert array.flags.c_contiguous, name
            assert name == "coefficients" or array.dtype == np.uint64


def test_queries_are_views_of_the_file(tmp_path: Path) -> None:
    """Nothing is copied, whatever a section's alignment."""
    path = VECTORS / "bn_mul2" / "circuit.zkey"
    file, key = SectionFile(path, ZKEY), read_zkey(path)
    offsets = {file.table[number][0] % 8 for number in range(5, 10)}
    assert offsets == {0, 4}
    for query in (key.a_query, key.b_g1_query, key.b_g2_query, key.l_query, key.h_query):
        base: object = query
        while isinstance(base, np.ndarray) and isinstance(base.base, np.ndarray):
            base = base.base
        assert isinstance(base, np.ndarray)
        assert base.nbytes == file.size


@pytest.mark.parametrize(("case", "name"), [("neg_plonk_key", "PLONK"), ("neg_fflonk_key", "FFL")])
def test_other_protocols_are_refused_by_name(case: str, name: str) -> None:
    """A key for another proof system is named, and what we read is said."""
    with pytest.raises(FormatError, match=rf"{name}.*snarkcuda reads Groth16"):
        read_zkey(VECTORS / case / "circuit.zkey")


@pytest.mark.parametrize("missing", range(1, 11))
def test_missing_section(missing: int, tmp_path: Path) -> None:
    """Without section 10 a key still proves; any other is named with its purpose."""
    sections = sections_of(VECTORS / "bn_mul2" / "circuit.zkey")
    rest = [(number, data) for number, data in sections.items() if number != missing]
    path = write_key(tmp_path / "key.zkey", rest)
    if missing == 10:
        assert_same_key(read_zkey(path), read_zkey(VECTORS / "bn_mul2" / "circuit.zkey"))
        return
    kind = ZKEY.sections[missing]
    with pytest.raises(FormatError) as caught:
        read_zkey(path)
    for word in (str(path), f"section {missing} ({kind.name})", kind.purpose):
        assert word in str(caught.value)


def patch(data: bytes, at: int, value: bytes) -> bytes:
    """`data` with `value` written at byte `at`."""
    return data[:at] + value + data[at + len(value) :]


@pytest.mark.parametrize(
    ("section", "at", "value", "words"),
    [
        (1, 0, b"\3\0\0\0", ["protocol 3", "Groth16"]),
        (2, 0, b"\x21\0\0\0", ["section 2 (header)", "33 bytes"]),
        (2, 4, b"\0", ["primes", "bn254, bls12_381"]),
        (2, 40, b"\3", ["primes", "bn254, bls12_381"]),
        (2, 72, b"\0\0\0\0", ["2 public", "0 wires"]),
        (2, 76, b"\4\0\0\0", ["4 public", "4 wires"]),
        (2, 80, b"\6\0\0\0", ["domain size 6"]),
        (2, 80, b"\0\0\0\0", ["domain size 0"]),
        (2, 80, b"\0\0\0\x20", ["domain size 536870912", "2^28"]),
        (2, 80, b"\1\0\0\0", ["section 9 (H query)", "needs 64 bytes", "has 256"]),
        (4, 0, b"\6\0\0\0", ["section 4 (coefficients)", "needs 268 bytes", "has 224"]),
        (4, 4, b"\2\0\0\0", ["entry 0 (at offset 920)", "matrix 2"]),
        (4, 52, b"\4\0\0\0", ["entry 1 (at offset 964)", "constraint 4"]),
        (4, 100, b"\4\0\0\0", ["entry 2 (at offset 1008)", "wire 4"]),
    ],
)
def test_impossible_numbers(
    section: int, at: int, value: bytes, words: list[str], tmp_path: Path
) -> None:
    """Each count, prime and index is checked; the message has the section, number and limit."""
    sections = sections_of(VECTORS / "bn_mul2" / "circuit.zkey")
    sections[section] = patch(sections[section], at, value)
    path = write_key(tmp_path / "key.zkey", list(sections.items()))
    with pytest.raises(FormatError) as caught:
        read_zkey(path)
    for word in (str(path), *words):
        assert word in str(caught.value)


@pytest.mark.parametrize("case", ["bn_mul2", "bls_mul2"])
def test_header_points_may_not_be_infinity(case: str, tmp_path: Path) -> None:
    """Each of the six, by name."""
    sections = sections_of(VECTORS / case / "circuit.zkey")
    limbs = read_zkey(VECTORS / case / "circuit.zkey").curve.fq.limbs
    at = 8 + 8 * limbs + 32 + 12
    for name in ("alpha_g1", "beta_g1", "beta_g2", "gamma_g2", "delta_g1", "delta_g2"):
        size = 8 * limbs * (4 if name.endswith("g2") else 2)
        changed = sections | {2: patch(sections[2], at, bytes(size))}
        path = write_key(tmp_path / f"{name}.zkey", list(changed.items()))
        with pytest.raises(NotOnCurveError, match=name):
            read_zkey(path)
        at += size


@pytest.mark.parametrize("case", ["bn_mul2", "bls_mul2"])
def test_circuit_without_private_wires(case: str, tmp_path: Path) -> None:
    """All wires public: section 8 is empty, which is legal (iden3/snarkjs#309)."""
    sections = sections_of(VECTORS / case / "circuit.zkey")
    key = read_zkey(VECTORS / case / "circuit.zkey")
    limbs = key.curve.fq.limbs
    header = patch(sections[2], 8 + 8 * limbs + 32 + 4, b"\3\0\0\0")
    changed = sections | {2: header, 3: sections[3] + sections[8], 8: b""}
    path = write_key(tmp_path / "key.zkey", list(changed.items()))
    public = read_zkey(path)
    assert public.l_query.shape == (0, 2, limbs) and public.n_public == 3
    write_zkey(path, public)
    assert_same_key(read_zkey(path), public)


def test_no_coefficients(tmp_path: Path) -> None:
    """A count of 0 is legal for the reader."""
    sections = sections_of(VECTORS / "bn_mul2" / "circuit.zkey") | {4: bytes(4)}
    key = read_zkey(write_key(tmp_path / "key.zkey", list(sections.items())))
    assert key.coefficients.shape == (0,)


def test_coefficients_match_the_circuit() -> None:
    """Circuit c = a·b, wires [1, c, b, a]: a row for it, then one for each public wire, A alone."""
    key = read_zkey(VECTORS / "bn_mul2" / "circuit.zkey")
    fr = key.curve.fr
    entries = [
        (int(e["matrix"]), int(e["constraint"]), int(e["wire"]), to_ints(e["value"])[0])
        for e in key.coefficients
    ]
    plain = [
        (m, row, w, fr.from_montgomery(fr.from_montgomery(value))) for m, row, w, value in entries
    ]
    assert [row for m, row, _, _ in plain if m == 1] == [0]
    assert {(row, wire, v) for m, row, wire, v in plain if m == 0 and row > 0} == {
        (1, 0, 1),
        (2, 1, 1),
        (3, 2, 1),
    }
