"""A key cache counts for its key and our sources, whole and ours alone; else it is made anew."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snarkcuda.cpu import key_cache, resident_key
from snarkcuda.curve.params import BLS12_381, BN254, Curve
from snarkcuda.errors import NotZeroKnowledgeWarning, UnsatisfiedError
from snarkcuda.field.vector_type import has_vectors
from snarkcuda.formats.proof_json import proof_to_json
from snarkcuda.formats.zkey import read_zkey, write_zkey
from snarkcuda.groth16.keys import ProvingKey
from snarkcuda.groth16.prover import Prover
from tests import naive_groth16 as twin

CHAIN = twin.chain(62)


@pytest.fixture(autouse=True, params=["scalar", "vectors"])
def layout(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each path, whatever the circuit's size would choose."""
    if request.param == "vectors" and not has_vectors():
        pytest.skip("no AVX-512 IFMA: the scalar path is used")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resident_key, "VECTOR_ROWS", 1 if request.param == "vectors" else 1 << 40)
        patch.setattr(key_cache, "_SETTLED", 1 << 62)  # no state is kept: files of equal bytes
        yield request.param


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """A key file; its cache goes to the folder beside it."""
    return key_of(tmp_path, BN254)


def key_of(folder: Path, curve: Curve) -> Path:
    write_zkey(folder / "key.zkey", twin.setup(curve, CHAIN).key)
    return folder / "key.zkey"


