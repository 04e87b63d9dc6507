"""Full disks, files and folders that may not be written, and an output that is an input.

Each command that writes stands in `COMMANDS`, so that a new one is tested by adding a line. To
start Python once and not a hundred times, a child runs many command lines one after the other.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from snarkcuda import (
    read_proof,
    read_public,
    read_verifying_key,
    read_witness,
    verify,
    write_witness,
)

ROOT = Path(__file__).parents[2]
VECTORS = Path(__file__).parents[1] / "vectors"
KEPT = b"bytes of an older run"
NOBODY = 65534


@dataclass(frozen=True)
class Command:
    """A command line, with names of files in the working folder."""

    words: str
    inputs: dict[str, str]  # name in the command line: file under VECTORS
    outputs: tuple[str, ...]

    def with_name(self, name: str, other: str) -> str:
        """The command line with another file in the place of one."""
        return " ".join(other if word == name else word for word in self.words.split())


PROVE = Command(
    "prove key witness proof public",
    {"key": "bn_mul2/circuit.zkey", "witness": "bn_mul2/witness.wtns"},
    ("proof", "public"),
)
COMMANDS = {
    "prove": PROVE,
    "setup": Command(
        "setup circuit powers new-key",
        {"circuit": "bn_mul2/circuit.r1cs", "powers": "pot3_bn128.ptau"},
        ("new-key",),
    ),
    "research": Command(
        "setup --research circuit new-key", {"circuit": "bn_mul2/circuit.r1cs"}, ("new-key",)
    ),
    "export vk": Command("export vk key new-vk", {"key": "bn_mul2/circuit.zkey"}, ("new-vk",)),
    "export calldata": Command(
        "export calldata public proof new-calldata",
        {"proof": "bn_mul2/proof.json", "public": "bn_mul2/public.json"},
        ("new-calldata",),
    ),
    "generate": Command("generate mimc 4 circuit witness", {}, ("circuit", "witness")),
}
READING = {name: command for name, command in COMMANDS.items() if command.inputs}

RUN_ALL = """
import contextlib, io, json, os, sys
from snarkcuda import prove
from snarkcuda.cli import main, report
from snarkcuda.formats import identify, output

nobody, good, jobs = json.loads(sys.argv[1])
if nobody is not None:
    prove(*good, threads=1)  # loads what must be read while the interpreter's files still can be
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(nobody)
        os.setuid(nobody)
    assert os.getuid() != 0
ends = []
for folder, words in jobs:
    os.chdir(folder)
    with contextlib.redirect_stderr(io.StringIO()) as told:
        try:
            main.main(words.split())
        except SystemExit as end:
            ends.append((end.code, told.getvalue()))
