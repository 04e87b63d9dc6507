"""Whether a key's copies in vector form fit in memory, and how many points to convert if not."""

from __future__ import annotations

from snarkcuda import machine
from snarkcuda.groth16.keys import ProvingKey

START = 80 << 20  # Python, numba and the kernels, before any key
PER_ROW = (3 + 1) * 32 + 3 * 40 + 16  # a, b, c and h; tables of five limbs; starts of the rows
PER_ENTRY = 40  # of the matrices: wire, code, and a value, if all are different
PER_WIRE = 32
PER_POINT = 384  # of a block: its G2 point in vector form, digits and codes of all windows
MIN_BLOCK, MAX_BLOCK = 1 << 12, 1 << 20  # smaller ones cost, larger ones gain nothing


def available_memory() -> int | None:
    """Three quarters of what the machine, or this process's control group, has for it."""
    available = machine.memory().available
    return None if available is None else available * 3 // 4


def block_size(key: ProvingKey, memory: int | None) -> int:
    """Points to convert at a time, a power of two, so that a proof keeps to `memory` bytes.

    0 where everything fits, or no limit is given. What a proof needs besides points is not made
    smaller: a limit below that is one that will not be kept.
    """
    if memory is None:
        return 0
    queries = (key.a_query, key.b_g1_query, key.b_g2_query, key.l_query, key.h_query)
    rest = START + PER_ROW * key.domain_size + PER_WIRE * key.n_wires
    rest += PER_ENTRY * len(key.coefficients)
    longest = max(len(query) for query in queries)
    if rest + sum(query.nbytes for query in queries) + PER_POINT * longest <= memory:
        return 0
    points = max(MIN_BLOCK, (memory - rest) // PER_POINT)
    return min(MAX_BLOCK, 1 << (points.bit_length() - 1))
