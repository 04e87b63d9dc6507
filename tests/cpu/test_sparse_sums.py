"""Column sums over points are sums of multiples, for every kind of coefficient and column."""

from __future__ import annotations

import random

import numpy as np
import pytest

from snarkcuda.circuits.columns import by_column
from snarkcuda.circuits.r1cs import SparseRows
from snarkcuda.cpu import sparse_sums as module
from snarkcuda.cpu.fixed_base import Multiples
from snarkcuda.cpu.pool import Pool
from snarkcuda.cpu.sparse_sums import Summand, column_sums
from snarkcuda.curve.params import BLS12_381, BN254, Group
from snarkcuda.curve.points import linear_combination
from snarkcuda.field.arrays import from_ints, packed
from tests.circuits.naive_circuit import sparse

GROUPS = [BN254.g1, BN254.g2, BLS12_381.g1, BLS12_381.g2]


@pytest.fixture(scope="module")
def pool():
    with Pool(2) as pool:
        yield pool


def matrix_of(columns: list[list[tuple[int, int]]], n_rows: int) -> SparseRows:
    """The rows of a matrix given by columns of (row, coefficient)."""
    rows: list[list[tuple[int, int]]] = [[] for _ in range(n_rows)]
    for wire, column in enumerate(columns):
        for row, value in column:
            rows[row].append((wire, value))
    return sparse(rows)


def coefficients(r: int, rng: random.Random) -> list[int]:
    edges = [0, 1, 2, 3, 5, 6, 7, 8, 9, 15, 16, 17, r - 1, r - 2, r - 5, r - 7, r // 2, r // 2 + 1]
    powers = [1 << k for k in (31, 63, 64, 65, 127, 128, 192, 252)]
    carries = [(1 << 64) - 1, (1 << 128) - 1, (1 << 192) - 1, (1 << 252) - 1, (1 << 64) - 3]
    # r − v borrows from limb j on up to limb k, through limbs that are those of r; and opposites.
    for j, k in ((0, 2), (0, 3), (1, 3)):
        below, step = (1 << (64 * k)), (1 << (64 * j))
        carries += [below - step, r - (below - step), r % below + step]
    return edges + powers + carries + [rng.randrange(r) for _ in range(10)]


def expected(group: Group, points: np.ndarray, column: list[tuple[int, int]]) -> np.ndarray:
    return linear_combination(
        group, [points[0], *(points[row] for row, _ in column)], [0, *(v for _, v in column)]
    )


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_equals_sums_of_multiples(group: Group, pool: Pool) -> None:
    rng, n_rows = random.Random(group.name), 12
    points = Multiples(pool, group, 8).of(from_ints([3 * k for k in range(n_rows)], 4))
    assert not points[0].any()  # infinity among them
    columns = [[(1 + k % 11, v)] for k, v in enumerate(coefficients(group.order, rng))]
    columns += [
        [],
        [(0, 5)],
        [(row, 1) for row in range(n_rows)],
        [(1, 1), (1, group.order - 1)],  # a wire twice in a row: 0
        [(1, 3), (3, group.order - 1)],  # 3·P1 = P3: opposite points
        [(1, 3), (3, 1)],  # equal points
        [(row, rng.randrange(group.order)) for row in range(8)],
        [(row, rng.randrange(group.order)) for row in range(9)],
        [(row % n_rows, rng.choice([1, 2, group.order - 1])) for row in range(40)],
    ]
    matrix = matrix_of(columns, n_rows)
    summand = Summand(by_column(matrix, len(columns)), matrix.values, points)
    sums = column_sums(pool, group, len(columns), [summand])
    for index, column in enumerate(columns):
        assert np.array_equal(sums[index], expected(group, points, column)), index


def test_columns_of_several_tasks(pool: Pool) -> None:
    """More columns than one task sums (32) and than one inversion makes affine (256)."""
    group, n, n_rows = BN254.g1, 300, 7
    table = Multiples(pool, group, n)
    points = table.of(from_ints(range(1, n_rows + 1), 4))
    matrix = matrix_of([[(i % n_rows, i)] for i in range(n)], n_rows)
    summand = Summand(by_column(matrix, n), matrix.values, points)
    sums = column_sums(pool, group, n, [summand])
    assert np.array_equal(sums, table.of(from_ints([i * (i % n_rows + 1) for i in range(n)], 4)))


def test_a_stop_ends_a_task_early(pool: Pool) -> None:
    """A task is long: 32 columns of up to 512 entries. No column is begun once it is stopped.

    The stop comes with the first sum: the pool's third word is its flag, and is laid here upon the
    first word of the sums.
    """
    group, n = BN254.g1, 5
    points = Multiples(pool, group, 1).of(from_ints([3], 4))
    matrix = matrix_of([[(0, 1)]] * n, 1)
    columns = by_column(matrix, n)
    words = np.zeros(2 + n * 4 * group.field.words, dtype=np.uint64)
    tasks, sums = words[:3].view(np.int64), words[2:].reshape(n, -1)
    tasks[:2] = 0, 1  # none claimed of one
    places = (columns.start, columns.rows, columns.entries)
    modulus = from_ints([group.order], 4)[0]
    module._add_columns(
        tasks, group.field, packed(points), *places, matrix.values, modulus, module.LONG, sums
    )
    assert sums.any(axis=1).tolist() == [True, False, False, False, False]


def test_several_matrices_add_up(pool: Pool) -> None:
    group, r = BN254.g1, BN254.g1.order
    rng = random.Random(7)
    summands, parts = [], []
    for _ in range(3):
        points = Multiples(pool, group, 8).of(from_ints([rng.randrange(r) for _ in range(4)], 4))
        columns = [[(row, rng.randrange(r)) for row in range(w % 4)] for w in range(5)]
        matrix = matrix_of(columns, 4)
        summands.append(Summand(by_column(matrix, 5), matrix.values, points))
        parts.append((points, columns))
    sums = column_sums(pool, group, 5, summands)
    for wire in range(5):
        points = [p[row] for p, columns in parts for row, _ in columns[wire]]
        values = [v for _, columns in parts for _, v in columns[wire]]
        total = linear_combination(group, [*points, parts[0][0][0]], [*values, 0])
        assert np.array_equal(sums[wire], total)


@pytest.mark.parametrize("group", [BN254.g1, BLS12_381.g2], ids=lambda group: group.name)
def test_long_columns(group: Group, pool: Pool) -> None:
    """Above the limit a column is an MSM; both ways give the same sums."""
    rng, n_rows, r = random.Random(3), 40, group.order
    points = Multiples(pool, group, 64).of(from_ints([rng.randrange(r) for _ in range(n_rows)], 4))
    long = [(row, rng.choice([1, r - 1, rng.randrange(r)])) for row in range(n_rows)]
    columns = [long, [(1, 2)], long[:21], long[:20], long[:19]]
    matrix = matrix_of(columns, n_rows)
    summand = Summand(by_column(matrix, len(columns)), matrix.values, points)
    short_way = column_sums(pool, group, len(columns), [summand])
    as_msm = column_sums(pool, group, len(columns), [summand], long=20)
    assert np.array_equal(as_msm, short_way)
    assert np.array_equal(short_way[0], expected(group, points, long))
