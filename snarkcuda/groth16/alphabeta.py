"""`vk_alphabeta_12` of a verification_key.json: e(α, β) as snarkjs writes it.

Verifiers do not need it (ours ignores it, and so does `snarkjs groth16 verify`); it is written so
that an exported key is the text that snarkjs exports. snarkjs's pairing is a fixed power of the
exact one, by a factor of the final exponent that r does not divide:

    BN254       2t·(6t² + 3t + 1)    Fuentes-Castañeda, Knapp and Rodríguez-Henríquez 2011
    BLS12-381   3

Source: wasmcurves, which snarkjs uses: build_bn128.js and build_bls12381.js.
"""

from __future__ import annotations

from snarkcuda.curve import points
from snarkcuda.curve.pairing import pairing_product
from snarkcuda.curve.params import Curve
from snarkcuda.field.arrays import to_ints
from snarkcuda.groth16.keys import VerifyingKey

Fq12Value = list[list[list[str]]]


def alphabeta_12(key: VerifyingKey) -> Fq12Value:
    """The value of `vk_alphabeta_12`.

    Args:
        key: a key whose points have been checked (`checks.check_verifying_key`).

    Returns:
        The coefficients in decimal, nested 2 × 3 × 2: of w, of v, of u, that of 1 first in each
        (Fq12 = Fq6[w], Fq6 = Fq2[v], Fq2 = Fq[u]).
    """
    curve = key.curve
    # The pairing is bilinear: e(m·α, β) = e(α, β)^m.
    alpha = points.linear_combination(curve.g1, [key.alpha_g1], [_power(curve)])
    value = pairing_product(curve, alpha[None], key.beta_g2[None])
    flat = [str(curve.fq.from_montgomery(coefficient)) for coefficient in to_ints(value)]
    pairs = [flat[i : i + 2] for i in range(0, 12, 2)]
    return [pairs[:3], pairs[3:]]


def _power(curve: Curve) -> int:
    t = curve.seed
    return 2 * t * (6 * t * t + 3 * t + 1) if curve.family == "bn" else 3
