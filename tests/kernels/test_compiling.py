"""Cubins without a GPU: what the cache keys, keeps and refuses, and a toolkit that is not there.

numba-cuda compiles only where the simulator is off: in processes of their own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PRELUDE = """
import logging, sys
logging.basicConfig(level=logging.DEBUG, stream=sys.stdout, format="%(message)s")
for noisy in ("numba", "cuda"):
    logging.getLogger(noisy).setLevel(logging.WARNING)
from dataclasses import replace
from pathlib import Path
from snarkcuda import jit
from snarkcuda.errors import DeviceError
from snarkcuda.field.params import BLS12_381_FR, BN254_FR
from snarkcuda.kernels.compiling import compiled
from snarkcuda.kernels.field import device_field
from snarkcuda.kernels.pointwise import products
kernel = products(device_field(BN254_FR))
"""


def run(cache: Path, program: str, **environment: str) -> str:
    inherited = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
    settings = {**inherited, "SNARKCUDA_CACHE_DIR": str(cache), **environment}
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + program],
        env=settings, capture_output=True, text=True, timeout=170,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_cache(tmp_path: Path) -> None:
    """Compiled once for each field, architecture and bound; damage and strangers are misses."""
    program = """
first = compiled(kernel, (9, 0))
again = compiled(kernel, (9, 0))
assert first == again and first.code[:4] == b"\\x7fELF" and first.entry in str(first.code)
entries = lambda: sorted(Path(jit.cache_directory()).glob("*.cubin"))
assert len(entries()) == 1 and entries()[0].stat().st_mode & 0o077 == 0
others = [(kernel, (8, 0)), (replace(kernel, min_blocks=2), (9, 0)),
          (products(device_field(BLS12_381_FR)), (9, 0))]
for other, architecture in others:
    assert compiled(other, architecture) != first
assert len(entries()) == 4
assert {path.stat().st_size for path in entries()} == set(jit.cache_entries().values())
(path,) = (p for p in entries() if first.code in p.read_bytes())
data = bytearray(path.read_bytes()); data[-5] ^= 1; path.write_bytes(data)
print("damaged"); mended = compiled(kernel, (9, 0))
assert (mended.registers, mended.instructions) == (first.registers, first.instructions)
path.chmod(0o666)
print("writable"); compiled(kernel, (9, 0))
assert not list(Path(jit.cache_directory()).glob(".*tmp"))
assert jit.clear_cache() == 4 and not entries()
"""
    said = run(tmp_path / "cache", program)
    words = [line.partition(" ")[0] for line in said.splitlines()]
    before, after = words.index("damaged"), words.index("writable")
    assert words[:before].count("compiling") == 4
    assert words[before:after].count("compiling") == 1, "damage is compiled again, once"
    assert words[after:].count("compiling") == 1, "what others can write is not loaded"


def test_a_second_process_finds_them(tmp_path: Path) -> None:
    run(tmp_path, "compiled(kernel, (9, 0))")
    said = run(tmp_path, "compiled(kernel, (9, 0))")
    assert "loading products[bn254_fr,ptx]" in said and "compiling" not in said


@pytest.mark.parametrize("library", ["nvvm", "nvJitLink"])
def test_a_library_that_is_missing(tmp_path: Path, library: str) -> None:
    """A DeviceError that names it and the way to get it, whichever call is the first to miss it."""
    program = f"""
def missing(*_):
    raise RuntimeError("Failure finding lib{library}.so" + chr(10) + "long list of folders")
if "{library}" == "nvvm":
    from numba.cuda.cudadrv import nvvm
    nvvm.NVVM.__new__ = missing
else:
    from cuda.bindings import nvjitlink
    nvjitlink.version = missing
try:
    compiled(kernel, (9, 0))
except DeviceError as error:
    print("said:", error)
"""
    said = run(tmp_path, program)
    assert "said: CUDA kernels cannot be compiled, as a library of the CUDA toolkit" in said
    assert f"lib{library}.so" in said and "snarkcuda[cuda]" in said and "folders" not in said


def test_an_architecture_that_is_none(tmp_path: Path) -> None:
    program = """
try:
    compiled(kernel, (1, 3))
except DeviceError as error:
    print("said:", error)
"""
    assert "said: " in run(tmp_path, program)
