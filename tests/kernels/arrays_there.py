"""Integers to a device's arrays and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from snarkcuda.field import arrays
from snarkcuda.field.naive import Naive, canonical, flatten
from snarkcuda.field.params import Field, prime_of
from snarkcuda.kernels.device import DeviceArray, Stream
from snarkcuda.kernels.memory import Arena


def there(arena: Arena, stream: Stream, raw: Sequence[int], limbs: int) -> DeviceArray:
    """Raw values as rows of limbs."""
    return arena.upload(arrays.from_ints(raw, limbs), stream)


def back(stream: Stream, array: DeviceArray, limbs: int) -> list[int]:
    """The raw values of an array."""
    found = np.empty((array.size // (2 * limbs), limbs), dtype=np.uint64)
    stream.download(array, found)
    return arrays.to_ints(found)


def montgomery(elements: Sequence[Naive]) -> list[int]:
    """The raw prime coefficients of elements, in memory order."""
    prime = prime_of(elements[0].field)
    return [prime.to_montgomery(value) for element in elements for value in flatten(element)]


def values(field: Field, raw: Sequence[int]) -> list[Any]:
    """What `canonical` gives of the elements with these raw coefficients, below 2p or not."""
    from snarkcuda.field.naive import unflatten

    prime, level = prime_of(field), field.level
    plain = [prime.from_montgomery(value) for value in raw]
    rows = (plain[i : i + level] for i in range(0, len(plain), level))
    return [canonical(unflatten(field, row)) for row in rows]