def prove(key: Path | ProvingKey, folder: Path, curve: Curve = BN254) -> tuple[str, bool]:
    """The proof of a fixed seed, and whether the cache was used."""
    witness = twin.witness(curve, twin.assignment(CHAIN, curve, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotZeroKnowledgeWarning)
        with Prover(key, threads=2, key_cache=folder) as prover:
            stages = [stage.name for stage in prover.load_stages]
            proved = prover.prove(witness, seed=b"seed")
    assert "key cache" in stages
    return proof_to_json(proved.proof), "check key points" not in stages


def only_file(folder: Path) -> Path:
    (path,) = folder.iterdir()  # no temporary file stays either
    return path


def split(data: bytes) -> tuple[dict[str, Any], int]:
    """The header, and where the arrays begin."""
    length = int.from_bytes(data[12:16], "little")
    assert zlib.crc32(data[20 : 20 + length]) == int.from_bytes(data[16:20], "little")
    return json.loads(data[20 : 20 + length]), -(-(20 + length) // 4096) * 4096


def joined(header: dict[str, Any], arrays: bytes) -> bytes:
    text = json.dumps(header).encode()
    numbers = (1, len(text), zlib.crc32(text))
    data = b"snarkkey" + b"".join(n.to_bytes(4, "little") for n in numbers) + text
    return data + bytes(-len(data) % 4096) + arrays


@pytest.mark.parametrize("curve", [BN254, BLS12_381], ids=lambda curve: curve.name)
def test_round_trip(curve: Curve, tmp_path: Path) -> None:
    """Made once, then mapped; the arrays are those that were computed, of the kernels' types."""
    key, folder = key_of(tmp_path, curve), tmp_path / "cache"
    first, used = prove(key, folder, curve)
    assert not used
    path, before = only_file(folder), only_file(folder).read_bytes()
    assert prove(key, folder, curve) == (first, True)
    assert path.read_bytes() == before
    assert path.stat().st_mode & 0o777 == 0o600
    with Prover(key, threads=1) as fresh, Prover(key, threads=1, key_cache=folder) as mapped:
        ours = resident_key._arrays(mapped._resident)
        for name, array in resident_key._arrays(fresh._resident).items():
            np.testing.assert_array_equal(ours[name], array, err_msg=name)
            assert ours[name].flags.writeable == array.flags.writeable, name
            assert ours[name].flags.aligned and ours[name].dtype == array.dtype, name


def test_every_field_of_the_header(key: Path, tmp_path: Path) -> None:
    """Another value, or none: the cache is made anew, and is as before."""
    folder = tmp_path / "cache"
    first, _ = prove(key, folder)
    path, data = only_file(folder), only_file(folder).read_bytes()
    header, start = split(data)
    assert joined(header, data[start:]) == data
    for name, value in header.items():
        other = value + 1 if isinstance(value, int) else "other"
        changes = [{**header, name: other}, {k: v for k, v in header.items() if k != name}]
        if name == "arrays":
            for i, change in ((0, {"crc32": 0}), (1, {"shape": [1]}), (2, {"dtype": "<u2"})):
                entries = [*value[:i], {**value[i], **change}, *value[i + 1 :]]
                changes.append({**header, name: entries})
            changes.append({**header, name: value[:-1]})
        for changed in changes:
            path.write_bytes(joined(changed, data[start:]))
            used = name == "state" and name in changed  # the digest decides
            assert prove(key, folder) == (first, used), (name, changed.get(name))
            if not used:
                assert path.read_bytes() == data, name


def test_damage(key: Path, tmp_path: Path) -> None:
    """A bit of each part, any length: made anew."""
    folder = tmp_path / "cache"
    first, _ = prove(key, folder)
    path, data = only_file(folder), only_file(folder).read_bytes()
    header, at = split(data)
    places = [0, 8, 12, 16, 20, 100]
    for entry in header["arrays"]:
        size = np.dtype(entry["dtype"]).itemsize * int(np.prod(entry["shape"]))
        places += [at, at + size - 1] if size else []
        at += -(-size // 4096) * 4096
    assert at == len(data)
    broken = [data[:i] + bytes([data[i] ^ 16]) + data[i + 1 :] for i in places]
    lengths = [0, 1, 19, 20, 200, 4096, len(data) // 2, len(data) - 4096, len(data) - 1]
    for content in (*broken, *(data[:n] for n in lengths), data + b"\0", data + bytes(4096)):
        path.write_bytes(content)
        assert prove(key, folder) == (first, False)
        assert path.read_bytes() == data


# --- whose it is ----------------------------------------------------------------------------------


def test_a_file_that_others_can_write(key: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    first, _ = prove(key, folder)
    for mode in (0o620, 0o602, 0o666):
        only_file(folder).chmod(mode)
        assert prove(key, folder) == (first, False)
        assert only_file(folder).stat().st_mode & 0o777 == 0o600
    assert prove(key, folder) == (first, True)


def test_a_link_is_not_followed(key: Path, tmp_path: Path) -> None:
    folder, aside = tmp_path / "cache", tmp_path / "aside"
    first, _ = prove(key, folder)
    path = only_file(folder)
    path.rename(aside)
    path.symlink_to(aside)
    assert prove(key, folder) == (first, False)
    assert not path.is_symlink()


@pytest.mark.parametrize("whose", ["others can write", "another user's", "no directory"])
def test_a_directory_that_cannot_be_used(
    whose: str, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One warning that names it; the proof is made, and nothing is written."""
    folder = tmp_path / "cache"
    first, _ = prove(key, folder)
    before = only_file(folder).read_bytes()
    if whose == "others can write":
        folder.chmod(0o777)
    elif whose == "another user's":
        monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    else:
        folder = key / "cache"
    with pytest.warns(UserWarning, match=f"no key cache: {folder}") as caught:
        assert prove(key, folder) == (first, False)
    assert len([w for w in caught if "key cache" in str(w.message)]) == 1
    assert only_file(tmp_path / "cache").read_bytes() == before


@pytest.mark.parametrize("code", [errno.EROFS, errno.ENOSPC])
def test_a_disk_that_takes_nothing(
    code: int, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It costs only the cache, and one warning; half a file does not stay."""
    write = key_cache._write

    def fails(path: Path, header: bytes, arrays: Any) -> None:
        if code == errno.ENOSPC:
            write(path, header, list(arrays)[:1])
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(key_cache, "_write", fails)
    if code == errno.EROFS:  # which comes before ENOENT
        monkeypatch.setattr(Path, "unlink", lambda *_, **__: fails(key, b"", []))
    with pytest.warns(UserWarning, match=f"cannot keep .*{os.strerror(code)}") as caught:
        prove(key, tmp_path / "cache")
    assert len([w for w in caught if "key cache" in str(w.message)]) == 1
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_directory_in_the_place_of_an_entry(key: Path, tmp_path: Path) -> None:
    """The warning says what to do, and goes when that is done."""
    folder = tmp_path / "cache"
    prove(key, folder)
    path = only_file(folder)
    path.unlink()
    path.mkdir()
    with pytest.warns(UserWarning, match="it is a directory: delete it"):
        prove(key, folder)
    path.rmdir()
    prove(key, folder)
    assert only_file(folder) == path


def test_a_file_in_the_place_of_the_cache(key: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    with pytest.warns(UserWarning, match="it is a file"):
        prove(key, tmp_path / "cache")


def test_what_a_killed_run_left_behind(key: Path, tmp_path: Path) -> None:
    """It goes once it is old; what another run may be writing stays."""
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    old, new = f".{'0' * 16}.key.tmp", f".{'1' * 16}.key.tmp"
    others = ".mine.key.tmp", "other.tmp"
    for name, age in ((old, 7200), (new, 60), *((name, 7200) for name in others)):
        (folder / name).touch()
        os.utime(folder / name, (time.time() - age,) * 2)
    prove(key, folder)
    names = {path.name for path in folder.iterdir() if path.suffix == ".tmp"}
    assert names == {new, *others}


def test_a_use_is_told_by_the_time_of_the_file(key: Path, tmp_path: Path) -> None:
    """By which `cache prune` goes."""
    folder = tmp_path / "cache"
    prove(key, folder)
    path = only_file(folder)
    os.utime(path, (1e9, 1e9))
    began = time.time()
    assert prove(key, folder)[1]
    assert path.stat().st_mtime >= began - 1  # clocks of files are coarse
    os.utime(path, (1e9, 1e9))
    other = key_of(tmp_path, BLS12_381)
    assert not prove(other, folder, BLS12_381)[1]
    assert path.stat().st_mtime == 1e9  # no use of this one


PROVE = """
import sys
from snarkcuda.cpu import resident_key
from snarkcuda.groth16.prover import Prover
resident_key.VECTOR_ROWS = int(sys.argv[1])
for _ in range(5):
    Prover(sys.argv[2], threads=1, key_cache=sys.argv[3]).close()
"""


def test_two_processes_at_once(key: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    arguments = ["-W", "error::UserWarning:snarkcuda.cpu", "-c", PROVE]
    arguments += [str(resident_key.VECTOR_ROWS), str(key), str(folder)]
    children = [subprocess.Popen([sys.executable, *arguments]) for _ in range(2)]
    assert [child.wait(timeout=120) for child in children] == [0, 0]
    assert prove(key, folder)[1]
    only_file(folder)


# --- which key it is ------------------------------------------------------------------------------


def swapped(path: Path) -> ProvingKey:
    """A key of the same header, two points of its H query exchanged: all on the curve."""
    found = read_zkey(path)
    h = found.h_query.copy()
    h[[0, 1]] = h[[1, 0]]
    return replace(found, h_query=h)


def test_the_digest_tells_where_the_state_does_not(key: Path, tmp_path: Path) -> None:
    """A copy counts; a key that differs in one place does not, nor does its cache count for it."""
    folder, other = tmp_path / "cache", tmp_path / "other.zkey"
    first, _ = prove(key, folder)
    shutil.copy(key, other)
    assert prove(other, folder) == (first, True)
    write_zkey(other, swapped(key))
    before = only_file(folder).read_bytes()
    with pytest.raises(UnsatisfiedError):
        prove(other, folder)
    assert only_file(folder).read_bytes() != before
    assert prove(key, folder) == (first, False)


def test_the_state_saves_the_digest(
    key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a key that has not changed for a while; the digest of a changed one is taken."""
    folder, digests = tmp_path / "cache", []
    sha256: Callable[..., str] = key_cache._sha256
    monkeypatch.setattr(key_cache, "_SETTLED", -(1 << 60))
    monkeypatch.setattr(key_cache, "_sha256", lambda s: digests.append(1) or sha256(s))
    first, _ = prove(key, folder)
    assert prove(key, folder) == (first, True)
    assert len(digests) == 1
    os.utime(key, ns=(1, 1))
    assert prove(key, folder) == (first, True)
    assert len(digests) == 2


def test_a_key_that_changes_while_it_is_loaded(key: Path, tmp_path: Path) -> None:
    found = read_zkey(key)
    os.utime(key, ns=(1, 1))
    with pytest.warns(UserWarning, match="the key changed while it was loaded"):
        prove(found, tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_arrays_that_are_not_the_files(key: Path, tmp_path: Path) -> None:
    """A program may put others into a key that was read: no cache, neither read nor written."""
    folder = tmp_path / "cache"
    prove(key, folder)
    before = only_file(folder).read_bytes()
    for changed in (swapped(key), replace(swapped(key), file=None)):
        with (
            pytest.warns(UserWarning, match="is not a file as it was read"),
            pytest.raises(UnsatisfiedError),
        ):
            prove(changed, folder)
    assert only_file(folder).read_bytes() == before


def test_arrays_of_another_key_never_prove(key: Path, tmp_path: Path) -> None:
    """Whatever could fool the header: the proof's own verification refuses."""
    folder = tmp_path / "cache"
    prove(key, folder)
    path, data = only_file(folder), only_file(folder).read_bytes()
    header, start = split(data)
    at = start
    for entry in header["arrays"]:
        size = np.dtype(entry["dtype"]).itemsize * int(np.prod(entry["shape"]))
        if entry["name"] == "tables.scale":
            other = bytes(size)
            content = data[start:at] + other + data[at + size :]
            entry["crc32"] = zlib.crc32(zlib.crc32(other).to_bytes(4, "little"))
        at += -(-size // 4096) * 4096
    path.write_bytes(joined(header, content))
    with pytest.raises(UnsatisfiedError):
        prove(key, folder)
