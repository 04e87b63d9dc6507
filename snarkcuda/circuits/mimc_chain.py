"""A circuit whose wires are nearly all full-size field elements: the most work for its size."""

from __future__ import annotations

import numpy as np

from snarkcuda.circuits.synthetic import (
    Entry,
    Generated,
    check_size,
    draw_elements,
    repeated,
    solved,
)
from snarkcuda.curve.params import Curve


def mimc_chain(curve: Curve, n_constraints: int, seed: str) -> Generated:
    """x → (x + k + cᵢ)⁷, over and over; four constraints a round, the last round may be cut.

        s = x + k + cᵢ     s·s = t₂     t₂·t₂ = t₄     t₄·t₂ = t₆     t₆·s = x'

    Args:
        curve: whose scalar field to take.
        n_constraints: exactly so many rows; the last one defines the output.
        seed: fixes the private inputs x and k, and the constants.

    Raises:
        ValueError: n_constraints < 1.

    Source: Albrecht et al., eprint 2016/492 (MiMC); exponent 7 as in circomlib's MiMC7.
    """
    check_size(n_constraints)
    rounds = -(-n_constraints // 4)
    t2, t4, t6, x_next = np.arange(4, 4 + 4 * rounds).reshape(rounds, 4).T
    x = np.concatenate([[2], x_next[:-1]])
    s: list[Entry] = [(x, 1), (3, 1), (0, draw_elements(curve.fr, seed, "constants", rounds))]
    round_a: list[list[Entry]] = [s, [(t2, 1)], [(t4, 1)], [(t6, 1)]]
    round_b: list[list[Entry]] = [s, [(t2, 1)], [(t2, 1)], s]
    round_c: list[list[Entry]] = [[(wire, 1)] for wire in (t2, t4, t6, x_next)]
    matrices = [
        repeated(curve.fr, n_constraints, rows, rounds) for rows in (round_a, round_b, round_c)
    ]
    matrices[2].wires[-1] = 1
    inputs = draw_elements(curve.fr, seed, "inputs", 2)
    return solved(curve, "mimc_chain", inputs, matrices)
