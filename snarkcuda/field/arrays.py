"""Field elements as host arrays, `uint64 (…, limbs)`, and the checks at the door.

    value = a[0] + a[1]·2^64 + …           one row an element, C-contiguous
    Fp2   = c0's limbs, then c1's          (…, 2, limbs), flat in memory

Everything is plain numpy, so that files are read and checked without compiling anything. Arrays may
be read-only views of a memory-mapped file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snarkcuda.field.params import PrimeField

U64Array = NDArray[np.uint64]


class ByValue:
    """Equality of dataclasses that hold arrays: equal fields, except those not compared."""

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(
            _equal(getattr(self, f.name), getattr(other, f.name))
            for f in fields(self)  # type: ignore[arg-type]
            if f.compare
        )

    def __hash__(self) -> int:
        return hash(type(self).__name__)  # rarely used, and reading the arrays would cost more


def _equal(a: object, b: object) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)  # type: ignore[arg-type]
    return a == b


def from_ints(values: Iterable[int], limbs: int) -> U64Array:
    """Integers as rows of limbs, unchanged (no Montgomery form): shape (n, limbs)."""
    size = 8 * limbs
    data = b"".join(value.to_bytes(size, "little") for value in values)
    return np.frombuffer(data, dtype="<u8").astype(np.uint64).reshape(-1, limbs)


def to_ints(array: U64Array) -> list[int]:
    """Rows of limbs as integers, unchanged; leading axes are flattened."""
    limbs = array.shape[-1]
    data = np.ascontiguousarray(array, dtype="<u8").tobytes()
    size = 8 * limbs
    return [int.from_bytes(data[i : i + size], "little") for i in range(0, len(data), size)]


def to_int(row: U64Array) -> int:
    """One row of limbs as an integer."""
    (value,) = to_ints(row)
    return value


def packed(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The bytes of a C-contiguous array as a flat read-only view: what kernels take as input.

    numba compiles a kernel anew for each combination of shape, alignment and writability; a section
    of a file is unaligned and read-only, a computed array neither. As bytes they are one type.
    """
    view = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    view.flags.writeable = False
    return view


def first_not_canonical(field: PrimeField, array: U64Array, block: int = 1 << 16) -> int | None:
    """Index of the first element that is not below the modulus, or None.

    Args:
        field: the prime field.
        array: uint64, its last axis `field.limbs` limbs; leading axes are flattened for the index.
        block: rows compared at a time (bounds the temporary memory).
    """
    rows = array.reshape(-1, field.limbs)
    modulus = from_ints([field.modulus], field.limbs)[0]
    for start in range(0, len(rows), block):
        part = rows[start : start + block]
        # Almost every row is decided by its top limb; only ties look further down.
        ties = np.flatnonzero(part[:, -1] >= modulus[-1])
        too_large = np.zeros(len(ties), dtype=bool)
        undecided = np.ones(len(ties), dtype=bool)
        for limb in range(field.limbs - 1, -1, -1):
            column = part[ties, limb]
            too_large |= undecided & (column > modulus[limb])
            undecided &= column == modulus[limb]
        too_large |= undecided  # equal to the modulus
        if too_large.any():
            return start + int(ties[np.argmax(too_large)])
    return None


def zero_rows(array: U64Array, block: int = 1 << 16) -> Iterator[int]:
    """Indices along the first axis at which everything is 0: points at infinity, in a query."""
    rows = array.reshape(len(array), math.prod(array.shape[1:]))
    for start in range(0, len(rows), block):
        found = np.flatnonzero(~rows[start : start + block].any(axis=1))
        yield from (start + found).tolist()


def at_even_address(array: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The array, copied if it begins at an odd address."""
    if array.ctypes.data % 2 == 0:
        return array
    copy = aligned_bytes(len(array))
    copy[:] = array
    return packed(copy)


def aligned_bytes(n: int) -> NDArray[np.uint8]:
    """n bytes, not set, that begin with a cache line: a row of 64 bytes is one miss, not two."""
    memory = np.empty(n + 64, dtype=np.uint8)
    first = -memory.ctypes.data % 64
    return memory[first : first + n]
