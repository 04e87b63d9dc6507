"""`check`: each kind and pair of files, what it says, and what it remembers."""

from __future__ import annotations

import json
import os
import shutil
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from snarkcuda import jit, read_zkey, write_zkey
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.params import BLS12_381
from snarkcuda.errors import FormatError, NotOnCurveError
from snarkcuda.formats.checked_record import KeyMac, read_record, record_path, write_record
from snarkcuda.formats.opening import map_file
from snarkcuda.groth16 import checked_key
from snarkcuda.groth16.checked_key import CheckedKey, read_checked_key
from snarkcuda.groth16.timeline import Timeline
from tests.naive_groth16 import outside_subgroup

CASES = ("bn_isequal", "bls_mux3")
cases = pytest.mark.parametrize("case", CASES)


@pytest.fixture
def files(vectors: Path, tmp_path: Path) -> Path:
    """A folder with copies of some cases."""
    for case in (*CASES, "bn_mul2_fresh"):
        shutil.copytree(vectors / case, tmp_path / case, copy_function=shutil.copyfile)
        (tmp_path / case).chmod(0o755)
    return tmp_path


def checked(key: Path, again: bool = False) -> CheckedKey:
    with Pool(2) as pool:
        return read_checked_key(str(key), Timeline(), pool, again)


def bad_key(folder: Path) -> Path:
    """A copy of bls_mux3's key with a point outside the subgroup in B1."""
    key = read_zkey(folder / "bls_mux3" / "circuit.zkey")
    query = key.b_g1_query.copy()
    query[2] = outside_subgroup(BLS12_381, BLS12_381.g1)
    write_zkey(folder / "bad.zkey", replace(key, b_g1_query=query))
    return folder / "bad.zkey"


def wrong_witness(witness: Path) -> Path:
    """The last, private value with its lowest bit turned."""
    data = bytearray(witness.read_bytes())
    data[-32] ^= 1
    path = witness.with_name("wrong.wtns")
    path.write_bytes(data)
    return path


# --- the command ------------------------------------------------------------------------------


