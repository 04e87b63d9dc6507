"""What compiled code depends on: a module's source, and that of every module of ours it imports.

Imports are found by pattern: to parse every module takes longer than a small proof. The pattern may
find more than there is (an import that a docstring shows), which costs a compilation at worst, and
never less: a statement begins a line, or follows `;` or `:`.
"""

from __future__ import annotations

import hashlib
import re
import sys
import time
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_PACKAGE = __name__.partition(".")[0]
_STARTED = time.time_ns()
_COMMENT = re.compile(r"#.*")
_IMPORT = re.compile(
    r"(?:^|[;:])[ \t\f]*"
    r"(?:from[ \t\f]*(?P<base>[\w.]+?)[ \t\f]*import\b[ \t\f]*(?P<names>\((?:#.*|[^)#])*|[^;\n]+)"
    r"|import[ \t\f]+(?P<modules>[^;\n]+))",
    re.MULTILINE,
)


def source_digest(module: str) -> str | None:
    """Digest of a module and of all project modules that it imports, directly or not.

    None where that cannot be vouched for: a module without a source file (a notebook), or a file
    changed since the process began, which may or may not be what was loaded.
    """
    digests: dict[str, bytes] = {}
    queue = [module]
    while queue:
        name = queue.pop()
        if name in digests:
            continue
        path = _source_file(name)
        if path is None:
            return None
        modified = path.stat().st_mtime_ns
        if _STARTED <= modified <= time.time_ns():
            return None
        digests[name], imported = _read(name, path, modified)
        queue += imported
    parts = hashlib.sha256()
    for name in sorted(digests):
        parts.update(name.encode() + b"\0" + digests[name])
    return parts.hexdigest()


@cache
def _read(module: str, path: Path, modified: int) -> tuple[bytes, tuple[str, ...]]:
    """Digest of a module's source and the modules that it imports; a newer file is read anew."""
    source = path.read_bytes()
    found = set(imports(source.decode(), module, path.stem == "__init__"))
    # The package's own __init__ names the whole API; importing it is not depending on it.
    names = sorted(name for name in found if name != _PACKAGE and _is_module(name))
    return hashlib.sha256(source).digest(), tuple(names)


def imports(source: str, module: str, is_package: bool) -> Iterator[str]:
    """Absolute names that a module imports from its package or ours: modules, or names in one."""
    package = module if is_package else module.rpartition(".")[0]
    roots = {module.partition(".")[0], _PACKAGE}
    one_line_each = "\n".join(source.splitlines()).replace("\\\n", " ")
    for found in _IMPORT.finditer(one_line_each):
        if found["modules"]:
            names = _names(found["modules"])
        else:
            base = _absolute(found["base"], package)
            names = [base, *(f"{base}.{name}" for name in _names(found["names"]))]
        yield from (name for name in names if name.partition(".")[0] in roots)


def _names(listed: str) -> list[str]:
    """`a.b as c, d` → a.b, d."""
    items = (item.split() for item in _COMMENT.sub("", listed).lstrip("(").split(","))
    return [item[0] for item in items if item]


def _absolute(base: str, package: str) -> str:
    """`..x` in package p.q → p.x."""
    name = base.lstrip(".")
    level = len(base) - len(name)
    above = package.split(".")[: package.count(".") + 2 - level] if level else []
    return ".".join([*above, *([name] if name else [])])


@cache
def _is_module(name: str) -> bool:
    """A module rather than a name in one. May import the packages above it, as their user did."""
    try:
        return name in sys.modules or find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _source_file(module: str) -> Path | None:
    """The .py file that a module was or will be loaded from."""
    loaded = sys.modules.get(module)
    origin = (
        getattr(loaded, "__file__", None) if loaded else getattr(find_spec(module), "origin", None)
    )
    return Path(origin) if origin and origin.endswith(".py") else None
