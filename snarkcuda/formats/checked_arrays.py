"""Arrays out of sections, each element checked at this door: canonical, and indices in range.

The hot loops rely on it: a Montgomery product of a value that is not below the modulus, or a row
index beyond the domain, would be wrong far from here and without a message.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from snarkcuda.errors import NotInFieldError
from snarkcuda.field.arrays import U64Array, first_not_canonical
from snarkcuda.field.params import PrimeField
from snarkcuda.formats.sections import Section
from snarkcuda.groth16.keys import COEFFICIENT

BLOCK = 1 << 16  # entries checked at a time: bounds the temporary memory


def read_points(section: Section, count: int, is_g2: bool, fq: PrimeField, at: int = 0) -> U64Array:
    """`count` points from byte `at`, the section's length having been checked.

    Returns:
        uint64 (count, 2, limbs) or (count, 2, 2, limbs), as they stand in the file, read-only.

    Raises:
        NotInFieldError: a coordinate is not below q.
    """
    shape = (count, 2, 2, fq.limbs) if is_g2 else (count, 2, fq.limbs)
    points = section.elements(shape, at)
    bad = first_not_canonical(fq, points)
    if bad is not None:
        per_point = 4 if is_g2 else 2
        coordinate = ("x.c0", "x.c1", "y.c0", "y.c1") if is_g2 else ("x", "y")
        raise NotInFieldError(
            f"{section.file}: {section.label}: coordinate {coordinate[bad % per_point]} of point "
            f"{bad // per_point} at offset {section.offset + at + 8 * fq.limbs * bad} is not below "
            "q: the file is damaged; download or make it again"
        )
    return points


def read_scalars(section: Section, count: int, fr: PrimeField) -> U64Array:
    """`count` plain scalars: uint64 (count, 4), read-only; the section's length is checked.

    Raises:
        FormatError: the section has another length.
        NotInFieldError: a scalar is not below r.
    """
    size = 8 * fr.limbs
    section.require_length(size * count, f"{count} values of {size} bytes")
    values = section.elements((count, fr.limbs))
    bad = first_not_canonical(fr, values)
    if bad is not None:
        raise NotInFieldError(
            f"{section.file}: {section.label}: value {bad} at offset {section.offset + size * bad} "
            "is not below r: the file is for another curve, or damaged; make it again"
        )
    return values


def read_coefficients(
    section: Section, n_wires: int, domain_size: int, fr: PrimeField
) -> NDArray[np.void]:
    """A key's matrix entries: `COEFFICIENT` records, a read-only view of the file.

    Raises:
        FormatError: the section's length is not that of its count, or an index is out of range.
        NotInFieldError: a value is not below r.
    """
    count, size = section.uint(0, 4, "count"), COEFFICIENT.itemsize
    section.require_length(4 + size * count, f"a count and {count} entries of {size} bytes")
    entries = section.data[4:].view(COEFFICIENT)
    for name, limit in (("matrix", 2), ("constraint", domain_size), ("wire", n_wires)):
        for start in range(0, count, BLOCK):
            too_large = entries[name][start : start + BLOCK] >= limit
            if too_large.any():
                bad = start + int(np.argmax(too_large))
                raise section.error(
                    f"holds entry {bad} (at offset {section.offset + 4 + size * bad}) with {name} "
                    f"{entries[name][bad]}, not below {limit}: the file is damaged; make it again"
                )
    bad_value = first_not_canonical(fr, entries["value"])
    if bad_value is not None:
        offset = section.offset + 4 + size * bad_value + 12
        raise NotInFieldError(
            f"{section.file}: {section.label}: the value of entry {bad_value} at offset {offset} "
            "is not below r: the file is damaged; download or make it again"
        )
    return entries
