"""The key cache: the arrays of a resident key in one file, mapped by later runs.

    8 magic "snarkkey" · u32 version · u32 length of the header · u32 its CRC-32 · header, JSON
    the arrays, each from a multiple of 4096 bytes on, in the order of the header

A cache is trusted as code is: it must lie in a directory that is the user's own, be the user's own,
and be writable by nobody else. It counts for one key file and one state of our sources (`code`), so
an edited kernel never meets arrays of another layout. Everything else, a short or damaged file too,
is a miss: the key is loaded as if there were no cache, and the file made anew.

Which key file it is, is told by device, inode, size and times; where those differ (a copy), by
SHA-256. Whoever could fool both would have the arrays of one key meet the header of another: the
proof then fails its own verification, as with a wrong witness, and its points are checked always.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import mmap
import os
import re
import secrets
import struct
import sys
import time
import warnings
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snarkcuda.cpu.pool import Pool
from snarkcuda.formats.opening import FilePath, MappedFile, shown, state_of
from snarkcuda.groth16.keys import ProvingKey
from snarkcuda.jit import is_private
from snarkcuda.sources import source_digest

MAGIC = b"snarkkey"
VERSION = 1
SUFFIX = ".key"
PAGE = 4096  # what arrays are aligned to
PIECE = 1 << 22  # bytes of one CRC
_PREFIX = struct.Struct("<8sIII")
_TEMPORARY = re.compile(rf"\.[0-9a-f]{{16}}{re.escape(SUFFIX)}\.tmp")
_SETTLED = 2_000_000_000  # ns: a file changed more recently may change again at the same time stamp
_CODE = f"{__package__}.resident_key"

logger = logging.getLogger(__name__)  # one line at level INFO for each file that does not count


@dataclass(frozen=True)
class KeyCache:
    """The place of one key's arrays, which need not be there yet.

    Attributes:
        path: the file.
        identity: what a header must say, besides the state and digest of the key's file.
        source: the key's file.
    """

    path: Path
    identity: dict[str, Any]
    source: MappedFile

    def read(self, pool: Pool) -> dict[str, NDArray[Any]] | None:
        """The arrays, mapped and compared with their checksums; None if the file does not count.

        Pages are private copies once written to, and the file's until then.
        """
        try:
            return self._read(pool)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            logger.info("%s does not count: %s", self.path, error)
            return None

    def _read(self, pool: Pool) -> dict[str, NDArray[Any]]:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(self.path, flags), "rb") as file:
            status = os.fstat(file.fileno())
            if not is_private(status):
                raise ValueError("it is not ours alone")
            data = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), np.uint8)
        header, at = _header(data)
        found = {name: header.get(name) for name in self.identity}
        if found != self.identity:
            raise ValueError(f"it is for {found}, not {self.identity}")
        if header["state"] != list(self.source.state) and header["sha256"] != _sha256(self.source):
            raise ValueError("it is for another key file")
        arrays: dict[str, NDArray[Any]] = {}
        for entry in header["arrays"]:
            dtype, shape = np.dtype(entry["dtype"]), entry["shape"]
            part = data[at : at + dtype.itemsize * math.prod(shape)]
            arrays[entry["name"]] = part.view(dtype).reshape(shape)
            arrays[entry["name"]].flags.writeable = entry["writeable"]
            at = _aligned(at + len(part))
        if len(data) != at:
            raise ValueError(f"it has {len(data)} bytes, and its header needs {at}")
        if _checksums(pool, arrays.values()) != [entry["crc32"] for entry in header["arrays"]]:
            raise ValueError("it is damaged")
        with suppress(OSError):  # the last use, by which `snarkcuda cache prune` goes
            os.utime(self.path, follow_symlinks=False)
        return arrays

    def write(self, pool: Pool, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Keep the arrays, atomically; what prevents it is a warning."""
        digest = pool.start(_sha256, self.source)
        checksums = _checksums(pool, arrays.values())
        entries = [
            {
                "name": name,
                "dtype": array.dtype.str,
                "shape": array.shape,
                "writeable": array.flags.writeable,
                "crc32": checksum,
            }
            for (name, array), checksum in zip(arrays.items(), checksums, strict=True)
        ]
        sha256 = digest.result()
        temporary = self.path.with_name(f".{secrets.token_hex(8)}{SUFFIX}.tmp")
        try:
            state = state_of(os.stat(self.source.path))
            if state != self.source.state:
                raise OSError("the key changed while it was loaded")
            settled = max(state[-2:]) < time.time_ns() - _SETTLED
            header = {
                **self.identity,
                "state": state if settled else None,
                "sha256": sha256,
                "arrays": entries,
            }
            _write(temporary, json.dumps(header).encode(), arrays.values())
            os.replace(temporary, self.path)
            remove_abandoned(self.path.parent)
        except OSError as error:
            remedy = "; it is a directory: delete it" if self.path.is_dir() else ""
            reason = error.strerror or error
            _warn(f"cannot keep the key cache {shown(self.path)}: {reason}{remedy}")
        finally:
            with suppress(OSError):  # a read-only file system refuses even what is not there
                temporary.unlink()


