"""docs/formats.md says what is in the files: its tables and dumps against the vectors."""

from __future__ import annotations

import hashlib
import json
import math
import re
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from snarkcuda.circuits.r1cs import domain_size
from snarkcuda.cpu import key_cache
from snarkcuda.curve import points
from snarkcuda.curve.pairing import pairing_product
from snarkcuda.curve.params import CURVES, Curve
from snarkcuda.field.arrays import to_ints
from snarkcuda.formats import checked_record, proof_json, public_json, vkey_json
from snarkcuda.formats.json_points import point_at_infinity
from snarkcuda.formats.ptau import read_ptau
from snarkcuda.formats.ptau_header import PTAU
from snarkcuda.formats.r1cs import read_r1cs
from snarkcuda.formats.r1cs_header import R1CS
from snarkcuda.formats.sections import MAX_SECTIONS, Layout, SectionFile
from snarkcuda.formats.wtns import WTNS, read_witness
from snarkcuda.formats.zkey import read_zkey
from snarkcuda.formats.zkey_header import PROTOCOLS, RESEARCH, ZKEY
from snarkcuda.groth16.prover import Prover

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "tests" / "vectors"
PAGE = (ROOT / "docs" / "formats.md").read_text()
LAYOUTS = {layout.magic.decode(): layout for layout in (R1CS, WTNS, ZKEY, PTAU)}
DUMPS = re.findall(r"^```\n(tests/\S+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
CASES = sorted(p.parent.name for p in VECTORS.glob("*/circuit.r1cs"))
BN254 = next(curve for curve in CURVES if curve.file_name == "bn128")


def chapter(title: str) -> str:
    """The page's text under a heading that starts with `title`."""
    (text,) = re.findall(rf"^## {title}.*?\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    return str(text)


def table(text: str, first: str) -> list[list[str]]:
    """The rows of the table whose first column has this title."""
    (body,) = re.findall(rf"^\| {first} \|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in body.splitlines()]


def open_vector(name: str) -> SectionFile:
    return SectionFile(VECTORS / name, LAYOUTS[name.rpartition(".")[2]])


def numbers() -> dict[str, int]:
    """What the dumps may write on the right of "=" besides integers."""
    q, r = BN254.fq.modulus, BN254.fr.modulus
    named = {"q": q, "r": r, "r − 1": r - 1}
    named |= {"R² mod r": 2**512 % r, "−R² mod r": -(2**512) % r}
    named |= {"R mod q": 2**256 % q, "2·R mod q": 2**257 % q}
    key = json.loads((VECTORS / "bn_mul2" / "verification_key.json").read_text())

    def add(name: str, value: Any) -> None:
        if isinstance(value, list):
            for i, part in enumerate(value):
                add(f"{name}[{i}]", part)
        else:
            named[f"{name}·R mod q"] = int(value) * 2**256 % q

    for name in ("vk_alpha_1", "vk_beta_2", "IC"):
        add(name, key[name])
    return named


@pytest.mark.parametrize("file, dump", DUMPS, ids=[file for file, _ in DUMPS])
def test_dumps_are_the_files(file: str, dump: str) -> None:
    """Every line: its place follows the last one's, its bytes are there, its number is theirs."""
    data, at, named = (ROOT / file).read_bytes(), 0, numbers()
    for line in dump.splitlines():
        found = re.fullmatch(r" *(\d+) +(\d+)  ([0-9a-f…]+) +(\S.*)", line)
        assert found, line
        offset, length = int(found[1]), int(found[2])
        part = data[offset : offset + length]
        start, _, end = found[3].partition("…")
        assert offset == at and len(part) == length, line
        assert part.hex().startswith(start) and part.hex().endswith(end), line
        assert "…" in found[3] or len(start) == 2 * length, line
        _, is_number, name = found[4].rpartition(" = ")
        if is_number:
            number = named[name] if name in named else int(name)
            assert int.from_bytes(part, "little") == number, line
        at = offset + length
    assert at == len(data) or file.endswith(".ptau")


def test_there_is_a_dump_of_each_format() -> None:
    assert sorted(Path(file).suffix[1:] for file, _ in DUMPS) == sorted(LAYOUTS)


def test_order_of_sections() -> None:
    for file, _, order in table(chapter("The container"), "file"):
        ids = [int(number) for number in order.split(", ")]
        assert list(open_vector(file).table) == ids, file
    assert f"more than {MAX_SECTIONS} sections" in PAGE


def sizes_of(curve: Curve) -> dict[str, int]:
    n8q, n8r = 8 * curve.fq.limbs, 8 * curve.fr.limbs
    return {"n8q": n8q, "n8r": n8r, "G1": 2 * n8q, "G2": 4 * n8q}


def check_table(layout: Layout, file: Path, counts: dict[str, int]) -> None:
    """Names are those of our messages; each formula gives the length of the file's section."""
    kind = layout.magic.decode()
    rows = table(chapter(f"{kind}, version {layout.version}"), "section")
    assert len(rows) >= 2
    there = SectionFile(file, layout).table
    assert sorted(there) == [int(row[0]) for row in rows]
    for number, name, formula, _ in rows:
        assert layout.sections[int(number)].name == name
        if formula.startswith("`"):
            assert there[int(number)][1] == eval(formula.strip("`"), {}, counts), (file, name)


@pytest.mark.parametrize("case", CASES)
def test_lengths_of_sections(case: str) -> None:
    """Of every vector; what the formulas count is what our readers find."""
    r1cs, witness = (VECTORS / case / name for name in ("circuit.r1cs", "witness.wtns"))
    circuit, key = read_r1cs(r1cs), read_zkey(VECTORS / case / "circuit.zkey")
    sizes = sizes_of(circuit.curve)
    entries = sum(len(matrix.wires) for matrix in (circuit.a, circuit.b, circuit.c))
    counts = {"constraints": circuit.n_constraints, "entries": entries, "wires": circuit.n_wires}
    check_table(R1CS, r1cs, sizes | counts)
    check_table(WTNS, witness, sizes | {"values": len(read_witness(witness).values)})
    counts = {"wires": key.n_wires, "public": key.n_public, "domain": key.domain_size}
    counts["coefficients"] = len(key.coefficients)
    check_table(ZKEY, VECTORS / case / "circuit.zkey", sizes | counts)


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_lengths_of_sections_of_powers_of_tau(curve: Curve) -> None:
    file = VECTORS / f"pot3_{curve.file_name}.ptau"
    check_table(PTAU, file, sizes_of(curve) | {"n": 1 << read_ptau(file).power})


@pytest.mark.parametrize("case", CASES)
def test_section_10_is_walked_to_its_end(case: str) -> None:
    """By the record that the page describes."""
    file = open_vector(f"{case}/circuit.zkey")
    g1 = sizes_of(read_zkey(VECTORS / case / "circuit.zkey").curve)["G1"]
    data = file.section(10).data.tobytes()
    (contributions,), at = struct.unpack_from("<I", data, 64), 68
    for _ in range(contributions):
        at += 3 * g1 + 2 * g1 + 64
        kind, length = struct.unpack_from("<II", data, at)
        at += 8
        parameters = data[at : at + length]
        at += length
        assert kind in (0, 1)
        while parameters:
            size = 2 if parameters[0] == 2 else 2 + parameters[1]
            assert parameters[0] in (1, 2, 3) and size <= len(parameters)
            parameters = parameters[size:]
    assert at == len(data)


def test_numbers_of_protocols_and_of_our_section() -> None:
    row = table(chapter("zkey"), "section")[0]
    assert row[3] == "u32: " + ", ".join(f"{n} {name}" for n, name in PROTOCOLS.items())
    assert f'id {RESEARCH} ("RSCH" as a u32)' in PAGE
    assert RESEARCH.to_bytes(4, "little") == b"RSCH"


def test_domains() -> None:
    rows = table(chapter("The quotient"), "file")
    assert rows
    for file, *counts in rows:
        constraints, public, domain = map(int, counts)
        key = read_zkey(VECTORS / file)
        assert (key.n_public, key.domain_size) == (public, domain)
        assert int(key.coefficients["constraint"].max()) == constraints + public
        assert domain_size(constraints, public) == domain


def test_roots_of_unity() -> None:
    rows = {name: (int(s), int(root)) for name, s, root in table(chapter("The quotient"), "curve")}
    assert set(rows) == {curve.name for curve in CURVES}
    for curve in CURVES:
        (s, root), r = rows[curve.name], curve.fr.modulus
        assert root == pow(5, (r - 1) >> s, r) == curve.fr.root_of_unity(s)
        assert s == curve.fr.two_adicity and pow(root, 1 << (s - 1), r) == r - 1


def test_json() -> None:
    """Limits, keys of real files in their order, and what stands for infinity."""
    rows = {name: (int(limit), keys) for name, limit, keys in table(chapter("JSON"), "file")}
    for name, module in (
        ("proof.json", proof_json),
        ("public.json", public_json),
        ("verification_key.json", vkey_json),
    ):
        limit, keys = rows.pop(name)
        assert limit == module.MAX_BYTES
        value = json.loads((VECTORS / "bn_mul2" / name).read_text())
        assert isinstance(value, list) or ", ".join(value) == keys
    assert not rows
    forms = {name: infinity for name, _, infinity in table(chapter("JSON"), "point")}
    for is_g2, name in enumerate(("G1", "G2")):
        assert json.loads(forms[name].strip("`")) == point_at_infinity(bool(is_g2))
    assert f'"{vkey_json.RESEARCH_MEMBER}": true' in PAGE
    assert (VECTORS / "bn_no_public" / "public.json").read_bytes() == b"[\n]"


def test_record_of_a_check() -> None:
    text = chapter("KEY.zkey.checked")
    names = [row[0] for row in table(text, "key")]
    fields = list(checked_record.CheckedRecord.__dataclass_fields__)
    assert names == ["format", *fields, "mac"]
    assert f"at most {checked_record.MAX_BYTES} bytes" in text
    assert f"| format | {checked_record.FORMAT} |" in text


def test_key_cache(tmp_path: Path) -> None:
    """The keys of a header, in order; where the arrays lie, and their checksums."""
    text, key = chapter("The key cache"), VECTORS / "bn_mul2" / "circuit.zkey"
    Prover(key, threads=1, key_cache=tmp_path).close()
    (path,) = tmp_path.glob("*.key")
    data = path.read_bytes()
    magic, version, length, crc32 = struct.unpack_from("<8sIII", data)
    header = data[20 : 20 + length]
    assert zlib.crc32(header) == crc32
    fields = json.loads(header)
    assert f'"{magic.decode()}" | u32 version = {version} |' in text
    assert ", ".join(fields) == ", ".join(row[0] for row in table(text, "key"))
    assert f'"{fields["layout"]}"' in text
    assert fields["sha256"] == hashlib.sha256(key.read_bytes()).hexdigest()
    at = 20 + length
    for array in fields["arrays"]:
        assert f"of each: {', '.join(array)} |" in text
        at = -(-at // 4096) * 4096
        size = math.prod(array["shape"]) * int(array["dtype"][2:])
        assert size <= key_cache.PIECE
        pieces = [zlib.crc32(data[at : at + size])] if size else []
        assert zlib.crc32(struct.pack(f"<{len(pieces)}I", *pieces)) == array["crc32"]
        at += size
    assert len(data) == -(-at // 4096) * 4096
    assert f"multiple of {key_cache.PAGE} bytes" in text
    assert f"pieces of {key_cache.PIECE} bytes" in text


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_power_of_the_pairing(curve: Curve) -> None:
    """snarkjs's vk_alphabeta_12 is our pairing to the power that the page states."""
    rows = {name: (int(t), power) for name, t, power in table(chapter("JSON"), "curve")}
    t, formula = rows[curve.name]
    assert t == curve.seed
    case = "bn_mul2" if curve == BN254 else "bls_mul2"
    file = VECTORS / case / "verification_key.json"
    key, expected = vkey_json.read_verifying_key(file), json.loads(file.read_text())
    power = eval(formula.strip("`"), {}, {"t": t})
    alpha = points.linear_combination(curve.g1, [key.alpha_g1], [power])
    value = pairing_product(curve, alpha[None], key.beta_g2[None])
    flat = [int(c) for half in expected["vk_alphabeta_12"] for pair in half for c in pair]
    assert [curve.fq.from_montgomery(c) for c in to_ints(value)] == flat
