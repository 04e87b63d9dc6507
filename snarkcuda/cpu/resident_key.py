"""A key made resident: its points checked and in the form that kernels read, its matrices grouped.

    vectors, and the copies fit        copies in vector form, or a map of them from a key cache
    vectors, and they do not fit       views of the key file; sums convert them block by block
    no vectors                         views of the key file, which sums read as they are

Grouping the coefficients takes one thread; the points are checked on the others meanwhile.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snarkcuda.cpu import key_cache, matvec, ntt
from snarkcuda.cpu.memory_plan import block_size
from snarkcuda.cpu.ntt_vector import MIN_LOG_N, VectorTables
from snarkcuda.cpu.point_checks import first_off_curve
from snarkcuda.cpu.pool import Pool
from snarkcuda.cpu.vector_points import mark_bytes, point_bytes, points_in_vector_form
from snarkcuda.curve.params import Group
from snarkcuda.curve.points import point_shape
from snarkcuda.errors import NotOnCurveError
from snarkcuda.field import arrays
from snarkcuda.field.vector_type import has_vectors
from snarkcuda.formats.opening import FilePath
from snarkcuda.groth16.keys import ProvingKey
from snarkcuda.groth16.timeline import Timeline

VECTOR_ROWS = 1 << 12  # for fewer, loading the vector kernels takes longer than they save


@dataclass(frozen=True)
class Query:
    """The points of one MSM, packed: affine, in vector form, or in Montgomery form where not.

    Attributes:
        group: G1 or G2 of the key's curve.
        points: the points; all zero is infinity.
        label: "A query", for messages.
        source: the key's name, for messages.
        vectors: whether they are in vector form.
        block: points converted at a time where vectors sum points in Montgomery form; else 0.
        infinite: a bit for each point that is infinity, or empty where none is.
    """

    group: Group
    points: NDArray[np.uint8]
    label: str
    source: str
    vectors: bool = False
    block: int = 0
    infinite: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, dtype=np.uint8))

    def off_curve(self, index: int) -> NotOnCurveError:
        """The error that point `index` is."""
        return off_curve(self.source, self.label, self.group, index)


def off_curve(source: str, label: str, group: Group, index: int) -> NotOnCurveError:
    """The error that a point of a key is."""
    return NotOnCurveError(
        f"{source}: point {index} of the {label} is not on {group.name}: the key is damaged; "
        "download it or make it again"
    )


@dataclass(frozen=True)
class ResidentKey:
    """A proving key as the CPU kernels read it.

    Attributes:
        key: what it was made of.
        vectors: the sums are those of vectors.
        block: points converted at a time, 0 where none are: see `Query`.
        matrices: A and B.
        tables: those of the domain.
        a_query, b_g1_query, b_g2_query, l_query, h_query: the points.
    """

    key: ProvingKey
    vectors: bool
    block: int
    matrices: matvec.Matrices
    tables: ntt.Tables | VectorTables
    a_query: Query
    b_g1_query: Query
    b_g2_query: Query
    l_query: Query
    h_query: Query


def uses_vectors(key: ProvingKey) -> bool:
    """Whether proofs with a key are made on vectors."""
    return has_vectors() and key.domain_size >= VECTOR_ROWS


def load(
    pool: Pool,
    key: ProvingKey,
    timeline: Timeline,
    two_adicity: int | None = None,
    memory: int | None = None,
    cache: FilePath | None = None,
) -> ResidentKey:
    """Make a key resident.

    Args:
        pool: the threads to use.
        key: the proving key.
        timeline: receives the stages.
        two_adicity: lowered by tests to reach the quotient's edge case.
        memory: bytes that a proof should keep to, copies of the key included; None for no limit.
        cache: a directory of key caches (`cpu/key_cache`): map what an earlier run made, or keep
            what this one makes. What prevents it is a `UserWarning`, and costs only the cache.

    Raises:
        NotOnCurveError: a query holds a point that is off its curve. Where points are converted
            block by block, the sums check them instead.
        FormatError: the key's file changed meanwhile.
    """
    vectors = uses_vectors(key)
    domain = ntt.domain_of_size(key.curve.fr, key.domain_size, two_adicity)
    entry = None
    if cache is not None:
        with timeline.stage("key cache"):
            entry = key_cache.entry(cache, key, vectors, domain.two_adicity)
            cached = entry.read(pool) if entry else None
        if cached is not None:
            with suppress(KeyError, TypeError):  # it has other arrays
                return _of_arrays(key, vectors, domain, cached)
    block = block_size(key, memory) if vectors else 0
    queries = {
        name: Query(group, arrays.packed(getattr(key, name)), label, key.source, block=block)
        for name, group, label in each_query(key)
    }
    n_bytes = 0 if block else sum(query.points.nbytes for query in queries.values())
    with timeline.stage("check key points", n_bytes):
        grouping = pool.start(
            matvec.group_by_row,
            *(key.curve.fr, key.domain_size, key.n_wires, key.coefficients, key.source),
        )
        if not block:
            queries = {name: _checked(pool, query, vectors) for name, query in queries.items()}
    with timeline.stage("domain tables"):
        tables = ntt.tables(pool, domain, vectors)
    with timeline.stage("group coefficients", key.coefficients.nbytes):  # what is left of it
        matrices = grouping.result()
    resident = ResidentKey(key, vectors, block, matrices, tables, **queries)
    if entry is not None and block:
        warnings.warn(
            f"{key.source} does not fit in memory: it is not kept in a cache", stacklevel=2
        )
    elif entry is not None:
        with timeline.stage("write key cache"):
            entry.write(pool, _arrays(resident))
    return resident


def each_query(key: ProvingKey) -> Iterator[tuple[str, Group, str]]:
    """Each query's name in `ProvingKey` and for people."""
    for name, label in (
        ("a_query", "A query"),
        ("b_g1_query", "B1 query"),
        ("b_g2_query", "B2 query"),
        ("l_query", "L query"),
        ("h_query", "H query"),
    ):
        yield name, key.curve.g2 if name == "b_g2_query" else key.curve.g1, label


