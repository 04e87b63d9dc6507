"""arkworks-rs/circom-compat#35, #75, groth16#65: proofs from snarkjs keys never verified.

There are several ways from a·b − c to the H query. A circom key's point i is L_{2i+1}(τ)/δ on the
domain of twice the size, its root of unity a power of 5; any other reading gives false proofs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import snarkcuda.groth16.keys
from snarkcuda.curve.params import BLS12_381, BN254, CURVES, Curve
from snarkcuda.errors import UnsatisfiedError
from snarkcuda.formats.public_json import read_public
from snarkcuda.formats.vkey_json import read_verifying_key
from snarkcuda.groth16.prover import Prover
from snarkcuda.groth16.verify import verify
from tests import naive_groth16 as twin
from tests.naive_groth16 import CUBE, Setup, chain

VECTORS = Path(__file__).parents[1] / "vectors"
SMALL = ["bn_mul2", "bn_mul2_fresh", "bn_edw2mont", "bls_mul2", "bls_mul2_fresh", "bls_mux3"]
curves = pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)


@pytest.mark.parametrize("case", SMALL)
def test_snarkjs_key_and_witness(case: str) -> None:
    """The proof verifies with the key that snarkjs exported."""
    folder = VECTORS / case
    key = read_verifying_key(folder / "verification_key.json")
    with Prover(folder / "circuit.zkey") as prover:
        proved = prover.prove(folder / "witness.wtns", check=False)
    public = read_public(folder / "public.json", key.curve)
    assert proved.public == public
    assert verify(key, public, proved.proof)


def with_h(keys: Setup, exponents: Sequence[int]) -> object:
    """The key with another H query, given as exponents before the division by δ."""
    p = keys.curve.fr.modulus
    over_delta = pow(keys.waste.delta, -1, p)
    points = twin.times_generator(keys.curve.g1, [k * over_delta % p for k in exponents])
    return replace(keys.key, h_query=points)


def odd_lagrange(curve: Curve, n: int, tau: int, generator: int) -> list[int]:
    """L_{2i+1}(τ) on the domain of twice the size, roots of unity from `generator`."""
    p = curve.fr.modulus
    root = pow(generator, (p - 1) // (2 * n), p)
    factor = (pow(tau, 2 * n, p) - 1) * pow(2 * n, -1, p)
    return [
        factor * w * pow(tau - w, -1, p) % p for w in (pow(root, 2 * i + 1, p) for i in range(n))
    ]


@curves
def test_the_reduction_is_circoms(curve: Curve) -> None:
    """Odd Lagrange points prove; bellman's powers of τ and other roots of unity do not."""
    keys = twin.setup(curve, chain(14))
    n, tau, p = keys.key.domain_size, keys.waste.tau, curve.fr.modulus
    witness = twin.witness(curve, twin.assignment(keys.r1cs, curve, 3))
    with Prover(with_h(keys, odd_lagrange(curve, n, tau, 5))) as prover:
        assert prover.prove(witness).checked

    vanishing = pow(tau, n, p) - 1
    bellman = [pow(tau, i, p) * vanishing % p for i in range(n)]
    on_domain = twin.lagrange_at(curve, n, tau)
    others = {"bellman": bellman, "the domain itself": on_domain}
    if curve is BLS12_381:  # on BN254, 7 gives another root too, but nobody uses it there
        others["arkworks' root"] = odd_lagrange(curve, n, tau, 7)
    for exponents in others.values():
        with Prover(with_h(keys, exponents)) as prover, pytest.raises(UnsatisfiedError):
            prover.prove(witness)


@curves
def test_order_of_the_points(curve: Curve) -> None:
    """Turned by one place or reversed, the H query proves nothing."""
    keys = twin.setup(curve, CUBE)
    witness = twin.witness(curve, twin.assignment(CUBE, curve, 3))
    h = keys.key.h_query
    for changed in (h[::-1].copy(), h[[*range(1, len(h)), 0]]):
        other = replace(keys.key, h_query=changed)
        with Prover(other) as prover, pytest.raises(UnsatisfiedError):
            prover.prove(witness)


def test_the_documentation_says_which() -> None:
    """Where keys are described."""
    assert "L_{2i+1}(τ)/δ" in str(snarkcuda.groth16.keys.__doc__)


def test_command_line(run_cli: Callable, tmp_path: Path) -> None:
    """Files of snarkjs in, files out that snarkjs' key verifies."""
    assert BN254.file_name == "bn128"
    folder, proof, public = VECTORS / "bn_mul2", tmp_path / "proof.json", tmp_path / "public.json"
    ended = run_cli("prove", folder / "circuit.zkey", folder / "witness.wtns", proof, public)
    assert ended.code == 0
    assert public.read_bytes() == (folder / "public.json").read_bytes()
    assert run_cli("verify", folder / "verification_key.json", public, proof).code == 0
