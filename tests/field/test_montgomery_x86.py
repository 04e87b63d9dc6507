"""Products in assembly: equal to Python's integers and to LLVM's own code, on edges and at random.

Where the processor lacks the instructions, LLVM's code alone is compared.
"""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snarkcuda.field import arrays, montgomery
from snarkcuda.field.element import load, store
from snarkcuda.field.montgomery_x86 import has_adx, short_rows
from snarkcuda.field.params import (
    BLS12_381_FQ,
    BLS12_381_FR,
    BN254_FQ,
    BN254_FR,
    PrimeField,
)
from snarkcuda.jit import intrinsic, kernel
from tests.field.values import raw_samples

FIVE_LIMBS = PrimeField("five_limbs", (1 << 300) - 153)  # odd is enough
# Field, pairs: short rows. BLS12-381's Fr has no room for q ≈ p, nor for two pairs (3p > R).
SHORT_ROWS = {
    (BN254_FQ, 1): 3,
    (BN254_FQ, 2): 3,
    (BN254_FR, 1): 3,
    (BN254_FR, 2): 2,
    (BLS12_381_FQ, 1): 5,
    (BLS12_381_FQ, 2): 5,
    (BLS12_381_FR, 1): 0,
    (FIVE_LIMBS, 1): 4,
    (FIVE_LIMBS, 2): 4,
}
case = pytest.mark.parametrize(
    ("field", "n_pairs"), SHORT_ROWS, ids=[f"{field.name}-{k}" for field, k in SHORT_ROWS]
)


@intrinsic
def assembly(context: Any, a: Any, b: Any, c: Any, d: Any, pairs: Any) -> Any:
    """a·b, or a·b + c·d, by assembly."""
    return _sum(montgomery.assembly_sum_of_products, a, pairs)


@intrinsic
def portable(context: Any, a: Any, b: Any, c: Any, d: Any, pairs: Any) -> Any:
    """a·b, or a·b + c·d, by LLVM's code."""
    return _sum(montgomery.portable_sum_of_products, a, pairs)


