"""Arrays made by a program: of another type or shape they are refused, by another layout not.

What a kernel is given is bytes; an array that is not what it claims to be would be read as garbage.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snarkcuda import (
    NotZeroKnowledgeWarning,
    Proof,
    Prover,
    ProvingKey,
    SnarkcudaError,
    Witness,
    prove,
    read_proof,
    read_public,
    read_witness,
    read_zkey,
    verify,
)

VECTORS = Path(__file__).parents[1] / "vectors"
CASES = ["bn_mul2", "bls_mul2"]
Array = np.ndarray[Any, Any]

POINTS = ("alpha_g1", "beta_g2", "gamma_g2", "delta_g2", "ic")
QUERIES = ("a_query", "b_g1_query", "b_g2_query", "l_query", "h_query")
WRONG: dict[str, Callable[[Array], Any]] = {
    "int64": lambda a: a.astype(np.int64),
    "uint32": lambda a: a.astype(np.uint32),
    "float64": lambda a: a.astype(np.float64),
    "objects": lambda a: a.astype(object),
    "booleans": lambda a: a.astype(bool),
    "big-endian": lambda a: a.astype(">u8"),
    "bytes of them": lambda a: a.tobytes(),
    "as uint8": lambda a: np.ascontiguousarray(a).view(np.uint8),
    "an axis more": lambda a: a[None],
    "flat": lambda a: a.reshape(-1),
    "transposed": lambda a: np.ascontiguousarray(np.swapaxes(a, -1, -2)),
    "one limb less": lambda a: a[..., :-1],
    "one limb more": lambda a: np.concatenate([a, np.zeros_like(a[..., :1])], axis=-1),
    "no elements": lambda a: a[..., :0],
    "a number": lambda a: 7,
    "a 0-d array": lambda a: np.array(7, np.uint64),
    "None": lambda a: None,
    "a list": lambda a: a.tolist(),
    "all ones": lambda a: np.full_like(a, 2**64 - 1),
}


class _Subclass(np.ndarray):  # type: ignore[type-arg]
    pass


def _read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


def _unaligned(array: Array) -> Array:
    raw = np.empty(array.nbytes + 1, np.uint8)[1:]
    raw[:] = np.frombuffer(array.tobytes(), np.uint8)
    return raw.view(np.uint64).reshape(array.shape)


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "read-only": lambda a: _read_only(a.copy()),
    "every other row": lambda a: np.repeat(a, 2, axis=0)[::2],
    "reversed twice": lambda a: a[::-1].copy()[::-1],
    "Fortran order": np.asfortranarray,
    "unaligned": _unaligned,
    "a subclass": lambda a: a.copy().view(_Subclass),
}


@pytest.fixture(scope="module", params=CASES)
def good(request: pytest.FixtureRequest) -> tuple[ProvingKey, Witness, Proof, list[int]]:
    folder = VECTORS / request.param
    key = read_zkey(folder / "circuit.zkey")
    public = read_public(folder / "public.json", key.curve)
    return key, read_witness(folder / "witness.wtns"), read_proof(folder / "proof.json"), public


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_arrays_are_refused(good: Any, wrong: str) -> None:
    """In every field of key, witness, verifying key and proof; the next proof is good."""
    key, witness, proof, public = good
    vk, change = key.verifying_key, WRONG[wrong]
    for name in (*QUERIES, "beta_g1", "delta_g1"):
        with pytest.raises(SnarkcudaError, match=r"query|beta|delta"):
            Prover(replace(key, **{name: change(getattr(key, name))}), threads=1)
    for name in POINTS:
        bad = replace(vk, **{name: change(getattr(vk, name))})
        with pytest.raises(SnarkcudaError, match=r"IC|alpha|beta|gamma|delta"):
            verify(bad, public, proof)
        with pytest.raises(SnarkcudaError):
            Prover(replace(key, verifying_key=bad), threads=1)
    for name in ("a", "b", "c"):
        with pytest.raises(SnarkcudaError, match=f"pi_{name}"):
            verify(vk, public, replace(proof, **{name: change(getattr(proof, name))}))
    with Prover(key, threads=1) as prover:
        with pytest.raises(SnarkcudaError, match="value"):
            prover.prove(replace(witness, values=change(witness.values)))
        assert prover.prove(witness).public == public
    assert verify(vk, public, proof)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_in_memory_does_not_matter(good: Any, layout: str) -> None:
    """Equal values, equal proof: strides, alignment and writability are not ours to demand."""
    key, witness, proof, public = good
    change = LAYOUTS[layout]
    vk = replace(
        key.verifying_key, **{name: change(getattr(key.verifying_key, name)) for name in POINTS}
    )
    moved = replace(key, verifying_key=vk, **{name: change(getattr(key, name)) for name in QUERIES})
    moved = replace(moved, coefficients=np.repeat(key.coefficients, 2)[::2])
    moved_witness = replace(witness, values=change(witness.values))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotZeroKnowledgeWarning)
        expected = prove(key, witness, threads=1, seed=b"s").proof
        assert prove(moved, moved_witness, threads=1, seed=b"s").proof == expected
    moved_proof = replace(proof, **{name: change(getattr(proof, name)) for name in "abc"})
    assert verify(vk, public, moved_proof)


SIGNALS: list[tuple[Any, bool]] = [
    ([33, 11], True),
    ((33, 11), True),
    (np.array([33, 11]), True),
    (np.array([33, 11], np.uint64), True),
    ([np.int8(33), np.uint64(11)], True),
    ([33.0, 11], False),
    (np.array([33.0, 11.0]), False),
    (["33", "11"], False),
    ([33, None], False),
    ([33, True], False),
    ([33, [11]], False),
    ("33", False),
    ([33], False),
    ([33, 11, 0], False),
    ([], False),
    ([33, -1], False),
    ([33, 2**4000], False),
    (np.array([[33, 11]]), False),
]


@pytest.mark.parametrize("signals, accepted", SIGNALS, ids=lambda value: repr(value)[:20])
def test_signals(good: Any, signals: Any, accepted: bool) -> None:
    """Integers of any kind, in order; nothing is converted, padded or cut."""
    key, _, proof, public = good
    assert public == [33, 11]
    if accepted:
        assert verify(key.verifying_key, signals, proof)
    else:
        with pytest.raises(SnarkcudaError):
            verify(key.verifying_key, signals, proof)


@pytest.mark.parametrize(
    "signals", [None, 33, np.array(33), iter([33, 11])], ids=["none", "int", "array", "iterator"]
)
def test_signals_that_are_no_sequence(good: Any, signals: Any) -> None:
    """A mistake in the caller's program, not in its data: Python's own exception."""
    key, _, proof, _ = good
    with pytest.raises(TypeError):
        verify(key.verifying_key, signals, proof)
