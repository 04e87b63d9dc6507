"""Why proofs under a key mean nothing: somebody may know what nobody should.

    δ = ±[1], or δ = ±γ  proofs can be forged from the key alone
    a research key       proofs can be forged by whoever ran the setup
    γ ≠ [1]              perhaps a research key that lost its mark
    IC at infinity       a public signal that the equation does not see

Groth16 is sound only while δ and γ are unrelated secrets. snarkjs starts with both at the generator
and each contribution multiplies δ by a secret, so a key straight from `snarkjs groth16 setup` is
open to everyone. snarkjs drops our mark when it contributes to a research key or exports its
verifying key, but it never touches γ. That nothing is seen here does not make a ceremony good:
`snarkjs zkey verify` checks its record.
"""

from __future__ import annotations

import numpy as np

from snarkcuda.curve.params import Coordinate, Group
from snarkcuda.field.arrays import U64Array, to_ints
from snarkcuda.field.params import prime_of
from snarkcuda.groth16.keys import ProvingKey, VerifyingKey


def key_warnings(vk: VerifyingKey, key: ProvingKey | None = None) -> list[str]:
    """Why proofs under this key mean nothing, a sentence each; empty if nothing is seen.

    Args:
        vk: the verifying key.
        key: its proving key, if it is at hand: the two δ of a broken key may differ.
    """
    curve, warnings = vk.curve, []
    if _is_generator(curve.g2, vk.delta_g2) or (
        key is not None and _is_generator(curve.g1, key.delta_g1)
    ):
        warnings.append(
            "delta is the generator: nobody has contributed to this key, and anyone can forge "
            "proofs; run `snarkjs zkey contribute`"
        )
    elif np.array_equal(vk.delta_g2[0], vk.gamma_g2[0]):  # x alone: −γ is as good
        warnings.append("delta equals gamma or its opposite: anyone can forge proofs")
    if vk.is_research:
        warnings.append(
            "this is a research key: its toxic waste was known to the program that made it, and "
            "whoever ran it may be able to forge proofs; for tests and benches only"
        )
    elif not _is_generator(curve.g2, vk.gamma_g2, or_opposite=False):
        warnings.append(
            "gamma is not the generator, as it is in every key that snarkjs begins: whoever made "
            "this key may know its toxic waste and be able to forge proofs, contributions or not"
        )
    unbound = [i for i, point in enumerate(vk.ic) if not point.any()]
    if unbound:
        which = "the constant" if unbound[0] == 0 else f"public signal {unbound[0] - 1}"
        warnings.append(
            f"IC[{unbound[0]}] is infinity: {which} binds nothing, and proofs may verify with any "
            "value; no honest key of circom's has such a point"
        )
    return warnings


def _is_generator(group: Group, point: U64Array, or_opposite: bool = True) -> bool:
    to_montgomery = prime_of(group.field).to_montgomery
    wanted = [to_montgomery(c) for xy in group.generator for c in _parts(xy)]
    compared = len(wanted) // 2 if or_opposite else len(wanted)  # x alone, or x and y
    return to_ints(point)[:compared] == wanted[:compared]


def _parts(coordinate: Coordinate) -> tuple[int, ...]:
    return coordinate if isinstance(coordinate, tuple) else (coordinate,)
