"""verification_key.json, as snarkjs writes it.

`vk_alphabeta_12`, the pairing e(α, β), is ignored on reading: a verifier that trusted it would
trust a second, unchecked description of α and β.

A research key (`VerifyingKey.is_research`) says so in a member of our own, which others ignore.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from snarkcuda.curve.params import Curve
from snarkcuda.errors import FormatError
from snarkcuda.formats.json_points import (
    json_text,
    point_value,
    read_curve,
    read_point,
    read_protocol,
)
from snarkcuda.formats.opening import FilePath
from snarkcuda.formats.output import write_outputs
from snarkcuda.formats.strict_json import Node, read_json
from snarkcuda.groth16.keys import VerifyingKey

MAX_BYTES = 1 << 24  # a key has about 300 for each public signal
RESEARCH_MEMBER = "snarkcuda_research_key"


def read_verifying_key(path: FilePath, curve: Curve | None = None) -> VerifyingKey:
    """Read a verifying key.

    Args:
        path: a verification_key.json; further keys are ignored.
        curve: the curve expected; None takes the file's.

    Returns:
        The key; points uint64, Montgomery form, perhaps off the curve: `verify` checks that.

    Raises:
        FormatError: bad JSON, a missing key, a wrong shape, another protocol, nPublic is not the
            number of IC points less one, or the research mark is neither true nor false.
        MismatchError: the file names another curve.
        NotInFieldError: a coordinate is not below q.
        NotOnCurveError: alpha, beta, gamma or delta is infinity (IC points may be).
    """
    root = read_json(path, MAX_BYTES, "a verifying key")
    alpha, beta, gamma, delta, ic, n_public = root.fields(
        "vk_alpha_1", "vk_beta_2", "vk_gamma_2", "vk_delta_2", "IC", "nPublic"
    )
    read_protocol(root)
    curve = read_curve(root, curve, "vk_alpha_1")
    points = [read_point(node, curve, is_g2=False, may_be_infinity=True) for node in ic.items()]
    if len(points) != n_public.integer() + 1:
        raise FormatError(
            f"{ic.where} has {len(points)} points but nPublic is {n_public.integer()}: there must "
            "be one more than public signals; export the key again"
        )
    return VerifyingKey(
        curve,
        alpha_g1=read_point(alpha, curve, is_g2=False),
        beta_g2=read_point(beta, curve, is_g2=True),
        gamma_g2=read_point(gamma, curve, is_g2=True),
        delta_g2=read_point(delta, curve, is_g2=True),
        ic=np.stack(points),
        is_research=_read_mark(root),
        source=root.file,
    )


def _read_mark(root: Node) -> bool:
    mark = root.optional(RESEARCH_MEMBER)
    if mark is None:
        return False
    if not isinstance(mark.value, bool):
        mark.refuse("true or false")
    return mark.value


def verifying_key_to_json(key: VerifyingKey, alphabeta_12: Any = None) -> str:
    """The text of verification_key.json, as snarkjs writes it.

    Args:
        key: the verifying key.
        alphabeta_12: `groth16.alphabeta.alphabeta_12`; its member is left out otherwise
            (`snarkjs groth16 verify` does not read it).
    """
    points = {
        "vk_alpha_1": key.alpha_g1,
        "vk_beta_2": key.beta_g2,
        "vk_gamma_2": key.gamma_g2,
        "vk_delta_2": key.delta_g2,
    }
    value: dict[str, Any] = {
        "protocol": "groth16",
        "curve": key.curve.file_name,
        "nPublic": key.n_public,
    }
    if key.is_research:
        value[RESEARCH_MEMBER] = True
    value |= {name: point_value(point, key.curve) for name, point in points.items()}
    if alphabeta_12 is not None:
        value["vk_alphabeta_12"] = alphabeta_12
    value["IC"] = [point_value(point, key.curve) for point in key.ic]
    return json_text(value)


def write_verifying_key(
    path: FilePath,
    key: VerifyingKey,
    alphabeta_12: Any = None,
    inputs: Sequence[FilePath] = (),
) -> None:
    """Write verification_key.json, atomically.

    Raises:
        OutputError: see `output.write_outputs`.
    """
    write_outputs({path: verifying_key_to_json(key, alphabeta_12).encode()}, inputs)
