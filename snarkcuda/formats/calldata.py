"""A proof as the arguments of a Solidity verifier's `verifyProof(a, b, c, input)`.

    ["A.x", "A.y"],[["B.x.c1", "B.x.c0"],["B.y.c1", "B.y.c0"]],["C.x", "C.y"],["s0","s1",…]

Each number is 0x and 64 hexadecimal digits, big-endian, as are the words of a contract's call. An
element c0 + c1·u of Fq2 has its imaginary part first, as EIP-197 orders it: the other way round
than in proof.json. Infinity (C may be) is (0, 0), as EIP-196 has it.
"""

from __future__ import annotations

from collections.abc import Sequence

from snarkcuda.curve.params import BN254
from snarkcuda.errors import MismatchError, NotInFieldError
from snarkcuda.field.arrays import U64Array, to_ints
from snarkcuda.groth16.keys import Proof


def calldata(proof: Proof, public: Sequence[int]) -> str:
    """The text of `snarkjs zkey export soliditycalldata`, without its line break.

    It differs for a C at infinity, of which snarkjs makes the point (0, 1): off the curve, so that
    a contract would revert.

    Args:
        proof: over BN254. Whether it is a proof of anything is `verify`'s to say.
        public: the public signals, in the order of public.json; their number is the contract's to
            check.

    Raises:
        MismatchError: a proof over another curve.
        NotInFieldError: a signal is not in [0, r).

    Source: snarkjs 0.7, src/groth16_exportsoliditycalldata.js; EIP-196 and EIP-197.
    """
    if proof.curve != BN254:
        raise MismatchError(
            f"the proof is over {proof.curve.name}, but this calldata is for the precompiles of "
            "EIP-196 and EIP-197, which know BN254 alone: prove over BN254"
        )
    modulus = BN254.fr.modulus
    for index, signal in enumerate(public):
        if not 0 <= signal < modulus:
            raise NotInFieldError(
                f"public signal {index} is {signal}, not in [0, r) with r = {modulus}: contracts "
                "refuse it"
            )
    x0, x1, y0, y1 = _coordinates(proof.b)
    a, c = _pair(*_coordinates(proof.a)), _pair(*_coordinates(proof.c))
    b = f"[{_pair(x1, x0)},{_pair(y1, y0)}]"
    return f"{a},{b},{c},[{','.join(map(_word, public))}]"


def _coordinates(point: U64Array) -> list[int]:
    return [BN254.fq.from_montgomery(value) for value in to_ints(point)]


def _pair(first: int, second: int) -> str:
    return f"[{_word(first)}, {_word(second)}]"


def _word(value: int) -> str:
    return f'"0x{value:064x}"'
