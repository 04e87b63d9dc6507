"""Transforms on a device: the passes of each, and the tables that they read.

    to_reversed    natural order in, bit-reversed out: dif passes, the longest stride first
    to_natural     bit-reversed in, natural out: dit passes, the shortest stride first
    to_coset       evaluations on {ωⁱ} to evaluations on {g·ωⁱ}: an inverse to_reversed, powers of
                   g over n, a forward to_natural; the two meet in one pass

A pass of k levels at stride 2^s, over a span of 2^L, L = s + k, multiplies by root_L^(c·brev_k(r)).
The place of element r of that pass is bit-reversed later, so that r weighs brev_k(r)·2^(log_n − L)
in the index of a coefficient: a coset's powers are a factor of rows in each pass.

    index of coefficient = Σ over passes of brev_k(r)·2^(log_n − L)

Tables are made on the device from some thousand powers computed here, once for a key.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache

from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array
from snarkcuda.field.params import PrimeField
from snarkcuda.kernels.device import DeviceArray, Event, Stream
from snarkcuda.kernels.field import DeviceField
from snarkcuda.kernels.launch import DeviceKernel
from snarkcuda.kernels.memory import Scope
from snarkcuda.kernels.ntt import MAX_LEVELS, MAX_THREADS, ntt_factors, ntt_pass, shared_bytes

# Products of an element in a pass of k levels: by roots in registers, and between its steps.
_PRODUCTS = (0, 0, 0.25, 0.625, 1.5, 1.75, 2.125, 3.0, 3.25, 3.625)


@cache
def split(log_n: int, max_levels: int = MAX_LEVELS) -> tuple[int, ...]:
    """The levels of each pass: as few passes as can be, then as few products, then even."""

    def ways(left: int, passes: int) -> list[tuple[int, ...]]:
        if passes == 0:
            return [()] if left == 0 else []
        levels = range(max(1, left - max_levels * (passes - 1)), min(max_levels, left) + 1)
        return [(k, *rest) for k in levels for rest in ways(left - k, passes - 1)]

    def cost(way: tuple[int, ...]) -> tuple[float, int, tuple[int, ...]]:
        return sum(_PRODUCTS[k] for k in way), max(way) - min(way), way

    return min(ways(log_n, -(-log_n // max_levels)), key=cost) if log_n else ()


@dataclass(frozen=True)
class _Pass:
    """A pass of a transform: what `ntt_pass` is launched with."""

    levels: int
    log_stride: int
    dif: int
    dit: int
    dif_roots: DeviceArray
    dit_roots: DeviceArray
    middle: DeviceArray
    factors: DeviceArray
    mask: int


@dataclass(frozen=True)
class Transform:
    """The passes of one transform, in order."""

    F: DeviceField
    log_n: int
    passes: tuple[_Pass, ...] = field(repr=False)
    tables: Stream = field(repr=False)  # that makes the tables
    ready: Event = field(repr=False)  # when it has

    def run(self, stream: Stream, x: DeviceArray, log_columns: int | None = None) -> None:
        """Transform in place; several threads may, on streams of their own.

        Args:
            stream: of the device that x is on.
            x: k·2^log_n elements, k polynomials one behind the other, Montgomery form.
            log_columns: lines that a block of threads takes in a pass; by default as many as
                `MAX_THREADS` threads hold.
        """
        F = self.F
        kernel = _kernels(F)[0]
        if stream is not self.tables:  # so that it can be captured on this stream alone
            stream.wait_for(self.ready)
        for p in self.passes:
            lines = x.size // F.words >> p.levels
            rows = max(p.levels, 3)
            super_lines = -(-lines // (1 << (rows - p.levels)))
            most = (MAX_THREADS.bit_length() - 1) - (rows - 3)
            columns = min(most if log_columns is None else log_columns, most)
            columns = min(columns, (super_lines - 1).bit_length())
            kernel.launch(
                stream,
                -(-super_lines // (1 << columns)),
                1 << (rows - 3 + columns),
                *(x, p.dif_roots, p.dit_roots, p.middle, p.factors),
                *(p.levels, columns, p.log_stride, lines, p.dif, p.dit, p.mask),
                shared=shared_bytes(F, p.levels, columns),
            )


@cache
def _kernels(F: DeviceField) -> tuple[DeviceKernel, DeviceKernel]:
    return ntt_pass(F), ntt_factors(F)


class Transforms:
    """Makes the transforms of one size on one device, which share tables; in one thread.

    Args:
        scope: holds the tables, and has the stream on which they are made.
        F: the scalar field, as kernels compute in it.
        log_n: log2 of the size.
        splitting: the levels of each pass; by default `split(log_n)`.
    """

    def __init__(
        self,
        scope: Scope,
        F: DeviceField,
        log_n: int,
        splitting: tuple[int, ...] | None = None,
    ) -> None:
        self.F, self.log_n = F, log_n
        self._scope, self._stream = scope, scope.stream
        # One element has no levels, but may have a scale: a pass of none, which multiplies.
        self._levels = (split(log_n) if splitting is None else splitting) or (0,)
        if sum(self._levels) != log_n:
            raise ValueError(f"levels {self._levels} are not those of 2^{log_n}")
        self._field: PrimeField = F.prime
        self._tables: dict[object, DeviceArray] = {}
        self._none = self._scope.upload(self._powers(1, 1))  # where a pass reads no table

    # --- the transforms ---------------------------------------------------------------------------

    def to_reversed(self, inverse: bool = False, scale: int = 1, shift: int = 1) -> Transform:
        """X_k·scale·shift^k at place brev(k), X_k = Σ x_j·ω^(jk), or ω⁻¹ where inverse."""
        passes = [
            self._dif_pass(at, inverse, scale if last else 1, shift, last)
            for at, last in self._places()
        ]
        return self._transform(passes)

    def to_natural(self, inverse: bool = False) -> Transform:
        """X_k = Σ x_j·ω^(jk), x_j at place brev(j)."""
        passes = [self._dit_pass(at, inverse) for at in reversed(range(len(self._levels)))]
        return self._transform(passes)

    def to_coset(self, shift: int) -> Transform:
        """P(ωⁱ) to P(shift·ωⁱ), both in natural order."""
        over_n = pow(1 << self.log_n, -1, self._field.modulus)
        down = [
            self._dif_pass(at, True, over_n if last else 1, shift, last)
            for at, last in self._places()
        ]
        up = [self._dit_pass(at, False) for at in reversed(range(len(self._levels)))]
        meeting = [
            replace(first, dif=1, dif_roots=last.dif_roots, middle=last.factors)
            for first, last in zip(up[:1], down[-1:], strict=True)
        ]
        return self._transform([*down[:-1], *meeting, *up[1:]])

    def _transform(self, passes: list[_Pass]) -> Transform:
        return Transform(self.F, self.log_n, tuple(passes), self._stream, self._stream.record())

    def _places(self) -> list[tuple[int, bool]]:
        """Each pass, and whether it is the last: that at stride 1."""
        return [(at, at == len(self._levels) - 1) for at in range(len(self._levels))]

    def _stride(self, at: int) -> int:
        return self.log_n - sum(self._levels[: at + 1])

    # --- passes -----------------------------------------------------------------------------------

    def _dif_pass(self, at: int, inverse: bool, scale: int, shift: int, last: bool) -> _Pass:
        levels, log_stride = self._levels[at], self._stride(at)
        roots = self._roots(levels, inverse)
        if last and scale == shift == 1:
            return _Pass(levels, 0, 1, 0, roots, roots, self._none, self._none, -1)
        factors = self._factors(at, inverse, scale, shift)
        mask = (1 << (levels + log_stride)) - 1
        return _Pass(levels, log_stride, 1, 0, roots, roots, self._none, factors, mask)

    def _dit_pass(self, at: int, inverse: bool) -> _Pass:
        levels, log_stride = self._levels[at], self._stride(at)
        roots = self._roots(levels, inverse)
        if at == 0:
            return _Pass(levels, log_stride, 0, 1, roots, roots, self._none, self._none, -1)
        factors = self._factors(at - 1, inverse, 1, 1)  # of the pass to come
        mask = (1 << (self._levels[at - 1] + self._stride(at - 1))) - 1
        return _Pass(levels, log_stride, 0, 1, roots, roots, self._none, factors, mask)

    # --- tables -----------------------------------------------------------------------------------

    def _root(self, log_order: int, inverse: bool) -> int:
        root = self._field.root_of_unity(log_order)
        return pow(root, -1, self._field.modulus) if inverse else root

    def _roots(self, levels: int, inverse: bool) -> DeviceArray:
        """root^e for e < 2^levels."""
        key = "roots", levels, inverse
        if key not in self._tables:
            powers = self._powers(self._root(levels, inverse), 1 << levels)
            self._tables[key] = self._scope.upload(powers)
        return self._tables[key]

    def _factors(self, at: int, inverse: bool, scale: int, shift: int) -> DeviceArray:
        """The factors of the pass: root^(c·brev(r))·scale·shift^(brev(r)·2^(levels before))."""
        key = "factors", at, inverse, scale, shift
        if key not in self._tables:
            levels, log_stride = self._levels[at], self._stride(at)
            span = levels + log_stride
            root, p = self._root(span, inverse), self._field.modulus
            step = pow(shift, 1 << (self.log_n - span), p)
            by_weight = self._powers(step, 1 << levels, scale)
            reversal = [int(f"{r:0{levels}b}"[::-1], 2) for r in range(1 << levels)]
            log_low = span // 2
            high = self._powers(pow(root, 1 << log_low, p), 1 << (span - log_low))
            host = self._powers(root, 1 << log_low), high, by_weight[reversal]
            out = self._scope.allocate(self.F.words << span)
            threads = min(MAX_THREADS, 1 << span)
            grid = (1 << span) // threads, threads
            with self._scope.arena.scope(self._stream) as inputs:
                tables = [inputs.upload(table) for table in host]
                sizes = levels, log_stride, log_low
                _kernels(self.F)[1].launch(self._stream, *grid, out, *tables, *sizes)
            self._tables[key] = out
        return self._tables[key]

    def _powers(self, base: int, n: int, first: int = 1) -> U64Array:
        """first·baseⁱ for i < n: uint64 (n, limbs), Montgomery."""
        p, value, found = self._field.modulus, self._field.to_montgomery(first), []
        for _ in range(n):
            found.append(value)
            value = value * base % p
        return arrays.from_ints(found, self._field.limbs)
