"""Elements in numba's CUDA simulator: Python objects that `+ - *` and the words work on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from snarkcuda.field.naive import Extension, flatten, unflatten
from snarkcuda.field.params import PrimeField
from snarkcuda.kernels.field import DeviceField
from snarkcuda.kernels.limbs import LimbElement


class SimulatedAccess:
    """Loads and stores of a `DeviceField` where kernels are plain Python.

    "ints": values leave Montgomery form when they are loaded and enter it when they are stored.
    "limbs": elements of `kernels/limbs.py`, word for word what lies in memory.
    """

    def __init__(self, F: DeviceField) -> None:
        self._F = F
        self._prime_words = 2 * F.prime.limbs

    def load(self, words: Any, i: int) -> Any:
        """See `DeviceField.load`."""
        first = int(i) * self._F.words
        return self._element(_array(words)[first : first + self._F.words])

    def store(self, words: Any, i: int, x: Any) -> None:
        """See `DeviceField.store`."""
        first = int(i) * self._F.words
        _array(words)[first : first + self._F.words] = self._words(x)

    store_canonical = store

    def load_shared(self, shared: Any, i: int, n: int) -> Any:
        """See `DeviceField.load_shared`."""
        return self._element(_planes(shared, self._F.planes, n)[:, int(i)].reshape(-1))

    def store_shared(self, shared: Any, i: int, n: int, x: Any) -> None:
        """See `DeviceField.store_shared`."""
        planes = _planes(shared, self._F.planes, n)
        planes[:, int(i)] = self._words(x).reshape(-1, 4)

    def constant(self, raw: int) -> Callable[[], Any]:
        """See `DeviceField.constant_raw`."""
        row = np.zeros(self._F.words, dtype=np.uint32)
        row[: self._prime_words] = _row(raw, self._prime_words)
        return lambda: self._element(row)

    def _element(self, words: Any) -> Any:
        rows = words.reshape(-1, self._prime_words)
        if self._F.arithmetic == "limbs":
            parts = tuple(LimbElement(self._F.prime, row.copy()) for row in rows)
            return (
                parts[0]
                if isinstance(self._F.field, PrimeField)
                else Extension(self._F.field, parts)
            )
        prime = self._F.prime
        values = (int.from_bytes(row.tobytes(), "little") for row in rows)
        return unflatten(self._F.field, [prime.from_montgomery(value) for value in values])

    def _words(self, x: Any) -> Any:
        if self._F.arithmetic == "limbs":
            parts = x.parts if isinstance(x, Extension) else (x,)
            return np.concatenate([part.words for part in parts])
        prime, n = self._F.prime, self._prime_words
        return np.concatenate([_row(prime.to_montgomery(value), n) for value in flatten(x)])


def _row(value: int, n: int) -> Any:
    return np.frombuffer(value.to_bytes(4 * n, "little"), dtype="<u4")


def _array(words: Any) -> Any:
    """The numpy array behind what the simulator hands to a kernel."""
    inner = getattr(words, "_item", words)
    return getattr(inner, "_ary", inner)


def _planes(shared: Any, planes: int, n: int) -> Any:
    return _array(shared)[: planes * n * 4].reshape(planes, n, 4)
