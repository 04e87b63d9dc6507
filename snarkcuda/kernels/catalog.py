"""Every kernel of the project, by the field or group that it computes in.

`warmup` compiles those of proofs ahead; `snarkcuda kernels` reports on all, and tests look at each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from snarkcuda.curve.params import Curve
from snarkcuda.kernels import (
    group,
    matvec,
    msm,
    msm_digits,
    msm_group,
    msm_reduce,
    msm_sums,
    msm_tables,
    ntt,
    operations,
    point_checks,
    pointwise,
)
from snarkcuda.kernels.field import DeviceField, device_field
from snarkcuda.kernels.launch import DeviceKernel

Factory = Callable[[DeviceField], DeviceKernel]

OF_SCALARS: tuple[Factory, ...] = (
    ntt.ntt_pass,
    ntt.ntt_factors,
    matvec.matvec_rows,
    matvec.matvec_long_rows,
    pointwise.products,
    pointwise.circom_quotient,
    pointwise.bellman_quotient,
    pointwise.natural_scalars,
)
OF_DIGITS = msm_digits.digit_counts, msm_digits.digit_place
OF_GROUPING = (
    msm_group.column_sums,
    msm_group.column_starts,
    msm_group.column_offsets,
    msm_group.bin_sort,
)
OF_SUMS: tuple[Factory, ...] = (msm_sums.sum_chunks,)
OF_COLD: tuple[Factory, ...] = (
    msm_sums.sum_runs,
    msm_reduce.reduce_runs,
    msm_reduce.bit_rows,
    msm_reduce.sum_rows,
    msm_tables.next_multiples,
    point_checks.off_curve,
)
# What tests and benches run, one operation or addition at a time.
OF_POINTS: tuple[Factory, ...] = (group.group_add, group.group_add_affine, group.group_double)
OF_FIELDS: tuple[Factory, ...] = (
    operations.field_operations,
    *(partial(operations.field_chain, operation=operation) for operation in ("mul", "sqr", "add")),
)


def proof_kernels(curve: Curve, arithmetic: str | None = None) -> list[DeviceKernel]:
    """The kernels of a curve's proofs."""
    F = device_field(curve.fr, arithmetic)
    groups = curve.g1, curve.g2
    return [
        *(factory(F) for factory in OF_SCALARS),
        *(factory(curve.fr) for factory in OF_DIGITS),
        *OF_GROUPING,
        *(make(group.point_field(g, arithmetic)) for g in groups for make in OF_SUMS),
        *(make(msm.cold_field(g, arithmetic)) for g in groups for make in OF_COLD),
    ]


def kernels_of(curve: Curve, arithmetic: str | None = None) -> list[DeviceKernel]:
    """All kernels of a curve's fields and groups."""
    of_points = [group.point_field(g, arithmetic) for g in (curve.g1, curve.g2)]
    of_fields = [device_field(curve.fr, arithmetic), *of_points]
    return [
        *proof_kernels(curve, arithmetic),
        *(factory(F) for F in of_points for factory in OF_POINTS),
        *(factory(F) for F in of_fields for factory in OF_FIELDS),
    ]
