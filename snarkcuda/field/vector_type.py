"""The numba type of a vector of field elements, and how it lies in registers.

prime field      [L x <8 x i64>]: limb i of eight elements in vector i      field/ifma.py
Fp2              two of them, c0 and c1
"""

from __future__ import annotations

from functools import cache
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.typeconv import Conversion
from numba.extending import lower_cast, models, register_model

from snarkcuda.field import ifma
from snarkcuda.field.element import field_key
from snarkcuda.field.params import Field, PrimeField
from snarkcuda.machine import IFMA, compile_target

LANES = 8  # of a vector of 512 bits
STORED = 2  # k of a value in an array
Coefficients = list[ifma.Limbs]  # one list of limbs for each prime coefficient


@cache
def has_vectors() -> bool:
    """Whether numba compiles for a processor with AVX-512 IFMA; if not, LLVM ends the process."""
    target = compile_target()
    return target is not None and set(target[1]) >= IFMA


class VectorType(types.Type):  # type: ignore[misc]
    """The type of `count` elements of `field`, each at most k·p.

    `units` is 0 for carried limbs; else they are loose, at most units·2^52 in size (`ifma`). A
    variable that is carried here and loose there, as in a loop, is carried.
    """

    def __init__(self, field: Field, k: int, count: int = LANES, units: int = 0) -> None:
        self.field, self.k, self.count, self.units = field, k, count, units
        super().__init__(name=f"Vector({field_key(field)},{k},{count},{units})")

    @property
    def is_loose(self) -> bool:
        """Whether the limbs are."""
        return self.units > 0

    def bounded(self, k: int, units: int = 0) -> VectorType:
        """The same with another bound."""
        return VectorType(self.field, k, self.count, units)

    def unify(self, typing_context: Any, other: Any) -> VectorType | None:
        """What numba makes of a variable with two types."""
        carried = self.bounded(self.k)
        same = isinstance(other, VectorType) and other.bounded(other.k) == carried
        return carried if same else None

    def can_convert_to(self, typing_context: Any, other: Any) -> Conversion | None:
        """Loose limbs can be carried."""
        return Conversion.safe if other == self.bounded(self.k) else None


def vector_ir(field: Field, count: int) -> Any:
    """The LLVM type of `count` elements."""
    if isinstance(field, PrimeField):
        return ir.ArrayType(ir.VectorType(ifma.I64, count), ifma.limb_count(field))
    return ir.ArrayType(vector_ir(field.base, count), field.degree)


@register_model(VectorType)
class _VectorModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, vector: VectorType) -> None:
        super().__init__(manager, vector, vector_ir(vector.field, vector.count))


def split(builder: Any, vector: VectorType, value: Any) -> Coefficients:
    """A value as limbs by prime coefficient (one, or two in Fp2)."""
    if isinstance(vector.field, PrimeField):
        return [[builder.extract_value(value, i) for i in range(value.type.count)]]
    base = VectorType(vector.field.base, vector.k, vector.count, vector.units)
    parts = (builder.extract_value(value, i) for i in range(vector.field.degree))
    return [limbs for part in parts for limbs in split(builder, base, part)]


def join(builder: Any, vector: VectorType, coefficients: Coefficients) -> Any:
    """The inverse of `split`."""
    value = ir.Constant(vector_ir(vector.field, vector.count), ir.Undefined)
    if isinstance(vector.field, PrimeField):
        for i, limb in enumerate(coefficients[0]):
            value = builder.insert_value(value, limb, i)
        return value
    base, per_part = VectorType(vector.field.base, vector.k, vector.count), vector.field.base.level
    for i in range(vector.field.degree):
        part = join(builder, base, coefficients[per_part * i : per_part * (i + 1)])
        value = builder.insert_value(value, part, i)
    return value


def carried(builder: Any, vector: VectorType, value: Any) -> Coefficients:
    """`split` with carried limbs."""
    coefficients = split(builder, vector, value)
    return [ifma.carried(builder, x) for x in coefficients] if vector.units else coefficients


def _carry(context: Any, builder: Any, source: VectorType, target: VectorType, value: Any) -> Any:
    return join(builder, target, carried(builder, source, value))


lower_cast(VectorType, VectorType)(_carry)
