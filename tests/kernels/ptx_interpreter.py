"""Runs the text of a `Block` on Python integers, carry flag and all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from snarkcuda.field.params import limbs_of
from snarkcuda.kernels.ptx_blocks import Block

_MASK = 0xFFFFFFFF


def run(block: Block, *operands: int, counts: Counter[str] | None = None) -> int:
    """The result of a block on whole numbers; `counts` tallies its instructions."""
    words = [
        word for value, n in zip(operands, block.inputs, strict=True) for word in _words(value, n)
    ]
    found = run_words(block, words, counts)
    return sum(word << (32 * i) for i, word in enumerate(found))


def _words(value: int, n: int) -> list[int]:
    assert 0 <= value < 1 << (32 * n), f"{value:#x} is not a number of {n} words"
    return limbs_of(value, n, 32)


def run_words(block: Block, words: Sequence[int], counts: Counter[str] | None = None) -> list[int]:
    """The output words of a block."""
    machine = _Machine(block, words)
    text = block.text.strip()
    assert text.startswith("{") and text.endswith("}"), "registers would leak"
    for statement in text[1:-1].split(";"):
        words_of = statement.split(None, 1)
        if words_of and words_of[0] != ".reg":
            machine.execute(words_of[0], [part.strip() for part in words_of[1].split(",")])
            if counts is not None:
                counts[words_of[0]] += 1
    return machine.outputs()


class _Machine:
    """Registers, predicates and the carry flag, which is known only after an operation set it."""

    def __init__(self, block: Block, words: Sequence[int]) -> None:
        self._block = block
        self._registers = {f"${block.outputs + i}": word for i, word in enumerate(words)}
        self._written: list[str] = []
        self._carry: int | None = None

    def outputs(self) -> list[int]:
        assert self._written == [f"${i}" for i in range(self._block.outputs)], "each output once"
        return [self._registers[name] for name in self._written]

    def _value(self, operand: str) -> int:
        if operand[0].isdigit():
            return int(operand, 0)
        return self._registers[operand]  # KeyError: read before it is written

    def execute(self, operation: str, operands: list[str]) -> None:
        target, *sources = operands
        kind, *modifiers = operation.split(".")
        # An output written early could share a register with an input that is still to be read.
        assert kind == "mov" or not target.startswith("$"), f"{operation} writes {target}"
        assert kind == "mov" or not self._written, f"{operation} after an output was written"
        assert target not in self._registers, f"{target} is written twice"
        if kind == "selp":
            a, b = (self._value(source) for source in sources[:2])
            self._registers[target] = a if self._registers[sources[2]] else b
            return
        values = [self._value(source) for source in sources]
        exact = self._exact(kind, modifiers, values)
        if "cc" in modifiers:
            self._carry = int(not 0 <= exact <= _MASK)
        elif kind in ("addc", "subc", "madc"):
            self._carry = None  # the end of a chain: whoever reads on reads nonsense
        if kind == "mov":
            self._written.append(target)
        self._registers[target] = exact & _MASK

    def _exact(self, kind: str, modifiers: list[str], values: list[int]) -> int:
        """The result before it is cut to 32 bits; negative with a borrow."""
        carry = 0
        if kind in ("addc", "subc", "madc"):
            assert self._carry is not None, f"{kind} reads a flag that no instruction set"
            carry, kind = self._carry, kind[:-1]
        if kind in ("mul", "mad"):
            product = values[0] * values[1]
            half = product & _MASK if "lo" in modifiers else product >> 32
            return half + (values[2] if kind == "mad" else 0) + carry
        if kind == "setp":
            assert modifiers == ["ne", "u32"]
            return int(values[0] != values[1])
        return {
            "add": lambda: values[0] + values[1] + carry,
            "sub": lambda: values[0] - values[1] - carry,
            "and": lambda: values[0] & values[1],
            "or": lambda: values[0] | values[1],
            "not": lambda: values[0] ^ _MASK,
            "mov": lambda: values[0],
        }[kind]()
