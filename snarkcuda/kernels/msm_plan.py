"""How a multi-scalar multiplication is cut for a device: windows, multiples, bins, chunks.

    scalars ─▶ digit_counts ─▶ column sums, starts, offsets ─▶ digit_place ─▶ bin_sort ─▶ Grouping
    Grouping, table ─▶ sum_chunks ─▶ sum_runs … ─▶ reduce_runs ─▶ bit_rows ─▶ sum_rows ─▶ host

A `Grouping` is of scalars alone: queries that share those share it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from snarkcuda.field.params import PrimeField
from snarkcuda.kernels.device import Device
from snarkcuda.kernels.msm_digits import LOG_TILE, MAX_MULTIPLES, MAX_PLACES, MAX_WINDOW
from snarkcuda.kernels.msm_group import TOTALS

_SPANS = 64  # of tiles, whose sums one block adds up
BUCKET_COST = 4  # of a bucket, in additions: two full ones and its share of rows; by count


@dataclass(frozen=True)
class Geometry:
    """How the work is spread over threads; tests take few, as the simulator has none to give.

    Attributes:
        digits, sort, sums, reduce: threads of a block of those kernels.
        chunks: into how many the entries are cut, four waves of 384 threads a multiprocessor.
        least_chunk: entries of a chunk at least.
        share: blocks of a row of bits.
        log_tile: scalars of a tile, at most.
    """

    digits: int = 512
    sort: int = 512
    sums: int = 128
    reduce: int = 128
    chunks: int = 4 * 384 * 132
    least_chunk: int = 8
    share: int = 16
    log_tile: int = LOG_TILE


SMALL = Geometry(2, 2, 4, 1, chunks=6, least_chunk=3, share=1, log_tile=3)


def n_windows(field: PrimeField, c: int) -> int:
    """Windows of signed c-bit digits that hold min(k, r − k) for every k."""
    largest = (field.modulus - 1) // 2
    windows = -(-largest.bit_length() // c)
    # The highest digit, with a carry, must not leave one itself.
    return windows + ((largest >> ((windows - 1) * c)) + 1 > 1 << (c - 1))


@dataclass(frozen=True)
class MsmShape:
    """All sizes of an MSM but those that depend on the scalars.

    Attributes:
        field: the scalars'.
        n: scalars.
        window: bits of a digit, c.
        multiples: of each point that are resident.
        log_bins: log2 of the bins.
        geometry: threads and blocks.
    """

    field: PrimeField
    n: int
    window: int
    multiples: int
    log_bins: int
    geometry: Geometry

    @property
    def windows(self) -> int:
        """Digits of a scalar."""
        return n_windows(self.field, self.window)

    @property
    def groups(self) -> int:
        """Sets of buckets: window w uses multiple w // groups and set w % groups."""
        return -(-self.windows // self.multiples)

    @property
    def step(self) -> int:
        """Doublings from one multiple to the next."""
        return self.groups * self.window

    @property
    def places(self) -> int:
        """Buckets of a bin."""
        return self.groups << (self.window - 1 - self.log_bins)

    @property
    def columns(self) -> int:
        """The bins, and one for the scalars 1 and −1."""
        return 1 + (1 << self.log_bins)

    @property
    def buckets(self) -> int:
        """All, that of the scalars 1 and −1 first."""
        return 1 + (self.places << self.log_bins)

    @property
    def log_tile(self) -> int:
        """Log2 of the scalars of a tile: so many tiles that all multiprocessors have several."""
        return max(3, min(self.geometry.log_tile, self.n.bit_length() - 10))

    @property
    def tiles(self) -> int:
        """Of scalars."""
        return -(-self.n >> self.log_tile)

    @property
    def entries(self) -> int:
        """At most."""
        return self.n * self.windows

    @property
    def chunks(self) -> int:
        """Of entries, at most."""
        return min(self.geometry.chunks, -(-self.entries // self.geometry.least_chunk))

    @property
    def log_run(self) -> int:
        """Log2 of the buckets that a thread reduces."""
        log_high = self.window - 1 - self.log_bins
        return min(log_high, max(1, min(6, self.window - 17)))

    @property
    def log_runs(self) -> int:
        """Log2 of the runs of such buckets in a bin and group."""
        return self.window - 1 - self.log_bins - self.log_run

    @property
    def rows(self) -> int:
        """That the host weighs, but bucket 0."""
        return self.groups * (self.log_runs + self.log_bins + 2)

    @property
    def span(self) -> int:
        """Tiles whose counts one thread adds up."""
        return -(-self.tiles // _SPANS) or 1

    @property
    def spans(self) -> int:
        """Of tiles."""
        return -(-self.tiles // self.span)

    def level_sizes(self) -> list[int]:
        """Heads and tails of chunks, at most, then of blocks, until one block has them all."""
        sizes = [max(2, 2 * self.chunks)]
        while sizes[-1] > self.geometry.sums:
            sizes.append(2 * -(-sizes[-1] // self.geometry.sums))
        return sizes

    def group_words(self) -> list[int]:
        """Words of a `Grouping`'s arrays: entries, starts, chunk_buckets, totals."""
        return [max(1, self.entries), 1 + self.buckets, max(1, self.chunks), TOTALS]

    def sorting_words(self) -> list[int]:
        """Words that making it takes: records, counts, their sums, starts of columns."""
        counts, sums = self.tiles * self.columns, self.spans * self.columns
        return [max(1, self.entries), max(1, counts), max(1, sums), self.columns + 1]

    def sum_words(self, point: int) -> list[int]:
        """Words that sums take, of `point` words each.

        The rows; buckets, heads and tails; runs; parts of rows and their scratch; keys by level.
        """
        levels, g = self.level_sizes(), self.geometry
        runs = self.groups << (self.log_runs + self.log_bins)
        places = [
            1 + self.rows,
            self.buckets + sum(levels),
            2 * runs,
            self.rows * g.share,
            (1 + self.rows * g.share) * g.reduce,
        ]
        return [*(n * point for n in places), *levels]


def geometry_of(device: Device) -> Geometry:
    """For a device: waves of its multiprocessors, or few threads where they are simulated."""
    if device.name == "simulator":
        return SMALL
    return replace(Geometry(), chunks=4 * 384 * device.multiprocessors)


def msm_shape(
    field: PrimeField, n: int, multiples: int | None = None, window: int | None = None,
    geometry: Geometry | None = None,
) -> MsmShape:  # fmt: skip
    """The shape of an MSM.

    Args:
        field: the scalar field.
        n: scalars; fewer than 2^30.
        multiples: of each point that may be resident; by default one a window.
        window: bits of a digit, 2 to 24; by default what needs the fewest additions.
        geometry: of the launches; by default the device's.

    Raises:
        ValueError: there is no such shape.
    """

    def shape(c: int) -> MsmShape:
        m = min(multiples or MAX_MULTIPLES, n_windows(field, c))
        # Bins as many as blocks are busy with, each with no more counters than fit beside others.
        log_places = max(0, (-(-n_windows(field, c) // m) - 1).bit_length() + c - 1)
        log_bins = min(c - 1, max(min(11, c // 2), log_places - 13))
        return MsmShape(field, n, c, m, log_bins, geometry or Geometry())

    def cost(c: int) -> float:
        s = shape(c)
        return s.entries + BUCKET_COST * s.buckets

    found = shape(window or min(range(2, MAX_WINDOW + 1), key=cost))
    if (
        not 2 <= found.window <= MAX_WINDOW
        or not 1 <= found.multiples <= MAX_MULTIPLES
        or found.places > MAX_PLACES
        or n * max(2 * found.multiples, found.windows) > 1 << 32
    ):
        raise ValueError(
            f"no shape for {n} scalars, windows of {found.window} bits, {found.multiples} "
            f"multiples: windows have 2 to {MAX_WINDOW} bits, tables up to 2^31 points, and there "
            "are up to 2^32 digits"
        )
    return found