def _checked(pool: Pool, query: Query, vectors: bool) -> Query:
    """The query on its curve, in vector form if asked."""
    group, points = query.group, query.points
    marks = np.zeros(mark_bytes(len(points) // point_bytes(group)), dtype=np.uint8)
    if vectors:
        out = arrays.aligned_bytes(len(points))
        bad = points_in_vector_form(pool, group, points, out, marks)
        points = arrays.packed(out)
    else:
        points = arrays.at_even_address(points)
        rows = points.view(np.uint64).reshape(-1, *point_shape(group))
        bad = first_off_curve(pool, group, rows, marks)
    if bad is not None:
        raise query.off_curve(bad)
    infinite = marks if marks.any() else marks[:0]
    return replace(query, points=points, vectors=vectors, infinite=infinite)


# --- to and from arrays by name, as a key cache holds them ---------------------------------------


def _arrays(resident: ResidentKey) -> dict[str, NDArray[Any]]:
    """The arrays that were computed: "matrices.wires", "tables.roots", "a_query.points"."""
    found = {
        f"{part}.{name}": value
        for part in ("matrices", "tables")
        for name, value in vars(getattr(resident, part)).items()
        if isinstance(value, np.ndarray)
    }
    for name, _, _ in each_query(resident.key):
        query = getattr(resident, name)
        found[f"{name}.infinite"] = query.infinite
        if resident.vectors:
            found[f"{name}.points"] = query.points
    return found


def _of_arrays(
    key: ProvingKey, vectors: bool, domain: ntt.Domain, found: dict[str, NDArray[Any]]
) -> ResidentKey:
    """The inverse of `_arrays`."""

    def part(prefix: str) -> dict[str, Any]:
        return {k[len(prefix) :]: v for k, v in found.items() if k.startswith(prefix)}

    matrices = matvec.Matrices(key.curve.fr, key.domain_size, **part("matrices."))
    tables: ntt.Tables | VectorTables
    if vectors and domain.log_n >= MIN_LOG_N:
        tables = VectorTables(domain.field, domain.log_n, **part("tables."))
    else:
        tables = ntt.Tables(domain, **part("tables."))
    queries = {}
    for name, group, label in each_query(key):
        if vectors:
            points = found[f"{name}.points"]
        else:
            points = arrays.at_even_address(arrays.packed(getattr(key, name)))
        marks = found[f"{name}.infinite"]
        queries[name] = Query(group, points, label, key.source, vectors, infinite=marks)
    return ResidentKey(key, vectors, 0, matrices, tables, **queries)
