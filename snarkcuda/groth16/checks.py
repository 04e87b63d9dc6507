"""What must hold of keys, witnesses and points before arithmetic is done with them.

The readers of `formats/` check files and say where in the file; these functions check values, which
a program can also make or alter in memory. Kernels rely on both: they index by what a key says.
"""

from __future__ import annotations

import numpy as np

from snarkcuda.circuits.r1cs import R1cs
from snarkcuda.curve import points
from snarkcuda.curve.params import Curve, Group
from snarkcuda.errors import FormatError, MismatchError, NotInFieldError, NotOnCurveError
from snarkcuda.field.arrays import U64Array, first_not_canonical, to_int
from snarkcuda.field.params import prime_of
from snarkcuda.groth16.keys import COEFFICIENT, Proof, ProvingKey, VerifyingKey, Witness


def check_match(key: ProvingKey | R1cs, witness: Witness) -> None:
    """Raise MismatchError, naming both files, unless the two are of one curve and size.

    `key` may be the circuit itself.
    """
    if witness.curve != key.curve:
        raise MismatchError(
            f"{witness.source} is over {witness.curve.name} but {key.source} is over "
            f"{key.curve.name}: they come from different circuits"
        )
    if len(witness.values) != key.n_wires:
        raise MismatchError(
            f"{witness.source} has {len(witness.values)} values but {key.source} expects "
            f"{key.n_wires}: they come from different circuits, or one of them is stale"
        )


def check_witness(witness: Witness) -> None:
    """What the reader of a witness file checks, for a witness made in memory.

    Raises:
        FormatError: not uint64 (n, 4), or the first value is not 1.
        NotInFieldError: a value is not below r.
    """
    values = witness.values
    n = len(values) if isinstance(values, np.ndarray) and values.ndim else 0
    if _described(values) != f"uint64 ({n}, 4)":
        raise FormatError(f"{witness.source}: values must be uint64 (n, 4), canonical")
    if not n or to_int(values[:1]) != 1:
        raise FormatError(f"{witness.source}: value 0 must be the constant 1")
    bad = first_not_canonical(witness.curve.fr, values)
    if bad is not None:
        raise NotInFieldError(f"{witness.source}: value {bad} is not below r")


def check_proving_key(key: ProvingKey) -> None:
    """Lengths, shapes and ranges of a key; its points' coordinates are below q.

    Raises:
        FormatError: an array of another shape or type than `keys.ProvingKey` states, or a
            coefficient of a matrix, row or wire that does not exist.
        NotInFieldError: a coordinate or coefficient is not canonical.
    """
    n, name = key.domain_size, key.source
    check_ic(key.verifying_key)
    if n < 1 or n & (n - 1) or n > 1 << key.curve.fr.two_adicity:
        raise FormatError(f"{name}: domain size {n} is not a power of two that the field has")
    if not 0 <= key.n_public < key.n_wires or key.n_public != key.verifying_key.n_public:
        raise FormatError(
            f"{name}: {key.n_public} public signals do not go with {key.n_wires} wires and an IC "
            f"of {len(key.verifying_key.ic)} points"
        )
    g1, g2, private = key.curve.g1, key.curve.g2, key.n_wires - key.n_public - 1
    for label, group, query, length in (
        ("A query", g1, key.a_query, key.n_wires),
        ("B1 query", g1, key.b_g1_query, key.n_wires),
        ("B2 query", g2, key.b_g2_query, key.n_wires),
        ("L query", g1, key.l_query, private),
        ("H query", g1, key.h_query, n),
    ):
        _check_array(group, query, (length,), f"{name}: {label}")
    records = key.coefficients
    if not isinstance(records, np.ndarray) or records.dtype != COEFFICIENT or records.ndim != 1:
        raise FormatError(f"{name}: coefficients must be one axis of COEFFICIENT records")
    for column, limit in (("matrix", 2), ("constraint", n), ("wire", key.n_wires)):
        if len(records) and records[column].max() >= limit:
            raise FormatError(f"{name}: a coefficient's {column} is not below {limit}")
    if first_not_canonical(key.curve.fr, records["value"]) is not None:
        raise NotInFieldError(f"{name}: a coefficient is not below r")


def check_verifying_key(key: VerifyingKey) -> None:
    """Every point of a verifying key: on the curve, in the subgroup; only IC may be infinity."""
    g1, g2 = key.curve.g1, key.curve.g2
    named: list[tuple[str, Group, U64Array]] = [
        ("alpha (G1)", g1, key.alpha_g1),
        ("beta (G2)", g2, key.beta_g2),
        ("gamma (G2)", g2, key.gamma_g2),
        ("delta (G2)", g2, key.delta_g2),
    ]
    for name, group, point in named:
        check_point(key.curve, group, point, f"{key.source}: {name}")
    check_ic(key)
    index = points.first_off_curve(g1, key.ic)
    if index is None:
        index = points.first_outside_subgroup(key.curve, g1, key.ic)
    if index is not None:
        check_point(key.curve, g1, key.ic[index], f"{key.source}: IC[{index}]")


def check_ic(key: VerifyingKey) -> None:
    """IC is an array of points, and has one: its length tells how many public signals there are."""
    n = len(key.ic) if isinstance(key.ic, np.ndarray) and key.ic.ndim else 1
    if not n:
        raise FormatError(f"{key.source}: IC is empty; it has one point more than public signals")
    _check_array(key.curve.g1, key.ic, (n,), f"{key.source}: IC")


def check_proof_points(proof: Proof) -> None:
    """A, B and C on their curves and in their subgroups; A and B not infinity."""
    check_point(proof.curve, proof.curve.g1, proof.a, "proof: pi_a")
    check_point(proof.curve, proof.curve.g2, proof.b, "proof: pi_b")
    check_point(proof.curve, proof.curve.g1, proof.c, "proof: pi_c", infinity_allowed=True)


def check_point(
    curve: Curve, group: Group, point: U64Array, name: str, infinity_allowed: bool = False
) -> None:
    """Raise an error that names the point and the rule it breaks.

    Raises:
        FormatError: not a point's shape.
        NotInFieldError: a coordinate is not below q.
        NotOnCurveError: infinity where that is refused, off the curve, or outside the subgroup.
    """
    _check_array(group, point, (), name)
    if points.is_infinity(point):
        if infinity_allowed:
            return
        raise NotOnCurveError(f"{name} is the point at infinity, which is refused here")
    if points.first_off_curve(group, point[None]) is not None:
        raise NotOnCurveError(f"{name} does not satisfy the equation of {group.name}")
    if points.first_outside_subgroup(curve, group, point[None]) is not None:
        raise NotOnCurveError(
            f"{name} is on the curve but outside the subgroup of order r of {group.name}"
        )


def _check_array(group: Group, array: U64Array, axes: tuple[int, ...], name: str) -> None:
    shape = (*axes, *points.point_shape(group))
    if _described(array) != f"uint64 {shape}":
        raise FormatError(f"{name} must be uint64 {shape}, not {_described(array)}")
    if first_not_canonical(prime_of(group.field), array) is not None:
        raise NotInFieldError(f"{name} has a coordinate that is not below q")


def _described(array: object) -> str:
    """An array's dtype and shape, as in "uint64 (4, 2)"; the Python type of anything else."""
    if not isinstance(array, np.ndarray):
        return type(array).__name__
    return f"{array.dtype} {array.shape}"
