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
from snarkcuda.kernels.memory import Arena, Scope
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
    wires: int  # that a witness has at least
    arrays: tuple[DeviceArray, ...]

    @property
    def nbytes(self) -> int:
        """Of all arrays."""
        return sum(array.nbytes for array in self.arrays)

    @property
    def needs(self) -> tuple[int, ...]:
        """Words of the arrays that `evaluate` takes: a, b and c, and partial sums."""
        return 3 * self.n * self.F.words, max(1, self.partials) * self.F.words


def load_matrices(
    scope: Scope, F: DeviceField, matrices: Matrices, longest: int = LONGEST
) -> DeviceMatrices:
    """Slice the matrices of a key and copy them to the device, where the scope holds them."""
    s = sliced(matrices, longest)
    table = matrices.table if len(matrices.table) else np.zeros((1, 4), dtype=np.uint64)
    long_rows = s.long_rows if len(s.long_rows) else np.zeros((1, 3), dtype=np.uint32)
    host = s.start, s.targets, s.wires, s.codes, table, long_rows
    # An array of nothing has no address.
    there = tuple(scope.upload(a if a.size else np.zeros(1, np.uint32)) for a in host)
    sizes = matrices.n, len(s.targets), s.partials, len(s.long_rows)
    most_partials, last_wire = s.long_rows[:, 2].max(initial=1), matrices.wires.max(initial=0)
    return DeviceMatrices(F, *sizes, int(most_partials), int(last_wire) + 1, there)


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

    Raises:
        ValueError: threads are no power of two, or the witness is too short for the rows.
    """
    m = matrices
    with arena.scope(stream) as scope:
        abc, partials = (scope.allocate(size) for size in m.needs)
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
    if threads.bit_count() != 1 or witness.size < m.wires * F.words:
        raise ValueError(
            f"{threads} threads, {witness.size // F.words} wires: a power of two adds up long rows "
            f"in pairs, and rows read {m.wires} wires"
        )
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
