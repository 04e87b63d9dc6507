"""Counts that ask for gigabytes (reports: celestiaorg/celestia-app#6754, Consensys/gnark#1307).

A few hundred bytes must not make a reader allocate what their counts claim: each file is read in a
child process under an address-space limit, and its peak memory may rise by less than 10 MB.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from snarkcuda.formats.section_writer import write_sections
from snarkcuda.formats.sections import SectionFile
from snarkcuda.formats.zkey_header import ZKEY

ROOT = Path(__file__).parents[2]
VECTORS = Path(__file__).parents[1] / "vectors"
MOST = 2**32 - 1
CHILD = """
import resource, sys
from snarkcuda.errors import SnarkcudaError
from snarkcuda.formats.describe import describe

def peak():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + (64 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
before = peak()
try:
    if sys.argv[1] == "control":
        b"x" * (32 << 20)
    else:
        describe(sys.argv[1])
    print("success", peak() - before)
except SnarkcudaError as error:
    print(type(error).__name__, peak() - before, error)
"""


def in_child(path: Path | str) -> tuple[str, int, str]:
    """Read a file in a fresh process: outcome, rise of peak memory in KiB, message."""
    if not Path("/proc/self/status").exists():
        pytest.skip("peak memory is read from /proc")
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert child.returncode == 0, child.stderr
    name, rise, *message = child.stdout.split(maxsplit=2)
    return name, int(rise), "".join(message)


def zkey_with(changes: dict[int, tuple[int, bytes]], case: str = "bn_mul2") -> bytes:
    """A corpus key with bytes changed: section → (place in it, new bytes)."""
    file = SectionFile(VECTORS / case / "circuit.zkey", ZKEY)
    sections = {n: bytearray(file.section(n).data.tobytes()) for n in file.table}
    for number, (at, value) in changes.items():
        sections[number][at : at + len(value)] = value
    chunks = write_sections(b"zkey", 1, [(n, [bytes(data)]) for n, data in sections.items()])
    return b"".join(bytes(chunk) for chunk in chunks)


def u32(*values: int) -> bytes:
    """Little-endian 32-bit words."""
    return struct.pack(f"<{len(values)}I", *values)


WTNS = (VECTORS / "bn_mul2" / "witness.wtns").read_bytes()
R1CS = (VECTORS / "bn_mul2" / "circuit.r1cs").read_bytes()
BOMBS = {
    "wires": zkey_with({2: (72, u32(MOST))}),
    "wires, public": zkey_with({2: (72, u32(MOST, MOST - 1))}),
    "public": zkey_with({2: (76, u32(MOST))}),
    "domain": zkey_with({2: (80, u32(1 << 28))}),
    "all sizes": zkey_with({2: (72, u32(MOST, MOST - 1, 1 << 28))}),
    "all sizes, bls": zkey_with({2: (88, u32(MOST, MOST - 1, 1 << 31))}, "bls_mul2"),
    "coefficients": zkey_with({4: (0, u32(MOST))}),
    "size of q": zkey_with({2: (0, u32(MOST))}),
    "size of r": zkey_with({2: (36, u32(MOST))}),
    "600 bytes": zkey_with({2: (72, u32(MOST))})[:600],
    "sections": b"zkey" + u32(1, MOST) + bytes(588),
    "section length": b"zkey" + u32(1, 1, 5) + struct.pack("<Q", 2**64 - 1) + bytes(576),
    "witness values": WTNS.replace(u32(4), u32(MOST), 1),
    "witness prime": WTNS[:24] + u32(MOST) + WTNS[28:],
    "r1cs prime": R1CS.replace(u32(32), u32(MOST), 1),
    "json number": b"[" + b"9" * (1 << 20) + b"]",
    "json depth": b"[" * (1 << 20),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bomb(name: str, tmp_path: Path) -> None:
    """An error from comparing lengths, with little memory."""
    path = tmp_path / "file"
    path.write_bytes(BOMBS[name])
    outcome, rise, message = in_child(path)
    assert outcome in ("FormatError", "NotInFieldError"), message
    assert str(path) in message
    assert rise < 10_000


def test_good_key_under_the_same_limit() -> None:
    """The limit is not what stops the bombs."""
    outcome, rise, _ = in_child(VECTORS / "bn_mul2" / "circuit.zkey")
    assert outcome == "success" and rise < 10_000


def test_the_measurement_sees_memory() -> None:
    """A child that allocates 32 MB is seen to."""
    outcome, rise, _ = in_child("control")
    assert outcome == "success" and rise > 30_000


@pytest.mark.parametrize("name", ["proof.json", "public.json", "verification_key.json"])
def test_a_gigabyte_of_json(name: str, tmp_path: Path) -> None:
    """Refused by its size, unread (the file is sparse)."""
    path = tmp_path / name
    path.write_bytes((VECTORS / "bn_mul2" / name).read_bytes())
    os.truncate(path, 1 << 30)
    outcome, rise, message = in_child(path)
    assert outcome == "FormatError" and "1073741824 bytes" in message
    assert rise < 10_000
