"""Kernels of the weighted sum of buckets: Σ (|digit|)·bucket, for each group.

With |digit| − 1 = high·2^log_bins + bin (`msm_digits.py`), high = h·run + j:

    Σ |digit|·B  =  Σ (bin + 1)·S  +  2^log_bins·(run·Σ h·S + Σ T),    S = Σ_j B,  T = Σ_j j·B

A thread takes a run of buckets and makes its S and T by two additions a bucket. S then has a
number, bin·2^log_runs + h, and the weights bin and h are sums of that number's bits: for each bit a
row of blocks adds up all S that have it. Some twenty points a group are left, which the host weighs
by powers of two:

    row of bit b < log_runs     2^(log_bins + log_run + b)      row of all S     1
    row of bit b ≥ log_runs     2^(b − log_runs)                row of all T     2^log_bins
"""

from __future__ import annotations

from typing import Any

from snarkcuda.curve.formulas import xyzz_add, xyzz_infinity
from snarkcuda.jit import formula
from snarkcuda.kernels.field import DeviceField
from snarkcuda.kernels.group import xyzz_words
from snarkcuda.kernels.launch import DeviceKernel, device_kernel
from snarkcuda.kernels.loops import no_unroll
from snarkcuda.kernels.target import cuda, int64

MAX_THREADS = 128


def row_weights(log_bins: int, log_runs: int, log_run: int) -> list[int]:
    """Log2 of the weight of each row of a group."""
    of_runs = [log_bins + log_run + b for b in range(log_runs)]
    return [*of_runs, *range(log_bins), 0, log_bins]


def reduce_runs(F: DeviceField) -> DeviceKernel:
    """S and T of each run of buckets.

    Arguments of a launch, a thread a run: out, points: S of all runs, then T; sums, points; starts,
    words; the number of runs; log_run, log2 of the buckets of a run; log_runs, log2 of the runs of
    a bin and group; groups. Runs are numbered group by group, then bin by bin.
    """
    load_xyzz, store_xyzz = xyzz_words(F)
    zero = F.constant(0)

    @device_kernel(
        f"reduce_runs[{F.key}]", ("words",) * 3 + ("i64",) * 4, max_threads=MAX_THREADS,
        may_spill=F.calls,
    )  # fmt: skip
    def reduce_runs(
        out: Any, sums: Any, starts: Any, runs: int, log_run: int, log_runs: int, groups: int
    ) -> None:
        i = cuda.grid(1)
        if i < runs:
            of_group = runs // groups
            group, number = i // of_group, i % of_group
            bin_, h = number >> log_runs, number & ((1 << log_runs) - 1)
            # Of a bin: group by group, in each its buckets by high bits.
            first = 1 + ((((bin_ * groups + group) << log_runs) + h) << log_run)
            s, t = xyzz_infinity(zero()), xyzz_infinity(zero())
            for j in range((1 << log_run) - 1, -1, -1):
                no_unroll()
                if int64(starts[first + j]) < int64(starts[first + j + 1]):
                    s = xyzz_add(s, load_xyzz(sums, first + j))
                if j > 0:
                    t = xyzz_add(t, s)
            store_xyzz(out, i, s)
            store_xyzz(out, runs + i, t)

    return reduce_runs


def _block_sum(F: DeviceField) -> Any:
    """A word for kernels: the sum of the points of a block's threads, in thread 0."""
    load_xyzz, store_xyzz = xyzz_words(F)

    @formula
    def block_sum(scratch: Any, total: Any) -> Any:
        thread, half = cuda.threadIdx.x, cuda.blockDim.x >> 1
        base = cuda.blockIdx.x * cuda.blockDim.x
        while half > 0:
            store_xyzz(scratch, base + thread, total)
            cuda.syncthreads()
            if thread < half:
                total = xyzz_add(total, load_xyzz(scratch, base + thread + half))
            cuda.syncthreads()
            half >>= 1
        return total

    return block_sum


def bit_rows(F: DeviceField) -> DeviceKernel:
    """The rows of each group, each as one partial sum a block.

    Arguments of a launch, `share` blocks a row, a power of two of threads: out, points, one a
    block; runs_sums, points, what `reduce_runs` left; scratch, a point a thread; runs of a group;
    log2 of them; groups; share.
    """
    load_xyzz, store_xyzz = xyzz_words(F)
    zero, block_sum = F.constant(0), _block_sum(F)

    @device_kernel(
        f"bit_rows[{F.key}]", ("words",) * 3 + ("i64",) * 4, max_threads=MAX_THREADS,
        may_spill=F.calls,
    )  # fmt: skip
    def bit_rows(
        out: Any, run_sums: Any, scratch: Any, runs: int, log_runs: int, groups: int, share: int
    ) -> None:
        block, thread, threads = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
        row, part = block // share, block % share
        group, bit = row // (log_runs + 2), row % (log_runs + 2)
        first, count = group * runs, runs
        if bit < log_runs:
            count = runs >> 1
        elif bit > log_runs:
            first += groups * runs  # T
        total = xyzz_infinity(zero())
        for i in range(part * threads + thread, count, share * threads):
            no_unroll()
            number = i
            if bit < log_runs:  # the i-th number that has the bit
                low = i & ((1 << bit) - 1)
                number = ((i - low) << 1) + (1 << bit) + low
            total = xyzz_add(total, load_xyzz(run_sums, first + number))
        total = block_sum(scratch, total)
        if thread == 0:
            store_xyzz(out, block, total)

    return bit_rows


def sum_rows(F: DeviceField) -> DeviceKernel:
    """The sum of each row's partial sums, below p; and one row more, bucket 0: a block a row.

    Arguments of a launch: out, points, one a row; parts, points; scratch, a point a thread; sums,
    points; starts, words; share, the parts of a row; rows.
    """
    load_xyzz, _ = xyzz_words(F)
    store = F.store_canonical
    zero, block_sum = F.constant(0), _block_sum(F)

    @device_kernel(
        f"sum_rows[{F.key}]", ("words",) * 5 + ("i64",) * 2, max_threads=MAX_THREADS,
        may_spill=F.calls,
    )  # fmt: skip
    def sum_rows(
        out: Any, parts: Any, scratch: Any, sums: Any, starts: Any, share: int, rows: int
    ) -> None:
        block, thread, threads = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
        total = xyzz_infinity(zero())
        if block < rows:
            for i in range(thread, share, threads):
                no_unroll()
                total = xyzz_add(total, load_xyzz(parts, block * share + i))
        elif thread == 0 and int64(starts[1]) > 0:
            total = load_xyzz(sums, 0)
        total = block_sum(scratch, total)
        if thread == 0:
            x, y, zz, zzz = total
            store(out, 4 * block, x)
            store(out, 4 * block + 1, y)
            store(out, 4 * block + 2, zz)
            store(out, 4 * block + 3, zzz)

    return sum_rows
