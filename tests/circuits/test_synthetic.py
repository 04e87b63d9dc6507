"""Synthetic circuits: as large as asked, satisfied, the same everywhere, as described."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from snarkcuda.circuits.checks import check_r1cs
from snarkcuda.circuits.mimc_chain import mimc_chain
from snarkcuda.circuits.random_sparse import random_sparse
from snarkcuda.circuits.satisfied import first_unsatisfied
from snarkcuda.circuits.sha_like import sha_like
from snarkcuda.circuits.synthetic import Generated, share_of_bits
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.params import BLS12_381, BN254, CURVES, Curve
from snarkcuda.field.arrays import from_ints, to_ints
from snarkcuda.formats.r1cs import r1cs_chunks
from snarkcuda.formats.wtns import witness_chunks
from snarkcuda.groth16.keys import Witness
from tests.circuits.naive_circuit import lists, unsatisfied

Make = Callable[[Curve, int, str], Generated]
KINDS: list[Make] = [mimc_chain, sha_like, random_sparse]
kinds = pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
curves = pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(2) as pool:
        yield pool


def with_value(witness: Witness, wire: int, value: int) -> Witness:
    values = witness.values.copy()
    values[wire] = from_ints([value], 4)[0]
    return replace(witness, values=values)


@kinds
@curves
def test_every_small_size(pool: Pool, make: Make, curve: Curve) -> None:
    """Up to two cut units of each kind, and past the chunks of the kernels."""
    for n in [*range(1, 300), 4095, 4096, 4097]:
        r1cs, witness = make(curve, n, "seed")
        assert [len(m) for m in (r1cs.a, r1cs.b, r1cs.c)] == [n] * 3
        assert r1cs.n_outputs == 1 and r1cs.curve == curve
        assert r1cs.n_wires >= 1 + r1cs.n_public + r1cs.n_private_inputs
        assert first_unsatisfied(pool, r1cs, witness) is None


@kinds
@curves
@pytest.mark.parametrize("n", [1, 2, 3, 4, 97, 98, 292, 293, 294, 500])
def test_satisfied_by_definition(make: Make, curve: Curve, n: int) -> None:
    """And by no other output."""
    r1cs, witness = make(curve, n, "seed")
    assert unsatisfied(r1cs, witness) == []
    assert unsatisfied(r1cs, with_value(witness, 1, to_ints(witness.values)[1] ^ 1)) == [n - 1]


@kinds
def test_every_defined_wire_is_constrained(make: Make) -> None:
    """2 in the place of any value but an input's breaks a row: no wire is free."""
    r1cs, witness = make(BN254, 700, "seed")
    first = 2 + (0 if make is sha_like else r1cs.n_private_inputs)
    for wire in [1, *range(first, r1cs.n_wires, 7)]:
        assert unsatisfied(r1cs, with_value(witness, wire, 2)), f"wire {wire}"


@kinds
def test_seed_decides(make: Make) -> None:
    """Equal arguments, equal circuits; another seed, another witness."""
    one, again, other = (make(BN254, 300, seed) for seed in ("a", "a", "b"))
    assert one == again
    assert one[1] != other[1]


@pytest.mark.parametrize(
    ("make", "curve", "digest"),
    [
        (mimc_chain, BN254, "c7165e5cf4fb93dc"),
        (mimc_chain, BLS12_381, "fb4f86b7c01674bf"),
        (sha_like, BN254, "435bceac0410061b"),
        (sha_like, BLS12_381, "64fa55778007b2ed"),
        (random_sparse, BN254, "e7677d8d3acd47d2"),
        (random_sparse, BLS12_381, "2f2ac3afc466fa3c"),
    ],
)
def test_the_same_everywhere(make: Make, curve: Curve, digest: str) -> None:
    """The files' bytes are pinned: recorded benchmarks name a kind, a size and a seed."""
    r1cs, witness = make(curve, 1000, "snarkcuda")
    data = hashlib.sha256()
    for chunk in (*r1cs_chunks(r1cs), *witness_chunks(witness)):
        data.update(bytes(chunk))
    assert data.hexdigest()[:16] == digest


@kinds
@pytest.mark.parametrize("n", [0, -1])
def test_no_constraints(make: Make, n: int) -> None:
    with pytest.raises(ValueError, match=f"at least 1 constraint, not {n}"):
        make(BN254, n, "seed")


@curves
def test_mimc_chain_is_mimc(curve: Curve) -> None:
    """The output by the formula, from the inputs and the constants that stand in the rows."""
    r1cs, witness = mimc_chain(curve, 40, "seed")
    r, values = curve.fr.modulus, to_ints(witness.values)
    x, k = values[2:4]
    for row in lists(r1cs.a)[::4]:
        constants = [value for wire, value in row if wire == 0]
        x = pow(x + k + constants[0], 7, r)
    assert values[1] == x
    assert share_of_bits(witness) == 1 / len(values)  # the constant wire


@curves
def test_sha_like_is_bits(curve: Curve) -> None:
    r1cs, witness = sha_like(curve, 20_000, "seed")
    assert 0.98 < share_of_bits(witness) < 0.999
    values = to_ints(witness.values)
    assert 0.3 < sum(values[2:98]) / 96 < 0.7
    assert max(values[2:]) < 2**32 <= values[1] + 2**32
    booleans = sum(
        b == [(a[0][0], 1), (0, curve.fr.modulus - 1)] and not c
        for a, b, c in zip(*map(lists, (r1cs.a, r1cs.b, r1cs.c)), strict=True)
        if len(a) == 1
    )
    assert booleans / 20_000 == pytest.approx(66 / 196, abs=0.01)
    powers = {value for row in lists(r1cs.a) if len(row) == 128 for _, value in row}
    assert powers == {1 << i for i in range(32)}


@curves
def test_random_sparse_is_as_described(curve: Curve) -> None:
    n, r = 20_000, curve.fr.modulus
    r1cs, witness = random_sparse(curve, n, "seed")
    a, b, c = map(lists, (r1cs.a, r1cs.b, r1cs.c))
    for row in (*a, *b, *c):
        assert len({wire for wire, _ in row}) == len(row)
    for rows in (a, b):
        lengths = np.array([len(row) for row in rows])
        assert 0.05 < (lengths == 0).mean() < 0.08
        assert 0.1 < (lengths > 1).mean() < 0.4
        assert lengths.max() > 50
    assert [row[-1][0] for row in c[:-1]] == list(range(9, 8 + n)) and c[-1][-1] == (1, 1)

    entries = [entry for row in (*a, *b) for entry in row]
    assert 0.1 < sum(wire == 0 for wire, _ in entries) / len(entries) < 0.2
    used = {wire for wire, _ in entries}
    assert 1 not in used and n / 8 < r1cs.n_wires - len(used)
    coefficients = [value for _, value in entries]
    for is_kind in (
        lambda v: v == 1,
        lambda v: v == r - 1,
        lambda v: 1 < v < 256,
        lambda v: r - 256 < v < r - 1,
        lambda v: v >= 256 and v & (v - 1) == 0,
        lambda v: 2**200 < v < r - 2**200 and v & (v - 1),
    ):
        assert sum(map(is_kind, coefficients)) > len(entries) / 20
    assert share_of_bits(witness) < 0.02


@kinds
def test_they_pass_the_checks_of_circuits(make: Make) -> None:
    for n in (1, 1000):
        check_r1cs(make(BLS12_381, n, "seed")[0])