@cases
def test_each_kind_and_pair(run, files, case):
    """In either order; the record says what was checked; only the key's check writes a file."""
    key, circuit, witness = (
        files / case / name for name in ("circuit.zkey", "circuit.r1cs", "witness.wtns")
    )
    before = sorted(key.parent.iterdir())
    for pair in ([circuit], [key, witness], [witness, circuit], [key, circuit]):
        for arguments in (pair, pair[::-1]):
            done = run("check", *arguments, "--json", "--threads", "2")
            assert done.returncode == 0, done.stderr
            record = json.loads(done.stdout)
            assert sorted(record["files"].values()) == sorted(map(str, pair))
            assert record["curve"] == ("bn254" if case.startswith("bn") else "bls12_381")
            assert record["warnings"] == record["notes"] == []
            for path in pair:
                assert str(path) in done.stderr
    assert sorted(key.parent.iterdir()) == before
    done = run("check", key, "--json", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["remembered"] is False
    assert sorted(key.parent.iterdir()) == sorted([*before, Path(record_path(key))])


def test_key_is_checked_once(run, files):
    key = files / "bn_isequal" / "circuit.zkey"
    done = run("check", key)
    assert done.returncode == 0
    assert "check B2 query" in done.stderr
    assert "is fine: " in done.stderr
    assert "at infinity A 1, B1 3, B2 3" in done.stderr
    done = run("check", key, "--json")
    assert json.loads(done.stdout)["remembered"] is True
    assert json.loads(done.stdout)["points_at_infinity"]["B2"] == 3
    assert "check B2 query" not in done.stderr
    assert "is fine (as was found on 2" in done.stderr
    done = run("check", key, "--json", "--again")
    assert json.loads(done.stdout)["remembered"] is False
    assert "check B2 query" in done.stderr


def test_bad_key(run, files):
    key = bad_key(files)
    done = run("check", key, "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["kind"] == "NotOnCurveError"
    assert "bad.zkey: point 2 of the B1 query is on the curve but outside" in done.stderr
    assert "Traceback" not in done.stderr
    assert not Path(record_path(key)).exists()


def test_forgeable_key_is_fine_but_warned_of(run, files):
    folder = files / "bn_mul2_fresh"
    for other in ([], ["witness.wtns"], ["circuit.r1cs"]):
        done = run("check", folder / "circuit.zkey", *(folder / name for name in other), "-q")
        assert done.returncode == 0
        lines = done.stderr.splitlines()
        assert len(lines) == 1
        assert all(line.startswith("WARNING: ") and "circuit.zkey" in line for line in lines)


@pytest.mark.parametrize("case", ["bn_mul2_fresh", "bls_mux3"])
def test_witness_that_does_not_satisfy(run, files, case):
    """The circuit names the constraint; the key says how to find it."""
    folder = files / case
    wrong = wrong_witness(folder / "witness.wtns")
    done = run("check", folder / "circuit.r1cs", wrong, "--json")
    assert done.returncode == 2
    error = json.loads(done.stdout)["error"]
    assert error["kind"] == "UnsatisfiedError"
    for words in ("wrong.wtns does not satisfy", "circuit.r1cs: constraint ", "A·B = ", "w["):
        assert words in error["message"]
    done = run("check", folder / "circuit.zkey", wrong)
    assert done.returncode == 2
    assert "`snarkcuda check circuit.r1cs " in done.stderr
    assert "names the constraint" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["bn_isequal/proof.json"], ["cannot check proof", "KEY.zkey"]),
        (["bn_isequal/witness.wtns"], ["cannot check wtns"]),
        (["bn_isequal/circuit.zkey", "bls_mux3/circuit.zkey"], ["zkey with zkey"]),
        (["bn_isequal/circuit.r1cs", "bn_isequal/circuit.r1cs"], ["r1cs with r1cs"]),
        (["bn_isequal/circuit.zkey", "bn_isequal/public.json"], ["zkey with public"]),
        (["bn_isequal/" + n for n in ("circuit.zkey", "circuit.r1cs", "witness.wtns")], ["with"]),
        (["bn_isequal/circuit.r1cs", "--again"], ["--again is for a key alone"]),
        (["bn_isequal/circuit.zkey", "bn_isequal/witness.wtns", "--again"], ["--again"]),
        (["nothing.zkey"], ["nothing.zkey", "No such file"]),
        (["bn_isequal"], ["a directory"]),
        ([], ["Missing argument"]),
        (["bn_isequal/circuit.zkey", "bls_mux3/witness.wtns"], ["different circuits"]),
        (["bn_isequal/circuit.r1cs", "bls_mux3/witness.wtns"], ["different circuits"]),
        (["bn_isequal/circuit.zkey", "bls_mux3/circuit.r1cs"], ["is not the key of", "curve"]),
        (["bn_isequal/circuit.zkey", "bn_mul2_fresh/witness.wtns"], ["different circuits"]),
        (["bn_isequal/circuit.zkey", "bn_mul2_fresh/circuit.r1cs"], ["number of wires"]),
    ],
)
def test_refused(run, files, arguments, words):
    done = run("check", *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


@pytest.mark.parametrize("name", ["circuit.zkey", "circuit.r1cs"])
def test_file_that_is_cut_short(run, files, name):
    path = files / "bn_isequal" / name
    path.write_bytes(path.read_bytes()[:-100])
    done = run("check", path)
    assert done.returncode == 2
    assert "cut short" in done.stderr


def test_check_key_of_prove(run, files):
    """The same check and the same record; a key that fails makes no proof."""
    folder = files / "bn_isequal"
    outputs = ("proof.json", "public.json")
    arguments = ("prove", folder / "circuit.zkey", folder / "witness.wtns", *outputs)
    done = run(*arguments)
    assert "B2 query" not in done.stderr
    assert not Path(record_path(folder / "circuit.zkey")).exists()
    done = run(*arguments, "--check-key")
    assert done.returncode == 0
    assert "check B2 query" in done.stderr
    done = run(*arguments, "--check-key")
    assert done.returncode == 0
    assert "check B2 query" not in done.stderr
    assert "digest of the key" in done.stderr
    for output in outputs:
        (files / output).unlink()
    witness = files / "bls_mux3" / "witness.wtns"
    done = run("prove", bad_key(files), witness, *outputs, "--check-key")
    assert done.returncode == 2
    assert "point 2 of the B1 query" in done.stderr
    assert not any((files / output).exists() for output in outputs)


def test_help_names_every_pair(run):
    text = run("check", "--help").stdout
    for words in ("KEY.zkey WITNESS.wtns", "CIRCUIT.r1cs WITNESS.wtns", "KEY.zkey CIRCUIT.r1cs"):
        assert words in text
    assert "check" in run("--help").stdout


# --- what is remembered -----------------------------------------------------------------------


@pytest.fixture
def key(files: Path) -> Path:
    return files / "bn_isequal" / "circuit.zkey"


def test_a_record_of_a_stranger_is_ignored(key):
    """As it would come along with a key: well formed, the right digest under another secret."""
    found = checked(key)
    assert not found.remembered
    assert checked(key).remembered
    write_record(key, found.record, KeyMac(map_file(key).data, bytes(32)).of(found.record))
    again = checked(key)
    assert not again.remembered
    assert "by somebody else" in again.notes[0]
    again = checked(key)
    assert again.remembered
    assert again.notes == []


def test_a_key_that_changed_is_checked_again(key, files):
    """A contribution more: the record is of other bytes, and is replaced."""
    old = checked(key).record
    data = bytearray(key.read_bytes())
    data[-1] ^= 1  # in the ceremony's record, which nothing here reads
    key.write_bytes(data)
    again = checked(key)
    assert not again.remembered
    assert "is for another file" in again.notes[0]
    assert checked(key).remembered
    assert old.size == again.record.size
    data[0] ^= 1
    key.write_bytes(data)
    with pytest.raises(FormatError):
        checked(key)


def test_a_bad_key_under_the_record_of_a_good_one(files):
    good = files / "bls_mux3" / "circuit.zkey"
    assert not checked(good).remembered
    bad = bad_key(files)
    shutil.copyfile(record_path(good), record_path(bad))
    with pytest.raises(NotOnCurveError, match="point 2 of the B1 query"):
        checked(bad)


@pytest.mark.parametrize("content", [b"", b"{}", b"x" * 5000, b'{"format": 1, "size": -1}'])
def test_a_malformed_record_is_ignored_and_replaced(key, content):
    Path(record_path(key)).write_bytes(content)
    found = checked(key)
    assert not found.remembered
    assert "the key was checked anew" in found.notes[0]
    assert checked(key).remembered


@pytest.mark.parametrize("make", ["link", "pipe", "folder"])
def test_what_is_no_record(key, make):
    """It counts for nothing, and nothing is written through it; only a folder is in the way."""
    path = Path(record_path(key))
    precious = key.with_name("precious")
    precious.write_bytes(b"keep me")
    {"link": lambda: path.symlink_to(precious), "pipe": lambda: os.mkfifo(path)}.get(
        make, path.mkdir
    )()
    found = checked(key)
    assert not found.remembered
    assert "the key was checked anew" in found.notes[0]
    if make == "folder":
        assert "the check cannot be remembered: cannot write" in found.notes[1]
    assert checked(key).remembered is (make != "folder")
    assert precious.read_bytes() == b"keep me"


def test_a_check_that_cannot_be_remembered_is_fine(run, key):
    Path(record_path(key)).mkdir()
    done = run("check", key, "--json", "-q")
    assert done.returncode == 0
    assert done.stderr.count("note: ") == 2
    assert len(json.loads(done.stdout)["notes"]) == 2


def test_no_secret_no_record(key, monkeypatch, tmp_path):
    """A cache directory that others can write to holds no secret; a record counts for nothing."""
    assert not checked(key).remembered
    monkeypatch.setattr(jit, "cache_problem", lambda directory: f"others can write {directory}")
    found = checked(key)
    assert not found.remembered
    assert found.notes == [
        f"the check cannot be remembered: others can write {jit.cache_directory()}"
    ]
    monkeypatch.undo()
    (tmp_path / "check-secret").mkdir()
    monkeypatch.setattr(jit, "cache_directory", lambda: tmp_path)
    assert "cannot keep a secret" in checked(key).notes[0]


def test_the_secret_is_the_users_alone(key, monkeypatch, tmp_path):
    """Made on demand in the cache's directory; another user's secret does not open our record."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir(mode=0o700)
        monkeypatch.setattr(jit, "cache_directory", lambda name=name: tmp_path / name)
        assert not checked(key).remembered
        assert checked(key).remembered
        mode = (tmp_path / name / "check-secret").stat().st_mode
        assert stat.S_IMODE(mode) == 0o600


@pytest.mark.parametrize("remembered", [False, True])
def test_a_key_that_changes_meanwhile(key, monkeypatch, remembered):
    """Replaced between reading and digest: what was read is not what the record would vouch for."""
    if remembered:
        checked(key)

    class Late(KeyMac):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments)
            data = key.read_bytes()
            key.unlink()
            key.write_bytes(data)

    monkeypatch.setattr(checked_key, "KeyMac", Late)
    with pytest.raises(FormatError, match="changed while it was checked"):
        checked(key)
    assert (read_record(key) is not None) is remembered
