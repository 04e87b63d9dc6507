"""A block of inline PTX under construction: registers, carry chains, rows of products.

Numbers are lists of operands, 32 bits each, least significant first; an operand is a register, an
input "$3" or an immediate "0x…". None stands for a word that is still 0. The carry flag lives from
one instruction to the next only: every chain is emitted whole, by one call or by calls that say
`carry_in` and `carry_out`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from snarkcuda.field.params import limbs_of

Word = str
Number = list[Word]


@dataclass(frozen=True)
class Block:
    """One operation as the text of an inline-assembly block.

    Attributes:
        outputs: words of the result, $0 …; written last, by `mov`.
        inputs: words of each operand; they follow the outputs.
        text: the block, its registers its own.
    """

    outputs: int
    inputs: tuple[int, ...]
    text: str


def immediates(value: int, n: int) -> Number:
    """A constant as n words."""
    return [f"0x{word:08x}" for word in limbs_of(value, n, 32)]


class Builder:
    """Emits instructions; `operands` are the inputs, `finish` gives the block.

    Args:
        outputs: words of the result.
        inputs: words of each operand.
    """

    def __init__(self, outputs: int, *inputs: int) -> None:
        self._outputs, self._inputs = outputs, inputs
        self._code: list[str] = []
        self._registers = self._predicates = 0
        names = iter(range(outputs, outputs + sum(inputs)))
        self.operands = [[f"${next(names)}" for _ in range(n)] for n in inputs]

    def emit(self, operation: str, *operands: Word) -> Word:
        """One instruction with a new register for its result."""
        register = f"t{self._registers}"
        self._registers += 1
        self._code.append(f"{operation} {', '.join((register, *operands))};")
        return register

    def finish(self, result: Sequence[Word]) -> Block:
        """The block with this result."""
        moves = [f"mov.u32 ${i}, {word};" for i, word in enumerate(result)]
        registers = f".reg .u32 t<{self._registers}>;"
        if self._predicates:
            registers += f" .reg .pred q<{self._predicates}>;"
        lines = "\n\t".join([registers, *self._code, *moves])
        return Block(self._outputs, self._inputs, f"{{ {lines} }}")

    # --- sums -------------------------------------------------------------------------------------

    def _chain(
        self, operation: str, x: Number, y: Number, carry_in: bool, carry_out: bool
    ) -> Number:
        result = []
        for i, (a, b) in enumerate(zip(x, y, strict=True)):
            first = i == 0 and not carry_in
            out = "" if i == len(x) - 1 and not carry_out else ".cc"
            result.append(self.emit(f"{operation}{'' if first else 'c'}{out}.u32", a, b))
        return result

    def add(
        self, x: Number, y: Number, *, carry_in: bool = False, carry_out: bool = False
    ) -> Number:
        """x + y in as many words."""
        return self._chain("add", x, y, carry_in, carry_out)

    def sub(self, x: Number, y: Number, *, borrow_out: bool = False) -> Number:
        """x − y in as many words."""
        return self._chain("sub", x, y, False, borrow_out)

    def borrow_mask(self) -> Word:
        """All ones if the chain just ended with a borrow, else 0."""
        return self.emit("subc.u32", "0", "0")

    def nonzero_mask(self, x: Number) -> Word:
        """All ones if x is not 0, else 0."""
        some = x[0]
        for word in x[1:]:
            some = self.emit("or.b32", some, word)
        self.sub(["0"], [some], borrow_out=True)
        return self.borrow_mask()

    def masked(self, constant: int, mask: Word, n: int) -> Number:
        """The constant where the mask is all ones, else 0."""
        plain = {0: "0", 0xFFFFFFFF: mask}
        return [
            plain[word] if word in plain else self.emit("and.b32", mask, f"0x{word:08x}")
            for word in limbs_of(constant, n, 32)
        ]

    def add_where_negative(self, difference: Number, constant: int) -> Number:
        """difference, plus the constant if the chain that made it just ended with a borrow."""
        mask = self.borrow_mask()
        return self.add(difference, self.masked(constant, mask, len(difference)))

    def below(self, x: Number, modulus: int) -> Number:
        """x − modulus where that is not negative, else x: below the modulus if x < 2·modulus."""
        reduced = self.sub(x, immediates(modulus, len(x)), borrow_out=True)
        negative = f"q{self._predicates}"
        self._predicates += 1
        self._code.append(f"setp.ne.u32 {negative}, {self.borrow_mask()}, 0;")
        return [self.emit("selp.u32", a, b, negative) for a, b in zip(x, reduced, strict=True)]

    # --- products ---------------------------------------------------------------------------------

    def add_row(
        self,
        pairs: list[Word | None],
        xs: Number,
        y: Word,
        *,
        carry_in: bool = False,
        carry_out: bool = False,
        add_units: bool = False,
    ) -> None:
        """pairs += xs·y, in place: word k of xs times y, 64 bits, onto words 2k and 2k + 1.

        Low and high half of a product follow each other, so that the assembler makes one
        IMAD.WIDE of them, the carry in a predicate. Where `add_units`, a word of xs that is the
        constant 1 is added, not multiplied.
        """
        fresh = not carry_in and all(word is None for word in pairs)
        for k, x in enumerate(xs):
            low, high = (pairs[2 * k + i] or "0" for i in (0, 1))
            more = carry_out or k < len(xs) - 1
            chained = k > 0 or carry_in
            if fresh:
                pairs[2 * k] = self.emit("mul.lo.u32", x, y)
                pairs[2 * k + 1] = self.emit("mul.hi.u32", x, y)
            elif add_units and x == "0x00000001":
                pairs[2 * k] = self.emit(f"add{'c' * chained}.cc.u32", low, y)
                pairs[2 * k + 1] = self.emit(f"addc{'.cc' * more}.u32", high, "0")
            else:
                pairs[2 * k] = self.emit(f"mad{'c' * chained}.lo.cc.u32", x, y, low)
                pairs[2 * k + 1] = self.emit(f"madc.hi{'.cc' * more}.u32", x, y, high)

    def carry_into(self, words: list[Word | None], i: int) -> None:
        """words[i] += the carry of the chain that just ended; it cannot overflow."""
        words[i] = self.emit("addc.u32", words[i] or "0", "0")
