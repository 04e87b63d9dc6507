"""Powers of tau: what is read lies where the format says, and what is broken is refused by name."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from snarkcuda.curve.pairing import is_one, pairing_product
from snarkcuda.curve.params import BLS12_381, BN254, Curve
from snarkcuda.curve.points import encode, linear_combination
from snarkcuda.errors import FormatError, MismatchError, NotInFieldError
from snarkcuda.formats.ptau import (
    ALPHA_TAU_G1,
    BETA_G2,
    BETA_TAU_G1,
    TAU_G1,
    TAU_G2,
    PowersOfTau,
    check_fits,
    odd_lagrange,
    read_ptau,
)

VECTORS = Path(__file__).parents[1] / "vectors"
FILES = {BN254: VECTORS / "pot3_bn128.ptau", BLS12_381: VECTORS / "pot3_bls12381.ptau"}
curves = pytest.mark.parametrize("curve", FILES, ids=lambda curve: curve.name)


def combine(curve: Curve, section_points: np.ndarray, scalars: list[int]) -> np.ndarray:
    group = curve.g2 if section_points.ndim == 4 else curve.g1
    return linear_combination(group, list(section_points), scalars)


@curves
def test_sizes_and_first_points(curve: Curve) -> None:
    powers = read_ptau(FILES[curve])
    assert (powers.curve, powers.power) == (curve, 3)
    assert np.array_equal(powers.points(TAU_G1, 0, 1), encode(curve.g1, [curve.g1_generator]))
    assert np.array_equal(powers.points(TAU_G2, 0, 1), encode(curve.g2, [curve.g2_generator]))
    assert powers.points(TAU_G1, 14, 1).any()


@curves
def test_the_powers_are_powers(curve: Curve) -> None:
    """e([τⁱ⁺¹]₁, [1]₂) = e([τⁱ]₁, [τ]₂), and so for α and β."""
    powers = read_ptau(FILES[curve])
    g2 = encode(curve.g2, [curve.g2_generator])[0]
    tau_g2 = powers.points(TAU_G2, 1, 1)[0]
    for section, count in ((TAU_G1, 15), (ALPHA_TAU_G1, 8), (BETA_TAU_G1, 8)):
        points = powers.points(section, 0, count)
        for i in range(count - 1):
            minus = linear_combination(curve.g1, [points[i + 1]], [-1])
            g1 = np.stack([minus, points[i]])
            assert is_one(curve, pairing_product(curve, g1, np.stack([g2, tau_g2]))), (section, i)
    beta_g2 = powers.points(BETA_G2, 0, 1)[0]
    minus = linear_combination(curve.g1, [powers.points(BETA_TAU_G1, 0, 1)[0]], [-1])
    g1 = np.stack([minus, encode(curve.g1, [curve.g1_generator])[0]])
    assert is_one(curve, pairing_product(curve, g1, np.stack([g2, beta_g2])))


@curves
@pytest.mark.parametrize("log_n", [0, 1, 2, 3])
def test_levels_are_the_lagrange_basis(curve: Curve, log_n: int) -> None:
    """Σᵢ ω^(ij)·[Lᵢ(τ)] = [τʲ] for j < n, which determines them."""
    powers, n = read_ptau(FILES[curve]), 1 << log_n
    p, root = curve.fr.modulus, curve.fr.root_of_unity(log_n)
    for section in (TAU_G1, TAU_G2, ALPHA_TAU_G1, BETA_TAU_G1):
        level, monomials = powers.lagrange(section, log_n), powers.points(section, 0, n)
        for j in range(n):
            scalars = [pow(root, i * j, p) for i in range(n)]
            assert np.array_equal(combine(curve, level, scalars), monomials[j]), (section, j)


@curves
@pytest.mark.parametrize("log_n", [1, 2, 3])
def test_odd_points_of_twice_the_domain(curve: Curve, log_n: int) -> None:
    """h = Σᵢ (x^k at the odd roots)·[L_{2i+1}(τ)] for the multiples of xⁿ − 1: [τ^(n+k) − τᵏ]."""
    powers, n = read_ptau(FILES[curve]), 1 << log_n
    p, root = curve.fr.modulus, curve.fr.root_of_unity(log_n + 1)
    odd, tau = odd_lagrange(powers, log_n, curve.fr.two_adicity), powers.points(TAU_G1, 0, 15)
    for k in range(n - 1):
        odd_roots = [pow(root, 2 * i + 1, p) for i in range(n)]
        values = [(pow(x, n + k, p) - pow(x, k, p)) % p for x in odd_roots]
        expected = linear_combination(curve.g1, [tau[n + k], tau[k]], [1, -1])
        assert np.array_equal(combine(curve, odd, values), expected)


def test_without_a_domain_of_twice_the_size() -> None:
    """The second half of the level above, where snarkjs stores the shifted coset's basis."""
    powers = read_ptau(FILES[BN254])
    level = powers.points(12, 15, 16)
    assert np.array_equal(odd_lagrange(powers, 3, two_adicity=3), level[8:])
    assert np.array_equal(odd_lagrange(powers, 3, two_adicity=4), level[1::2])


