"""What Groth16 keeps between runs: the two keys, the witness and the proof, as host arrays.

Points are affine, Montgomery form, uint64: `(2, limbs)` in G1, `(2, 2, limbs)` in G2 (coordinate,
then Fq2 coefficient, then limb), with a leading axis for queries; all zero is infinity. Arrays may
be read-only views of a memory-mapped file. `source` is the file's name, for messages only.

Names are those of the paper and of circom's keys:

    α β γ δ τ                  the toxic waste
    alpha_g1 = [α]₁  beta_g1 = [β]₁  beta_g2 = [β]₂  gamma_g2 = [γ]₂  delta_g1, delta_g2 = [δ]
    a_query[i]    = [A_i(τ)]₁       one for each wire, the constant included
    b_g1_query[i] = [B_i(τ)]₁       b_g2_query[i] = [B_i(τ)]₂
    ic[i]         = [(β·A_i + α·B_i + C_i)(τ)/γ]₁     public wires and the constant
    l_query[i]    = [(β·A_j + α·B_j + C_j)(τ)/δ]₁     private wires, j = i + n_public + 1
    h_query[i]    = [L_{2i+1}(τ)/δ]₁, L the Lagrange basis of the domain of twice the size (circom)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from snarkcuda.curve.params import Curve
from snarkcuda.field.arrays import ByValue, U64Array

if TYPE_CHECKING:
    from snarkcuda.formats.opening import MappedFile

COEFFICIENT = np.dtype(
    [("matrix", "<u4"), ("constraint", "<u4"), ("wire", "<u4"), ("value", "<u8", (4,))]
)
"""One entry of a circom key's sparse matrices: A (0) or B (1), row, column, value·R² mod r."""


@dataclass(frozen=True, eq=False)
class VerifyingKey(ByValue):
    """All that a verifier needs. `ic` has n_public + 1 points.

    `is_research` marks a key whose toxic waste one program knew (`groth16/setup.py`): whoever ran
    it could have kept it, and can then forge any proof.
    """

    curve: Curve
    alpha_g1: U64Array  # (2, limbs)
    beta_g2: U64Array  # (2, 2, limbs)
    gamma_g2: U64Array  # (2, 2, limbs)
    delta_g2: U64Array  # (2, 2, limbs)
    ic: U64Array = field(repr=False)  # (n_public + 1, 2, limbs)
    is_research: bool = field(default=False, compare=False)
    source: str = field(default="verifying key", compare=False)

    @property
    def n_public(self) -> int:
        """Public signals of a proof, the constant not counted."""
        return len(self.ic) - 1


@dataclass(frozen=True, eq=False)
class ProvingKey(ByValue):
    """A Groth16 key as circom and snarkjs lay it out (circom quotient, see `h_query`).

    `circuit_hash` is what contributions are bound to (`groth16/circuit_hash.py`); all zero where it
    is not known. It is not needed to prove. `file` is what the arrays are views of, if anything.
    """

    curve: Curve
    n_wires: int
    n_public: int
    domain_size: int
    beta_g1: U64Array  # (2, limbs)
    delta_g1: U64Array  # (2, limbs)
    verifying_key: VerifyingKey
    coefficients: NDArray[Any] = field(repr=False)  # (n,) COEFFICIENT
    a_query: U64Array = field(repr=False)  # (n_wires, 2, limbs)
    b_g1_query: U64Array = field(repr=False)  # (n_wires, 2, limbs)
    b_g2_query: U64Array = field(repr=False)  # (n_wires, 2, 2, limbs)
    l_query: U64Array = field(repr=False)  # (n_wires - n_public - 1, 2, limbs)
    h_query: U64Array = field(repr=False)  # (domain_size, 2, limbs)
    circuit_hash: bytes = field(default=bytes(64), repr=False, compare=False)
    source: str = field(default="proving key", compare=False)
    file: MappedFile | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, eq=False)
class Witness(ByValue):
    """The value of every wire: the constant 1, the public signals, then the rest."""

    curve: Curve
    values: U64Array = field(repr=False)  # (n_wires, 4) canonical; secret, so never in a log
    source: str = field(default="witness", compare=False)


@dataclass(frozen=True, eq=False)
class Proof(ByValue):
    """A = [a]₁, B = [b]₂, C = [c]₁: affine points, Montgomery form, see the module.

    One of many proofs of the same statement: it is malleable, so no identifier.
    """

    curve: Curve
    a: U64Array  # (2, limbs)
    b: U64Array  # (2, 2, limbs)
    c: U64Array  # (2, limbs)
