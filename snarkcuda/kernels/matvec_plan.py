"""The rows of A and B as a GPU reads them: cut into pieces, sorted, and sliced by warps.

A row has pieces of at most `longest` entries, at least one, so that an empty row is written too.
Pieces are sorted by length, the longest first, in windows of some thousand, which keeps the threads
of a warp busy together and their witness values near each other. 32 pieces are a slice, stored side
by side:

    slice s:   entry 0 of its pieces 0 … 31,  entry 1 of its pieces 0 … 31,  …
               from place 32·start[s] on, padded to its longest piece by code END

so that a warp reads 32 entries at once. Of a row with several pieces each leaves a partial sum, and
a second kernel adds those. The format is SELL-C-σ, Kreutzer et al., SIAM J. Sci. Comput. 36(5),
2014; the entries are those of `cpu/matvec.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snarkcuda.cpu.matvec import Matrices
from snarkcuda.jit import formula, kernel

WARP = 32
LONGEST = 32  # entries of a piece
WINDOW = 1 << 15  # pieces that are sorted together; a multiple of WARP
END = 0xFFFFFFFF  # the code of padding
PARTIAL = 0x80000000  # a target that is a partial sum
NOWHERE = 0xFFFFFFFF  # a target that is none: the last slice has fewer pieces

U32Array = NDArray[np.uint32]


@dataclass(frozen=True)
class Slices:
    """A and B, sliced.

    Attributes:
        start: uint32 (slices + 1,), in units of 32 entries.
        targets: uint32 (32·slices,): where each piece's sum goes: a row of the stacked matrices, or
            PARTIAL + the number of a partial sum.
        wires: uint32 (32·start[-1] + 32,), padding is wire 0; the last 32 are read ahead.
        codes: uint32 (32·start[-1],), see `cpu.matvec.Matrices`.
        long_rows: uint32 (k, 3): a row of several pieces, its first partial sum, how many.
        partials: partial sums in all.
    """

    start: U32Array
    targets: U32Array
    wires: U32Array
    codes: U32Array
    long_rows: U32Array
    partials: int


def sliced(matrices: Matrices, longest: int = LONGEST, window: int = WINDOW) -> Slices:
    """Slice the matrices of a key.

    Args:
        matrices: A above B.
        longest: entries of a piece, at least one.
        window: pieces sorted together, a multiple of 32.

    Raises:
        ValueError: longest or window is none of these.
    """
    if longest < 1 or window < WARP or window % WARP:  # `_slice` would write beyond its arrays
        raise ValueError(
            f"pieces of {longest} entries, {window} sorted together: "
            f"at least 1 and a multiple of {WARP} are possible"
        )
    lengths = np.diff(matrices.start)
    pieces = np.maximum(1, -(-lengths // longest))
    many = np.flatnonzero(pieces > 1)
    counts = pieces[many]
    n_slices = -(-int(pieces.sum()) // WARP)
    long_rows = np.empty((len(many), 3), dtype=np.uint32)
    long_rows[:, 0], long_rows[:, 2] = many, counts
    long_rows[:, 1] = np.cumsum(counts) - counts
    start = np.zeros(n_slices + 1, dtype=np.uint32)
    targets = np.full(n_slices * WARP, NOWHERE, dtype=np.uint32)
    scratch = np.zeros((3, window), dtype=np.int64)
    order = np.zeros(window, dtype=np.int64)
    nothing = np.empty(0, dtype=np.uint32)
    places = np.zeros(longest + 1, dtype=np.int64)
    # Once for the widths of the slices, which say how much there is, and once to fill them.
    inputs = matrices.start, matrices.wires, matrices.codes, scratch, places, order
    _slice(*inputs, start, targets, nothing, nothing)
    size = WARP * int(start[-1])
    wires, codes = np.zeros(size + WARP, dtype=np.uint32), np.full(size, END, dtype=np.uint32)
    _slice(*inputs, start, targets, wires, codes)
    return Slices(start, targets, wires, codes, long_rows, int(counts.sum()))


@formula
def _sorted_by_length(scratch: Any, n: int, places: Any, order: Any) -> None:
    """Stable counting sort of the window's pieces, the longest first; places[length] is scratch."""
    places[:] = 0
    for i in range(n):
        places[scratch[2, i]] += 1
    place = 0
    for length in range(len(places) - 1, -1, -1):
        place, places[length] = place + places[length], place
    for i in range(n):
        order[places[scratch[2, i]]] = i
        places[scratch[2, i]] += 1


@formula
def _emit(
    scratch: Any, n: int, order: Any, slice_: int, in_wires: Any, in_codes: Any, start: Any,
    targets: Any, wires: Any, codes: Any,
) -> int:  # fmt: skip
    """Store the window's pieces from slice `slice_` on; the slice after them."""
    for first in range(0, n, 32):
        base, width = np.int64(start[slice_]), scratch[2, order[first]]
        start[slice_ + 1] = np.uint32(base + width)
        for lane in range(min(32, n - first)):
            piece = order[first + lane]
            targets[32 * slice_ + lane] = np.uint32(scratch[0, piece])
            if len(wires) > 0:
                entry = scratch[1, piece]
                for k in range(scratch[2, piece]):
                    place = 32 * (base + k) + lane
                    wires[place] = in_wires[entry + k]
                    codes[place] = in_codes[entry + k]
        slice_ += 1
    return slice_


@kernel
def _slice(
    in_start: Any, in_wires: Any, in_codes: Any, scratch: Any, places: Any, order: Any,
    start: Any, targets: Any, wires: Any, codes: Any,
) -> None:  # fmt: skip
    longest, window, n, slice_, partial = len(places) - 1, scratch.shape[1], 0, 0, 0
    for row in range(len(in_start) - 1):
        entry, end = in_start[row], in_start[row + 1]
        several = end - entry > longest
        while True:
            length = min(longest, end - entry)
            scratch[0, n] = 0x80000000 + partial if several else row
            scratch[1, n], scratch[2, n] = entry, length
            partial += 1 if several else 0
            n += 1
            if n == window:
                _sorted_by_length(scratch, n, places, order)
                slice_ = _emit(
                    scratch, n, order, slice_, in_wires, in_codes, start, targets, wires, codes
                )
                n = 0
            entry += length
            if entry >= end:
                break
    _sorted_by_length(scratch, n, places, order)
    _emit(scratch, n, order, slice_, in_wires, in_codes, start, targets, wires, codes)
