"""Sparse rows against their definition on Python ints."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from snarkcuda.cpu import matvec
from snarkcuda.cpu.pool import Cancelled, Pool, Stop
from snarkcuda.curve.params import CURVES
from snarkcuda.errors import FormatError
from snarkcuda.field.arrays import U64Array, from_ints, to_ints
from snarkcuda.field.params import PrimeField
from snarkcuda.groth16.keys import COEFFICIENT

fields = pytest.mark.parametrize("field", [c.fr for c in CURVES], ids=lambda field: field.name)
Entry = tuple[int, int, int, int]  # matrix, row, wire, coefficient


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(3) as pool:
        yield pool


def records(field: PrimeField, entries: Sequence[Entry]) -> np.ndarray:
    """As they stand in a key: coefficient·R² mod r."""
    result = np.zeros(len(entries), dtype=COEFFICIENT)
    for record, (matrix, row, wire, value) in zip(result, entries, strict=True):
        record["matrix"], record["constraint"], record["wire"] = matrix, row, wire
        record["value"] = from_ints([value * 2**512 % field.modulus], 4)[0]
    return result


def naive(field: PrimeField, n: int, entries: Sequence[Entry], z: Sequence[int]) -> list[list[int]]:
    """A·z, B·z and their products, plain."""
    sums = [[0] * n, [0] * n]
    for matrix, row, wire, value in entries:
        sums[matrix][row] += value * z[wire]
    a, b = ([value % field.modulus for value in column] for column in sums)
    return [a, b, [x * y % field.modulus for x, y in zip(a, b, strict=True)]]


def plain(field: PrimeField, abc: U64Array) -> list[list[int]]:
    """Out of Montgomery form; every value must be canonical."""
    values = [to_ints(column) for column in abc]
    assert all(value < field.modulus for column in values for value in column)
    return [[field.from_montgomery(value) for value in column] for column in values]


def evaluated(
    pool: Pool, field: PrimeField, n: int, entries: Sequence[Entry], z: Sequence[int]
) -> list[list[int]]:
    """What the kernels make of it."""
    matrices = matvec.group_by_row(field, n, len(z), records(field, entries))
    return plain(field, matvec.evaluate(pool, matrices, from_ints(z, 4)))


def random_case(field: PrimeField, n: int, n_wires: int, count: int) -> tuple[list, list]:
    """Unordered entries with repeated places, rows without any, edge values among the others."""
    rng, p = random.Random(n * count), field.modulus
    edges = [0, 1, 2, p - 1, p - 2, 1 << 253, p // 2]

    def value() -> int:
        return rng.choice(edges) if rng.random() < 0.3 else rng.randrange(p)

    z = [1, *(value() for _ in range(n_wires - 1))]
    rows = rng.sample(range(n), max(1, n // 2))
    entries = [
        (rng.randrange(2), rng.choice(rows), rng.randrange(n_wires), value()) for _ in range(count)
    ]
    return entries + entries[: count // 3], z


@fields
@pytest.mark.parametrize("n", [1, 2, 4, 64, 1024, 2048])
def test_random_matrices(pool: Pool, field: PrimeField, n: int) -> None:
    """Unordered, with duplicates; below, at and past a task's 1,024 rows."""
    entries, z = random_case(field, n, 30, 3 * n + 5)
    assert evaluated(pool, field, n, entries, z) == naive(field, n, entries, z)


@fields
def test_duplicates_add_up(pool: Pool, field: PrimeField) -> None:
    """Two records at one place, and two that cancel."""
    p = field.modulus
    entries = [(0, 1, 1, 3), (1, 1, 1, 2), (0, 1, 1, 4), (0, 2, 1, 5), (0, 2, 1, p - 5)]
    result = evaluated(pool, field, 4, entries, [1, 10])
    assert result == [[0, 70, 0, 0], [0, 20, 0, 0], [0, 1400, 0, 0]]


@fields
def test_no_entries(pool: Pool, field: PrimeField) -> None:
    """All three columns are zero."""
    assert evaluated(pool, field, 8, [], [1, 5]) == [[0] * 8] * 3


@fields
@pytest.mark.parametrize("matrix", [0, 1])
def test_one_matrix_is_empty(pool: Pool, field: PrimeField, matrix: int) -> None:
    """The other's sums are kept and the products are zero."""
    expected = [[0] * 4, [0] * 4, [0] * 4]
    expected[matrix][3] = 35
    assert evaluated(pool, field, 4, [(matrix, 3, 1, 7)], [1, 5]) == expected


