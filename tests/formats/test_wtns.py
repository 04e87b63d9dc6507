"""Witnesses: byte-equal round trips, and each rule of the format."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest

from snarkcuda.curve.params import BLS12_381, BN254
from snarkcuda.errors import FormatError, NotInFieldError
from snarkcuda.field.arrays import from_ints, to_ints
from snarkcuda.formats.wtns import read_witness, write_witness
from snarkcuda.groth16.keys import Witness

VECTORS = Path(__file__).parents[1] / "vectors"
CASES = sorted(p.parent.name for p in VECTORS.glob("*/witness.wtns"))
R = BN254.fr.modulus


def wtns(values: list[int], prime: int = R, count: int | None = None, n8: int = 32) -> bytes:
    """A wtns file, written out by hand."""
    header = struct.pack("<I", n8) + prime.to_bytes(32, "little")
    header += struct.pack("<I", len(values) if count is None else count)
    data = b"".join(value.to_bytes(32, "little") for value in values)
    file = b"wtns" + struct.pack("<II", 2, 2)
    for number, section in ((1, header), (2, data)):
        file += struct.pack("<IQ", number, len(section)) + section
    return file


@pytest.mark.parametrize("case", CASES)
def test_witness_of_the_corpus(case: str, tmp_path: Path) -> None:
    """Reading and writing gives the same bytes; public.json stands after the constant."""
    source = VECTORS / case / "witness.wtns"
    witness = read_witness(source)
    write_witness(tmp_path / "again.wtns", witness)
    assert (tmp_path / "again.wtns").read_bytes() == source.read_bytes()
    values = to_ints(witness.values)
    if (source.parent / "public.json").exists():
        public = [int(v) for v in json.loads((source.parent / "public.json").read_text())]
        assert values[: 1 + len(public)] == [1, *public]
    assert witness.values.flags.c_contiguous and not witness.values.flags.writeable


@pytest.mark.parametrize("curve", [BN254, BLS12_381])
def test_edge_values(curve: object, tmp_path: Path) -> None:
    """0, 1, r - 1 and the borders of limbs survive."""
    assert isinstance(curve, type(BN254))
    values = [1, 0, curve.fr.modulus - 1, *(2 ** (64 * i) + d for i in (1, 2, 3) for d in (-1, 0))]
    witness = Witness(curve, from_ints(values, 4))
    write_witness(tmp_path / "w.wtns", witness)
    again = read_witness(tmp_path / "w.wtns")
    assert again.curve is curve
    np.testing.assert_array_equal(again.values, witness.values)


@pytest.mark.parametrize("value", [R, R + 1, R + (1 << 64), 2**256 - 1])
def test_value_not_below_r(value: int, tmp_path: Path) -> None:
    """Index and offset of the first such value."""
    path = tmp_path / "w.wtns"
    path.write_bytes(wtns([1, 0, R - 1, value, value]))
    with pytest.raises(NotInFieldError, match=rf"value 3 at offset {76 + 96} is not below r"):
        read_witness(path)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (wtns([]), "does not start with the constant 1"),
        (wtns([2, 1]), "does not start with the constant 1"),
        (wtns([1, 2], count=3), "needs 96 bytes .3 values.* has 64"),
        (wtns([1, 2], count=1), "needs 32 bytes .* has 64"),
        (wtns([1, 2], prime=R + 2), "names the prime"),
        (wtns([1, 2], prime=BN254.fq.modulus), "names the prime"),
        (wtns([1, 2], n8=48), "48 bytes"),
        (wtns([1]).replace(b"wtns\2", b"wtns\1"), "version 1 .* reads version 2"),
        (wtns([1]).replace(b"wtns", b"zkey"), "proving key .* witness .* needed"),
    ],
)
def test_rules(data: bytes, words: str, tmp_path: Path) -> None:
    """Each broken rule is a FormatError that says which."""
    path = tmp_path / "w.wtns"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=words):
        read_witness(path)
