"""snarkcuda: a Groth16 prover whose every kernel is Python.

    from snarkcuda import Prover, verify, read_verifying_key

    with Prover("circuit.zkey") as prover:
        proved = prover.prove("witness.wtns")
    assert verify(read_verifying_key("verification_key.json"), proved.public, proved.proof)

The whole public API is below. Names load on first use, so that importing the package costs nothing;
`Prover`, `prove` and `verify` bring in numba, the readers and writers do not.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from snarkcuda.circuits.r1cs import R1cs
    from snarkcuda.curve.params import BLS12_381, BN254, Curve
    from snarkcuda.errors import (
        DeviceError,
        ForgeableKeyWarning,
        FormatError,
        MismatchError,
        NotInFieldError,
        NotOnCurveError,
        NotZeroKnowledgeWarning,
        OutputError,
        SnarkcudaError,
        UnsatisfiedError,
    )
    from snarkcuda.formats.proof_json import proof_to_json, read_proof, write_proof
    from snarkcuda.formats.public_json import public_to_json, read_public, write_public
    from snarkcuda.formats.r1cs import read_r1cs, write_r1cs
    from snarkcuda.formats.vkey_json import read_verifying_key, write_verifying_key
    from snarkcuda.formats.wtns import read_witness, write_witness
    from snarkcuda.formats.zkey import read_zkey, write_zkey
    from snarkcuda.groth16.keys import Proof, ProvingKey, VerifyingKey, Witness
    from snarkcuda.groth16.prover import Proved, Prover, prove
    from snarkcuda.groth16.setup import setup
    from snarkcuda.groth16.timeline import Stage
    from snarkcuda.groth16.verify import verify

__all__ = [
    "BLS12_381",
    "BN254",
    "Curve",
    "DeviceError",
    "ForgeableKeyWarning",
    "FormatError",
    "MismatchError",
    "NotInFieldError",
    "NotOnCurveError",
    "NotZeroKnowledgeWarning",
    "OutputError",
    "Proof",
    "Proved",
    "Prover",
    "ProvingKey",
    "R1cs",
    "SnarkcudaError",
    "Stage",
    "UnsatisfiedError",
    "VerifyingKey",
    "Witness",
    "__version__",
    "proof_to_json",
    "prove",
    "public_to_json",
    "read_proof",
    "read_public",
    "read_r1cs",
    "read_verifying_key",
    "read_witness",
    "read_zkey",
    "setup",
    "verify",
    "write_proof",
    "write_public",
    "write_r1cs",
    "write_verifying_key",
    "write_witness",
    "write_zkey",
]

# Where the names live; those that need numba come last, and are reached by no other name.
_HOMES = (
    "errors",
    "curve.params",
    "circuits.r1cs",
    "groth16.keys",
    "groth16.timeline",
    "formats.proof_json",
    "formats.public_json",
    "formats.vkey_json",
    "formats.wtns",
    "formats.zkey",
    "formats.r1cs",
    "groth16.verify",
    "groth16.setup",
    "groth16.prover",
)


def __getattr__(name: str) -> Any:
    if name in __all__:
        for home in _HOMES:
            module = import_module(f"{__name__}.{home}")
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
