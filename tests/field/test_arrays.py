"""Host arrays: conversions, packing, and the search for elements that are not reduced."""

from __future__ import annotations

import random

import numpy as np
import pytest

from snarkcuda.field import arrays
from snarkcuda.field.params import FIELDS, PrimeField
from tests.field.values import edges, named, randoms

fields = pytest.mark.parametrize("field", FIELDS, ids=named)


def too_large(field: PrimeField) -> list[int]:
    """Values ≥ p, many of them equal to p in their top limbs."""
    p, top = field.modulus, 1 << (64 * field.limbs)
    values = [p, p + 1, p + 2, 2 * p - 1, 2 * p, top - 1, top - 2]
    for limb in range(field.limbs):
        step = 1 << (64 * limb)
        values += [p + step, (p // step + 1) * step, p | (step - 1)]
    return [value for value in values if p <= value < top]


def below(field: PrimeField) -> list[int]:
    """Values < p, many of them equal to p in their top limbs."""
    p = field.modulus
    values = edges(field)
    for limb in range(1, field.limbs):
        step = 1 << (64 * limb)
        # Less in one limb, more in all the lower ones.
        values += [p - step | (step - 1), p // step * step, p - step, p - 1]
    return [value for value in values if 0 <= value < p]


@fields
def test_each_edge_value_alone(field: PrimeField) -> None:
    """The answer is Python's for every single value."""
    for value in below(field):
        assert arrays.first_not_canonical(field, arrays.from_ints([value], field.limbs)) is None
    for value in too_large(field):
        assert arrays.first_not_canonical(field, arrays.from_ints([value], field.limbs)) == 0


@fields
@pytest.mark.parametrize("block", [1, 2, 7, 1 << 16])
def test_first_of_many(field: PrimeField, block: int) -> None:
    """Bad values among good ones, in every block; the first one counts."""
    source = random.Random(block)
    good, bad = below(field) + randoms(field, 50), too_large(field)
    for _ in range(60):
        values = [source.choice(good) for _ in range(source.randrange(1, 40))]
        for _ in range(source.randrange(3)):
            values[source.randrange(len(values))] = source.choice(bad)
        wanted = next((i for i, v in enumerate(values) if v >= field.modulus), None)
        found = arrays.first_not_canonical(field, arrays.from_ints(values, field.limbs), block)
        assert found == wanted


@fields
def test_index_counts_elements_of_flattened_axes(field: PrimeField) -> None:
    """In an array of points, the index is that of the coefficient; no rows give None."""
    rows = np.zeros((3, 2, 2, field.limbs), dtype=np.uint64)
    rows[1, 1, 0] = arrays.from_ints([field.modulus], field.limbs)[0]
    assert arrays.first_not_canonical(field, rows) == 6
    assert arrays.first_not_canonical(field, rows[:0]) is None


@fields
def test_integers_there_and_back(field: PrimeField) -> None:
    """Little-endian limbs, leading axes flattened."""
    values = edges(field) + too_large(field)
    rows = arrays.from_ints(values, field.limbs)
    assert rows.shape == (len(values), field.limbs)
    assert rows.dtype == np.uint64
    assert arrays.to_ints(rows) == values
    assert (
        arrays.to_ints(rows[: len(values) // 2 * 2].reshape(-1, 2, field.limbs))
        == (values[: len(values) // 2 * 2])
    )
    assert int(rows[5, 0]) == values[5] % (1 << 64)
    assert arrays.to_int(rows[-1]) == values[-1]
    assert arrays.to_ints(rows[::2]) == values[::2]


def test_limb_order() -> None:
    """The first limb is the lowest."""
    assert arrays.from_ints([1 + (2 << 64) + (3 << 128)], 4).tolist() == [[1, 2, 3, 0]]
    assert arrays.from_ints([], 4).shape == (0, 4)
    with pytest.raises(OverflowError):
        arrays.from_ints([1 << 256], 4)


def test_packed_is_one_type_for_every_array() -> None:
    """Flat read-only bytes, whatever shape, alignment and writability; no copy if contiguous."""
    raw = np.arange(97, dtype=np.uint8)
    unaligned = raw[1:97].view(np.uint64).reshape(3, 4)
    computed = np.ones((2, 2, 4), dtype=np.uint64)
    frozen = computed.copy()
    frozen.flags.writeable = False
    for array in (unaligned, computed, frozen, computed[:, 1], np.zeros((0, 4), np.uint64)):
        view = arrays.packed(array)
        assert view.tobytes() == array.tobytes()
        assert view.dtype == np.uint8
        assert view.ndim == 1
        assert not view.flags.writeable
    assert np.shares_memory(arrays.packed(unaligned), raw)
    assert computed.flags.writeable
