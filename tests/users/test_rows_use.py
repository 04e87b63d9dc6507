"""What users of other provers have asked for: files, commands, installation, a Python API.

Each test is named after a request and cites where it was made; the numbers only name them.
"""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
import threading
from importlib.metadata import requires, version
from pathlib import Path

import pytest

import snarkcuda
from snarkcuda import (
    ForgeableKeyWarning,
    Prover,
    jit,
    read_proof,
    read_public,
    read_verifying_key,
    setup,
    verify,
    write_zkey,
)
from snarkcuda.cli.report import announce_compilation
from tests.users.conftest import VECTORS, Case, Cli

ROOT = Path(__file__).parents[2]


def child(code: str, **options: object) -> subprocess.CompletedProcess[str]:
    """A program of a user."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        **options,  # type: ignore[call-overload]
    )


def test_row_07_the_device_is_named(mul: Case, cli: Cli, tmp_path: Path) -> None:
    """jackoelv/bellperson#26, #9: where a proof was made is said to people and to machines."""
    files = (mul / "circuit.zkey", mul / "witness.wtns", tmp_path / "proof", tmp_path / "public")
    ended = cli("prove", *files, "--json", "--threads", "2")
    assert "made on cpu (2 threads)" in ended.stderr
    assert json.loads(ended.stdout)["device"] == "cpu (2 threads)" == mul.prover.device


def test_row_39_keys_that_anyone_can_forge_for(mul: Case, cli: Cli, tmp_path: Path) -> None:
    """LFDT-Paladin/zeto#186: delta is the generator. Said by every command, and in the key."""
    fresh = VECTORS / f"{mul.folder.name}_fresh"
    vk_files = [fresh / f"{name}.json" for name in ("verification_key", "public", "proof")]
    for arguments in (["info", fresh / "circuit.zkey"], ["verify", *vk_files]):
        ended = cli(*arguments)
        assert ended.code == 0
        assert "anyone can forge proofs" in ended.stderr
    with pytest.warns(ForgeableKeyWarning, match="research"):
        key = setup(mul / "circuit.r1cs", research=True, threads=1)
    write_zkey(tmp_path / "key", key)
    ended = cli("info", tmp_path / "key")
    assert "research key" in ended.stderr
    with pytest.warns(ForgeableKeyWarning, match="research"), Prover(tmp_path / "key") as prover:
        proved = prover.prove(mul / "witness.wtns")
    assert verify(key.verifying_key, proved.public, proved.proof)
    quiet = cli("info", mul / "circuit.zkey")
    assert "WARNING" not in quiet.stderr


def test_row_41_calldata_has_the_imaginary_part_first(cli: Cli) -> None:
    """iden3/snarkjs#13, #631, Rate-Limiting-Nullifier/rlnjs#101: "cost us a day"."""
    folder = VECTORS / "bn_mul2"
    text = cli("export", "calldata", folder / "public.json", folder / "proof.json").stdout
    a, b, c, public = json.loads(f"[{text}]")
    proof = json.loads((folder / "proof.json").read_text())

    def words(numbers: list[str]) -> list[str]:
        return [f"{int(number):#066x}" for number in numbers]

    assert a == words(proof["pi_a"][:2])
    assert b == [words(pair[::-1]) for pair in proof["pi_b"][:2]]
    assert c == words(proof["pi_c"][:2])
    assert public == words(["33", "11"])


@pytest.mark.parametrize("change", ["bn254", "missing"])
def test_row_43_names_of_curves(mul: Case, change: str, tmp_path: Path) -> None:
    """Electron-Labs/electron-rs#7, Consensys/gnark#1584, keep-starknet-strange/garaga#188."""
    names = {"bn254": ("bn254", "BN254", "bn128", "alt_bn128")}
    if mul.vk.curve.name == "bls12_381":
        names = {"bn254": ("bls12381", "bls12_381", "BLS12-381", "bls12-381")}
    for name in names.get(change, ("",)):
        values = {}
        for file in ("verification_key", "proof"):
            values[file] = json.loads((mul / f"{file}.json").read_text())
            values[file]["curve"] = name
            if not name:
                del values[file]["curve"]
            (tmp_path / file).write_text(json.dumps(values[file]))
        vk, proof = (
            read_verifying_key(tmp_path / "verification_key"),
            read_proof(tmp_path / "proof"),
        )
        assert vk == mul.vk
        assert verify(vk, read_public(mul / "public.json", vk.curve), proof)