def test_bytes_after_a_section() -> None:
    powers = read_ptau(FILES[BN254])
    entry = powers.bytes_after(TAU_G1, 12)
    assert entry == struct.pack("<IQ", 3, 8 * 128)
    last = max(powers.file.table, key=lambda number: powers.file.table[number])
    assert powers.bytes_after(last, 12) == b""


def altered(path: Path, edit: dict[int, bytes], tmp_path: Path) -> Path:
    data = bytearray(path.read_bytes())
    for offset, patch in edit.items():
        data[offset : offset + len(patch)] = patch
    (tmp_path / "altered.ptau").write_bytes(data)
    return tmp_path / "altered.ptau"


def test_a_file_that_is_not_prepared(tmp_path: Path) -> None:
    data = FILES[BN254].read_bytes()
    powers = read_ptau(FILES[BN254])
    end = min(offset for number, (offset, _) in powers.file.table.items() if number >= 12) - 12
    unprepared = data[:8] + struct.pack("<I", 7) + data[12:end]
    (tmp_path / "raw.ptau").write_bytes(unprepared)
    with pytest.raises(FormatError, match="powersoftau prepare phase2"):
        read_ptau(tmp_path / "raw.ptau")


def test_a_power_that_does_not_fit_the_sections(tmp_path: Path) -> None:
    offset, length = read_ptau(FILES[BN254]).file.table[1]
    at = offset + length - 8
    for power in (2, 4, 28):
        path = altered(FILES[BN254], {at: struct.pack("<I", power)}, tmp_path)
        with pytest.raises(FormatError, match=rf"section 2 .* for 2\^{power} rows"):
            read_ptau(path)
    for power in (29, 64, 0xFFFFFFFF):
        path = altered(FILES[BN254], {at: struct.pack("<I", power)}, tmp_path)
        with pytest.raises(FormatError, match=rf"power {power}; bn254 has .* 2\^28"):
            read_ptau(path)


def test_a_coordinate_that_is_not_canonical(tmp_path: Path) -> None:
    offset, _ = read_ptau(FILES[BN254]).file.table[12]
    path = altered(FILES[BN254], {offset + 64 * 7 + 32: b"\xff" * 32}, tmp_path)
    powers = read_ptau(path)  # slices are checked when they are asked for
    assert len(powers.lagrange(TAU_G1, 2)) == 4
    with pytest.raises(NotInFieldError, match=r"coordinate y of point 0 .* not below q"):
        powers.lagrange(TAU_G1, 3)


def test_which_circuits_it_serves() -> None:
    powers: PowersOfTau = read_ptau(FILES[BN254])
    check_fits(powers, BN254, 8, "c.r1cs")
    with pytest.raises(MismatchError, match=r"c.r1cs needs 2\^4 rows but .* at most 2\^3"):
        check_fits(powers, BN254, 16, "c.r1cs")
    with pytest.raises(MismatchError, match=r"is over bls12_381 but .* is over bn254"):
        check_fits(powers, BLS12_381, 8, "c.r1cs")


@curves
def test_every_section_is_needed(curve: Curve, tmp_path: Path) -> None:
    """A section under another number is a section that is not there."""
    data = FILES[curve].read_bytes()
    table: dict[int, tuple[int, int]] = read_ptau(FILES[curve]).file.table
    for number in (1, 2, 3, 4, 5, 6, 12, 13, 14, 15):
        at = table[number][0] - 12
        (tmp_path / "cut.ptau").write_bytes(data[:at] + struct.pack("<I", 99) + data[at + 4 :])
        with pytest.raises(FormatError, match=rf"section {number} |prepare phase2"):
            read_ptau(tmp_path / "cut.ptau")
