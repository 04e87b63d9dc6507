"""Coordinates out of range (reports: Consensys/gnark#2, BitVM/BitVM#109): the part readers check.

That points are on the curve is `verify`'s part.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from snarkcuda.curve.params import CURVES, Curve
from snarkcuda.errors import NotInFieldError
from snarkcuda.formats.proof_json import read_proof
from snarkcuda.formats.section_writer import write_sections
from snarkcuda.formats.sections import SectionFile
from snarkcuda.formats.vkey_json import read_verifying_key
from snarkcuda.formats.zkey import read_zkey
from snarkcuda.formats.zkey_header import ZKEY

VECTORS = Path(__file__).parents[1] / "vectors"
curves = pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
READERS: dict[str, Callable[[Path, Curve], object]] = {
    "proof.json": read_proof,
    "verification_key.json": read_verifying_key,
}


def case_of(curve: Curve) -> Path:
    """A small case of the corpus."""
    return VECTORS / ("bn_mul2" if curve.name == "bn254" else "bls_mul2")


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path of every string of digits in a JSON value."""
    if isinstance(value, str) and value.isdigit():
        yield path
    if isinstance(value, dict | list):
        for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
            if key != "vk_alphabeta_12":
                yield from places(entry, (*path, key))


@curves
@pytest.mark.parametrize("name", READERS)
def test_every_coordinate_of_the_json_files(curve: Curve, name: str, tmp_path: Path) -> None:
    """Both c + q and q itself are refused at every place, which the message names."""
    good = json.loads((case_of(curve) / name).read_text())
    path, found = tmp_path / name, list(places(good))
    assert len(found) >= 12
    for place in found:
        shown = str(place[0]) + "".join(f"[{i}]" for i in place[1:])
        for change in (lambda c: c + curve.fq.modulus, lambda c: curve.fq.modulus, lambda c: -1):
            value = json.loads((case_of(curve) / name).read_text())
            inner: Any = value
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = str(change(int(inner[place[-1]])))
            path.write_text(json.dumps(value))
            with pytest.raises(NotInFieldError) as caught:
                READERS[name](path, curve)
            assert f"{name}: {shown} is" in str(caught.value)
    path.write_text(json.dumps(good))
    READERS[name](path, curve)


@curves
def test_every_element_of_a_key(curve: Curve, tmp_path: Path) -> None:
    """Each coordinate and coefficient: the modulus and the largest number are found in place."""
    source = SectionFile(case_of(curve) / "circuit.zkey", ZKEY)
    data = {n: source.section(n).data.tobytes() for n in sorted(source.table)}
    size = 8 * curve.fq.limbs
    header = 8 + size + 32 + 12
    elements = [(2, at, size) for at in range(header, len(data[2]), size)]
    elements += [(n, at, size) for n in (3, 5, 6, 7, 8, 9) for at in range(0, len(data[n]), size)]
    elements += [(4, at + 12, 32) for at in range(4, len(data[4]), 44)]
    path, rng = tmp_path / "key.zkey", random.Random(3)
    for number, at, width in elements:
        modulus = curve.fr.modulus if number == 4 else curve.fq.modulus
        noise = rng.randrange(modulus, 1 << (8 * width))
        for value in (modulus, modulus + 1, noise, (1 << (8 * width)) - 1):
            changed = bytearray(data[number])
            changed[at : at + width] = value.to_bytes(width, "little")
            sections = data | {number: bytes(changed)}
            chunks = write_sections(b"zkey", 1, [(n, [d]) for n, d in sections.items()])
            path.write_bytes(b"".join(bytes(chunk) for chunk in chunks))
            with pytest.raises(NotInFieldError) as caught:
                read_zkey(path)
            offset = SectionFile(path, ZKEY).table[number][0] + at
            for word in (f"section {number} (", f"at offset {offset} ", "is not below"):
                assert word in str(caught.value)
    read_zkey(case_of(curve) / "circuit.zkey")
