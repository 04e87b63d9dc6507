"""Transforms on a device against direct evaluation, and against the CPU's bit for bit."""

import random

import numpy as np
import pytest

from snarkcuda.bench.operations.ntt import barycentric_weights
from snarkcuda.circuits.synthetic import draw_elements
from snarkcuda.cpu import ntt
from snarkcuda.cpu.pool import Pool
from snarkcuda.field import arrays
from snarkcuda.field.params import BLS12_381_FR, BN254_FR
from snarkcuda.field.vector_type import has_vectors
from snarkcuda.kernels.field import device_field
from snarkcuda.kernels.ntt_plan import Transforms, split
from snarkcuda.kernels.target import simulated
from tests.kernels.arrays_there import back, there

FIELDS = (BN254_FR, BLS12_381_FR)
SPLITS = [(), (1,), (2,), (3,), (4,), (2, 3), (3, 2), (1, 2, 3), (4, 3)]
COLUMNS = 1  # two lines a block: the simulator runs a Python thread for each of CUDA's


def reversed_bits(i: int, log_n: int) -> int:
    return int(f"{i:0{log_n}b}"[::-1], 2) if log_n else 0


def direct(p: int, root: int, values: list[int]) -> list[int]:
    """Σ x_j·root^(jk) for every k: Horner's rule."""
    found = []
    for k in range(len(values)):
        point, total = pow(root, k, p), 0
        for value in reversed(values):
            total = (total * point + value) % p
        found.append(total)
    return found


@pytest.mark.parametrize("splitting", SPLITS, ids=str)
@pytest.mark.parametrize("field", FIELDS, ids=lambda f: f.name)
def test_against_direct_evaluation(device, arena, scope, stream, field, splitting) -> None:
    log_n = sum(splitting)
    n, p, draw = 1 << log_n, field.modulus, random.Random(f"{field.name} {splitting}")
    polynomials = [[draw.randrange(p) for _ in range(n)] for _ in range(3)]
    polynomials[2][0] = p - 1
    given = [field.to_montgomery(v) for values in polynomials for v in values]
    transforms = Transforms(scope, device_field(field), log_n, splitting)
    root, over_n = field.root_of_unity(log_n), pow(n, -1, p)

    def after(transform, raw):
        x = there(arena, stream, raw, field.limbs)
        transform.run(stream, x, COLUMNS)
        found = [field.from_montgomery(v) for v in back(stream, x, field.limbs)]
        arena.free(x, stream)
        return [found[i : i + n] for i in range(0, 3 * n, n)]

    order = [reversed_bits(k, log_n) for k in range(n)]
    for inverse in (False, True):
        w = pow(root, -1 if inverse else 1, p)
        expected = [direct(p, w, values) for values in polynomials]
        found = after(transforms.to_reversed(inverse), given)
        assert [[row[i] for i in order] for row in found] == expected
        shifted = [[given[b * n + i] for i in order] for b in range(3)]
        found = after(transforms.to_natural(inverse), [v for row in shifted for v in row])
        assert found == expected
    shift, scale = 25, 7 * over_n % p
    scaled = after(transforms.to_reversed(True, scale, shift), given)
    for row, values in zip(scaled, polynomials, strict=True):
        coefficients = direct(p, pow(root, -1, p), values)
        assert [row[i] for i in order] == [
            c * scale * pow(shift, k, p) % p for k, c in enumerate(coefficients)
        ]


@pytest.mark.parametrize("log_n", range(8) if simulated() else range(21))
@pytest.mark.parametrize("field", FIELDS, ids=lambda f: f.name)
def test_coset_as_on_the_cpu(device, arena, scope, stream, field, log_n) -> None:
    domain = ntt.domain_of_size(field, 1 << log_n)
    x = draw_elements(field, "coset", field.name, 3 << log_n).reshape(3, -1, field.limbs)
    there_ = arena.upload(x, stream)
    transforms = Transforms(scope, device_field(field), log_n)
    columns = COLUMNS if simulated() else None
    transforms.to_coset(domain.shift).run(stream, there_, columns)
    found = np.empty_like(x)
    stream.download(there_, found)
    with Pool(2) as pool:
        ntt.to_coset(pool, ntt.tables(pool, domain), x)
    wrong = [
        i
        for i, (a, b) in enumerate(zip(arrays.to_ints(found), arrays.to_ints(x), strict=True))
        if (a - b) % field.modulus
    ]
    assert not wrong
    arena.free(there_, stream)


