"""Keys over 4 GiB (reports: iden3/snarkjs#397, #293): offsets beyond 32 bits.

The file is sparse: 5 GiB of nothing stand in section 10, before the sections that matter.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from snarkcuda.errors import FormatError, NotInFieldError
from snarkcuda.formats.describe import describe
from snarkcuda.formats.sections import SectionFile
from snarkcuda.formats.zkey import read_zkey
from snarkcuda.formats.zkey_header import ZKEY

GOOD = Path(__file__).parents[1] / "vectors" / "bn_mul2" / "circuit.zkey"
GAP = 5 << 30


def test_sections_beyond_4_gib(tmp_path: Path) -> None:
    """Read as if near; errors give the true offset; a cut far out is found."""
    source, path = SectionFile(GOOD, ZKEY), tmp_path / "big.zkey"
    with path.open("wb") as file:
        try:
            file.write(GOOD.read_bytes()[:12] + struct.pack("<IQ", 10, GAP))
            file.seek(GAP, 1)
            for number in range(1, 10):
                data = source.section(number).data.tobytes()
                file.write(struct.pack("<IQ", number, len(data)) + data)
        except OSError as error:
            pytest.skip(f"no sparse file here: {error}")
    try:
        if path.stat().st_blocks * 512 > 1 << 30:
            pytest.skip("the file system keeps no sparse files")
        big, good = read_zkey(path), read_zkey(GOOD)
        for name in ("coefficients", "a_query", "b_g1_query", "b_g2_query", "l_query", "h_query"):
            np.testing.assert_array_equal(getattr(big, name), getattr(good, name))
        told = describe(path)["sections"]
        assert isinstance(told, list) and told[-1]["offset"] > GAP
        assert SectionFile(path, ZKEY).size > GAP

        offset = SectionFile(path, ZKEY).table[5][0]
        with path.open("r+b") as file:
            file.seek(offset + 64)
            before = file.read(32)
            file.seek(offset + 64)
            file.write(b"\xff" * 32)
        with pytest.raises(NotInFieldError, match=f"x of point 1 at offset {offset + 64} "):
            read_zkey(path)
        with path.open("r+b") as file:
            file.seek(offset + 64)
            file.write(before)
            file.truncate(path.stat().st_size - 1)
        with pytest.raises(FormatError, match=r"section 9 \(H query\).*needs 256 bytes, 255 there"):
            read_zkey(path)
    finally:
        path.unlink()
    read_zkey(GOOD)
