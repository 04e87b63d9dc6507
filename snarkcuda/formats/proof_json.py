"""proof.json: the three points of a proof, as snarkjs and rapidsnark write them."""

from __future__ import annotations

from collections.abc import Sequence

from snarkcuda.curve.params import Curve
from snarkcuda.formats.json_points import (
    json_text,
    point_value,
    read_curve,
    read_point,
    read_protocol,
)
from snarkcuda.formats.opening import FilePath
from snarkcuda.formats.output import write_outputs
from snarkcuda.formats.strict_json import read_json
from snarkcuda.groth16.keys import Proof

MAX_BYTES = 1 << 20  # a real one has about 1,000


def read_proof(path: FilePath, curve: Curve | None = None) -> Proof:
    """Read a proof.

    Args:
        path: a proof.json; further keys are ignored.
        curve: the curve to verify on; None takes the file's.

    Returns:
        The proof; points uint64, Montgomery form. They may be off the curve: `verify` checks that.

    Raises:
        FormatError: bad JSON, a missing key, a wrong shape, another protocol.
        MismatchError: the file names another curve.
        NotInFieldError: a coordinate is not below q.
        NotOnCurveError: A or B is infinity (C may be).
    """
    root = read_json(path, MAX_BYTES, "a proof")
    pi_a, pi_b, pi_c = root.fields("pi_a", "pi_b", "pi_c")
    read_protocol(root)
    curve = read_curve(root, curve, "pi_a")
    return Proof(
        curve,
        a=read_point(pi_a, curve, is_g2=False),
        b=read_point(pi_b, curve, is_g2=True),
        c=read_point(pi_c, curve, is_g2=False, may_be_infinity=True),
    )


def proof_to_json(proof: Proof) -> str:
    """The text of proof.json, byte for byte as snarkjs writes it."""
    return json_text(
        {
            "pi_a": point_value(proof.a, proof.curve),
            "pi_b": point_value(proof.b, proof.curve),
            "pi_c": point_value(proof.c, proof.curve),
            "protocol": "groth16",
            "curve": proof.curve.file_name,
        }
    )


def write_proof(path: FilePath, proof: Proof, inputs: Sequence[FilePath] = ()) -> None:
    """Write proof.json, atomically.

    Raises:
        OutputError: see `output.write_outputs`.
    """
    write_outputs({path: proof_to_json(proof).encode()}, inputs)
