"""A circuit of bits, built as SHA-256 is: nearly every wire is 0 or 1."""

from __future__ import annotations

import numpy as np

from snarkcuda.circuits.r1cs import SparseRows
from snarkcuda.circuits.synthetic import (
    Entry,
    Generated,
    Wires,
    check_size,
    draw,
    generated,
    repeated,
)
from snarkcuda.curve.params import Curve
from snarkcuda.field.arrays import U64Array, from_ints, to_int

# Wires of a step, and the first of each word in it; bits ascend.
_STEP_WIRES, _STEP_ROWS = 195, 196
_M, _XOR, _CH, _MID, _MAJ, _SUM, _PACKED = 0, 32, 64, 96, 128, 160, 194
_STATE, _FIRST = 96, 98  # input bits; the first wire of the first step
_MASK = 0xFFFF_FFFF

Row = tuple[list[Entry], list[Entry], list[Entry]]


def sha_like(curve: Curve, n_constraints: int, seed: str) -> Generated:
    """Steps on 32-bit words x, y, z (the last three results) and m (fresh):

        s = (x ⊕ y⋙7) + ch(x, y, z) + maj(x, y, z) + m        34 bits, the lower 32 go on

    Input bits, m and the bits of s have boolean constraints, the gates one row a bit (maj two), the
    sum is one row over powers of two, and each result is also packed into one wire. 96 rows for the
    input bits, 196 rows a step, the last may be cut; the last row packs the newest 32 wires into
    the output. Of the wires of a long circuit 99.5 % are 0 or 1 (98.5 % in a Filecoin PoRep).

    Args:
        curve: whose scalar field to take.
        n_constraints: exactly so many rows.
        seed: fixes the input bits and m.

    Raises:
        ValueError: n_constraints < 1.

    Source: FIPS 180-4, 4.1.2; gates as in circomlib's sha256.
    """
    check_size(n_constraints)
    fr, n_inputs = curve.fr, min(_STATE, n_constraints - 1)
    in_steps = n_constraints - 1 - n_inputs
    steps = -(-in_steps // _STEP_ROWS)
    whole, rest = divmod(in_steps, _STEP_ROWS)
    n_wires = 2 + n_inputs + whole * _STEP_WIRES + min(rest, _PACKED)
    values = np.zeros((n_wires, fr.limbs), dtype=np.uint64)
    values[:, 0] = _wires(steps, seed)[:n_wires]

    newest = list(range(n_wires - 1, max(1, n_wires - 33), -1)) or [0]
    output: list[tuple[int, int]] = [(wire, 1 << i) for i, wire in enumerate(newest)]
    values[1] = from_ints([sum(to_int(values[wire]) * power for wire, power in output)], 4)

    input_rows = [_boolean(wire) for wire in range(2, 2 + _STATE)]
    step_rows = _step(steps)
    last_row = (output, [(0, 1)], [(1, 1)])
    matrices = []
    for m in range(3):
        inputs = repeated(fr, n_inputs, [row[m] for row in input_rows], 1)
        rows = repeated(fr, in_steps, [row[m] for row in step_rows], steps)
        matrices.append(_stacked([inputs, rows, repeated(fr, 1, [last_row[m]], 1)]))
    return generated(curve, "sha_like", n_inputs, matrices, values)


def _boolean(bit: Wires) -> Row:
    """bit·(bit − 1) = 0."""
    return [(bit, 1)], [(bit, 1), (0, -1)], []


def _step(steps: int) -> list[Row]:
    """The rows of each step, in an order in which every row but the sum's defines one wire."""
    base = _FIRST + _STEP_WIRES * np.arange(steps)
    results = np.concatenate([2 + 32 * np.arange(3), base + _SUM])
    z, y, x = (results[i : i + steps] for i in range(3))
    bits = range(32)
    rows = [_boolean(base + _M + i) for i in bits]
    for i in bits:
        a, b = x + i, y + (i + 7) % 32
        rows.append(([(a, 2)], [(b, 1)], [(a, 1), (b, 1), (base + _XOR + i, -1)]))
    for i in bits:
        rows.append(([(x + i, 1)], [(y + i, 1), (z + i, -1)], [(base + _CH + i, 1), (z + i, -1)]))
    rows += [([(y + i, 1)], [(z + i, 1)], [(base + _MID + i, 1)]) for i in bits]
    for i in bits:
        mid = base + _MID + i
        either: list[Entry] = [(y + i, 1), (z + i, 1), (mid, -2)]
        rows.append(([(x + i, 1)], either, [(base + _MAJ + i, 1), (mid, -1)]))
    rows += [_boolean(base + _SUM + i) for i in range(34)]
    terms: list[Entry] = [(base + w + i, 1 << i) for w in (_XOR, _CH, _MAJ, _M) for i in bits]
    total: list[Entry] = [(base + _SUM + i, 1 << i) for i in range(34)]
    rows.append((terms, [(0, 1)], total))
    rows.append((total[:32], [(0, 1)], [(base + _PACKED, 1)]))
    return rows


def _wires(steps: int, seed: str) -> U64Array:
    """The values of all wires of so many steps (the output still 0)."""
    words = [int(word) & _MASK for word in draw(seed, "words", 3 + steps)]
    z, y, x = words[:3]
    results = np.empty((steps, 6), dtype=np.uint64)
    for step, m in enumerate(words[3:]):
        xor = x ^ (y >> 7 | y << 25 & _MASK)
        ch, mid = x & y | ~x & z, y & z
        maj = mid | x & (y | z)
        total = xor + ch + maj + m
        results[step] = m, xor, ch, mid, maj, total
        x, y, z = total & _MASK, x, y
    bits = results[:, :, None] >> np.arange(34, dtype=np.uint64) & np.uint64(1)
    values = np.empty((steps, _STEP_WIRES), dtype=np.uint64)
    values[:, :_SUM] = bits[:, :5, :32].reshape(steps, _SUM)
    values[:, _SUM:_PACKED] = bits[:, 5]
    values[:, _PACKED] = results[:, 5] & np.uint64(_MASK)
    inputs = np.array(words[:3], dtype=np.uint64)[:, None] >> np.arange(32, dtype=np.uint64)
    one_and_output = np.array([1, 0], dtype=np.uint64)
    return np.concatenate([one_and_output, (inputs & np.uint64(1)).reshape(-1), values.reshape(-1)])


def _stacked(parts: list[SparseRows]) -> SparseRows:
    """The rows of the parts, one part after the other."""
    lengths = np.concatenate([np.diff(part.start) for part in parts])
    return SparseRows(
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.concatenate([part.wires for part in parts]),
        np.concatenate([part.values for part in parts]),
    )
