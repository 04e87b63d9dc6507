"""Each command on good input: files, exit codes, what goes to stdout and what to stderr."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from snarkcuda import BN254, __version__, read_proof, read_public, read_verifying_key, verify
from snarkcuda.cli.main import cli

CASE = "bn_poseidon2"


def test_prove_writes_a_proof_that_verifies(run, vectors, tmp_path):
    case = vectors / CASE
    done = run("prove", case / "circuit.zkey", case / "witness.wtns", "proof.json", "public.json")
    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "public.json").read_bytes() == (case / "public.json").read_bytes()
    key = read_verifying_key(case / "verification_key.json")
    proof = read_proof(tmp_path / "proof.json", BN254)
    assert verify(key, read_public(tmp_path / "public.json", BN254), proof)
    for stage in ("read key", "A·w, B·w", "NTTs", "MSM A", "MSM B2", "assemble", "self-check"):
        assert stage in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["proof.json", "public.json"]


def test_prove_json_and_quiet(run, vectors):
    case = vectors / CASE
    files = (case / "circuit.zkey", case / "witness.wtns", "a.json", "b.json")
    done = run("prove", *files, "--json", "--quiet", "--threads", "1")
    assert (done.returncode, done.stderr) == (0, "")
    record = json.loads(done.stdout)
    assert record["checked"] is True
    assert record["zero_knowledge"] is True
    assert record["device"] == "cpu (1 threads)"
    assert record["curve"] == "bn254"
    names = [stage["name"] for stage in record["stages"]]
    assert names[0] == "read key"
    assert names[-1] == "write"
    assert record["seconds"] >= sum(stage["seconds"] for stage in record["stages"])


def test_seed_is_deterministic_and_loud(run, vectors, tmp_path):
    case = vectors / "bn_mul2"
    inputs = (case / "circuit.zkey", case / "witness.wtns")
    for name in ("1", "2"):
        done = run("prove", *inputs, f"{name}.json", "public.json", "--seed", "s", "-q", "--json")
        assert done.returncode == 0
        assert "NOT zero-knowledge" in done.stderr  # --quiet does not silence it
        assert json.loads(done.stdout)["zero_knowledge"] is False
    assert (tmp_path / "1.json").read_bytes() == (tmp_path / "2.json").read_bytes()
    run("prove", *inputs, "3.json", "public.json", "--seed", "t")
    run("prove", *inputs, "4.json", "public.json")
    proofs = {(tmp_path / f"{i}.json").read_bytes() for i in range(1, 5)}
    assert len(proofs) == 3


def test_no_check_says_so(run, vectors):
    case = vectors / "bn_mul2"
    done = run("prove", case / "circuit.zkey", case / "witness.wtns", "a", "b", "--no-check")
    assert done.returncode == 0
    assert "NOT verified" in done.stderr


@pytest.mark.parametrize("case", ["bn_poseidon2", "bls_mul2"])
def test_verify_exit_codes(run, vectors, tmp_path, case):
    folder = vectors / case
    files = [folder / f"{name}.json" for name in ("verification_key", "public", "proof")]
    done = run("verify", *files, "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["valid"] is True
    signals = json.loads(files[1].read_text())
    signals[0] = str(int(signals[0]) ^ 1)
    false = tmp_path / "false.json"
    false.write_text(json.dumps(signals))
    done = run("verify", files[0], false, files[2], "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["valid"] is False
    assert "FALSE" in done.stderr
    false.write_text(json.dumps([*signals, "1"]))
    assert run("verify", files[0], false, files[2]).returncode == 2


def test_forgeable_key_is_warned_of(run, vectors):
    case = vectors / "bn_mul2_fresh"
    info = run("info", case / "circuit.zkey")
    assert info.returncode == 0
    assert f"WARNING: {case / 'circuit.zkey'}: delta is the generator" in info.stderr
    assert "forge" not in info.stdout
    files = [case / f"{name}.json" for name in ("verification_key", "public", "proof")]
    done = run("verify", *files)
    assert done.returncode == 0
    assert "anyone can forge" in done.stderr
    done = run("prove", case / "circuit.zkey", case / "witness.wtns", "p", "q", "-q", "--json")
    assert done.returncode == 0
    warnings = json.loads(done.stdout)["warnings"]
    told = [f"WARNING: {case / 'circuit.zkey'}: {warning}" for warning in warnings]
    assert done.stderr.splitlines() == told and len(told) == 1  # each once: Prover's is not shown


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("circuit.zkey", "zkey"),
        ("witness.wtns", "wtns"),
        ("circuit.r1cs", "r1cs"),
        ("verification_key.json", "verification_key"),
        ("proof.json", "proof"),
        ("public.json", "public"),
    ],
)
def test_info_tells_every_kind(run, vectors, name, kind):
    path = vectors / "bls_mux3" / name
    record = json.loads(run("info", path, "--json").stdout)
    assert record["kind"] == kind
    assert record["warnings"] == []
    if kind not in ("public",):
        assert record["curve"] == "bls12_381"
    human = run("info", path)
    assert human.returncode == 0
    assert human.stdout.startswith(f"{path}: {kind}")


def test_cache_info_and_clear(run, tmp_path, monkeypatch):
    directory = tmp_path / "kernels"
    monkeypatch.setenv("SNARKCUDA_CACHE_DIR", str(directory))
    record = json.loads(run("cache", "info", "--json").stdout)
    assert (record["kernels"], record["problem"]) == (0, None)
    assert record["directory"] == str(directory)
    (directory / "x.kernel").write_bytes(b"x")
    (directory / "other").write_bytes(b"x")
    assert json.loads(run("cache", "info", "--json").stdout)["kernels"] == 1
    assert run("cache", "clear").stdout.startswith("1 kernels deleted")
    assert [p.name for p in directory.iterdir()] == ["other"]


def test_cache_of_keys_info_and_prune(run, vectors, tmp_path, monkeypatch):
    """Old entries go, from both caches; what was used since, and what is not ours, stays."""
    case, kernels, keys = vectors / "bn_mul2", tmp_path / "kernels", tmp_path / "keys"
    files = (case / "circuit.zkey", case / "witness.wtns", "proof.json", "public.json")
    assert run("prove", *files, "--key-cache", "keys").returncode == 0
    monkeypatch.setenv("SNARKCUDA_CACHE_DIR", str(kernels))
    (key,) = keys.iterdir()
    record = json.loads(run("cache", "info", "--key-cache", "keys", "--json").stdout)["key_cache"]
    (told,) = record.pop("keys")
    assert record == {"directory": "keys", "problem": None}
    assert (told["name"], told["bytes"]) == (key.name, key.stat().st_size)
    assert f"{key.name}  {told['bytes']} bytes, last used 0.0 days ago" in (
        run("cache", "info", env={**os.environ, "SNARKCUDA_KEY_CACHE": "keys"}).stdout
    )
    old = time.time() - 31 * 86_400
    abandoned = keys / f".{'0' * 16}.key.tmp"
    for path in (kernels / "old.kernel", kernels / "old.warm", keys / "mine", abandoned):
        path.touch()
    for path in (*kernels.iterdir(), *keys.iterdir()):
        os.utime(path, (old, old))
    (kernels / "new.kernel").touch()
    assert run("cache", "prune", "--older-than", "32d", "--key-cache", "keys").stdout == (
        "0 kernels and 0 keys deleted, 0 bytes\n"
    )
    assert not abandoned.exists()
    pruned = run("cache", "prune", "--json")
    assert json.loads(pruned.stdout) == {"kernels": 1, "keys": 0, "bytes": 0}
    assert [path.name for path in kernels.iterdir()] == ["new.kernel"]
    pruned = run("cache", "prune", "--key-cache", "keys", "--json")
    assert json.loads(pruned.stdout) == {"kernels": 0, "keys": 1, "bytes": told["bytes"]}
    assert [path.name for path in keys.iterdir()] == ["mine"]
    keys.chmod(0o770)
    assert run("cache", "prune", "--key-cache", "keys").returncode == 2
    assert (
        "problem: the key cache keys is not" in run("cache", "info", "--key-cache", "keys").stdout
    )


def test_cache_that_others_can_write_is_refused(run, tmp_path, monkeypatch):
    directory = tmp_path / "kernels"
    directory.mkdir()
    directory.chmod(0o777)
    monkeypatch.setenv("SNARKCUDA_CACHE_DIR", str(directory))
    assert "others can write" in json.loads(run("cache", "info", "--json").stdout)["problem"]


def test_help_and_version(run):
    assert __version__ in run("--version").stdout
    for words in ("prove", "verify", "info", "doctor", "warmup", "export vk", "export calldata"):
        done = run(*words.split(), "--help")
        assert done.returncode == 0
        assert "Exit codes: 0" in done.stdout
        assert f"  snarkcuda {words}" in done.stdout.partition("Example")[2]
    for words in ("cache", "export"):
        assert run(words, "--help").returncode == 0


@pytest.mark.parametrize(
    "command",
    [
        *("prove", "verify", "setup", "check", "export vk", "export calldata", "info", "generate"),
        *("bench prove", "bench ab", "doctor", "warmup", "cache info", "cache prune"),
    ],
)
def test_help_says_when_there_is_no_record(command):
    told = CliRunner().invoke(cli, [*command.split(), "--help"]).output
    assert "Print a record, JSON, on stdout; none if the run is interrupted." in " ".join(
        told.split()
    )


def test_help_and_info_do_not_load_numba(vectors, tmp_path):
    code = (
        "import sys; from snarkcuda.cli.main import cli\n"
        "cli.main(sys.argv[1:], standalone_mode=False)\n"
        "assert 'numba' not in sys.modules"
    )
    path = str(vectors / CASE / "circuit.zkey")
    for arguments in (["--help"], ["info", path]):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr


def test_outputs_may_be_pipes(run, vectors):
    case = vectors / "bn_mul2"
    done = run(
        "prove", case / "circuit.zkey", case / "witness.wtns", "/dev/stdout", "/dev/null", "-q"
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["protocol"] == "groth16"


def test_paths_with_blanks_and_letters_of_any_alphabet(run, vectors, tmp_path):
    folder = tmp_path / "мой circuit ключ"
    shutil.copytree(vectors / "bn_mul2", folder)
    outputs = (folder / "доказательство.json", folder / "public out.json")
    done = run("prove", folder / "circuit.zkey", folder / "witness.wtns", *outputs)
    assert done.returncode == 0
    assert all(Path(path).is_file() for path in outputs)


def test_key_cache_and_memory(run, vectors, tmp_path):
    """By option or environment; the second run maps what the first kept; the proof is the same."""
    case = vectors / "bn_mul2"
    files = (case / "circuit.zkey", case / "witness.wtns")
    proofs, stages = [], []
    for name, options, environment in (
        ("1", ["--key-cache", "keys"], {}),
        ("2", [], {"SNARKCUDA_KEY_CACHE": str(tmp_path / "keys")}),
        ("3", ["--memory", "1M"], {}),
    ):
        options = ["--seed", "s", "--json", "-q", *options]
        env = {**os.environ, **environment}
        done = run("prove", *files, f"{name}.json", "public.json", *options, env=env)
        assert done.returncode == 0, done.stderr
        proofs.append((tmp_path / f"{name}.json").read_bytes())
        stages.append([stage["name"] for stage in json.loads(done.stdout)["stages"]])
    assert proofs[0] == proofs[1] == proofs[2]
    assert ["write key cache" in names for names in stages] == [True, False, False]
    assert ["check key points" in names for names in stages] == [True, False, True]
    done = run("prove", *files, "4.json", "public.json", "--memory", "lots")
    assert done.returncode == 2
    assert "'lots' is no size: write a whole number above zero and K, M, G or T" in done.stderr


@pytest.mark.parametrize("command", ["prove a b c d", "cache info", "cache prune"])
def test_a_file_as_the_key_cache_is_refused(run, tmp_path, command):
    """Before anything is read: a proof would be made without it, and again without it."""
    (tmp_path / "file").touch()
    for options, environment in (
        (["--key-cache", "file"], {}),
        ([], {"SNARKCUDA_KEY_CACHE": "file"}),
    ):
        done = run(*command.split(), *options, env=os.environ | environment)
        assert done.returncode == 2
        assert "'file' is not a directory: name one, or a name that is free" in done.stderr


def test_a_key_cache_that_cannot_be_kept_is_a_warning(run, vectors, tmp_path):
    case = vectors / "bn_mul2"
    (tmp_path / "file").touch()
    files = (case / "circuit.zkey", case / "witness.wtns", "proof.json", "public.json")
    done = run("prove", *files, "--key-cache", "file/keys", "-q")
    assert done.returncode == 0
    assert "warning: no key cache: file/keys cannot be used (Not a directory)" in done.stderr
    assert (tmp_path / "proof.json").exists()


def test_the_program_ends_at_once_but_tidily(vectors):
    """Handlers of atexit run, what a stream still holds is written, the exit code is main's."""
    code = (
        "import atexit, sys; from snarkcuda.cli.main import run\n"
        "atexit.register(print, 'tidied up', end='')\n"
        "run()"
    )
    for arguments, expected in ((["info", str(vectors / CASE / "circuit.zkey")], 0), (["-x"], 2)):
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == expected
        assert done.stdout.endswith("tidied up")
