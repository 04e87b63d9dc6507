"""The Montgomery product as x86-64 assembly: `mulx` and two carry chains, `adcx` and `adox`.

    t = 0                                           n + 1 limbs, in registers
    for each limb i of b:
        t ← t + a·bᵢ                                for each pair (a, b)
        t ← ⌊t/2^64⌋ + t₀·q,    q = 2^−64 mod p      a short row, or
        t ← (t + m·p)/2^64,     m = −t₀/p mod 2^64   an exact row
    t − p, or t if that is negative

A short row needs no m, whose product would stand between one row and the next, but leaves up to
2^64·q + t/2^64 where an exact row leaves less than p + t/2^64. So the last rows are exact;
`short_rows` says how many need not be.

Every row adds rdx·x to t. `mulx` changes no flag, `adcx` only the carry CF and `adox` only OF, so
the low and the high halves of the products ripple side by side:

    rdx·x₀  =  hi:lo        t₀ += lo + CF        t₁ += hi + OF
    rdx·x₁  =  hi:lo        t₁ += lo + CF        t₂ += hi + OF        …

The function takes up to eleven limbs in registers and returns all in registers (LLVM's regcall).
LLVM's own code for the same product (`montgomery`) is the twin, and what other processors run.

Sources: Ozturk, Guilford, Gopal and Feghali 2012 (the two chains); Koç, Acar and Kaliski 1996.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import llvmlite.binding
from llvmlite import ir

from snarkcuda.field.params import PrimeField, limbs_of
from snarkcuda.machine import compile_target

I64 = ir.IntType(64)
Limbs = Sequence[Any]  # LLVM's i64, little-endian
FREE_REGISTERS = 13  # of 16, without rsp, rdx, which `mulx` reads, and rbp, should it be in use
LIMB_COUNTS = range(2, 7)  # seven limbs would take more registers


def applies_to(field: PrimeField) -> bool:
    """Whether products in `field` are compiled to this assembly."""
    return field.limbs in LIMB_COUNTS and has_adx()


@cache
def has_adx() -> bool:
    """Whether numba compiles for an x86-64 processor with these instructions."""
    target = compile_target()
    is_64_bit = llvmlite.binding.get_process_triple().startswith("x86_64")
    return is_64_bit and target is not None and {"adx", "bmi2"} <= set(target[1])


def short_rows(field: PrimeField, n_pairs: int) -> int:
    """How many rows may be short: as many as n + 1 limbs and a result below 2p allow.

    Raises:
        ValueError: not even exact rows fit.
    """
    for count in range(field.limbs - 1, -1, -1):
        if _fits(field, n_pairs, count):
            return count
    raise ValueError(f"{n_pairs} products modulo {field.name} do not fit {field.limbs + 1} limbs")


def _fits(field: PrimeField, n_pairs: int, n_short: int) -> bool:
    """Follow the largest t through the rows: a < p, bᵢ < 2^64, and b's top limb is at most p's."""
    n, p, word = field.limbs, field.modulus, (1 << 64) - 1
    t, room = 0, 1 << (64 * (n + 1))
    for i in range(n):
        t += n_pairs * (p - 1) * (word if i < n - 1 else p >> (64 * i))
        if i < n_short:
            fits = t < room
            t = (t >> 64) + word * _short_multiplier(field)
        else:
            fits = t + word * p < room
            t = (t + word * p) >> 64
        if not fits or t >= room:
            return False
    return t < 2 * p


def _short_multiplier(field: PrimeField) -> int:
    """q = 2^−64 mod p."""
    return pow(1 << 64, -1, field.modulus)


def sum_of_products(
    builder: Any, field: PrimeField, pairs: Sequence[tuple[Limbs, Limbs]]
) -> list[Any]:
    """(Σ a·b)/R mod p for pairs of reduced elements, as a call of one function a module."""
    n = field.limbs
    name = f"snarkcuda.{field.name}.{field.modulus:x}.adx_sum_of_{len(pairs)}_products"
    function = builder.module.globals.get(name)
    if function is None:
        result = ir.LiteralStructType([I64] * n)
        kind = ir.FunctionType(result, [I64] * (2 * n * len(pairs)))
        function = ir.Function(builder.module, kind, name)
        function.linkage = "linkonce_odr"
        function.calling_convention = "x86_regcallcc"
        function.attributes.add("noinline")
        function.attributes.add("nounwind")
        _define(function, field, len(pairs))
    limbs = [limb for pair in pairs for element in pair for limb in element]
    called = builder.call(function, limbs, cconv=function.calling_convention)
    return [builder.extract_value(called, i) for i in range(n)]


def _define(function: Any, field: PrimeField, n_pairs: int) -> None:
    """The body: one assembly statement, and its limbs as the result."""
    # LLVM wants the parser of assembly when it compiles this, not when machine code is loaded.
    llvmlite.binding.initialize_native_asmparser()
    n = field.limbs
    builder = ir.IRBuilder(function.append_basic_block())
    code = _Code(n)
    code.input("table", "r", _table(builder, field))
    free = FREE_REGISTERS - len(code.names)
    for index, limb in enumerate(function.args):
        k, j = divmod(index, n)
        in_register = k == 0 and n_pairs == 1 and n <= free
        kind, value = ("r", limb) if in_register else ("*m", _slot(builder, limb))
        code.input(f"{'ab'[k % 2]}{k // 2}.{j}", kind, value)
    reduced = _product(code, field, n_pairs)
    written = code.emit(builder)
    result = ir.Constant(function.return_value.type, ir.Undefined)
    for i, name in enumerate(reduced):
        limb = builder.extract_value(written, code.names.index(name))
        result = builder.insert_value(result, limb, i)
    builder.ret(result)


def _slot(builder: Any, limb: Any) -> Any:
    """A limb on the stack: an operand that takes no register."""
    slot = builder.alloca(I64)
    builder.store(limb, slot)
    return slot


def _table(builder: Any, field: PrimeField) -> Any:
    """A pointer to the limbs of q, then of p."""
    kind = ir.ArrayType(I64, 2 * field.limbs)
    name = f"snarkcuda.{field.name}.{field.modulus:x}.adx_table"
    table = builder.module.globals.get(name)
    if table is None:
        table = ir.GlobalVariable(builder.module, kind, name)
        table.linkage = "internal"
        table.global_constant = True
        numbers = (_short_multiplier(field), field.modulus)
        limbs = [limb for number in numbers for limb in limbs_of(number, field.limbs)]
        table.initializer = ir.Constant(kind, limbs)
    return table


class _Code:
    """An assembly statement under construction (AT&T order: the destination last).

    Registers that it writes come first: t₀ … tₙ, lo, hi, zero, and as many more as the subtraction
    at the end needs. After that its inputs; rdx is used besides.
    """

    def __init__(self, n: int) -> None:
        self.names = [*(f"t{i}" for i in range(n + 1)), "lo", "hi", "zero"]
        self.names += [f"spare{i}" for i in range(n - 4)]
        self.n_written = len(self.names)
        self.constraints = ["=&r"] * self.n_written
        self.inputs: list[Any] = []
        self.lines: list[str] = []

    def input(self, name: str, constraint: str, value: Any) -> None:
        """Name an operand: "r" in a register, "*m" a pointer to it."""
        self.names.append(name)
        self.constraints.append(constraint)
        self.inputs.append(value)

    def __call__(self, instruction: str, *operands: str) -> None:
        """Add an instruction; operands are names, or text that begins with $$, % or a number."""
        words = (f"${self.names.index(x)}" if x in self.names else x for x in operands)
        self.lines.append(f"{instruction} {', '.join(words)}")

    def table(self, index: int) -> str:
        """Limb `index` of the table of constants."""
        return f"{8 * index}(${self.names.index('table')})"

    def emit(self, builder: Any) -> Any:
        """The statement, as a struct of what it writes."""
        kind = ir.FunctionType(
            ir.LiteralStructType([I64] * self.n_written), [value.type for value in self.inputs]
        )
        # Flags are "flags": "cc", as C writes it, LLVM takes and ignores.
        constraints = ",".join([*self.constraints, "~{rdx}", "~{flags}"])
        statement = ir.InlineAsm(kind, "\n".join(self.lines), constraints)
        in_memory = [c == "*m" for c in self.constraints[self.n_written :]]
        attributes = {i: {"elementtype": I64} for i, pointer in enumerate(in_memory) if pointer}
        return builder.call(statement, self.inputs, arg_attrs=attributes)


def _product(code: _Code, field: PrimeField, n_pairs: int) -> list[str]:
    """All rows and the subtraction; returns the names of the n limbs of the result."""
    n, n_short = field.limbs, short_rows(field, n_pairs)
    q = [code.table(j) for j in range(n)]
    p = [code.table(n + j) for j in range(n)]
    t = [f"t{j}" for j in range(n + 1)]
    for i in range(n):
        for k in range(n_pairs):
            a = [f"a{k}.{j}" for j in range(n)]
            code("movq", f"b{k}.{i}", "%rdx")
            if i == k == 0:
                _first_row(code, a, t)
            else:
                _add_row(code, a, t)
        lowest = t[0]
        if i < n_short:
            code("movq", lowest, "%rdx")
            code("xorq", lowest, lowest)
            t = [*t[1:], lowest]  # ⌊t/2^64⌋
            _add_row(code, q, t)
        else:
            code("movabsq", f"$${field.neg_inverse_64:#x}", "%rdx")
            code("imulq", lowest, "%rdx")  # m
            _add_row(code, p, t)
            t = [*t[1:], lowest]  # which the row has made 0
    return _subtract_modulus_once(code, p, t)


def _first_row(code: _Code, x: Sequence[str], t: Sequence[str]) -> None:
    """t = rdx·x: one chain of carries."""
    code("mulxq", x[0], t[0], t[1])
    for j in range(1, len(x)):
        code("mulxq", x[j], "lo", t[j + 1])
        code("addq" if j == 1 else "adcq", "lo", t[j])
    code("adcq", "$$0", t[len(x)])


def _add_row(code: _Code, x: Sequence[str], t: Sequence[str]) -> None:
    """t += rdx·x, which fits t: two chains of carries."""
    code("xorq", "zero", "zero")  # clears CF and OF
    for j in range(len(x)):
        code("mulxq", x[j], "lo", "hi")
        code("adcxq", "lo", t[j])
        code("adoxq", "hi", t[j + 1])
    code("adcxq", "zero", t[len(x)])  # OF is 0: the top limb does not overflow


def _subtract_modulus_once(code: _Code, p: Sequence[str], t: Sequence[str]) -> list[str]:
    """t − p, or t if that borrows; the registers that hold it."""
    n = len(p)
    reduced = [t[n], "lo", "hi", "zero", *(f"spare{i}" for i in range(n - 4))]
    for j in range(n):
        code("movq", t[j], reduced[j])
    for j in range(n):
        code("sbbq" if j else "subq", p[j], reduced[j])
    for j in range(n):
        code("cmovcq", t[j], reduced[j])
    return reduced[:n]
