"""No CUDA kernel computes with floats: as `tests/field/test_no_float.py`, in the types inferred.

What is optimised away is found too, such as a float that goes back to an integer at once.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = (ROOT / "snarkcuda" / "kernels").glob("*.py")


def test_no_kernel_computes_with_floats() -> None:
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.kernels.typed_ir"],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=170,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)

    # The catalog leaves none out: every function that makes a kernel says so.
    source = "\n".join(path.read_text() for path in SOURCES)
    made = re.findall(r"^def (\w+)\([^()]*\) -> DeviceKernel:", source, re.MULTILINE)
    assert sorted(found["factories"]) == sorted(made)
    assert len(set(found["labels"])) == len(found["labels"]) > 2 * len(made)
    # What kernels call is typed as well: a formula of the group law, arithmetic on limbs.
    called = {"xyzz_add", "ntt_pass", "bin_sort", "is_below", "trap_of_signs", "larger"}
    assert called <= set(found["functions"])

    where = {function for function, _, _ in found["floats"]}
    assert where == {"trap_of_signs", "larger"}, found["floats"]
