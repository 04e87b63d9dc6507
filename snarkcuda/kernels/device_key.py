"""A proving key on a device: rows, transforms, and its points with as many multiples as fit.

    multiples     of each point one for every window, or for every second, third …, or the point
    streamed      points stay in the host's memory, and pass through slice by slice
    job           what one proof takes beside the key

One budget holds key and job: `plan` takes the most multiples that leave room for one proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from snarkcuda.cpu import matvec
from snarkcuda.cpu.ntt import domain_of_size
from snarkcuda.cpu.pool import Pool
from snarkcuda.cpu.resident_key import each_query, off_curve
from snarkcuda.errors import DeviceError
from snarkcuda.field import arrays
from snarkcuda.groth16.keys import ProvingKey
from snarkcuda.groth16.timeline import Timeline
from snarkcuda.kernels.admission import Admission, Entry
from snarkcuda.kernels.evaluate import DeviceMatrices, load_matrices
from snarkcuda.kernels.field import device_field
from snarkcuda.kernels.group import point_field
from snarkcuda.kernels.memory import Scope, block_size
from snarkcuda.kernels.msm import Bases, cold_field, load_bases
from snarkcuda.kernels.msm_plan import Geometry, MsmShape, msm_shape, n_windows
from snarkcuda.kernels.msm_stream import StreamedBases, stream_bases
from snarkcuda.kernels.ntt_plan import Transform, Transforms

Query = Bases | StreamedBases


@dataclass(frozen=True)
class DeviceKey:
    """A proving key held ready on a device.

    Attributes:
        key: what it was made of.
        rows: A and B.
        to_coset: from the domain to its coset.
        of_witness, of_h: the shapes of sums over the witness and over h; of a slice where points
            are streamed.
        block: points of a slice, 0 where they are resident.
        a_query, b_g1_query, b_g2_query, l_query, h_query: the points. Those of L begin with
            infinity for each public wire, so that all four queries of the witness share its digits.
        held: what all this takes of the device.
        kept: its part of the room for keys and jobs.
    """

    key: ProvingKey
    rows: DeviceMatrices
    to_coset: Transform
    of_witness: MsmShape
    of_h: MsmShape
    block: int
    a_query: Query
    b_g1_query: Query
    b_g2_query: Query
    l_query: Query
    h_query: Query
    held: Scope
    kept: Entry

    @property
    def job_bytes(self) -> int:
        """What a proof takes of the device."""
        return _job_bytes(self.key, self.rows, self.of_witness, self.of_h, self.block)

    def free(self) -> None:
        """Give the device's memory back; no job may use the key any more."""
        self.held.close()
        self.kept.leave()


def load(
    pool: Pool,
    held: Scope,
    admission: Admission,
    key: ProvingKey,
    timeline: Timeline,
    two_adicity: int | None,
    geometry: Geometry,
) -> DeviceKey:
    """Hold a key ready.

    Args:
        pool: threads that group the coefficients.
        held: an empty scope; closed if the load fails.
        admission: room for the key and one proof.
        key: the key.
        timeline: receives the stages.
        two_adicity: lowered by tests to reach the quotient's edge case.
        geometry: of the sums' launches.

    Raises:
        NotOnCurveError: a query holds a point that is off its curve.
        FormatError: the key's file changed meanwhile.
        DeviceError: it does not fit.
    """
    F, label = device_field(key.curve.fr), held.arena.device.label
    domain = domain_of_size(key.curve.fr, key.domain_size, two_adicity)
    with ExitStack() as undo:
        undo.callback(held.close)
        with timeline.stage("group coefficients", key.coefficients.nbytes):
            matrices = pool.call(
                matvec.group_by_row,
                *(key.curve.fr, key.domain_size, key.n_wires, key.coefficients, key.source),
            )
        with timeline.stage(f"load rows [{label}]", matrices.nbytes):
            rows = load_matrices(held, F, matrices)
            to_coset = Transforms(held, F, domain.log_n).to_coset(domain.shift)
        room = admission.room() - held.nbytes
        of_witness, of_h, block = plan(key, rows, room, held, geometry)
        bases: dict[str, Any] = {}
        for name, group, words in each_query(key):
            points, shape = getattr(key, name), of_h if name == "h_query" else of_witness
            with timeline.stage(f"load {words} [{label}]", points.nbytes):
                packed = arrays.packed(points)
                found: Query
                if block:
                    n = key.domain_size if name == "h_query" else key.n_wires
                    found, bad = stream_bases(held, group, packed, n, shape)
                else:
                    found, bad = load_bases(held, group, packed, shape)
                if bad is not None:
                    raise off_curve(key.source, words, group, bad)
                bases[name] = found
        held.stream.synchronize()
        undo.pop_all()
    kept = admission.keep(held.nbytes)
    shapes = of_witness, of_h
    return DeviceKey(key, rows, to_coset, *shapes, block, held=held, kept=kept, **bases)


