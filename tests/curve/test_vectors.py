"""Known answers from public sources: zkcrypto's encodings, EIP-2537, EIP-196 and EIP-197.

The files are not part of the project; SNARKCUDA_VECTORS names a folder that has them (the table
FILES says which, and from where). Without it the tests skip, and each skip says how many cases.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snarkcuda.curve.pairing import is_one, pairing_product
from snarkcuda.curve.params import BLS12_381, BN254, Curve, Group
from snarkcuda.curve.points import (
    decode,
    encode,
    first_off_curve,
    first_outside_subgroup,
    linear_combination,
)

# File: number of cases. .dat: zkcrypto/bls12_381, src/tests; eip2537: ethereum/EIPs,
# assets/eip-2537, and ethereum/go-ethereum, core/vm/testdata/precompiles; bn254: the latter.
FILES = {
    "bls12_381_g1_uncompressed_valid_test_vectors.dat": 1000,
    "bls12_381_g1_compressed_valid_test_vectors.dat": 1000,
    "bls12_381_g2_uncompressed_valid_test_vectors.dat": 1000,
    "bls12_381_g2_compressed_valid_test_vectors.dat": 1000,
    "eip2537/add_G1_bls.json": 9,
    "eip2537/add_G2_bls.json": 9,
    "eip2537/mul_G1_bls.json": 11,
    "eip2537/mul_G2_bls.json": 11,
    "eip2537/msm_G1_bls_subset.json": 18,
    "eip2537/msm_G2_goethereum_subset.json": 24,
    "eip2537/pairing_check_bls.json": 15,
    "eip2537/fail-add_G1_bls.json": 7,
    "eip2537/fail-add_G2_bls.json": 7,
    "eip2537/fail-mul_G1_bls.json": 8,
    "eip2537/fail-mul_G2_bls.json": 8,
    "eip2537/fail-msm_G1_bls.json": 8,
    "eip2537/fail-msm_G2_bls.json": 8,
    "eip2537/fail-pairing_check_bls.json": 25,
    "bn254/bn256Add.json": 16,
    "bn254/bn256ScalarMul.json": 19,
    "bn254/bn256Pairing.json": 14,
}
MEMBERSHIP = {
    "invalid point: not on curve": "off curve",
    "g1 point is not in the correct subgroup": "outside subgroup",
    "g2 point is not in the correct subgroup": "outside subgroup",
}


def content(name: str) -> bytes:
    """A file of the vectors; skips where there is none."""
    folder = os.environ.get("SNARKCUDA_VECTORS")
    if not folder:
        pytest.skip(f"{FILES[name]} cases of {name}: SNARKCUDA_VECTORS is not set")
    path = Path(folder, name)
    if not path.is_file():
        pytest.skip(f"{FILES[name]} cases of {name}: no such file in SNARKCUDA_VECTORS")
    return path.read_bytes()


def cases(name: str) -> list[dict[str, Any]]:
    """The cases of a JSON file, their number checked."""
    found: list[dict[str, Any]] = json.loads(content(name))
    assert len(found) == FILES[name]
    return found


# --- zkcrypto ---------------------------------------------------------------------------------


def zcash_encoding(group: Group, point: Any, compressed: bool) -> bytes:
    """Big-endian, c1 before c0; the first byte's top bits: compressed, infinity, larger y."""
    q, n = BLS12_381.fq.modulus, 48 * group.field.level

    def number(coordinate: Any) -> int:
        c0, c1 = coordinate if group.is_g2 else (coordinate, 0)
        return int(c0) + (int(c1) << 384)

    if point is None:
        body, flags = bytes(n if compressed else 2 * n), 0x40
    else:
        x, y = point
        opposite = tuple(-c % q for c in y) if group.is_g2 else -y % q
        body = number(x).to_bytes(n, "big")
        flags = 0x20 if compressed and number(y) > number(opposite) else 0
        if not compressed:
            body += number(y).to_bytes(n, "big")
    return bytes([body[0] | flags | (0x80 if compressed else 0)]) + body[1:]


@pytest.mark.parametrize("compressed", [False, True], ids=["uncompressed", "compressed"])
@pytest.mark.parametrize("group", [BLS12_381.g1, BLS12_381.g2], ids=["g1", "g2"])
def test_encodings_of_the_first_thousand_multiples(group: Group, compressed: bool) -> None:
    """0·G … 999·G: each as a multiple; G added to each is the next."""
    kind = "compressed" if compressed else "uncompressed"
    name = f"bls12_381_{group.name.partition('.')[2]}_{kind}_valid_test_vectors.dat"
    data = content(name)
    size = len(data) // FILES[name]
    rows = list(encode(group, [group.generator]))
    multiples = np.stack([linear_combination(group, rows, [k]) for k in range(FILES[name])])
    for k, point in enumerate(decode(group, multiples)):
        assert zcash_encoding(group, point, compressed) == data[k * size : (k + 1) * size], k
    for k in range(0, FILES[name] - 1, 7):
        following = linear_combination(group, [multiples[k], rows[0]], [1, 1])
        np.testing.assert_array_equal(following, multiples[k + 1])
    assert first_off_curve(group, multiples) is None
    assert first_outside_subgroup(BLS12_381, group, multiples) is None


# --- Ethereum ---------------------------------------------------------------------------------


