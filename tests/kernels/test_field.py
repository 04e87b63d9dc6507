"""Every operation of a field in a kernel, against Python integers, in each arithmetic."""

import random

import pytest

from snarkcuda.curve.params import CURVES
from snarkcuda.errors import DeviceError
from snarkcuda.field.naive import canonical, naive
from snarkcuda.field.params import FIELDS, Field, PrimeField, prime_of
from snarkcuda.kernels.field import DeviceField, device_field
from snarkcuda.kernels.operations import field_chain, field_operations
from snarkcuda.kernels.target import simulated
from tests.kernels.arrays_there import back, montgomery, there, values

ARITHMETICS = ("ints", "limbs") if simulated() else ("ptx", "limbs")
ALL = [*FIELDS, *(curve.g2.field for curve in CURVES)]
RANDOM = 12 if simulated() else 20_000


def elements(field: Field, seed: str):
    """Edges (0, 1, p − 1, limbs of ones) and random elements."""
    prime, draw = prime_of(field), random.Random(seed)
    p = prime.modulus
    over = prime.montgomery_inverse
    # As they lie in memory: 0, 1, the highest limb alone, all limbs but the highest, p − 1.
    raw = [0, 1, 1 << (p.bit_length() - 1), (1 << (p.bit_length() - 1)) - 1, p - 1, 1 << 32]
    plain = [value * over % p for value in raw] + [1, p - 1, (p + 1) // 2]
    plain += [draw.randrange(p) for _ in range(RANDOM)]
    if isinstance(field, PrimeField):
        return [naive(field, value) for value in plain]
    others = plain[1:] + plain[:1]
    return [naive(field, pair) for pair in zip(plain, others, strict=True)] + [
        naive(field, (0, 0)),
        naive(field, (0, 1)),
    ]


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("field", ALL, ids=lambda f: f.name)
def test_operations(device, arena, stream, field, arithmetic) -> None:
    F = device_field(field, arithmetic, calls=field.level == 2)
    a = elements(field, "a")
    b = elements(field, "b")[::-1]
    edges = min(len(a), 9)
    pairs = [(x, y) for x in a[:edges] for y in a[:edges]][:: 1 if not simulated() else 5]
    a, b = a + [x for x, _ in pairs], b + [y for _, y in pairs]
    n, limbs = len(a), F.prime.limbs
    out = arena.allocate(10 * n * F.words, stream)
    inputs = [there(arena, stream, montgomery(column), limbs) for column in (a, b)]
    threads = 8 if simulated() else 128
    field_operations(F).launch(stream, -(-n // threads), threads, out, *inputs, n)
    raw = back(stream, out, limbs)
    found = values(field, raw)
    for i, (x, y) in enumerate(zip(a, b, strict=True)):
        seven, zero, one = x.constant(7), x.constant(0), x.constant(1)
        square = x.sqr() if field.level == 1 else x * x
        expected = [
            x + y, x - y, x * y, -x, square, x * y - y * (x + seven),
            one if (x - y).is_zero() else zero, y if x.is_zero() else x, x, zero,
        ]  # fmt: skip
        assert found[10 * i : 10 * i + 10] == [canonical(e) for e in expected], (i, x, y)
    # Registers may hold values below 2p where 4p < R; what is stored canonical is below p.
    most = 2 * F.prime.modulus if arithmetic == "ptx" else F.prime.modulus
    assert max(raw) < most
    level = field.level
    for i in range(n):
        for row in (8, 9):
            part = raw[(10 * i + row) * level : (10 * i + row + 1) * level]
            assert all(value < F.prime.modulus for value in part)
    for array in (out, *inputs):
        arena.free(array, stream)


@pytest.mark.parametrize("operation", ["mul", "sqr", "add"])
@pytest.mark.parametrize("field", FIELDS, ids=lambda f: f.name)
def test_chains(device, arena, stream, field, operation) -> None:
    """What the bench times is what it says."""
    F, steps, n = device_field(field), 3, 8
    a = elements(field, "chain")[: n + 1]
    out = arena.allocate(n * F.words, stream)
    given = there(arena, stream, montgomery(a), field.limbs)
    field_chain(F, operation).launch(stream, 1, n, out, given, steps)
    found = values(field, back(stream, out, field.limbs))
    for i in range(n):
        x, y = a[i], a[i + 1]
        for _ in range(steps):
            if operation == "sqr":
                x = x.sqr().sqr()
            elif operation == "mul":
                x = x * y
                y = y * x
            else:
                x = x + y
                y = y + x
        assert found[i] == canonical(x)


def test_arithmetic_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="one of ptx, limbs, ints"):
        DeviceField(FIELDS[0], "floats")
    with pytest.raises(DeviceError, match="does not run on"):
        DeviceField(FIELDS[0], "ptx" if simulated() else "ints")
    with pytest.raises(ValueError, match="no chain of 'div'"):
        field_chain(device_field(FIELDS[0]), "div")
