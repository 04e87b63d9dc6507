"""Points of a file in vector form: those of `to_vector_form`, and the first off the curve named."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from snarkcuda.cpu.pool import Cancelled, Pool, Stop
from snarkcuda.cpu.vector_form import to_vector_form
from snarkcuda.cpu.vector_points import mark_bytes, points_in_vector_form
from snarkcuda.curve.params import BN254, Group
from snarkcuda.field.arrays import U64Array, from_ints
from snarkcuda.field.params import prime_of
from snarkcuda.field.vector_type import has_vectors
from tests.cpu.test_bucket_tree import groups, multiples

pytestmark = pytest.mark.skipif(not has_vectors(), reason="no AVX-512 IFMA: scalar path")


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(2) as pool:
        yield pool


def unaligned(points: U64Array) -> np.ndarray:
    """As a section of a file may lie."""
    return np.frombuffer(b"\0\0\0\0" + points.tobytes(), dtype=np.uint8)[4:]


def some(group: Group, n: int) -> U64Array:
    """n points, two of them infinity among each 128."""
    return multiples(group)[np.arange(n) % 128]


@groups
@pytest.mark.parametrize("n", [0, 1, 3, 4, 7, 8, 9, 1023, 1024, 1025, 1033])
def test_form(group: Group, n: int, pool: Pool) -> None:
    """Whatever the alignment, and however much is left for the last vector and the last task."""
    source = unaligned(some(group, n))
    out = np.full(len(source) + 8, 0xAA, dtype=np.uint8)
    marks = np.zeros(mark_bytes(n), dtype=np.uint8)
    assert points_in_vector_form(pool, group, source, out[: len(source)], marks) is None
    assert np.array_equal(out[:-8], to_vector_form(pool, prime_of(group.field), source))
    assert (out[-8:] == 0xAA).all()
    found = np.unpackbits(marks, bitorder="little")[:n].astype(bool)
    assert found.tolist() == [not point.any() for point in some(group, n)]


@groups
def test_points_off_the_curve(group: Group, pool: Pool) -> None:
    """Each lane, each coordinate and coefficient; of several the first; 0 is no coordinate of b."""
    for n in (5, 1035):
        good, marks = some(group, n), np.zeros(mark_bytes(n), dtype=np.uint8)
        words = good.reshape(n, -1)
        limbs = prime_of(group.field).limbs
        for i in sorted({*range(5), *range(n - 11, n), 1023 % n} & set(range(n))):
            for word in range(0, words.shape[1], limbs):
                bad = good.copy()
                bad.reshape(n, -1)[i, word] ^= np.uint64(1)
                bad[n - 1].reshape(-1)[:limbs] = from_ints([1], limbs)
                out = np.empty(bad.nbytes, dtype=np.uint8)
                assert points_in_vector_form(pool, group, unaligned(bad), out, marks) == i


def test_stopped_work_is_cancelled(pool: Pool) -> None:
    group, stop, marks = BN254.g1, Stop(), np.zeros(13, dtype=np.uint8)
    stop.set()
    source = unaligned(some(group, 100))
    with pytest.raises(Cancelled):
        points_in_vector_form(pool, group, source, np.empty_like(source), marks, stop)
