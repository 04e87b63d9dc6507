"""Field arithmetic as blocks of inline PTX, one an operation, for any even number of words.

A field element is n words of 32 bits in Montgomery form, R = 2^(32n), p its modulus. Where 4p < R
registers hold values below m = 2p (lazy), elsewhere below m = p (strict):

    operation                  operands           result                  why it fits
    mul, sqr                   a, b < m           < m                     (ab + Rp)/R ≤ 2p: ab ≤ Rp
    add, sub, neg              < m                < m                     2m ≤ R
    canonical                  < 2p               < p
    add_loose                  < m                < 2m                    2m ≤ R
    sub_loose (a − b + m)      < m                < 2m                    2m ≤ R
    mul_wide, sqr_wide         any                exact, 2n words
    reduce_wide                t < Rp             < m, t/R                (t + Rp)/R < 2p
    sub_wide (t − u)           t, u < Rp          < Rp                    + Rp where negative
    sub_two_wide (t − u − v)   0 ≤ … < 2m²        < Rp                    − Rp where 2m² > Rp

mul takes looser operands too, where ab ≤ Rp and a ≤ R − p: from row to row the sum stays below
a + p, which must fit n words.

A product keeps two accumulators, one for pairs of words that begin at even places, one for odd, so
that each 64-bit product of words lands on a pair and a whole row is one chain of carries; the two
are added at the end. Koç, Acar and Kaliski, IEEE Micro 16(3), 1996 (operand scanning); the two
accumulators are NVIDIA's (CGBN), and sppark's.

The twin is `kernels/limbs.py`; `tests/kernels/ptx_interpreter.py` runs the text.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from snarkcuda.field.params import PrimeField
from snarkcuda.kernels.ptx_blocks import Block, Builder, Number, Word, immediates

# −1 as the factor of a reduction (BLS12-381 Fr): spelled so that the assembler does not push the
# negation into the products that follow, where it would part their halves.
_MINUS_ONE = 0xFFFFFFFF

# Whether a word of p that is 1 (the lowest of BLS12-381 Fr) is added, not multiplied: fewer wide
# products, the limit of a GPU, for more instructions. H200: 63.2 G products a second, else 60.6.
_ADD_UNITS = True


def is_lazy(field: PrimeField) -> bool:
    """Whether registers hold values below 2p: 4p < R."""
    return 4 * field.modulus < field.montgomery


@cache
def blocks(field: PrimeField, lazy: bool | None = None) -> dict[str, Block]:
    """The blocks of a field by name; strict ones of a lazy field if asked, for tests."""
    lazy = is_lazy(field) if lazy is None else lazy
    return {name: make(_Field(field, lazy)) for name, make in _OPERATIONS.items()}


class _Field:
    """What the operations need of a field.

    Attributes:
        p, n, R, m: as above.
        lazy: whether m is 2p.
    """

    def __init__(self, field: PrimeField, lazy: bool) -> None:
        self.p, self.n, self.R = field.modulus, 2 * field.limbs, field.montgomery
        self.lazy, self.m = lazy, (2 if lazy else 1) * field.modulus
        self.p_words = immediates(self.p, self.n)
        self._factor = -pow(self.p, -1, 1 << 32) % (1 << 32)

    def multiple(self, b: Builder, word: Word) -> Word:
        """The multiple of p that clears a word: word·(−1/p) mod 2^32."""
        if self._factor == _MINUS_ONE:
            return b.emit("not.b32", b.emit("sub.u32", word, "1"))
        return b.emit("mul.lo.u32", word, f"0x{self._factor:08x}")

    def settled(self, b: Builder, x: Number) -> Number:
        """A value below 2p as registers hold it."""
        return x if self.lazy else b.below(x, self.p)


# --- products -----------------------------------------------------------------------------------


def _shift(b: Builder, even: list[Word | None], odd: list[Word | None]) -> tuple[
    list[Word | None], list[Word | None]
]:  # fmt: skip
    """Divide by 2^32: the places change parity. even[0] is 0; even[1] goes into the new even[0].

    Leaves its carry in the flag, for word 1 of the number: the new odd[0].
    """
    left, rest = even[1], even[2:]
    even, odd = odd, [*rest, None, None]
    even[0] = b.emit("add.cc.u32", even[0] or "0", left or "0")
    return even, odd


def _montgomery_product(f: _Field, b: Builder, x: Number, y: Number) -> Number:
    """(x·y + a multiple of p)/R, below 2p: a row of products, then a row that clears a word."""
    even: list[Word | None] = [None] * f.n  # pairs at places 0, 2, …
    odd: list[Word | None] = [None] * f.n  # pairs at places 1, 3, …
    for i, word in enumerate(y):
        if i > 0:
            even, odd = _shift(b, even, odd)
        b.add_row(odd, x[1::2], word, carry_in=i > 0)
        b.add_row(even, x[0::2], word, carry_out=i > 0)
        if i > 0:
            b.carry_into(odd, f.n - 1)
        multiple = f.multiple(b, even[0] or "0")
        b.add_row(odd, f.p_words[1::2], multiple, add_units=_ADD_UNITS)
        b.add_row(even, f.p_words[0::2], multiple, carry_out=True, add_units=_ADD_UNITS)
        b.carry_into(odd, f.n - 1)
    return _joined(b, even, odd)


def _reduced(f: _Field, b: Builder, t: Number) -> Number:
    """(t + a multiple of p)/R for t of 2n words, below 2p."""
    even: list[Word | None] = list(t[: f.n])
    odd: list[Word | None] = [None] * f.n
    for i in range(f.n):
        if i > 0:
            even, odd = _shift(b, even, odd)
        multiple = f.multiple(b, even[0] or "0")  # leaves the flag alone
        b.add_row(odd, f.p_words[1::2], multiple, carry_in=i > 0, add_units=_ADD_UNITS)
        b.add_row(even, f.p_words[0::2], multiple, carry_out=True, add_units=_ADD_UNITS)
        b.carry_into(odd, f.n - 1)
    return b.add(_joined(b, even, odd), t[f.n :])


def _joined(b: Builder, even: list[Word | None], odd: list[Word | None]) -> Number:
    """The two accumulators divided by 2^32: even[0] is 0."""
    return b.add([w or "0" for w in odd], [w or "0" for w in [*even[1:], None]])


def _wide_product(b: Builder, x: Number, y: Number) -> Number:
    """x·y in 2n words."""
    n = len(x)
    accumulators: list[list[Word | None]] = [[None] * (2 * n + 1) for _ in range(2)]
    for i, word in enumerate(y):
        # Places i, i + 2, … have i's parity.
        same, other = accumulators[i % 2], accumulators[1 - i % 2]
        _add_slice(b, other, i + 1, x[1::2], word, False)
        _add_slice(b, same, i, x[0::2], word, i > 0)
        if i > 0:
            b.carry_into(other, i + n)
    return _summed(b, accumulators, 2 * n)


def _wide_square(b: Builder, x: Number) -> Number:
    """x² in 2n words: products of unlike words once, doubled, then the squares."""
    n = len(x)
    accumulators: list[list[Word | None]] = [[None] * (2 * n + 2) for _ in range(2)]
    for i in range(n - 1):
        for first in (i + 2, i + 1):
            words = x[first::2]
            if not words:
                continue
            pairs = accumulators[(i + first) % 2]
            end = i + first + 2 * len(words)
            fresh = all(word is None for word in pairs[i + first : end])
            _add_slice(b, pairs, i + first, words, x[i], not fresh)
            if not fresh:
                b.carry_into(pairs, end)
    unlike = _summed(b, accumulators, 2 * n)
    doubled: list[Word | None] = ["0", *b.add(unlike[1:], unlike[1:])]
    for i, word in enumerate(x):
        pair = doubled[2 * i : 2 * i + 2]
        b.add_row(pair, [word], word, carry_in=i > 0, carry_out=i < n - 1)
        doubled[2 * i : 2 * i + 2] = pair
    return [word or "0" for word in doubled]


def _add_slice(
    b: Builder, accumulator: list[Word | None], place: int, xs: Number, y: Word, carry_out: bool
) -> None:
    """accumulator += xs·y·2^(32·place)."""
    pairs = accumulator[place : place + 2 * len(xs)]
    b.add_row(pairs, xs, y, carry_out=carry_out)
    accumulator[place : place + 2 * len(xs)] = pairs


def _summed(b: Builder, accumulators: list[list[Word | None]], n: int) -> Number:
    """The sum of the two in n words; the odd one has nothing at place 0."""
    even, odd = accumulators
    first, *rest = (word or "0" for word in even[:n])
    return [first, *b.add(rest, [word or "0" for word in odd[1:n]])]


# --- operations ---------------------------------------------------------------------------------


def _mul(f: _Field) -> Block:
    b = Builder(f.n, f.n, f.n)
    return b.finish(f.settled(b, _montgomery_product(f, b, *b.operands)))


def _sqr(f: _Field) -> Block:
    b = Builder(f.n, f.n)
    return b.finish(f.settled(b, _reduced(f, b, _wide_square(b, *b.operands))))


def _add(f: _Field) -> Block:
    b = Builder(f.n, f.n, f.n)
    return b.finish(b.below(b.add(*b.operands), f.m))


def _sub(f: _Field) -> Block:
    b = Builder(f.n, f.n, f.n)
    return b.finish(b.add_where_negative(b.sub(*b.operands, borrow_out=True), f.m))


def _neg(f: _Field) -> Block:
    b = Builder(f.n, f.n)
    (x,) = b.operands
    m = b.masked(f.m, b.nonzero_mask(x), f.n)  # m − 0 would be m, out of range
    return b.finish(b.sub(m, x))


def _canonical(f: _Field) -> Block:
    b = Builder(f.n, f.n)
    return b.finish(b.below(b.operands[0], f.p))


def _add_loose(f: _Field) -> Block:
    b = Builder(f.n, f.n, f.n)
    return b.finish(b.add(*b.operands))


def _sub_loose(f: _Field) -> Block:
    b = Builder(f.n, f.n, f.n)
    x, y = b.operands
    return b.finish(b.sub(b.add(x, immediates(f.m, f.n)), y))


def _mul_wide(f: _Field) -> Block:
    b = Builder(2 * f.n, f.n, f.n)
    return b.finish(_wide_product(b, *b.operands))


def _sqr_wide(f: _Field) -> Block:
    b = Builder(2 * f.n, f.n)
    return b.finish(_wide_square(b, *b.operands))


def _reduce_wide(f: _Field) -> Block:
    b = Builder(f.n, 2 * f.n)
    return b.finish(f.settled(b, _reduced(f, b, *b.operands)))


def _sub_wide(f: _Field) -> Block:
    b = Builder(2 * f.n, 2 * f.n, 2 * f.n)
    difference = b.sub(*b.operands, borrow_out=True)
    return b.finish(difference[: f.n] + b.add_where_negative(difference[f.n :], f.p))


def _sub_two_wide(f: _Field) -> Block:
    b = Builder(2 * f.n, 2 * f.n, 2 * f.n, 2 * f.n)
    t, u, v = b.operands
    difference = b.sub(b.sub(t, u), v)
    if 2 * f.m * f.m <= f.R * f.p:  # the cross term of a product in Fp2 is below Rp as it is
        return b.finish(difference)
    return b.finish(difference[: f.n] + b.below(difference[f.n :], f.p))


_OPERATIONS: dict[str, Callable[[_Field], Block]] = {
    "mul": _mul,
    "sqr": _sqr,
    "add": _add,
    "sub": _sub,
    "neg": _neg,
    "canonical": _canonical,
    "add_loose": _add_loose,
    "sub_loose": _sub_loose,
    "mul_wide": _mul_wide,
    "sqr_wide": _sqr_wide,
    "reduce_wide": _reduce_wide,
    "sub_wide": _sub_wide,
    "sub_two_wide": _sub_two_wide,
}
