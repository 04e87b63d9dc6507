"""A process that compiles: parts come on stdin, a line each; on stdout it tells what it does.

compiling snarkcuda.cpu.digits._cut-…      a kernel
loading snarkcuda.cpu.digits._cut-…        one that was there
done                                    with the part
"""

from __future__ import annotations

import logging
import signal
import sys
from types import FrameType

from snarkcuda import jit
from snarkcuda.cpu.pool import Pool
from snarkcuda.warmup.parts import part_named
from snarkcuda.warmup.records import remember

DONE = "done"


def work() -> None:
    """Until stdin ends: if the parent dies, after the part under way."""
    for number in (signal.SIGINT, signal.SIGHUP):  # the terminal's: the parent's, which ends us
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)
    jit.logger.setLevel(logging.DEBUG)
    jit.logger.addHandler(logging.StreamHandler(sys.stdout))
    jit.logger.propagate = False
    with Pool(1) as pool:
        for line in sys.stdin:
            part = part_named(line.strip())
            part.work(pool, part.curve)
            remember([part])
            print(DONE, flush=True)


def _end(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)  # a file that is being written is taken away
