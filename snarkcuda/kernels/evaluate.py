"""A and B on the device, and the launches of a = A·w, b = B·w, c = a·b."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from snarkcuda.cpu.matvec import Matrices
from snarkcuda.kernels import matvec, pointwise
from snarkcuda.kernels.device import DeviceArray, Stream
from snarkcuda.kernels.field import DeviceField
from snarkcuda.kernels.launch import DeviceKernel
from snarkcuda.kernels.matvec_plan import LONGEST, sliced
from snarkcuda.kernels.memory import Arena
from snarkcuda.kernels.quotient import grid


@cache
def _kernels(F: DeviceField) -> tuple[DeviceKernel, DeviceKernel, DeviceKernel]:
    return matvec.matvec_rows(F), matvec.matvec_long_rows(F), pointwise.products(F)


@dataclass(frozen=True)
class DeviceMatrices:
    """A and B of a key in the memory of a device, as `matvec_plan.Slices` has them."""

    F: DeviceField
    n: int
    pieces: int
    partials: int
    long_rows: int
    most_partials: int  # of one row
    arrays: tuple[DeviceArray, ...]

    @property
    def nbytes(self) -> int:
        """Of all arrays."""
        return sum(array.nbytes for array in self.arrays)

    def free(self, arena: Arena, stream: Stream) -> None:
        """Give the memory back."""
        for array in self.arrays:
            arena.free(array, stream)


def load_matrices(
    arena: Arena, stream: Stream, F: DeviceField, matrices: Matrices, longest: int = LONGEST
) -> DeviceMatrices:
    """Slice the matrices of a key and copy them to the device."""
    s = sliced(matrices, longest)
    table = matrices.table if len(matrices.table) else np.zeros((1, 4), dtype=np.uint64)
    long_rows = s.long_rows if len(s.long_rows) else np.zeros((1, 3), dtype=np.uint32)
    host = s.start, s.targets, s.wires, s.codes, table, long_rows
    # An array of nothing has no address.
    found = tuple(arena.upload(a if a.size else np.zeros(1, np.uint32), stream) for a in host)
    sizes = matrices.n, len(s.targets), s.partials, len(s.long_rows)
    return DeviceMatrices(F, *sizes, int(s.long_rows[:, 2].max(initial=1)), found)


def evaluate(
    arena: Arena,
    stream: Stream,
    matrices: DeviceMatrices,
    witness: DeviceArray,
    threads: int = matvec.MAX_THREADS,
) -> DeviceArray:
    """a, b and c on the domain: 3n elements, Montgomery, below 2p.

    Args:
        arena: where they are allocated, and what is needed on the way.
        stream: where.
        matrices: those of the key.
        witness: n_wires elements, canonical.
        threads: of a block, a power of two.
    """
    m = matrices
    with arena.scope(stream) as scope:
        abc = scope.allocate(3 * m.n * m.F.words)
        partials = scope.allocate(max(1, m.partials) * m.F.words)
        launch_rows(stream, m, witness, abc, partials, threads)
        return scope.keep(abc)


def launch_rows(
    stream: Stream,
    matrices: DeviceMatrices,
    witness: DeviceArray,
    abc: DeviceArray,
    partials: DeviceArray,
    threads: int = matvec.MAX_THREADS,
) -> None:
    """The launches of `evaluate`, which can be captured as a graph."""
    m, F = matrices, matrices.F
    rows, long_rows, products = _kernels(F)
    start, targets, wires, codes, table, long = m.arrays
    rows.launch(
        stream,
        *grid(m.pieces, threads),
        *(abc, partials, start, targets, wires, codes, table, witness, m.pieces),
    )
    threads = min(threads, 1 << (m.most_partials - 1).bit_length())
    shared = 4 * F.words * threads
    long_rows.launch(stream, m.long_rows, threads, abc, partials, long, shared=shared)
    products.launch(stream, *grid(m.n), abc, m.n)
