"""No kernel computes with floats, whatever the types of its integers.

Where a uint64 meets an int64 numba may fall back to float64 (`max`, `min`, a variable that is one
or the other, in some versions every operator), and a limb silently loses its low bits. So the code
of every kernel is searched, as the optimised LLVM module that was compiled: a cache entry holds it
beside the object code, so that a kernel that was loaded is read like a new one.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import warnings
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import llvmlite.binding
import numpy as np
import pytest

import snarkcuda
from snarkcuda import setup
from snarkcuda.bench.case import Case
from snarkcuda.bench.operations import field
from snarkcuda.circuits.columns import by_column
from snarkcuda.circuits.random_sparse import random_sparse
from snarkcuda.circuits.satisfied import first_unsatisfied
from snarkcuda.cpu import fixed_base, ntt, resident_key, subgroup_vector
from snarkcuda.cpu.fixed_base import Multiples
from snarkcuda.cpu.matvec import Matrices
from snarkcuda.cpu.pool import Pool
from snarkcuda.cpu.quotient import coset_quotient
from snarkcuda.cpu.sparse_sums import Summand, column_sums
from snarkcuda.curve.pairing import pairing_product
from snarkcuda.curve.params import CURVES
from snarkcuda.curve.points import encode, first_outside_subgroup, linear_combination
from snarkcuda.field.arrays import from_ints
from snarkcuda.field.vector_type import has_vectors
from snarkcuda.formats.r1cs import r1cs_chunks, read_r1cs
from snarkcuda.groth16.prover import Prover
from snarkcuda.jit import kernel

VECTORS = Path(__file__).parents[1] / "vectors"
VECTOR_KERNELS = (  # or the modules that have no others
    *(
        f"snarkcuda.cpu.{name}"
        for name in (
            *("bucket_sums", "fixed_base._entries", "msm", "ntt_vector"),
            *("subgroup_vector", "vector_form", "vector_points"),
        )
    ),
    "snarkcuda.bench.operations.field._vector_products",
)
FLOAT_TYPE = re.compile(r"(?<![%@$.\w])(?:half|bfloat|float|double|x86_fp80|fp128)(?![$.\w])")


def kernels() -> dict[str, Any]:
    """Every dispatcher at the top of a module of the package, by its full name."""
    found = {}
    for module in pkgutil.walk_packages(snarkcuda.__path__, "snarkcuda."):
        if module.name.endswith("__main__"):
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if hasattr(value, "py_func"):
                found[f"{value.py_func.__module__}.{value.py_func.__name__}"] = value
    return found


def exercise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile or load every kernel: a proof on each curve, long transforms, checks, circuits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a proof with a seed says that it is not zero-knowledge
        for case, rows in product(("bn_mul2", "bls_mul2"), (1, 1 << 40)):
            monkeypatch.setattr(resident_key, "VECTOR_ROWS", rows)
            with Prover(VECTORS / case / "circuit.zkey", threads=1) as prover:
                prover.prove(VECTORS / case / "witness.wtns", seed=b"no float")
    for curve in CURVES:
        g1, g2 = encode(curve.g1, [curve.g1.generator]), encode(curve.g2, [curve.g2.generator])
        pairing_product(curve, g1, g2)
        linear_combination(curve.g2, list(g2), [3])
        first_outside_subgroup(curve, curve.g2, g2)
        if has_vectors():
            subgroup_vector.first_outside_subgroup(curve, curve.g2, g2, 0, 1)
            with Pool(1) as pool:
                Multiples(pool, curve.g1, fixed_base.VECTOR_MULTIPLES).of(from_ints([3], 4))
        with Pool(1) as pool:
            domain = ntt.domain_of_size(curve.fr, 1 << 13)
            abc = np.zeros((3, domain.n, curve.fr.limbs), dtype=np.uint64)
            for vectors in (False, True) if has_vectors() else (False,):
                coset_quotient(pool, ntt.tables(pool, domain, vectors), abc)
                path = "vector" if vectors else "scalar"
                field.subject(Case("field", curve.name, 6, group="g2", path=path), pool).call()
            if find_spec("numba_cuda"):
                from snarkcuda.kernels.matvec_plan import sliced

                nothing = np.zeros((0, 4), dtype=np.uint64)
                start, none = np.zeros(3, dtype=np.int64), np.zeros(0, dtype=np.uint32)
                sliced(Matrices(curve.fr, 1, start, none, none, nothing))
            r1cs, witness = random_sparse(curve, 10, "no float")
            assert first_unsatisfied(pool, r1cs, witness) is None
            assert len(list(r1cs_chunks(r1cs))) > 1
    for case, powers in (("bn_mul2", "pot3_bn128.ptau"), ("bls_mul2", "pot3_bls12381.ptau")):
        circuit = read_r1cs(VECTORS / case / "circuit.r1cs")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # keys that allow forgery
            key = setup(circuit, VECTORS / powers)
            setup(circuit, research=True)
        with Pool(1) as pool:
            summand = Summand(by_column(circuit.a, 4), circuit.a.values, key.a_query)
            column_sums(pool, key.curve.g1, 4, [summand], long=0)


def float_lines(dispatcher: Any) -> list[str]:
    """Lines of the optimised LLVM of each compiled signature that name a floating-point type."""
    lines = []
    for signature in dispatcher.overloads:
        # From the entry on disk: what is loaded of it has no LLVM any more.
        text = str(llvmlite.binding.parse_bitcode(dispatcher._cache.bitcode(signature)))
        assert "define" in text
        for line in text.splitlines():
            code = re.sub(r'"[^"]*"', "", line.partition(" ;")[0])
            if FLOAT_TYPE.search(code):
                lines.append(line)
    return lines


def test_no_kernel_computes_with_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    """All kernels of the package, in every signature that this process has compiled."""
    exercise(monkeypatch)
    found = kernels()
    assert len(found) >= 15
    if not has_vectors():  # LLVM could not compile them
        found = {name: d for name, d in found.items() if not name.startswith(VECTOR_KERNELS)}
    assert [name for name, dispatcher in found.items() if not dispatcher.overloads] == []
    assert {name: float_lines(d) for name, d in found.items() if float_lines(d)} == {}


@kernel
def mixes_signs(limbs: Any, step: int) -> Any:
    """The trap: the larger of a uint64 and an int64."""
    return max(limbs[0], step)


@kernel
def keeps_signs(limbs: Any, step: Any) -> Any:
    """The larger of two uint64."""
    return max(limbs[0], step)


@pytest.mark.parametrize("again", [False, True], ids=["compiled", "loaded"])
def test_the_search_finds_the_trap(again: bool) -> None:
    """A control: in a kernel that was compiled here or before, and in one loaded from its entry."""
    mixed, kept = mixes_signs, keeps_signs
    if again:
        mixed, kept = (kernel(dispatcher.py_func) for dispatcher in (mixed, kept))  # type: ignore[attr-defined]
    limbs = np.array([(1 << 60) + 1], dtype=np.uint64)
    assert mixed(limbs, 0) == float(1 << 60)
    assert kept(limbs, np.uint64(0)) == (1 << 60) + 1
    assert float_lines(mixed)
    assert not float_lines(kept)
