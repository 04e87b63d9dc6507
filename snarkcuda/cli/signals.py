"""Signals that end a run early."""

import signal

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def ignore_signals() -> None:
    """From now on the run goes to its end: its results are in place, or it is tidying up."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
