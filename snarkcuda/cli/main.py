"""`snarkcuda`: the commands, and how each way of ending becomes words and an exit code.

    0 done    1 `verify`: the proof is false    2 bad input    3 device trouble
    70 a fault in snarkcuda     130 interrupted (Ctrl-C)    143 terminated

Commands import what they need when they run: `--help` and `info` never load numba.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
import warnings
from types import FrameType
from typing import NoReturn

import click

from snarkcuda import __version__
from snarkcuda.cli.cache import cache
from snarkcuda.cli.info import info
from snarkcuda.cli.prove import prove
from snarkcuda.cli.signals import SIGNALS, ignore_signals
from snarkcuda.cli.verify import verify
from snarkcuda.errors import SnarkcudaError

_GRACE = 1.0  # seconds between an interrupt and the hard end

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(context_settings=CONTEXT)
@click.version_option(__version__, prog_name="snarkcuda")
def cli() -> None:
    """Groth16 proofs from circom and snarkjs files, on BN254 and BLS12-381.

    Words for people go to stderr, results to files; `--json` prints a record on stdout. Exit codes:
    0 done, 1 the proof is false (verify), 2 bad input, 3 device trouble, 130 interrupted.
    """


for command in (prove, verify, info, cache):
    cli.add_command(command)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    arguments = sys.argv[1:] if arguments is None else arguments
    warnings.showwarning = _show_warning
    _handle_signals()
    try:
        code = cli.main(arguments, prog_name="snarkcuda", standalone_mode=False)
    except SnarkcudaError as error:
        code = _fail(arguments, type(error).__name__, str(error), error.exit_code)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        _end_interrupted()
    except MemoryError:
        code = _fail(arguments, "MemoryError", "there is not enough memory for this", 3)
    except BrokenPipeError:  # the reader of our stdout went away
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141
    except Exception as error:
        # numba turns an interrupt that meets it while it compiles into errors of its own.
        if _signal.code is not None:
            _end_interrupted()
        traceback.print_exc()
        message = f"a fault in snarkcuda, not in your files ({error}): please report the above"
        code = _fail(arguments, type(error).__name__, message, 70)
    sys.exit(code or 0)


def _fail(arguments: list[str], kind: str, message: str, code: int) -> int:
    click.echo(f"snarkcuda: {message}", err=True)
    if "--json" in arguments:
        click.echo(json.dumps({"error": {"kind": kind, "message": message}, "exit_code": code}))
    return code


def _show_warning(message: Warning | str, *_rest: object, **_more: object) -> None:
    click.echo(f"warning: {message}", err=True)


class _Signal:
    """The exit code of the first signal that came, None before one comes."""

    code: int | None = None


_signal = _Signal()


def _end_interrupted() -> NoReturn:
    click.echo("snarkcuda: interrupted; no file was written", err=True)
    sys.stdout.flush()
    sys.stderr.flush()
    # Not sys.exit: Python may take the interrupt for unhandled, and then dies of SIGINT instead.
    os._exit(_signal.code or 130)


def _handle_signals() -> None:
    def interrupt(number: int, frame: FrameType | None) -> None:
        ignore_signals()  # a second one must not disturb the tidying up
        _signal.code = 128 + number
        sys.unraisablehook = lambda _: None  # callbacks that the interrupt met have no caller
        # Workers stop within milliseconds, but a kernel being compiled cannot be interrupted.
        threading.Thread(target=_end_hard, daemon=True).start()
        raise KeyboardInterrupt

    for number in SIGNALS:
        signal.signal(number, interrupt)


def _end_hard() -> None:
    threading.Event().wait(_GRACE)
    _end_interrupted()