def plus_modulus(field, rows):
    """Each row plus p, on limbs."""
    found, carry = np.empty_like(rows), np.zeros(len(rows), dtype=np.uint64)
    for j, limb in enumerate(arrays.from_ints([field.modulus], field.limbs)[0]):
        total = rows[:, j] + limb
        found[:, j] = total + carry
        carry = ((total < limb) | (found[:, j] < total)).astype(np.uint64)
    return found


@pytest.mark.gpu
@pytest.mark.timeout(600)
@pytest.mark.parametrize("log_n", range(21, 28))
@pytest.mark.parametrize("field", FIELDS, ids=lambda f: f.name)
def test_large(device, arena, scope, stream, field, log_n) -> None:
    """One polynomial to its coset, as on the CPU; there and back gives what was given."""
    n = 1 << log_n
    some = draw_elements(field, "large", field.name, 1 << 20)
    x = np.tile(some, (n >> 20, 1))
    x[:, 0] ^= np.arange(n, dtype=np.uint64) >> np.uint64(20)  # no period
    array = arena.upload(x, stream)
    transforms = Transforms(scope, device_field(field), log_n)
    over_n = pow(n, -1, field.modulus)
    found = np.empty_like(x)

    def is_in_place_of(expected) -> bool:
        """Equal, or p more where registers hold values below 2p."""
        stream.download(array, found)
        wrong = (found != expected).any(axis=1)
        return np.array_equal(found[wrong], plus_modulus(field, expected[wrong]))

    transforms.to_reversed(inverse=True, scale=over_n).run(stream, array)
    transforms.to_natural().run(stream, array)
    assert is_in_place_of(x)
    domain = ntt.domain_of_size(field, n)
    transforms.to_coset(domain.shift).run(stream, array)
    with Pool() as pool:
        ntt.to_coset(pool, ntt.tables(pool, domain, has_vectors()), x.reshape(1, n, field.limbs))
    assert is_in_place_of(x)
    arena.free(array, stream)


def test_another_stream_waits_for_the_tables(device, arena, scope) -> None:
    """It waits for them, and their own stream does not."""
    field, log_n = BN254_FR, 3
    to_coset = Transforms(scope, device_field(field), log_n).to_coset(25)
    x = scope.upload(draw_elements(field, "waits", "x", 1 << log_n))
    waits: list[tuple[object, object]] = []

    other = device.stream()
    for stream in (other, scope.stream):
        stream.wait_for = lambda event, stream=stream: waits.append((stream, event))
    to_coset.run(other, x, COLUMNS)
    to_coset.run(scope.stream, x, COLUMNS)
    assert waits == [(other, to_coset.ready)]


def test_splits() -> None:
    """As few passes as can be, none over nine levels; 2^27 in three."""
    for log_n in range(28):
        levels = split(log_n)
        assert sum(levels) == log_n and all(0 < k <= 9 for k in levels)
        assert len(levels) == -(-log_n // 9)
    assert split(27) == (9, 9, 9) and split(20) == (6, 6, 8)


def test_levels_of_another_size(arena, scope, stream) -> None:
    with pytest.raises(ValueError, match=r"are not those of 2\^4"):
        Transforms(scope, device_field(BN254_FR), 4, (2, 3))


def test_barycentric_weights_are_another_way(device, arena, scope, stream) -> None:
    """A point of the coset, by a formula that shares nothing with transforms."""
    field, log_n = BN254_FR, 6
    domain = ntt.domain_of_size(field, 1 << log_n)
    x = draw_elements(field, "weights", "x", 1 << log_n)
    array = arena.upload(x, stream)
    transforms = Transforms(scope, device_field(field), log_n)
    transforms.to_coset(domain.shift).run(stream, array, COLUMNS)
    found = back(stream, array, field.limbs)
    z = domain.shift * pow(domain.root, 5, field.modulus) % field.modulus
    weights = barycentric_weights(domain, z)
    products = (w * v for w, v in zip(weights, arrays.to_ints(x), strict=True))
    assert (found[5] - sum(products)) % field.modulus == 0
    arena.free(array, stream)