class Reader:
    """Takes points and scalars off an Ethereum precompile's input, which is hexadecimal."""

    def __init__(self, curve: Curve, text: str) -> None:
        self.curve, self.data = curve, bytes.fromhex(text)
        self.width = 64 if curve == BLS12_381 else 32

    def number(self, width: int) -> int:
        """A big-endian integer; input that is short reads as zeros (EIP-196)."""
        head, self.data = self.data[:width], self.data[width:]
        return int.from_bytes(head.ljust(width, b"\0"), "big")

    def point(self, group: Group) -> Any:
        """Affine integers, None for infinity; EIP-197 has c1 first, EIP-2537 c0."""
        numbers = [self.number(self.width) for _ in range(2 * group.field.level)]
        if not any(numbers):
            return None
        if not group.is_g2:
            return tuple(numbers)
        pairs = [tuple(numbers[:2]), tuple(numbers[2:])]
        return tuple(pair[::-1] for pair in pairs) if self.curve == BN254 else tuple(pairs)

    def terms(self, group: Group, scalars: bool) -> tuple[list[Any], list[int]]:
        """Points, each with a scalar if there are scalars (else 1)."""
        chosen, factors = [], []
        while self.data:
            chosen.append(self.point(group))
            factors.append(self.number(32) if scalars else 1)
        return chosen, factors


def expected(curve: Curve, group: Group, case: dict[str, Any]) -> Any:
    """The case's result."""
    return Reader(curve, case["Expected"]).point(group)


SUMS = [
    ("eip2537/add_G1_bls.json", BLS12_381, BLS12_381.g1, False),
    ("eip2537/add_G2_bls.json", BLS12_381, BLS12_381.g2, False),
    ("eip2537/mul_G1_bls.json", BLS12_381, BLS12_381.g1, True),
    ("eip2537/mul_G2_bls.json", BLS12_381, BLS12_381.g2, True),
    ("eip2537/msm_G1_bls_subset.json", BLS12_381, BLS12_381.g1, True),
    ("eip2537/msm_G2_goethereum_subset.json", BLS12_381, BLS12_381.g2, True),
]


@pytest.mark.parametrize("name, curve, group, scalars", SUMS, ids=[row[0] for row in SUMS])
def test_sums(name: str, curve: Curve, group: Group, scalars: bool) -> None:
    """Additions, multiples and MSMs of EIP-2537; only the latter two check subgroups."""
    for case in cases(name):
        chosen, factors = Reader(curve, case["Input"]).terms(group, scalars)
        rows = encode(group, chosen)
        assert first_off_curve(group, rows) is None
        if scalars:
            assert first_outside_subgroup(curve, group, rows) is None
        found = linear_combination(group, list(rows), factors)
        assert decode(group, found[None]) == [expected(curve, group, case)], case["Name"]


def test_bn254_sums_and_multiples() -> None:
    """EIP-196: input is cut or padded to two points, or to a point and a scalar."""
    group = BN254.g1
    for name, scalars in (("bn254/bn256Add.json", False), ("bn254/bn256ScalarMul.json", True)):
        for case in cases(name):
            reader = Reader(BN254, case["Input"])
            chosen = [reader.point(group)]
            factors = [reader.number(32)] if scalars else [1, 1]
            if not scalars:
                chosen.append(reader.point(group))
            rows = encode(group, chosen)
            assert first_off_curve(group, rows) is None
            found = linear_combination(group, list(rows), factors)
            assert decode(group, found[None]) == [expected(BN254, group, case)], case["Name"]


@pytest.mark.parametrize(
    "name, curve",
    [("eip2537/pairing_check_bls.json", BLS12_381), ("bn254/bn256Pairing.json", BN254)],
    ids=["bls12_381", "bn254"],
)
def test_pairing_checks(name: str, curve: Curve) -> None:
    """Products that are 1 and products that are not."""
    answers = set()
    for case in cases(name):
        reader, g1, g2 = Reader(curve, case["Input"]), [], []
        while reader.data:
            g1.append(reader.point(curve.g1))
            g2.append(reader.point(curve.g2))
        rows1, rows2 = encode(curve.g1, g1), encode(curve.g2, g2)
        for group, rows in ((curve.g1, rows1), (curve.g2, rows2)):
            assert first_off_curve(group, rows) is None
            assert first_outside_subgroup(curve, group, rows) is None
        answer = is_one(curve, pairing_product(curve, rows1, rows2))
        assert answer == bool(int(case["Expected"], 16)), case["Name"]
        answers.add(answer)
    assert answers == {True, False}


@pytest.mark.parametrize("name", [name for name in FILES if "/fail-" in name])
def test_points_that_must_be_refused(name: str) -> None:
    """Every case that fails for curve or subgroup membership fails for that reason here.

    Cases about lengths and field encodings are the readers' affair, in their own formats.
    """
    checked = 0
    for case in cases(name):
        reason = MEMBERSHIP.get(case["ExpectedError"])
        if reason is None:
            continue
        reader, found = Reader(BLS12_381, case["Input"]), set()
        while reader.data:
            if "pairing" in name:
                kinds = [BLS12_381.g1, BLS12_381.g2]
            else:
                kinds = [BLS12_381.g2 if "G2" in name else BLS12_381.g1]
            for group in kinds:
                rows = encode(group, [reader.point(group)])
                if first_off_curve(group, rows) == 0:
                    found.add("off curve")
                elif first_outside_subgroup(BLS12_381, group, rows) == 0:
                    found.add("outside subgroup")
            if "mul" in name or "msm" in name:
                reader.number(32)
        assert found == {reason}, case["Name"]
        checked += 1
    assert checked >= 2
