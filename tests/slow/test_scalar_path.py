"""Without AVX-512 the scalar kernels prove, and give the same bytes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
VECTORS = Path(__file__).parents[1] / "vectors"

PROVE = """
import sys, warnings
warnings.simplefilter("ignore")
from snarkcuda import proof_to_json, prove
from snarkcuda.cpu import resident_key
from snarkcuda.field.vector_type import has_vectors
resident_key.VECTOR_ROWS = 1
for case in sys.argv[1:]:
    proved = prove(f"{case}/circuit.zkey", f"{case}/witness.wtns", seed=b"both paths")
    print(has_vectors(), proof_to_json(proved.proof).split())
"""


@pytest.mark.parametrize("case", ["bn_poseidon2", "bls_linear_O0"])
def test_both_paths_give_the_same_proof(case: str) -> None:
    outputs = []
    for settings in ({}, {"NUMBA_ENABLE_AVX": "0"}):
        done = subprocess.run(
            [sys.executable, "-c", PROVE, str(VECTORS / case)],
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            timeout=280,
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout.partition(" "))
    (_, _, proof), (without, _, again) = outputs
    assert without == "False"
    assert proof == again
