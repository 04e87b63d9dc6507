"""The pattern that finds imports finds at least what the parser finds."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from snarkcuda.sources import imports

ROOT = Path(__file__).parents[1]
PACKAGE = "snarkcuda.cpu"
MODULE = f"{PACKAGE}.msm"
SPELLINGS = [
    "import snarkcuda.a, snarkcuda.b as c",
    "x = 1; import snarkcuda.a; from . import b",
    "if True: from .a import b as c, d",
    "try: import snarkcuda.a\nexcept ImportError: from . import b",
    "from . import (\n    a,  # one (of two)\n    b as c,\n)",
    "from .a import (b, c); import snarkcuda.d",
    "from ..field \\\n    import a, \\\n b",
    "from.a import b\nfrom .import c\nfrom ...snarkcuda import d",
    "from\\\n. import a",
    "def f():\n\tfrom snarkcuda.a import b\n\x0cimport snarkcuda.c",
    "from .a import b\r\nfrom .c import d\rimport snarkcuda.e",
    "from .importer import imported, import_\nfrom .a import*",
    "'#'; import snarkcuda.a",
    "from .naïve import ñ",
]


def parsed(source: str, module: str, is_package: bool) -> set[str]:
    """The naive twin."""
    package = module if is_package else module.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: package.count(".") + 2 - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return {name for name in found if name.partition(".")[0] in (module.split(".")[0], "snarkcuda")}


@pytest.mark.parametrize("source", SPELLINGS)
def test_every_spelling(source: str) -> None:
    expected = parsed(source, MODULE, False)
    assert expected
    assert set(imports(source, MODULE, False)) == expected


def test_every_file_of_the_project() -> None:
    """Never less than the parser finds; more only where text shows an import."""
    files = [*ROOT.glob("snarkcuda/**/*.py"), *ROOT.glob("tests/**/*.py")]
    assert len(files) > 150
    for path in files:
        is_package = path.stem == "__init__"
        inside = path.relative_to(ROOT).with_suffix("")
        module = ".".join((inside.parent if is_package else inside).parts)
        source = path.read_text()
        assert set(imports(source, module, is_package)) >= parsed(source, module, is_package), path
