"""Is this the key of this circuit? Sizes, and the matrices A and B that a key carries.

C stands in IC and the L query only, where it cannot be read, and no query is looked at: a circuit
that differs in C alone, or a key whose queries are of another circuit, passes. Proofs with such a
key do not verify.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from snarkcuda.circuits.r1cs import R1cs
from snarkcuda.errors import MismatchError
from snarkcuda.field import arrays
from snarkcuda.field.arrays import to_int
from snarkcuda.field.params import PrimeField
from snarkcuda.groth16.coefficients import key_coefficients
from snarkcuda.groth16.keys import COEFFICIENT, ProvingKey

_BLOCK = 1 << 16  # entries compared at a time: bounds the temporary memory


def check_circuit(key: ProvingKey, r1cs: R1cs) -> None:
    """Compare a key with a circuit; both as their readers give them.

    Raises:
        MismatchError: the first difference, in the order: curve, sizes, entries of A and B.
    """
    n_entries = len(r1cs.a.wires) + len(r1cs.b.wires) + r1cs.n_public + 1
    for what, of_key, of_circuit in (
        ("curve", key.curve.name, r1cs.curve.name),
        ("number of wires", key.n_wires, r1cs.n_wires),
        ("number of public signals", key.n_public, r1cs.n_public),
        ("domain size", key.domain_size, r1cs.domain_size),
        ("number of entries in A and B", len(key.coefficients), n_entries),
    ):
        if of_key != of_circuit:
            raise MismatchError(f"{_differ(key, r1cs)} the {what} is {of_key} and {of_circuit}")
    expected = key_coefficients(r1cs)
    in_key, in_circuit = _as_bytes(key.coefficients), _as_bytes(expected)
    for start in range(0, n_entries, _BLOCK):
        block = slice(start, start + _BLOCK)
        wrong = (in_key[block] != in_circuit[block]).any(axis=1)
        if wrong.any():
            bad = start + int(np.argmax(wrong))
            one, other = (_shown(key.curve.fr, part[bad]) for part in (key.coefficients, expected))
            raise MismatchError(f"{_differ(key, r1cs)} entry {bad} is {one} and {other}")


def _as_bytes(entries: NDArray[np.void]) -> NDArray[np.uint8]:
    return arrays.packed(entries).reshape(-1, COEFFICIENT.itemsize)


def _differ(key: ProvingKey, r1cs: R1cs) -> str:
    return f"{key.source} is not the key of {r1cs.source}: in the key and in the circuit,"


def _shown(fr: PrimeField, entry: np.void) -> str:
    square = fr.montgomery**2 % fr.modulus
    value = to_int(entry["value"]) * pow(square, -1, fr.modulus) % fr.modulus
    value = value if 2 * value < fr.modulus else value - fr.modulus  # −1 is what circom means
    return f"{'AB'[entry['matrix']]}[row {entry['constraint']}, wire {entry['wire']}] = {value}"
