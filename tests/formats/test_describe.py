"""`info`: the kind of every corpus file by content, and numbers that agree between files."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from snarkcuda.curve.params import BLS12_381
from snarkcuda.errors import FormatError
from snarkcuda.formats.describe import describe
from snarkcuda.formats.identify import file_kind

VECTORS = Path(__file__).parents[1] / "vectors"
CASES = sorted(p.name for p in VECTORS.iterdir() if p.is_dir() and not p.name.startswith("neg_"))
KINDS = {
    "circuit.zkey": "zkey",
    "witness.wtns": "wtns",
    "circuit.r1cs": "r1cs",
    "proof.json": "proof",
    "public.json": "public",
    "verification_key.json": "verification_key",
}


@pytest.mark.parametrize("case", CASES)
def test_kind_and_description(case: str, tmp_path: Path) -> None:
    """The kind does not come from the name; what several files tell, they tell alike."""
    told: dict[str, Any] = {}
    for name, kind in KINDS.items():
        nameless = tmp_path / "file"
        shutil.copy(VECTORS / case / name, nameless)
        assert file_kind(nameless) == kind
        told[kind] = describe(nameless)
        assert told[kind]["kind"] == kind
        json.dumps(told[kind])  # plain values only
    key, circuit = told["zkey"], told["r1cs"]
    assert key["wires"] == circuit["wires"] == told["wtns"]["values"]
    assert key["constraints"] == circuit["constraints"]
    public = circuit["outputs"] + circuit["public_inputs"]
    assert key["public"] == public == told["public"]["signals"]
    assert public == told["verification_key"]["public"]
    assert key["domain"] // 2 <= key["rows"] - 1 < key["domain"]
    curves = {told[kind]["curve"] for kind in KINDS.values() if kind != "public"}
    assert curves == {"bn254" if case.startswith("bn_") else "bls12_381"}
    fresh = {"bn_mul2_fresh", "bls_mul2_fresh", "bn_poseidon2_O1"}
    for kind in ("zkey", "verification_key"):
        assert bool(told[kind]["warnings"]) == (case in fresh)


@pytest.mark.parametrize(
    ("case", "infinite"),
    [
        ("bn_mul2", (0, 3, 3, 0, 0)),
        ("bn_linear_O0", (35, 38, 38, 0, 0)),
        ("bls_public_40", (1, 42, 42, 0, 0)),
        ("bn_poseidon2_O1", (275, 358, 358, 0, 0)),
    ],
)
def test_points_at_infinity(case: str, infinite: tuple[int, ...]) -> None:
    """As counted when the corpus was made."""
    told: Any = describe(VECTORS / case / "circuit.zkey")["points_at_infinity"]
    assert tuple(told[name] for name in ("A", "B1", "B2", "L", "H")) == infinite


def test_zero_and_one_are_counted() -> None:
    """bn_mul2_zero: the constant is 1, all else 0."""
    told = describe(VECTORS / "bn_mul2_zero" / "witness.wtns")
    assert (told["values"], told["zeros"], told["ones"]) == (4, 3, 1)


def test_section_table() -> None:
    """In the order of the file, with names; the sizes add up to the file."""
    path = VECTORS / "bn_mul2_fresh" / "circuit.zkey"
    table: Any = describe(path)["sections"]
    assert [entry["id"] for entry in table] == [1, 2, 4, 3, 9, 8, 5, 6, 7, 10]
    assert table[6]["name"] == "A query"
    assert 12 + sum(12 + entry["bytes"] for entry in table) == path.stat().st_size


def test_ptau(tmp_path: Path) -> None:
    """Curve and power come from the header."""
    q = BLS12_381.fq.modulus.to_bytes(48, "little")
    header = struct.pack("<I", 48) + q + struct.pack("<II", 10, 12)
    path = tmp_path / "pot.ptau"
    path.write_bytes(b"ptau" + struct.pack("<IIIQ", 1, 1, 1, len(header)) + header)
    assert describe(path) == {
        "kind": "ptau",
        "curve": "bls12_381",
        "power": 10,
        "ceremony_power": 12,
        "prepared_for_phase_2": False,
    }


@pytest.mark.parametrize("data", [b"", b" ", b"\x7fELF", b"{}", b"3", b'"x"', b"{", b"PK\3\4"])
def test_other_files(data: bytes, tmp_path: Path) -> None:
    """Named as none of ours."""
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(FormatError, match="file"):
        describe(path)


def test_nothing_here_imports_numba() -> None:
    """`info` starts fast."""
    code = "import sys, snarkcuda.formats.describe; sys.exit('numba' in sys.modules)"
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, timeout=60).returncode == 0
