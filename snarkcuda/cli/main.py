"""`snarkcuda`: the commands, and how each way of ending becomes words and an exit code.

    0 done      1 `verify`: the proof is false    2 bad input         3 device or memory trouble
    70 a fault in snarkcuda    129, 130, 143 SIGHUP, SIGINT, SIGTERM    141 stdout closed

Commands import what they need when they run: `--help` and `info` never load numba.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import sys
import traceback
import warnings
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import click

from snarkcuda import __version__
from snarkcuda.cli.bench import bench
from snarkcuda.cli.cache import cache
from snarkcuda.cli.check import check
from snarkcuda.cli.doctor import doctor
from snarkcuda.cli.export import export
from snarkcuda.cli.generate import generate
from snarkcuda.cli.info import info
from snarkcuda.cli.kernels import kernels
from snarkcuda.cli.prove import prove
from snarkcuda.cli.setup import setup
from snarkcuda.cli.signals import end_interrupted, handle_signals, was_interrupted
from snarkcuda.cli.verify import verify
from snarkcuda.cli.warmup import warmup
from snarkcuda.cli.words import answer, open_standard_streams, say
from snarkcuda.errors import ForgeableKeyWarning, NotZeroKnowledgeWarning, SnarkcudaError

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(context_settings=CONTEXT)
@click.version_option(__version__, prog_name="snarkcuda")
def cli() -> None:
    """Groth16 proofs from circom and snarkjs files, on BN254 and BLS12-381.

    Words for people go to stderr, results to files; `--json` prints a record on stdout. Exit codes:
    0 done, 1 the proof is false (verify), 2 bad input, 3 device or memory trouble, 70 a fault in
    snarkcuda; 129, 130 or 143 interrupted (terminal closed, Ctrl-C, terminated).
    """


commands = (
    *(setup, prove, verify, check, export, info, generate),
    *(bench, kernels, doctor, warmup, cache),
)
for command in commands:
    cli.add_command(command)


def run() -> NoReturn:
    """The program: `main`, with less of the time that Python takes to start and to end."""
    gc.set_threshold(100_000)  # imports make many objects and no garbage
    try:
        main()
    except SystemExit as done:
        code = done.code if isinstance(done.code, int) else 1
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, or None
            stream.flush()
    os._exit(code)  # what is left is memory, which the system takes back faster


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    arguments = sys.argv[1:] if arguments is None else arguments
    open_standard_streams()
    warnings.showwarning = _show_warning
    for said_by_commands in (ForgeableKeyWarning, NotZeroKnowledgeWarning):
        warnings.simplefilter("ignore", said_by_commands)
    handle_signals()
    try:
        # Not cli.main: it turns a closed stdout into exit code 1, which means "false" here.
        with cli.make_context("snarkcuda", list(arguments)) as context:
            code = cli.invoke(context)
    except click.exceptions.Exit as done:  # --help, --version
        code = done.exit_code
    except SnarkcudaError as error:
        code = _fail(arguments, type(error).__name__, str(error), error.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        say(error.ctx.get_help() if error.ctx else "")
        code = error.exit_code
    except click.ClickException as error:
        where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else ""
        hint = f" (see `{where} --help`)" if where else ""
        code = _fail(
            arguments, "UsageError", f"{error.format_message().rstrip('.')}{hint}", error.exit_code
        )
    except KeyboardInterrupt:
        end_interrupted()
    except MemoryError:
        code = _fail(arguments, "MemoryError", "there is not enough memory for this", 3)
    except BrokenPipeError:
        code = 141
    except Exception as error:
        # numba turns an interrupt that meets it while it compiles into errors of its own.
        if was_interrupted():
            end_interrupted()
        if not hasattr(sys.modules.get("numba"), "njit") and _while_importing(error):
            message = f"numba cannot be imported ({error}): see `snarkcuda doctor`"
            sys.exit(_fail(arguments, "DeviceError", message, 3))
        say(traceback.format_exc(), end="")
        message = f"a fault in snarkcuda, not in your files ({error}): please report the above"
        code = _fail(arguments, type(error).__name__, message, 70)
    sys.exit(code or 0)


def _fail(arguments: list[str], kind: str, message: str, code: int) -> int:
    say(f"snarkcuda: {message}")
    if "--json" in arguments:
        with suppress(SnarkcudaError, OSError):  # the exit code says it too
            answer(json.dumps({"error": {"kind": kind, "message": message}, "exit_code": code}))
    return code


def _while_importing(error: BaseException) -> bool:
    """Whether an exception comes out of numba's own import."""
    frames = traceback.extract_tb(error.__traceback__)
    return any("numba" in Path(frame.filename).parts for frame in frames)


def _show_warning(message: Warning | str, *_rest: object, **_more: object) -> None:
    say(f"warning: {message}")