def test_row_45_the_program_ends() -> None:
    """iden3/snarkjs#152, #370, #393, #292: threads kept the process alive. Closed, or forgotten."""
    folder = VECTORS / "bn_mul2"
    code = (
        "from snarkcuda import Prover; import threading\n"
        f"with Prover({str(folder / 'circuit.zkey')!r}) as prover:\n"
        f"    prover.prove({str(folder / 'witness.wtns')!r})\n"
        "print(threading.active_count())\n"
        f"forgotten = Prover({str(folder / 'circuit.zkey')!r})\n"
        f"forgotten.prove({str(folder / 'witness.wtns')!r})\n"
    )
    done = child(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
    before = threading.active_count()
    with Prover(folder / "circuit.zkey") as prover:
        prover.prove(folder / "witness.wtns")
    assert threading.active_count() == before


def test_row_46_a_file_in_and_out(mul: Case, cli: Cli, tmp_path: Path) -> None:
    """iden3/snarkjs#427: the key was destroyed."""
    key, witness = tmp_path / "key", tmp_path / "witness"
    key.write_bytes((mul / "circuit.zkey").read_bytes())
    witness.write_bytes((mul / "witness.wtns").read_bytes())
    ended = cli("prove", key, witness, key, tmp_path / "public")
    assert ended.code == 2
    assert "same file" in ended.stderr
    assert key.read_bytes() == (mul / "circuit.zkey").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["key", "witness"]


def test_row_48_stages_with_plain_names(mul: Case, cli: Cli, tmp_path: Path) -> None:
    """Consensys/gnark#1414, privacy-ethereum/zkevm-chain#127: names, times, shares, bytes."""
    files = (mul / "circuit.zkey", mul / "witness.wtns", tmp_path / "proof", tmp_path / "public")
    ended = cli("prove", *files, "--json")
    lines = ended.stderr.splitlines()
    table = lines[next(i for i, line in enumerate(lines) if line.startswith("stage")) :]
    assert table[0].split() == ["stage", "ms", "share", "read"]
    for stage in ("read key", "A·w, B·w", "quotient (6 NTTs)", "assemble", "self-check", "write"):
        assert any(line.startswith(stage) and " % " in f"{line} " for line in table)
    for name in ["A", "B1", "B2", "L", "H"]:
        assert any(line.startswith(f"MSM {name} (G") and "MB" in line for line in table)
    record = json.loads(ended.stdout)
    assert 0 < sum(stage["seconds"] for stage in record["stages"]) <= record["seconds"]


def test_row_50_one_command_installs(cli: Cli) -> None:
    """iden3/rapidsnark#44, numba/numba#9273: no compiler, no GPU; `doctor` knows what is wrong."""
    ended = cli("doctor", "--json")
    told = json.loads(ended.stdout)
    assert ended.code == 0
    assert told["can_prove"] is True
    named = {finding["name"]: finding for finding in told["findings"]}
    assert version("numba") in named["numba"]["value"]
    for finding in told["findings"]:
        assert (finding["problem"] is None) == (finding["fix"] is None)
    assert not list(Path(snarkcuda.__file__).parent.rglob("*.so"))


def test_row_51_importing_needs_no_gpu() -> None:
    """numba/numba#548, #3963, #4136: everything imports and proves where there is no driver."""
    code = (
        "import sys, snarkcuda\n"
        "print('numba' in sys.modules)\n"
        "from snarkcuda import *\n"
        "print('numba' in sys.modules, 'numba.cuda' in sys.modules)\n"
        f"folder = {str(VECTORS / 'bn_mul2')!r}\n"
        "print(prove(f'{folder}/circuit.zkey', f'{folder}/witness.wtns').public)\n"
    )
    done = child(code)
    assert (done.returncode, done.stderr) == (0, "")
    first, second, third = done.stdout.splitlines()
    assert first == "False"
    assert second.startswith("True")
    assert third == "[33, 11]"


def test_row_53_numba_is_pinned() -> None:
    """NVIDIA/numba-cuda#902: what a new numba breaks does not reach users unnoticed."""
    for name in ("numba", "llvmlite"):
        (wanted,) = (text for text in requires("snarkcuda") or () if re.match(rf"{name}[<>]", text))
        assert "<" in wanted


def test_row_56_compiled_once_and_announced(
    mul: Case, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """numba/numba#6133, NVIDIA/raft#1246: minutes of compilation without a word, every time."""
    logger = logging.getLogger("snarkcuda.jit")
    monkeypatch.setattr(logger, "handlers", [])
    monkeypatch.setattr(logger, "propagate", True)
    monkeypatch.setattr(logger, "level", logger.level)
    announce_compilation(quiet=False)
    logger.info("compiling one kernel")
    logger.info("compiling another")
    told = capsys.readouterr().err
    assert told.count("compiling kernels") == 1 and "up to a minute" in told

    mul.prover.prove(mul / "witness.wtns")  # from here on the kernels are kept
    assert jit.cache_problem(jit.cache_directory()) is None
    code = (
        "import logging; logging.basicConfig(level=logging.INFO)\n"
        f"from snarkcuda import prove; folder = {str(mul.folder)!r}\n"
        "print(prove(f'{folder}/circuit.zkey', f'{folder}/witness.wtns', threads=2).public)\n"
    )
    done = child(code)
    assert (done.stdout, done.stderr) == ("[33, 11]\n", "")


def test_row_59_which_constraint_fails(mul: Case, cli: Cli, tmp_path: Path) -> None:
    """iden3/snarkjs#511, arkworks-rs/circom-compat#42: told before proving, with its terms."""
    ended = cli("check", mul / "circuit.r1cs", mul / "witness.wtns")
    assert ended.code == 0
    assert "satisfies the 1 constraints" in ended.stderr
    data = bytearray((mul / "witness.wtns").read_bytes())
    data[-32] = 4
    (tmp_path / "w").write_bytes(data)
    ended = cli("check", mul / "circuit.r1cs", tmp_path / "w")
    assert ended.code == 2
    for word in ("constraint 0", "A·B = -44 but C = -33", str(tmp_path / "w")):
        assert word in ended.stderr


def test_row_60_proving_from_python(mul: Case, tmp_path: Path) -> None:
    """icicle-snark's examples drive a subprocess by lines of text; here an import is all."""
    proved = mul.prover.prove(mul / "witness.wtns")
    assert proved.public == [33, 11]
    snarkcuda.write_proof(tmp_path / "proof", proved.proof)
    assert verify(mul.vk, proved.public, read_proof(tmp_path / "proof"))
    with pytest.raises(snarkcuda.SnarkcudaError):
        mul.prover.prove(tmp_path / "missing.wtns")
    assert {"Prover", "prove", "verify", "setup", "read_zkey"} <= set(snarkcuda.__all__)
