"""The Groth16 verifier, strict: a statement is well formed or refused, and then true or false.

    e(A, B) = e(α, β) · e(Σ ICᵢ·publicᵢ, γ) · e(C, δ)

checked as one product of four Miller loops, with −A on the left. Source: Groth, eprint 2016/260,
§3.2.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from os import PathLike
from typing import SupportsIndex

import numpy as np

from snarkcuda.cpu.digits import sorted_digits
from snarkcuda.cpu.msm import msm
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve import points
from snarkcuda.curve.pairing import is_one, pairing_product
from snarkcuda.errors import ForgeableKeyWarning, MismatchError, NotInFieldError
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array
from snarkcuda.formats.opening import FilePath
from snarkcuda.formats.proof_json import read_proof
from snarkcuda.formats.public_json import read_public
from snarkcuda.formats.vkey_json import read_verifying_key
from snarkcuda.groth16.checks import check_ic, check_proof_points, check_verifying_key
from snarkcuda.groth16.keys import Proof, VerifyingKey
from snarkcuda.groth16.trust import key_warnings

_FEW = 256  # up to so many points, one by one is as fast as an MSM, and compiles nothing more


def verify(
    key: FilePath | VerifyingKey,
    public: FilePath | Sequence[SupportsIndex],
    proof: FilePath | Proof,
) -> bool:
    """Is `proof` a valid proof of the statement with these public signals?

    A key under which proofs mean nothing (`trust.key_warnings`) is taken with a
    `ForgeableKeyWarning`.

    Args:
        key: the verifying key, or its JSON file; its points are checked too.
        public: the public signals, one for each that the key expects, each in [0, r), or a file.
        proof: the proof, or its file; a proof is malleable, so it must not serve as an identifier.

    Returns:
        False for a well-formed but wrong proof.

    Raises:
        FormatError: a file is broken.
        MismatchError: another curve, or another number of public signals.
        NotInFieldError: a signal is negative or not below r.
        NotOnCurveError: a point is off its curve or outside the subgroup, or A or B is infinity.
    """
    if not isinstance(key, VerifyingKey):
        key = read_verifying_key(key)
    if isinstance(public, str | PathLike):
        public = read_public(public, key.curve, key.n_public)
    if not isinstance(proof, Proof):
        proof = read_proof(proof, key.curve)
    signals = check_statement(key, public)
    if proof.curve != key.curve:
        raise MismatchError(
            f"the proof is over {proof.curve.name} but {key.source} is over {key.curve.name}: "
            "they come from different circuits"
        )
    check_verifying_key(key)
    check_proof_points(proof)
    if found := key_warnings(key):
        warnings.warn(f"{key.source}: {'; '.join(found)}", ForgeableKeyWarning, stacklevel=2)
    return equation_holds(key, signals, proof)


def equation_holds(key: VerifyingKey, public: Sequence[int], proof: Proof) -> bool:
    """The pairing equation alone, for inputs that have been checked."""
    curve = key.curve
    minus_a = points.linear_combination(curve.g1, [proof.a], [-1])
    g1 = np.stack([minus_a, key.alpha_g1, _statement(key, public), proof.c])
    g2 = np.stack([proof.b, key.beta_g2, key.gamma_g2, key.delta_g2])
    return is_one(curve, pairing_product(curve, g1, g2))


def _statement(key: VerifyingKey, public: Sequence[int]) -> U64Array:
    """Σ ICᵢ·publicᵢ, the constant's IC₀ included."""
    curve, scalars = key.curve, [1, *public]
    if len(scalars) <= _FEW:
        return points.linear_combination(curve.g1, list(key.ic), scalars)
    with Pool() as pool:
        digits = sorted_digits(pool, arrays.from_ints(scalars, curve.fr.limbs), curve.fr.bits)
        return msm(pool, curve.g1, arrays.packed(key.ic), digits)


def check_statement(key: VerifyingKey, public: Sequence[SupportsIndex]) -> list[int]:
    """The public signals as ints, their count and range checked."""
    check_ic(key)
    if len(public) != key.n_public:
        raise MismatchError(
            f"{len(public)} public signals were given but {key.source} expects {key.n_public}: "
            "they come from different circuits"
        )
    modulus = key.curve.fr.modulus
    signals = []
    for index, value in enumerate(public):
        if isinstance(value, bool | np.bool_) or not hasattr(value, "__index__"):
            raise NotInFieldError(f"public signal {index} is {value!r}, not an integer")
        signals.append(signal := operator.index(value))
        if not 0 <= signal < modulus:
            raise NotInFieldError(
                f"public signal {index} is {signal}, not in [0, r) with r = {modulus}: the "
                "statement would be ambiguous, so it is refused"
            )
    return signals
