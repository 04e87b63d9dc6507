"""Rank-1 constraint systems as host arrays.

    row j:   (Σᵢ A[j, i]·wᵢ) · (Σᵢ B[j, i]·wᵢ) = Σᵢ C[j, i]·wᵢ        mod r

Wires, in order: the constant 1, outputs, public inputs, then everything private. Each matrix is
kept in compressed sparse rows, entries in the order in which the circuit lists them (an entry may
be 0, and a wire may stand twice in a row: they add up):

    row j: entries start[j] … start[j + 1] − 1, each a wire and a coefficient
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from snarkcuda.curve.params import Curve
from snarkcuda.errors import FormatError
from snarkcuda.field.arrays import ByValue, U64Array


@dataclass(frozen=True, eq=False)
class SparseRows(ByValue):
    """One matrix: `values[k]` stands in column `wires[k]`."""

    start: NDArray[np.int64]  # (rows + 1,), from 0 to the number of entries
    wires: NDArray[np.uint32]  # (entries,)
    values: U64Array  # (entries, 4) canonical

    def __len__(self) -> int:
        return len(self.start) - 1


@dataclass(frozen=True, eq=False)
class R1cs(ByValue):
    """A circuit: its sizes and its three matrices, of equal numbers of rows.

    Attributes:
        curve: whose scalar field the circuit is over.
        n_wires: the constant included.
        n_outputs, n_public_inputs: public wires; they follow the constant.
        n_private_inputs: for information only; these and all others are private wires.
        a, b, c: the matrices.
        labels: uint64 (n_wires,): each wire's number among the source's signals (circom's .sym).
        n_labels: how many signals the source had, before optimisation.
        source: the file's name, for messages.
    """

    curve: Curve
    n_wires: int
    n_outputs: int
    n_public_inputs: int
    n_private_inputs: int
    a: SparseRows = field(repr=False)
    b: SparseRows = field(repr=False)
    c: SparseRows = field(repr=False)
    labels: U64Array = field(repr=False)
    n_labels: int
    source: str = field(default="circuit", compare=False)

    @property
    def n_constraints(self) -> int:
        """Rows of each matrix."""
        return len(self.a)

    @property
    def n_public(self) -> int:
        """Public signals of a proof: outputs and public inputs, the constant not counted."""
        return self.n_outputs + self.n_public_inputs

    @property
    def domain_size(self) -> int:
        """Rows of the quadratic arithmetic program, see `domain_size`."""
        return domain_size(self.n_constraints, self.n_public)


def domain_size(n_constraints: int, n_public: int) -> int:
    """The least power of two that holds every row, and at least 2.

    Each constraint has a row, and so has each public signal and the constant: the latter make the
    public part of A independent, so that a public signal that stands in no constraint cannot be
    changed in a proof. One constraint and three public signals therefore need 8 rows, not 4.

        2^(⌊log₂(n_constraints + n_public)⌋ + 1) ≥ n_constraints + n_public + 1
    """
    return int(2 ** max(1, (n_constraints + n_public).bit_length()))


def check_rows(curve: Curve, n_constraints: int, n_public: int, source: str) -> None:
    """Raise FormatError if no domain has so many rows, or no key's 32 bits can say how many."""
    log_rows = min(curve.fr.two_adicity, 31)
    if domain_size(n_constraints, n_public) > 1 << log_rows:
        raise FormatError(
            f"{source} has {n_constraints} constraints and {n_public} public signals; a key over "
            f"{curve.name} holds at most 2^{log_rows} rows: split the circuit"
        )


def check_size(r1cs: R1cs) -> None:
    """Raise FormatError if a key cannot hold the circuit's rows and coefficients."""
    check_rows(r1cs.curve, r1cs.n_constraints, r1cs.n_public, r1cs.source)
    entries = len(r1cs.a.wires) + len(r1cs.b.wires) + r1cs.n_public + 1
    if entries >= 1 << 32:
        raise FormatError(
            f"{r1cs.source} has {entries} coefficients in A and B with the public rows; a key "
            "counts them in 32 bits: split the circuit"
        )
