"""h in both conventions against polynomials on Python integers."""

import random

import numpy as np
import pytest

from snarkcuda.cpu import ntt
from snarkcuda.cpu import quotient as cpu_quotient
from snarkcuda.cpu.pool import Pool
from snarkcuda.field import arrays
from snarkcuda.field.params import BLS12_381_FR, BN254_FR
from snarkcuda.kernels.field import device_field
from snarkcuda.kernels.ntt_plan import Transforms
from snarkcuda.kernels.quotient import bellman_quotient, bellman_transforms, circom_quotient
from tests.kernels.arrays_there import back, there

FIELDS = (BN254_FR, BLS12_381_FR)


def evaluations(field, log_n, seed):
    """a, b of any values and c = a·b on the domain, as a satisfied circuit has them."""
    draw, p, n = random.Random(f"{field.name} {seed}"), field.modulus, 1 << log_n
    a, b = ([draw.randrange(p) for _ in range(n)] for _ in range(2))
    a[0] = 0
    return a, b, [x * y % p for x, y in zip(a, b, strict=True)]


def coefficients(field, values):
    """The polynomial through the values on the domain, by the definition."""
    p, n = field.modulus, len(values)
    w = pow(field.root_of_unity(n.bit_length() - 1), -1, p)
    over_n = pow(n, -1, p)
    return [sum(v * pow(w, j * k, p) for j, v in enumerate(values)) * over_n % p for k in range(n)]


def product(p, a, b):
    found = [0] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            found[i + j] = (found[i + j] + x * y) % p
    return found


@pytest.mark.parametrize("log_n", [0, 1, 3, 5])
@pytest.mark.parametrize("field", FIELDS, ids=lambda f: f.name)
def test_bellman(device, arena, scope, stream, field, log_n) -> None:
    p, n = field.modulus, 1 << log_n
    abc = evaluations(field, log_n, "bellman")
    a, b, c = (coefficients(field, values) for values in abc)
    numerator = product(p, a, b)
    for i, value in enumerate(c):
        numerator[i] = (numerator[i] - value) % p
    # Long division by xⁿ − 1: the rest is 0, as the circuit is satisfied.
    h = [0] * n
    for i in range(len(numerator) - 1, n - 1, -1):
        h[i - n] = numerator[i]
        numerator[i - n] = (numerator[i - n] + numerator[i]) % p
    assert not any(numerator[:n]) and h[n - 1] == 0
    raw = [field.to_montgomery(v) for values in abc for v in values]
    array = there(arena, stream, raw, field.limbs)
    transforms = Transforms(scope, device_field(field), log_n)
    found = bellman_quotient(*bellman_transforms(transforms), arena, stream, array)
    assert back(stream, found, field.limbs) == h
    for each in (array, found):
        arena.free(each, stream)


@pytest.mark.parametrize("two_adicity", [None, "full"])
@pytest.mark.parametrize("field", FIELDS, ids=lambda f: f.name)
def test_circom(device, arena, scope, stream, field, two_adicity) -> None:
    """At the odd powers of a 2n-th root, or on the coset of 25 where there is none."""
    log_n, p = 5, field.modulus
    n = 1 << log_n
    domain = ntt.domain_of_size(field, n, log_n if two_adicity else None)
    abc = evaluations(field, log_n, "circom")
    a, b, c = (coefficients(field, values) for values in abc)
    expected = []
    for i in range(n):
        x = domain.shift * pow(domain.root, i, p) % p
        at = [sum(k * pow(x, j, p) for j, k in enumerate(each)) % p for each in (a, b, c)]
        expected.append((at[0] * at[1] - at[2]) % p)
    raw = [field.to_montgomery(v) for values in abc for v in values]
    array = there(arena, stream, raw, field.limbs)
    transforms = Transforms(scope, device_field(field), log_n)
    h = circom_quotient(transforms.to_coset(domain.shift), stream, array)
    assert back(stream, h, field.limbs) == expected
    with Pool(1) as pool:
        on_cpu = cpu_quotient.coset_quotient(
            pool, ntt.tables(pool, domain), arrays.from_ints(raw, 4).reshape(3, n, 4)
        )
    found = np.empty_like(on_cpu)
    stream.download(h, found)
    assert np.array_equal(found, on_cpu)
    arena.free(array, stream)