def plan(
    key: ProvingKey,
    rows: DeviceMatrices,
    room: int,
    held: Scope,
    geometry: Geometry,
    least_block: int = 1 << 12,
) -> tuple[MsmShape, MsmShape, int]:
    """The shapes of a key's sums, with the most multiples that fit; points of a slice, or 0.

    Raises:
        DeviceError: not even the smallest slices and one proof fit.
    """
    sizes, least = (key.n_wires, key.domain_size), 0
    for multiples in _choices(key):
        of_witness, of_h = (msm_shape(key.curve.fr, n, multiples, geometry=geometry) for n in sizes)
        least = _table_bytes(key, of_witness, of_h) + _job_bytes(key, rows, of_witness, of_h)
        if least <= room:
            return of_witness, of_h, 0
    block = 1 << max(*sizes, 2 * least_block).bit_length()
    while block > least_block:
        block >>= 1
        of_slice = msm_shape(key.curve.fr, block, 1, geometry=geometry)
        least = _job_bytes(key, rows, of_slice, of_slice, block)
        if least <= room:
            return of_slice, of_slice, block
    raise DeviceError(
        f"{key.source} needs {least:,} bytes of {held.arena.device}, a proof included, and "
        f"{max(0, room):,} are left: allow more (--gpu-mem), use another device, or --device cpu"
    )


def _choices(key: ProvingKey) -> Iterator[int]:
    """Multiples of a point, from one for every window down to one."""
    most, last = n_windows(key.curve.fr, 8), 0
    for groups in range(1, most + 1):
        multiples = -(-most // groups)
        if multiples != last:
            yield multiples
        last = multiples


def _table_bytes(key: ProvingKey, of_witness: MsmShape, of_h: MsmShape) -> int:
    sizes = []
    for name, group, _ in each_query(key):
        shape = of_h if name == "h_query" else of_witness
        sizes.append(4 * shape.multiples * shape.n * 2 * point_field(group).words)
    return sum(map(block_size, sizes))


def _job_bytes(
    key: ProvingKey,
    rows: DeviceMatrices,
    of_witness: MsmShape,
    of_h: MsmShape,
    block: int = 0,
) -> int:
    """The blocks of a proof, whichever of them are in use together."""
    words = [8 * key.n_wires, *rows.needs]
    for shape in (of_witness, of_h):
        words += [*shape.group_words(), *shape.sorting_words()]
    g1, g2 = (4 * cold_field(group).words for group in (key.curve.g1, key.curve.g2))
    words += [*of_witness.sum_words(g1), *of_witness.sum_words(g2), *of_h.sum_words(g1)]
    # Rows of A, B1, L, H and B2, slice by slice, until all are done; two tables for each group.
    slices = -(-max(key.n_wires, key.domain_size) // block) if block else 1
    words += [(1 + of_witness.rows) * g1] * (4 * slices) + [(1 + of_witness.rows) * g2] * slices
    words += [block * g // 2 for g in (g1, g1, g2, g2)]
    return sum(block_size(4 * n) for n in words)