print(json.dumps(ends))
"""


def run_all(
    jobs: Iterable[tuple[Path, str]], as_nobody: bool = False, limit: int | None = None
) -> list[tuple[int, str]]:
    """Exit code and stderr of each (folder, command line), in order.

    Args:
        jobs: what to run.
        as_nobody: as a user to whom permissions apply.
        limit: bytes beyond which no file may grow.
    """

    def set_limit() -> None:
        if limit is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    good = [str(VECTORS / path) for path in PROVE.inputs.values()]
    task = [NOBODY if as_nobody else None, good, [(str(folder), words) for folder, words in jobs]]
    done = subprocess.run(
        [sys.executable, "-c", RUN_ALL, json.dumps(task)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=150,
        preexec_fn=set_limit,
    )
    assert done.returncode == 0, done.stderr
    ends = [(int(code), told) for code, told in json.loads(done.stdout)]
    assert [told for _, told in ends if "Traceback" in told] == []
    return ends


def laid_out(folder: Path, command: Command) -> dict[str, bytes]:
    """Inputs and older outputs in a new folder; what is in it, by name."""
    folder.mkdir()
    for name, source in command.inputs.items():
        shutil.copyfile(VECTORS / source, folder / name)
    for name in command.outputs:
        (folder / name).write_bytes(KEPT)
    return contents(folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# --- no room ----------------------------------------------------------------------------------


def test_full_disk(tmp_path: Path) -> None:
    """No file may grow beyond eight bytes: exit code 2, older outputs whole, no other file."""
    before = {name: laid_out(tmp_path / name, command) for name, command in COMMANDS.items()}
    ends = run_all([(tmp_path / name, COMMANDS[name].words) for name in COMMANDS], limit=8)
    for name, (code, told) in zip(COMMANDS, ends, strict=True):
        assert (code, "nothing was changed" in told) == (2, True), (name, told)
        assert contents(tmp_path / name) == before[name]


def test_the_disk_fills_up_between_two_outputs(tmp_path: Path) -> None:
    """There is room for proof.json, not for public.json, which is longer: neither is written."""
    case = VECTORS / "bn_public_40"
    witness = read_witness(case / "witness.wtns")
    values = witness.values.copy()
    values[1:, 3] = 1 << 60  # long numbers; that they satisfy nothing does not matter here
    write_witness(tmp_path / "witness", type(witness)(witness.curve, values))
    out = tmp_path / "out"
    out.mkdir()
    words = f"prove --no-check {case}/circuit.zkey {tmp_path}/witness proof public"
    [(code, told)] = run_all([(out, words)], limit=2000)
    assert code == 2
    assert "nothing was changed" in told
    assert contents(out) == {}
    [(code, told)] = run_all([(out, words)])
    assert code == 0, told
    assert (out / "proof").stat().st_size < 2000 < (out / "public").stat().st_size


# --- no permission ----------------------------------------------------------------------------


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that every user can reach; pytest's own are private."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def give_away(folder: Path) -> None:
    """Let nobody own a folder and what is in it, where we are root; else it stays ours."""
    if os.getuid() == 0:
        for path in (folder, *folder.iterdir()):
            os.chown(path, NOBODY, NOBODY)


def test_permissions(shared_folder: Path) -> None:
    """A folder, an older output, an input that permissions protect: told, and nothing changes.

    Inputs of 0444 in a folder of 0555 are no trouble.
    """
    cases = [
        ("fine", 0o755, ".", 0, "verified"),
        ("folder", 0o555, ".", 2, "is not writable"),
        ("output", 0o444, "public", 2, "the file there is read-only"),
        ("input", 0o000, "key", 2, "cannot read key: Permission denied"),
    ]
    before = {name: laid_out(shared_folder / name, PROVE) for name, *_ in cases}
    for name, mode, what, *_ in cases:
        give_away(shared_folder / name)
        (shared_folder / name / what).chmod(mode)
    inputs = shared_folder / "inputs"
    laid_out(inputs, Command("", PROVE.inputs, ()))
    for path in (*inputs.iterdir(), inputs):
        path.chmod(0o555 if path == inputs else 0o444)
    jobs = [(shared_folder / name, PROVE.words) for name, *_ in cases]
    jobs += [(shared_folder / "fine", "prove ../inputs/key ../inputs/witness proof public")]
    *ends, (code, told) = run_all(jobs, as_nobody=True)

    assert code == 0, told
    vk = read_verifying_key(VECTORS / "bn_mul2" / "verification_key.json")
    public = read_public(shared_folder / "fine" / "public", vk.curve)
    assert verify(vk, public, read_proof(shared_folder / "fine" / "proof"))
    for (name, _, what, expected, words), (code, told) in zip(cases, ends, strict=True):
        (shared_folder / name / what).chmod(0o755)
        assert code == expected, told
        assert words in told
        if expected:
            assert contents(shared_folder / name) == before[name]
    inputs.chmod(0o755)
    assert contents(inputs).keys() == PROVE.inputs.keys()


# --- the same file twice ----------------------------------------------------------------------


@pytest.mark.parametrize("command", READING.values(), ids=READING)
def test_an_output_that_is_an_input(command: Command, tmp_path: Path) -> None:
    """Refused before any work, by what the file is and not by its name; the input lives on."""
    folder = tmp_path / "folder"
    laid_out(folder, command)
    for name in command.inputs:
        (folder / f"soft-{name}").symlink_to(name)
        os.link(folder / name, folder / f"hard-{name}")
    before = contents(folder)
    spellings = ("{}", "soft-{}", "hard-{}", "../folder/./{}", "/proc/self/cwd/{}")
    if not Path("/proc/self/cwd").exists():
        spellings = spellings[:-1]
    tried = list(product(command.inputs, command.outputs, spellings))
    ends = run_all((folder, command.with_name(out, way.format(name))) for name, out, way in tried)
    for (name, out, way), (code, told) in zip(tried, ends, strict=True):
        assert code == 2, (out, way)
        assert f"it is the same file as the input {name}" in told
    assert contents(folder) == before


@pytest.mark.parametrize("name", ["prove", "generate"])
def test_two_outputs_that_are_one_file(name: str, tmp_path: Path) -> None:
    """Also through a link to a file that is not there yet."""
    command, folder = COMMANDS[name], tmp_path / "folder"
    laid_out(folder, command)
    one, other = command.outputs
    for output in command.outputs:
        (folder / output).unlink()
    (folder / "link").symlink_to(one)
    names = sorted(os.listdir(folder))
    ends = run_all((folder, command.with_name(other, way)) for way in (one, f"./{one}", "link"))
    for code, told in ends:
        assert code == 2
        assert f"it is the same file as the output {one}" in told
    assert sorted(os.listdir(folder)) == names
