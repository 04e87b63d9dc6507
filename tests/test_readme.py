"""Every command and program of the README runs as it stands.

The first two blocks are the set-up commands: `.ci/run` copies them out of the README and runs them
in a fresh virtual environment.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
SHELL = re.findall(r"^```sh\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
PYTHON = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def clone(tmp_path: Path) -> Path:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


def test_set_up_is_two_commands():
    prove, tests = (block.strip() for block in SHELL[:2])
    assert prove.startswith("pip install . && snarkcuda prove examples/")
    assert tests == "pip install -e '.[test]' && pytest -n auto --dist loadfile"
    ci = (ROOT / ".ci" / "run").read_text()
    assert all(f"$(readme {n})" in ci for n in (1, 2))


def test_commands(tmp_path):
    lines = [line for block in SHELL for line in block.splitlines()]
    commands = [line.rpartition("&& ")[2] for line in lines]
    commands = [command for command in commands if command.startswith("snarkcuda ")]
    assert len(commands) >= 4
    for command in commands:
        words = [sys.executable, "-m", *shlex.split(command)]
        done = subprocess.run(words, cwd=clone_once(tmp_path), capture_output=True, text=True)
        assert done.returncode == 0, (command, done.stderr)


def clone_once(tmp_path: Path) -> Path:
    return tmp_path if (tmp_path / "examples").exists() else clone(tmp_path)


@pytest.mark.parametrize("program", PYTHON)
def test_programs(tmp_path, program):
    subprocess.run([sys.executable, "-c", program], cwd=clone(tmp_path), check=True, timeout=300)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples(tmp_path, path):
    done = subprocess.run(
        [sys.executable, path], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "8 of 8 proofs verify" in done.stdout


def test_links_lead_somewhere():
    for document in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("*/README.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
            if "://" not in target:
                assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_nothing_is_left_to_fill_in():
    for document in [*ROOT.glob("*.md"), *ROOT.glob("*/*.md")]:
        assert not re.search(r"@[A-Z]+@", document.read_text()), document.name
