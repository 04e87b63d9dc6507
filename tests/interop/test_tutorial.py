"""The tutorial runs as it stands: its commands and programs in order, and prints what it says.

Step 1 installs, which `.ci/run` does; the steps after it run in one shell, in an empty folder.
Needs node, snarkjs and circom2: SNARKJS and CIRCOM2 name the executables; without CIRCOM2 it is
looked for beside SNARKJS, then on PATH.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tutorial.md").read_text()
SNARKJS = os.environ.get("SNARKJS") or shutil.which("snarkjs")
CIRCOM2 = (
    os.environ.get("CIRCOM2")
    or shutil.which("circom2", path=os.path.dirname(SNARKJS or ""))
    or shutil.which("circom2")
)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MARK = "@@ block {} @@"
ANSI_COLOURS = re.compile("\x1b\\[[0-9;]*m")


class Block(NamedTuple):
    """What is run and the lines that it must print, in order; … stands for any text."""

    step: str
    language: str
    text: str
    expected: list[str]


def blocks() -> list[Block]:
    """The page's programs; a plain block belongs to the program before it."""
    found: list[Block] = []
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        step = section.partition("\n")[0]
        for language, text in FENCE.findall(section):
            if language:
                found.append(Block(step, language, text, []))
            else:
                found[-1].expected.extend(text.splitlines())
    return found


BLOCKS = blocks()
INSTALL = [block for block in BLOCKS if block.step.startswith("1.")]
PROGRAMS = BLOCKS[len(INSTALL) :]

tools = [
    pytest.mark.interop,
    pytest.mark.skipif(not SNARKJS, reason="no snarkjs: set SNARKJS, or put it on PATH"),
    pytest.mark.skipif(not CIRCOM2, reason="no circom2: set CIRCOM2, or put it on PATH"),
    pytest.mark.timeout(600),  # where no kernel is cached, nearly all are compiled here
]


def script() -> str:
    """The programs as one shell script, each after a line that marks its output."""
    lines = []
    for number, (_, language, text, _) in enumerate(PROGRAMS):
        run = text if language == "sh" else f"python - <<'END_OF_PROGRAM'\n{text}END_OF_PROGRAM\n"
        lines.append(f"echo; echo '{MARK.format(number)}'\n{run}")
    return "".join(lines)


def put_on_path(folder: Path) -> None:
    """Commands by the names that the page uses, whatever the executables are called."""
    python = [sys.executable]
    for name, command in {
        "snarkjs": [str(SNARKJS)],
        "circom2": [str(CIRCOM2)],
        "python": python,
        "snarkcuda": [*python, "-m", "snarkcuda"],
    }.items():
        (folder / name).write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
        (folder / name).chmod(0o755)


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What each program of the page printed, stdout and stderr as they came."""
    commands, folder = tmp_path_factory.mktemp("bin"), tmp_path_factory.mktemp("cubic")
    put_on_path(commands)
    done = subprocess.run(
        ["sh", "-e", "-c", script()],
        cwd=folder,
        env={**os.environ, "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=590,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    parts = re.split(f"^{MARK.format('[0-9]+')}$", done.stdout, flags=re.MULTILINE)[1:]
    return [ANSI_COLOURS.sub("", part) for part in parts]


def missing(expected: list[str], output: str) -> str | None:
    """The first expected line that does not follow those before it; None if all are there."""
    rest = iter(output.splitlines())
    for line in expected:
        pattern = ".*".join(map(re.escape, line.split("…")))
        if line != "…" and not any(re.fullmatch(pattern, candidate) for candidate in rest):
            return line
    return None


def case_of(number: int) -> object:
    """A program as a test case, named after its step; the tools' marks come with it."""
    return pytest.param(number, id=f"{number}: {PROGRAMS[number].step}", marks=tools)


@pytest.mark.parametrize("number", [case_of(number) for number in range(len(PROGRAMS))])
def test_program_prints_what_the_page_shows(number: int, printed: list[str]) -> None:
    assert len(printed) == len(PROGRAMS)
    line = missing(PROGRAMS[number].expected, printed[number])
    assert line is None, f"missing: {line}\n{printed[number]}"


def test_a_missing_line_is_found() -> None:
    """The comparison itself: order counts, … is any text, other lines may stand between."""
    output = "one\nprogress\ntwo 22 twos\nthree"
    assert missing(["one", "two … twos", "…", "three"], output) is None
    assert missing(["one", "two"], output) == "two"
    assert missing(["three", "one"], output) == "one"


def test_every_step_is_there_and_shows_something() -> None:
    """Eleven steps in order; each after the first runs something and shows what it prints."""
    steps = re.findall(r"^## (\d+)\. ", PAGE, re.MULTILINE)
    assert steps == [str(number) for number in range(1, 12)]
    for step in {block.step for block in PROGRAMS}:
        assert any(block.expected for block in PROGRAMS if block.step == step), step
    assert {block.step.partition(".")[0] for block in PROGRAMS} == set(steps[1:])
    assert {block.language for block in BLOCKS} == {"sh", "python"}


def test_ci_installs_the_tools_of_step_1() -> None:
    (packages,) = re.findall(r"^npm install (.+)$", INSTALL[1].text, re.MULTILINE)
    assert packages in (ROOT / ".ci" / "run").read_text()


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """To files, and to headings of the page itself, by the anchors that GitHub gives them."""
    text = page.read_text()
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if target.startswith("#"):
            assert target[1:] in anchors, target
        elif "://" not in target:
            assert (page.parent / target).exists(), target
