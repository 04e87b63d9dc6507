"""Kernels of a = A·w, b = B·w and c = a·b.

One thread sums a piece of a row (`kernels/matvec_plan.py`); a block of threads adds the partial
sums of a long row; one thread multiplies a row's a and b. As on the CPU (`cpu/matvec.py`) the wires
whose coefficient is 1 or −1 are added up as they are, canonical, and the sum is multiplied by R²
once; the table's values v·R² times the canonical w are v·w·R, so that the witness is never
converted. The naive twin is in `tests/kernels/test_matvec.py`.
"""

from __future__ import annotations

from typing import Any

from snarkcuda.kernels.field import DeviceField
from snarkcuda.kernels.launch import DeviceKernel, device_kernel
from snarkcuda.kernels.loops import no_unroll
from snarkcuda.kernels.matvec_plan import END, NOWHERE, PARTIAL
from snarkcuda.kernels.target import cuda, uint32

MAX_THREADS = 128


def matvec_rows(F: DeviceField) -> DeviceKernel:
    """The sum of each piece, to its row or to its place among the partial sums.

    Arguments of a launch, a thread a piece: out, partials, elements; start, targets, wires, codes
    as in `Slices`; table, witness, elements, canonical; the number of pieces.
    """
    load, store = F.load, F.store
    zero = F.constant(0)
    unit = F.constant_raw(F.prime.montgomery**2 % F.prime.modulus)

    signature = ("words",) * 8 + ("i64",)

    @device_kernel(f"matvec_rows[{F.key}]", signature, max_threads=MAX_THREADS, min_blocks=8)
    def matvec_rows(
        out: Any, partials: Any, start: Any, targets: Any, wires: Any, codes: Any, table: Any,
        witness: Any, pieces: int,
    ) -> None:  # fmt: skip
        piece = cuda.grid(1)
        if piece < pieces:
            slice_, lane = piece >> 5, piece & 31
            plain, rest = zero(), zero()
            place, end = 32 * start[slice_] + lane, 32 * start[slice_ + 1]
            wire = wires[place]
            while place < end:
                no_unroll()
                # Three loads that do not wait for each other: padding is a wire too.
                value, code = load(witness, wire), codes[place]
                place += 32
                wire = wires[place]
                if code == 0:
                    plain = plain + value
                elif code == 1:
                    plain = plain - value
                elif code != END:
                    rest = rest + load(table, code - 2) * value
            total = plain * unit() + rest
            target = targets[piece]
            if target < PARTIAL:
                store(out, target, total)
            elif target != NOWHERE:
                store(partials, target - PARTIAL, total)

    return matvec_rows


def matvec_long_rows(F: DeviceField) -> DeviceKernel:
    """The partial sums of each long row, added: a block a row.

    Arguments of a launch: out, partials, elements; long_rows as in `Slices`. Dynamic shared memory:
    an element a thread, whose number is a power of two.
    """
    load, store, get, put = F.load, F.store, F.load_shared, F.store_shared
    zero = F.constant(0)

    @device_kernel(f"matvec_long_rows[{F.key}]", ("words",) * 3, max_threads=MAX_THREADS)
    def matvec_long_rows(out: Any, partials: Any, long_rows: Any) -> None:
        shared = cuda.shared.array(0, uint32)
        block, thread, threads = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
        first, count = long_rows[3 * block + 1], long_rows[3 * block + 2]
        total = zero()
        for i in range(thread, count, threads):
            no_unroll()
            total = total + load(partials, first + i)
        put(shared, thread, threads, total)
        cuda.syncthreads()
        half = threads >> 1
        while half > 0:
            if thread < half:
                total = total + get(shared, thread + half, threads)
                put(shared, thread, threads, total)
            cuda.syncthreads()
            half >>= 1
        if thread == 0:
            store(out, long_rows[3 * block], total)

    return matvec_long_rows
