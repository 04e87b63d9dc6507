"""Field elements inside CUDA kernels: `DeviceField` says how a kernel computes.

A kernel is made by a factory that takes a `DeviceField` F; inside, `F.load(words, i)` gives an
element, `+ - *`, unary `-` and the words of `field/words.py` work on it, `F.store(words, i, x)`
puts it back. Which arithmetic is behind them is F's second argument:

    "ptx"      one block of inline PTX an operation      kernels/ptx.py       GPU
    "limbs"    32-bit limbs in plain numba               kernels/limbs.py     GPU and simulator
    "ints"     Python integers: the definition           field/naive.py       simulator

In memory an element is n words of 32 bits, little-endian: the host's array of `field.limbs` uint64
as it is, n = 2·limbs, in Montgomery form, R = 2^(32n). With "ptx", where 4p < R, values lie in
[0, 2p), in registers and in what `store` writes; `store_canonical` writes values below p.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from snarkcuda.errors import DeviceError
from snarkcuda.field.params import Field, PrimeField, prime_of
from snarkcuda.kernels.target import simulated

ARITHMETICS = ("ptx", "limbs", "ints")


@dataclass(frozen=True)
class DeviceField:
    """A field and the arithmetic by which kernels compute in it.

    Attributes:
        field: a prime field, or Fp2.
        arithmetic: one of `ARITHMETICS`.
        calls: products are calls of one function, not code in place: for Fp2 and for cold code.
    """

    field: Field
    arithmetic: str
    calls: bool = False

    def __post_init__(self) -> None:
        if self.arithmetic not in ARITHMETICS:
            raise ValueError(f"arithmetic is one of {', '.join(ARITHMETICS)}: {self.arithmetic!r}")
        if self.arithmetic == ("ptx" if simulated() else "ints"):
            where = "the simulator" if simulated() else "a GPU"
            raise DeviceError(f"{self.arithmetic} arithmetic does not run on {where}")

    @property
    def prime(self) -> PrimeField:
        """The prime field at the bottom."""
        return prime_of(self.field)

    @property
    def words(self) -> int:
        """32-bit words of an element in memory."""
        return 2 * self.field.words

    @property
    def planes(self) -> int:
        """16-byte pieces of an element."""
        return self.words // 4

    @property
    def key(self) -> str:
        """What a kernel compiled for this field is known by."""
        return f"{self.field.name},{self.arithmetic}{',calls' if self.calls else ''}"

    @cached_property
    def _access(self) -> Any:
        if simulated():
            from snarkcuda.kernels.field_simulated import SimulatedAccess

            return SimulatedAccess(self)
        from snarkcuda.kernels.field_access import CompiledAccess

        return CompiledAccess(self)

    @property
    def load(self) -> Callable[..., Any]:
        """Of (words, i): element i of an array of words in global memory."""
        return self._access.load  # type: ignore[no-any-return]

    @property
    def store(self) -> Callable[..., Any]:
        """Of (words, i, x): write element i; x as it is, below 2p where it is lazy."""
        return self._access.store  # type: ignore[no-any-return]

    @property
    def store_canonical(self) -> Callable[..., Any]:
        """Of (words, i, x): write element i, below p."""
        return self._access.store_canonical  # type: ignore[no-any-return]

    @property
    def load_shared(self) -> Callable[..., Any]:
        """Of (shared, i, n): element i of n, which lie in planes of 16 bytes each.

        Plane k holds bytes 16k … 16k + 15 of all elements, so that neighbouring threads with
        neighbouring elements meet no bank conflict.
        """
        return self._access.load_shared  # type: ignore[no-any-return]

    @property
    def store_shared(self) -> Callable[..., Any]:
        """Of (shared, i, n, x): the inverse of `load_shared`."""
        return self._access.store_shared  # type: ignore[no-any-return]

    def constant(self, value: int) -> Callable[[], Any]:
        """A word for kernels: the element with this value (of Fp2: c0)."""
        return self.constant_raw(self.prime.to_montgomery(value))

    def constant_raw(self, raw: int) -> Callable[[], Any]:
        """A word for kernels: the element whose Montgomery form is `raw`, below p.

        A product with raw 1 leaves Montgomery form: a·R · 1 / R = a.
        """
        return self._access.constant(raw)  # type: ignore[no-any-return]


def device_field(field: Field, arithmetic: str | None = None, calls: bool = False) -> DeviceField:
    """The field with the arithmetic named, or the one that kernels use: ptx, ints if simulated."""
    return DeviceField(field, arithmetic or ("ints" if simulated() else "ptx"), calls)