def remove_abandoned(directory: FilePath) -> None:
    """What runs that were killed left behind, half written."""
    for path in Path(directory).glob(f".*{SUFFIX}.tmp"):
        with suppress(OSError):
            if _TEMPORARY.fullmatch(path.name) and path.lstat().st_mtime < time.time() - 3600:
                path.unlink()


def entry(directory: FilePath, key: ProvingKey, vectors: bool, two_adicity: int) -> KeyCache | None:
    """Where the arrays of a key are or will be; None, with a warning, if it cannot have any.

    Args:
        directory: made if it is not there.
        key: a key read from a file.
        vectors: whether queries are copies in vector form (and in the file).
        two_adicity: that of the domain's tables.
    """
    folder, code = Path(directory), source_digest(_CODE)
    problem, places = _problem(folder), _places(key)
    if key.file is None or places is None:
        problem = f"{key.source} is not a file as it was read"
    if code is None:
        problem = "the sources changed since this process began"
    if key.file is None or problem:
        _warn(f"no key cache: {problem}")
        return None
    identity = {
        "layout": "vector form" if vectors else "Montgomery",
        "byteorder": sys.byteorder,
        "code": code,
        "curve": key.curve.name,
        "wires": key.n_wires,
        "public": key.n_public,
        "domain": key.domain_size,
        "two_adicity": two_adicity,
        "coefficients": len(key.coefficients),
        "size": len(key.file.data),
    }
    # Not all of the identity: a file that no longer counts is replaced, not left behind.
    vk = key.verifying_key
    shape = identity["layout"], key.n_wires, key.domain_size, places
    name = hashlib.sha256(repr(shape).encode())
    for points in (vk.alpha_g1, vk.beta_g2, vk.gamma_g2, vk.delta_g2, vk.ic):
        name.update(points.tobytes())
    return KeyCache(folder / f"{name.hexdigest()[:32]}{SUFFIX}", identity, key.file)


def _problem(folder: Path) -> str | None:
    """Why the directory cannot be trusted or used."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_private(folder.stat()):
            return f"{shown(folder)} is not this user's alone; name a directory that is (chmod 700)"
    except (OSError, ValueError, RecursionError) as error:  # \0 in a name, a thousand levels
        is_file = isinstance(error, FileExistsError)
        reason = "it is a file" if is_file else getattr(error, "strerror", None) or error
        return f"{shown(folder)} cannot be used ({reason}); name another directory"
    return None


def _places(key: ProvingKey) -> list[int] | None:
    """Where in the file the arrays lie; None if one is not the file's, but put there later."""
    if key.file is None:
        return None
    start, n_bytes = _address(key.file.data), key.file.data.nbytes
    parts = (key.a_query, key.b_g1_query, key.b_g2_query, key.l_query, key.h_query)
    places = [(_address(part) - start, part.nbytes) for part in (*parts, key.coefficients)]
    if all(0 <= place <= n_bytes - size for place, size in places):
        return [place for place, _ in places]
    return None


def _address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


def _header(data: NDArray[np.uint8]) -> tuple[dict[str, Any], int]:
    """The header, compared with its checksum, and where the first array begins."""
    prefix = data[: _PREFIX.size].tobytes()
    if len(prefix) < _PREFIX.size:
        raise ValueError("it is cut short")
    magic, version, length, crc32 = _PREFIX.unpack(prefix)
    if (magic, version) != (MAGIC, VERSION):
        raise ValueError(f"it begins with {magic!r}, version {version}")
    text = data[_PREFIX.size : _PREFIX.size + length].tobytes()
    if len(text) < length or zlib.crc32(text) != crc32:
        raise ValueError("its header is damaged")
    header: dict[str, Any] = json.loads(text)
    return header, _aligned(_PREFIX.size + length)


def _write(path: Path, header: bytes, arrays: Iterable[NDArray[Any]]) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        # Not synced: after a crash the checksums tell what reached the disk.
        prefix = _PREFIX.pack(MAGIC, VERSION, len(header), zlib.crc32(header))
        file.write(prefix + header)
        for array in arrays:
            file.write(bytes(-file.tell() % PAGE))
            file.write(array.reshape(-1).view(np.uint8).data)
        file.write(bytes(-file.tell() % PAGE))


def _aligned(at: int) -> int:
    return -(-at // PAGE) * PAGE


def _checksums(pool: Pool, arrays: Iterable[NDArray[Any]]) -> list[int]:
    """CRC-32 of each array: of the CRCs (u32) of its pieces, which are taken on all threads."""
    packed = [array.reshape(-1).view(np.uint8) for array in arrays]
    counts = [-(-len(data) // PIECE) for data in packed]
    pieces = (data[at : at + PIECE] for data in packed for at in range(0, len(data), PIECE))
    found = pool.map(zlib.crc32, pieces)
    return [
        zlib.crc32(struct.pack(f"<{count}I", *(next(found) for _ in range(count))))
        for count in counts
    ]


def _sha256(source: MappedFile) -> str:
    return hashlib.sha256(source.data.data).hexdigest()


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=2)
