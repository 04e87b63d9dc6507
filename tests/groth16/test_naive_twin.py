"""The product's proof with fixed r and s is the twin's, byte for byte.

Sizes are those of report arkworks-rs/groth16#60 (proofs invalid when the circuit fills its domain):
constraints + public + 1 one below, at and one above a power of two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from snarkcuda.cpu import resident_key as module
from snarkcuda.cpu.backend import CpuBackend
from snarkcuda.cpu.resident_key import ResidentKey
from snarkcuda.curve.params import CURVES, Curve
from snarkcuda.field.vector_type import has_vectors
from snarkcuda.groth16.keys import Proof
from snarkcuda.groth16.prove import prove_start
from snarkcuda.groth16.timeline import Timeline
from snarkcuda.groth16.verify import verify
from tests import naive_groth16 as twin
from tests.naive_groth16 import CUBE, LINEAR, MUL, NO_PUBLIC, ORPHANS, R1cs, Setup

curves = pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
circuits = pytest.mark.parametrize(
    "r1cs", [MUL, CUBE, NO_PUBLIC, ORPHANS, LINEAR], ids=lambda r1cs: r1cs.name
)
cosets = pytest.mark.parametrize("capped", [False, True], ids=["root of 2n", "shift 25"])
SIZES = [2**k + d for k in (3, 4, 5, 6) for d in (-1, 0, 1)]  # constraints + n_public + 1


@pytest.fixture(scope="module", params=["scalar", "vectors"])
def backend(request: pytest.FixtureRequest) -> Iterator[CpuBackend]:
    """Each path, whatever the circuit's size would choose."""
    if request.param == "vectors" and not has_vectors():
        pytest.skip("no AVX-512 IFMA: the scalar path is used")
    with pytest.MonkeyPatch.context() as patch, CpuBackend() as backend:
        patch.setattr(module, "VECTOR_ROWS", 1 if request.param == "vectors" else 1 << 40)
        yield backend


def load(backend: CpuBackend, keys: Setup, capped: bool) -> ResidentKey:
    """The key resident; with the two-adicity capped there is no root of order 2n."""
    log_n = keys.key.domain_size.bit_length() - 1
    return backend.load(keys.key, Timeline(), two_adicity=log_n if capped else None)


def proved(backend: CpuBackend, key: ResidentKey, z: Sequence[int], r: int, s: int) -> Proof:
    """The product's proof."""
    values = twin.witness(key.key.curve, z).values
    return prove_start(backend, key, values, r, s, Timeline()).finish()


def assert_same(ours: Proof, theirs: Proof) -> None:
    """Equal points."""
    for name in "abc":
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=name)


@curves
@circuits
@cosets
def test_every_circuit_with_edge_randomness(
    backend: CpuBackend, curve: Curve, r1cs: R1cs, capped: bool
) -> None:
    """Both r and s from 0, 1, r − 1 and in between; the proofs verify."""
    top = curve.fr.modulus - 1
    keys = twin.setup(curve, r1cs, capped=capped)
    key = load(backend, keys, capped)
    z = twin.assignment(r1cs, curve, 3, top - 4)
    assert r1cs.first_unsatisfied(z, curve.fr.modulus) is None
    for r, s in [(0, 0), (0, 1), (1, 0), (1, 1), (top, top), (top, 0), (0, top), (7, top // 3)]:
        ours = proved(backend, key, z, r, s)
        assert_same(ours, twin.prove(keys, z, r, s))
        assert verify(keys.verifying_key, z[1 : r1cs.n_public + 1], ours)


@curves
@cosets
@pytest.mark.parametrize("size", SIZES)
def test_circuits_that_fill_their_domain(
    backend: CpuBackend, curve: Curve, capped: bool, size: int
) -> None:
    """CHAIN(n) with n + 2 rows on either side of a power of two."""
    keys = twin.setup(curve, twin.chain(size - 2), capped=capped)
    assert keys.key.domain_size == 1 << (size - 1).bit_length()
    key = load(backend, keys, capped)
    z = twin.assignment(keys.r1cs, curve, 2 + size)
    assert_same(proved(backend, key, z, 5, 11), twin.prove(keys, z, 5, 11))


@curves
def test_edge_assignments(backend: CpuBackend, curve: Curve) -> None:
    """Factors 0, 1 and r − 1: sums of the MSMs that are infinity, scalars at the top."""
    top = curve.fr.modulus - 1
    keys = twin.setup(curve, MUL)
    key = load(backend, keys, False)
    for x, y in [(0, 0), (0, 5), (1, 1), (top, 1), (top, top), (1 << 253, 1 << 127)]:
        z = twin.assignment(MUL, curve, x, y)
        assert_same(proved(backend, key, z, 1, top), twin.prove(keys, z, 1, top))


@curves
def test_the_twin_itself(curve: Curve) -> None:
    """Its exponents satisfy the verifier's equation; a wrong assignment has no quotient."""
    for r1cs in (MUL, CUBE, NO_PUBLIC, ORPHANS, LINEAR, twin.chain(6)):
        keys = twin.setup(curve, r1cs)
        z = twin.assignment(r1cs, curve, 3, 4)
        public = z[1 : r1cs.n_public + 1]
        a, b, c = twin.prove_exponents(keys, z, 8, 9)
        assert twin.exponents_satisfy(keys, public, a, b, c)
        assert not twin.exponents_satisfy(keys, public, a, b, c + 1)
        wrong = [*z[:-1], (z[-1] + 1) % curve.fr.modulus]
        if r1cs is not ORPHANS:  # its last wire is free
            assert r1cs.first_unsatisfied(wrong, curve.fr.modulus) is not None
            with pytest.raises(ValueError, match="remainder"):
                twin.prove_exponents(keys, wrong, 8, 9)


@curves
def test_a_key_for_another_coset_proves_nothing(backend: CpuBackend, curve: Curve) -> None:
    """The H convention matters: a key made for shift 25 on the coset of the root of order 2n."""
    keys = twin.setup(curve, CUBE, capped=True)
    z = twin.assignment(CUBE, curve, 3)
    wrong = proved(backend, load(backend, keys, False), z, 5, 11)
    assert not verify(keys.verifying_key, z[1:2], wrong)