@fields
def test_first_and_last_row_and_wire(pool: Pool, field: PrimeField) -> None:
    """The corners of both matrices do not run into each other."""
    n, z = 8, [1, 0, 0, 3]
    entries = [(0, 0, 0, 2), (0, n - 1, 3, 5), (1, 0, 3, 7), (1, n - 1, 0, 11)]
    a, b, c = evaluated(pool, field, n, entries, z)
    assert a == [2, *[0] * (n - 2), 15]
    assert b == [21, *[0] * (n - 2), 11]
    assert c == [42, *[0] * (n - 2), 165]


def decoded(field: PrimeField, grouped: matvec.Matrices) -> list[int]:
    """The coefficients of all entries."""
    table = [v * pow(2**512, -1, field.modulus) % field.modulus for v in to_ints(grouped.table)]
    values = [1, field.modulus - 1, *table]
    return [values[code] for code in grouped.codes]


def test_more_values_than_the_table_of_slots(pool: Pool) -> None:
    """Those that find no slot are stored again each time they occur; the sums are the same."""
    field, n, rng = CURVES[0].fr, 1 << 10, np.random.default_rng(4)
    distinct = (1 << matvec._LOG_SLOTS) + 5_000
    raw = rng.integers(0, 1 << 60, size=(distinct, 4), dtype=np.uint64)  # value·R², below p
    keyed = np.zeros(2 * distinct, dtype=COEFFICIENT)
    keyed["constraint"] = np.arange(2 * distinct) % n
    keyed["value"] = np.concatenate([raw, raw])
    grouped = matvec.group_by_row(field, n, 1, keyed)
    assert distinct < len(grouped.table) < 2 * distinct
    a, _, _ = plain(field, matvec.evaluate(pool, grouped, from_ints([3], 4)))
    sums, over = [0] * n, pow(2**512, -1, field.modulus)
    for row, value in zip(keyed["constraint"].tolist(), to_ints(keyed["value"]), strict=True):
        sums[row] += value
    assert a == [3 * total * over % field.modulus for total in sums]


@fields
def test_order_of_the_file_is_kept(field: PrimeField) -> None:
    """Grouping is stable: within a row the records stand as they did in the key."""
    entries, _ = random_case(field, 16, 20, 200)
    grouped = matvec.group_by_row(field, 16, 20, records(field, entries))
    ordered = sorted(entries, key=lambda entry: (entry[0], entry[1]))  # Python's sort is stable
    assert grouped.wires.tolist() == [wire for _, _, wire, _ in ordered]
    assert decoded(field, grouped) == [value for *_, value in ordered]
    others = {value for *_, value in ordered} - {1, field.modulus - 1}
    assert len(grouped.table) == len(others)
    for row in range(32):
        part = ordered[grouped.start[row] : grouped.start[row + 1]]
        assert all(16 * matrix + constraint == row for matrix, constraint, *_ in part)
    assert (grouped.start[0], grouped.start[-1]) == (0, len(entries))


@fields
def test_records_at_any_address(pool: Pool, field: PrimeField) -> None:
    """Records of 44 bytes stand unaligned and read-only in a mapped file."""
    entries, z = random_case(field, 8, 10, 40)
    data = records(field, entries).tobytes()
    expected = naive(field, 8, entries, z)
    for offset in range(8):
        buffer = np.frombuffer(bytes(offset) + data, dtype=np.uint8)
        view = buffer[offset:].view(COEFFICIENT)
        assert not view.flags.writeable
        matrices = matvec.group_by_row(field, 8, len(z), view)
        assert plain(field, matvec.evaluate(pool, matrices, from_ints(z, 4))) == expected


@fields
def test_cancelled(pool: Pool, field: PrimeField) -> None:
    """A set stop ends it."""
    stop = Stop()
    stop.set()
    matrices = matvec.group_by_row(field, 4, 1, records(field, [(0, 0, 0, 1)]))
    with pytest.raises(Cancelled):
        matvec.evaluate(pool, matrices, from_ints([1], 4), stop)


@fields
@pytest.mark.parametrize("bad", [(2, 0, 0), (1, 8, 0), (0, 2**32 - 1, 0), (0, 0, 5), (1, 7, 2**31)])
def test_places_out_of_range_are_refused(field: PrimeField, bad: tuple[int, int, int]) -> None:
    """Before anything is written there: a mapped key can change after its reader checked it."""
    entries = [(0, 1, 1, 3), (*bad, 1), (1, 1, 1, 2)]
    with pytest.raises(FormatError, match="coefficient 1 names a row or a wire out of range"):
        matvec.group_by_row(field, 8, 5, records(field, entries))