def _sum(emit: Any, element: Any, pairs: Any) -> Any:
    """Signature and code of a word; `pairs` is a tuple as long as there are pairs."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        chosen = [(args[0], args[1]), (args[2], args[3])][: pairs.count]
        return emit(builder, sig.return_type.field, chosen)

    return element(element, element, element, element, pairs), codegen


@kernel
def by_assembly(F: Any, n: int, rows: Any, pairs: Any, out: Any) -> None:
    """The sum for each four rows."""
    for i in range(n):
        a, b = load(F, rows, 4 * i), load(F, rows, 4 * i + 1)
        c, d = load(F, rows, 4 * i + 2), load(F, rows, 4 * i + 3)
        store(F, out, 2 * i, assembly(a, b, c, d, pairs))
        store(F, out, 2 * i + 1, assembly(a, a, a, a, pairs))


@kernel
def by_llvm(F: Any, n: int, rows: Any, pairs: Any, out: Any) -> None:
    """The same."""
    for i in range(n):
        a, b = load(F, rows, 4 * i), load(F, rows, 4 * i + 1)
        c, d = load(F, rows, 4 * i + 2), load(F, rows, 4 * i + 3)
        store(F, out, 2 * i, portable(a, b, c, d, pairs))
        store(F, out, 2 * i + 1, portable(a, a, a, a, pairs))


VARIANTS = [by_llvm, by_assembly] if has_adx() else [by_llvm]


def samples(field: PrimeField) -> list[tuple[int, int, int, int]]:
    """Four raw operands each: pairs of edges with the largest values, and a mixture."""
    values = sorted({0, 1, field.modulus - 1, field.modulus - 2, *raw_samples(field, 60)})
    top = max(values)
    rows = [(a, b, top, top) for a, b in product(values, repeat=2)]
    return rows + [(a, b, b, top - a) for a, b in zip(values, values[::-1], strict=True)]


@case
def test_products_equal_integers(field: PrimeField, n_pairs: int) -> None:
    """(Σ a·b)/R mod p; also with one value as every operand."""
    rows = samples(field)
    flat = arrays.from_ints([x for row in rows for x in row], field.limbs)
    if n_pairs == 1:
        wanted = [total for a, b, _, _ in rows for total in (a * b, a * a)]
    else:
        wanted = [total for a, b, c, d in rows for total in (a * b + c * d, 2 * a * a)]
    for run in VARIANTS:
        out = np.zeros((2 * len(rows), field.limbs), dtype=np.uint64)
        run(field, len(rows), arrays.packed(flat), (0,) * n_pairs, out)
        assert arrays.to_ints(out) == [field.from_montgomery(total) for total in wanted]


# --- ranges -----------------------------------------------------------------------------------


@case
def test_short_rows(field: PrimeField, n_pairs: int) -> None:
    """As many as stated, and the rows in integers: t fits n + 1 limbs, the end is below 2p."""
    count = short_rows(field, n_pairs)
    assert count == SHORT_ROWS[field, n_pairs]
    for a, b, c, d in samples(field):
        pairs = [(a, b), (c, d)][:n_pairs]
        t = rows_in_integers(field, pairs, count)
        assert t < 2 * field.modulus
        assert t % field.modulus == field.from_montgomery(sum(x * y for x, y in pairs))


def rows_in_integers(field: PrimeField, pairs: list[tuple[int, int]], n_short: int) -> int:
    """What the assembly computes before the subtraction."""
    word, room = (1 << 64) - 1, 1 << (64 * (field.limbs + 1))
    q = pow(1 << 64, -1, field.modulus)
    t = 0
    for i in range(field.limbs):
        for a, b in pairs:
            t += a * (b >> (64 * i) & word)
            assert t < room
        if i < n_short:
            t = (t >> 64) + (t & word) * q
        else:
            t += (t * field.neg_inverse_64 & word) * field.modulus
            assert t < room
            assert t & word == 0
            t >>= 64
        assert t < room
    return t


def test_two_pairs_do_not_fit_near_the_word() -> None:
    """3p > R: such a field has its two products reduced one by one (`montgomery.mul_sub`)."""
    assert 3 * BLS12_381_FR.modulus > BLS12_381_FR.montgomery
    with pytest.raises(ValueError, match="2 products modulo bls12_381_fr"):
        short_rows(BLS12_381_FR, 2)


# --- the choice -------------------------------------------------------------------------------

CHILD = """
import logging, sys
import numpy as np
from llvmlite.binding import parse_bitcode
from snarkcuda.field.params import BN254_FR
from tests.field.element_kernels import change_form

logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
out = np.zeros((3, 4), dtype=np.uint64)
change_form(BN254_FR, 1, np.arange(4, dtype=np.uint64), out)
(signature,) = change_form.signatures
module = parse_bitcode(change_form._cache.bitcode(signature))
print("adcx" in str(module), out.tolist())
"""


def test_each_processor_has_its_own_code(tmp_path: Path) -> None:
    """One cache: assembly where numba compiles for ADX, and not where it is told of none."""

    def run(**settings: str) -> tuple[bool, bool, str]:
        environment = os.environ | {"SNARKCUDA_CACHE_DIR": str(tmp_path / "cache")} | settings
        found = subprocess.run(
            [sys.executable, "-c", CHILD], env=environment, capture_output=True, text=True
        )
        assert found.returncode == 0, found.stderr
        *log, answer = found.stdout.splitlines()
        assembled, numbers = answer.split(" ", 1)
        return any("compiling" in line for line in log), assembled == "True", numbers

    compiled, assembled, numbers = run()
    assert (compiled, assembled) == (True, has_adx())
    assert run(NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="") == (True, False, numbers)
