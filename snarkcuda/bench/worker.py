"""One side of `bench ab`: a process that keeps a case ready and times a run when told to.

    in    {"protocol": 1, "case": {…}, "threads": null}      once
    out   {"ready": {"first_ns", "call_ns", "package", "revision"}}      when it is warm
    in    17
    out   {"ns": 1234567}                                    for one call, the mean of 17
    …     until the input ends
    out   {"error": {"kind", "message", "exit_code"}}        at any point, and the process ends

Other sources than the parent's may run here, so the lines are the whole interface.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, TextIO

from snarkcuda.bench.case import Case
from snarkcuda.errors import DeviceError, MismatchError, SnarkcudaError

PROTOCOL = 1


def main() -> int:
    """Serve stdin until it ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a kernel under work prints must not break the lines
    try:
        serve(sys.stdin, answers)
    except SnarkcudaError as error:
        told = {"kind": type(error).__name__, "message": str(error), "exit_code": error.exit_code}
        _tell(answers, {"error": told})
        return error.exit_code
    except MemoryError:
        told = {"kind": "MemoryError", "message": "not enough memory", "exit_code": 3}
        _tell(answers, {"error": told})
        return DeviceError.exit_code
    except BrokenPipeError:  # the parent has gone
        pass
    return 0


def serve(questions: TextIO, answers: TextIO) -> None:
    """Open the case of the first line, then time a run for each further line."""
    asked = json.loads(questions.readline())
    if asked["protocol"] != PROTOCOL:
        raise MismatchError(
            f"this worker speaks version {PROTOCOL} of the bench's lines, not "
            f"{asked['protocol']}: compare revisions that speak one version"
        )
    from snarkcuda.bench.machine_line import ROOT, source_revision
    from snarkcuda.bench.measure import opened

    with opened(Case(**asked["case"]), asked["threads"]) as bench:
        ready = {
            "first_ns": bench.first_ns,
            "call_ns": bench.call_ns,
            "package": str(ROOT),
            "revision": source_revision(),
        }
        _tell(answers, {"ready": ready})
        for line in questions:
            ns, _ = bench.run(int(line))
            _tell(answers, {"ns": ns})


def _tell(answers: TextIO, message: dict[str, Any]) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


if __name__ == "__main__":
    sys.exit(main())
