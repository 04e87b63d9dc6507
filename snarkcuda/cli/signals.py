"""SIGHUP, SIGINT and SIGTERM: how a run ends early, promptly and truthfully.

    before the outputs are in place    KeyboardInterrupt, tidy up; nothing was written
    after that                         the run ends; what was asked for is there

Whatever hangs (a kernel that is being compiled, a pipe that nobody reads), the process is gone a
second after the first signal. Later signals change nothing: tidying up must not be disturbed.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from types import FrameType
from typing import NoReturn

from snarkcuda.cli.words import say

_GRACE = 1.0  # seconds from the signal to the hard end
_LAST_WORDS = 0.2  # seconds for a message that may block


NOTHING_WRITTEN = "no file was written"
KERNELS_ARE_KEPT = "the kernels compiled so far are kept"


class _State:
    code: int | None = None
    written = False
    outcome = NOTHING_WRITTEN


_state = _State()


def handle_signals() -> None:
    """Install the handlers; under nohup, which ignores SIGHUP, a closed terminal ends nothing."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _interrupt)


def results_are_written() -> None:
    """From now on a signal ends the run, but it cannot say that nothing was written."""
    _state.written, _state.outcome = True, "the outputs were written"


def if_interrupted(outcome: str) -> None:
    """From now on, until results are written, a run that a signal ends says this of its outcome."""
    _state.outcome = outcome


def was_interrupted() -> bool:
    """Whether a signal has come."""
    return _state.code is not None


def _interrupt(number: int, frame: FrameType | None) -> None:
    if was_interrupted():
        return
    _state.code = 128 + number
    sys.unraisablehook = lambda _: None  # callbacks that the interrupt met have no caller
    threading.Thread(target=_end_hard, daemon=True).start()
    if not _state.written:
        raise KeyboardInterrupt


def _end_hard() -> None:
    time.sleep(_GRACE)
    end_interrupted()


def end_interrupted() -> NoReturn:
    """Say how it ended and exit, at once."""
    words = f"snarkcuda: interrupted; {_state.outcome}"
    speaking = threading.Thread(target=say, args=(words,), daemon=True)
    speaking.start()
    speaking.join(_LAST_WORDS)
    # Not sys.exit: Python may take the interrupt for unhandled, and then dies of SIGINT instead.
    os._exit(_state.code or 130)
