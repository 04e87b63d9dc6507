"""Every kernel of the project, by the field or group that it computes in.

`warmup` compiles those of proofs ahead; `snarkcuda kernels` reports on all, and tests look at each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from snarkcuda.curve.params import Curve
from snarkcuda.kernels import group, matvec, ntt, operations, pointwise
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
# What tests and benches run, one operation or addition at a time.
OF_POINTS: tuple[Factory, ...] = (group.group_add, group.group_add_affine, group.group_double)
OF_FIELDS: tuple[Factory, ...] = (
    operations.field_operations,
    *(partial(operations.field_chain, operation=operation) for operation in ("mul", "sqr", "add")),
)


def proof_kernels(curve: Curve, arithmetic: str | None = None) -> list[DeviceKernel]:
    """The kernels of a curve's proofs."""
    F = device_field(curve.fr, arithmetic)
    return [factory(F) for factory in OF_SCALARS]


def kernels_of(curve: Curve, arithmetic: str | None = None) -> list[DeviceKernel]:
    """All kernels of a curve's fields and groups."""
    of_points = [group.point_field(g, arithmetic) for g in (curve.g1, curve.g2)]
    of_fields = [device_field(curve.fr, arithmetic), *of_points]
    return [
        *proof_kernels(curve, arithmetic),
        *(factory(F) for F in of_points for factory in OF_POINTS),
        *(factory(F) for F in of_fields for factory in OF_FIELDS),
    ]
