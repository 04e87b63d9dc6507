"""What callers may ask for: threads, device, memory, key cache. Everything else is a ValueError.

Apart from what uses them, because the command line's options must not load numba.
"""

from __future__ import annotations

import operator
import os
import re
from contextlib import suppress
from typing import SupportsIndex

MAX_THREADS = 4096  # more is a slip of the keyboard, and takes the machine down


def checked_threads(threads: object) -> int | None:
    """Worker threads; None leaves the number to the machine."""
    return _whole_number("threads", threads, f"from 1 to {MAX_THREADS}", MAX_THREADS)


def checked_memory(memory: object, name: str = "memory") -> int | None:
    """Bytes to keep to; None leaves them to the machine."""
    return _whole_number(name, memory, "of bytes, at least 1", None)


def checked_device(device: object) -> str:
    """A device's name: cpu, cuda or cuda:N."""
    if not isinstance(device, str) or not re.fullmatch(r"cpu|cuda(:(0|[1-9]\d{0,3}))?", device):
        raise ValueError(f'device must be "cpu", "cuda" or "cuda:N", not {device!r}')
    return device


def checked_key_cache(key_cache: object) -> str | None:
    """A directory's name; None is no cache."""
    if key_cache is None:
        return None
    path = os.fspath(key_cache) if isinstance(key_cache, str | os.PathLike) else None
    if not isinstance(path, str) or not path:
        raise ValueError(
            f"key_cache must name a directory (str or Path), or be None, not {key_cache!r}"
        )
    return path


def _whole_number(name: str, value: object, rule: str, most: int | None) -> int | None:
    """An integer, numpy's too; not True, which is 1 by accident."""
    if value is None:
        return None
    number = 0
    if isinstance(value, SupportsIndex) and not isinstance(value, bool):
        with suppress(TypeError):  # arrays have __index__ too
            number = operator.index(value)
    if number < 1 or (most is not None and number > most):
        raise ValueError(f"{name} must be a whole number {rule}, or None, not {value!r}")
    return number
