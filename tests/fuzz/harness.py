"""Fuzzing in a child process: seeded inputs, limits on memory and time, a count of outcomes.

    parent  fuzz(...) ── arguments ──▶ child: judge each input ── JSON on stdout ──▶ counts
                                       last input, written before it is judged ──▶ scratch folder

An input is named by (kind, curve, seed, index) and can be made again from it:

    python -m tests.fuzz.harness input zkey bn 1 7 > damaged.zkey

The limits are the system's, not clocks of ours: RLIMIT_DATA for memory, RLIMIT_CPU for a loop that
does not end. A child that dies of them, or of a crash, leaves the input that killed it behind; a
child that waits for ever runs into its parent's patience.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from snarkcuda import ForgeableKeyWarning, SnarkcudaError
from tests.fuzz.mutations import listed, mutant
from tests.fuzz.subjects import SUBJECTS, Good, good_files, judged

ROOT = Path(__file__).parents[2]
CORPUS = Path(__file__).parent / "corpus"
MORE_MEMORY = 48 << 20  # over what the child held before the first input: threads, and our files
CPU_SECONDS = 20  # for one input; the slowest takes 0.1
SEED = int(os.environ.get("SNARKCUDA_FUZZ_SEED", "1"))  # another number, other inputs


class FaultFound(AssertionError):
    """An input that must not end as it did; the message names it and says how to make it again."""


# --- the inputs -------------------------------------------------------------------------------


def kept_inputs(kind: str, curve: str) -> list[Path]:
    """Inputs that once found a fault, or are likely to: `corpus/KIND/CURVE-…`."""
    return sorted((CORPUS / kind).glob(f"{curve}-*"))


def input_at(kind: str, curve: str, seed: int, index: int) -> bytes:
    """The random input of this seed and index."""
    good, *others = good_files(SUBJECTS[kind], curve)
    return mutant(good, others, _rng(kind, curve, seed, index))


def _rng(kind: str, curve: str, seed: int, index: int) -> random.Random:
    return random.Random(f"{kind} {curve} {seed} {index}")


def inputs(
    kind: str, curve: str, seed: int, n_listed: int, n_random: int
) -> Iterator[tuple[str, bytes]]:
    """Names and bytes: those kept, a sample (or all) of the damage that can be listed, random."""
    for path in kept_inputs(kind, curve):
        yield f"corpus/{kind}/{path.name}", path.read_bytes()
    good, *others = good_files(SUBJECTS[kind], curve)
    count = sum(1 for _ in listed(good))
    chosen = set(random.Random(seed).sample(range(count), min(n_listed, count)))
    yield from ((f"listed {i}", data) for i, data in enumerate(listed(good)) if i in chosen)
    for index in range(n_random):
        yield f"random {index}", mutant(good, others, _rng(kind, curve, seed, index))


# --- the child --------------------------------------------------------------------------------


def _limit_memory() -> None:
    """From here on the process may hold MORE_MEMORY more (Linux counts what malloc maps, too)."""
    status = Path("/proc/self/status")
    if not status.exists():
        return
    held = next(line.split()[1] for line in status.read_text().splitlines() if "VmData" in line)
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, ((int(held) << 10) + MORE_MEMORY, hard))


def _limit_time() -> None:
    """CPU_SECONDS for the next input; then SIGXCPU ends the process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = int(used.ru_utime + used.ru_stime) + CPU_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def _child(
    kind: str, curve: str, seed: int, n_listed: int, n_random: int, every: int, folder: Path
) -> None:
    """Judge every input; print the outcomes, or the first fault, as JSON."""
    warnings.simplefilter("ignore", ForgeableKeyWarning)
    subject, good = SUBJECTS[kind], Good(curve)
    path, label = folder / f"input.{kind}", folder / f"input.{kind}.name"
    path.write_bytes(good_files(subject, curve)[0])
    warm = [judged(subject, good, path, thoroughly=True) for _ in range(3)]
    if not set(warm) <= {"proved", "read", "true"}:
        raise AssertionError(f"the good file ended as {warm}")
    _limit_memory()
    outcomes: Counter[str] = Counter()
    names = inputs(kind, curve, seed, n_listed, n_random)
    for count, (name, data) in enumerate(names):
        path.unlink()  # never in place: an array of the last input may still be mapped
        path.write_bytes(data)
        label.write_text(name)
        _limit_time()
        try:
            is_kept = name.startswith("corpus")
            outcome = judged(subject, good, path, thoroughly=is_kept or count % every == 0)
        except BaseException as error:
            outcome = type(error).__name__
            # Trouble with the device, exit code 3, is not what a damaged file may lead to.
            if not (isinstance(error, SnarkcudaError) and error.exit_code == 2 and str(error)):
                print(json.dumps({"fault": traceback.format_exc()}))
                return
        outcomes[outcome] += 1
    path.unlink(missing_ok=True)
    path.write_bytes(good_files(subject, curve)[0])
    if judged(subject, good, path, thoroughly=True) != warm[0]:
        raise AssertionError("after all this the good file is refused")
    print(json.dumps({"outcomes": outcomes}))


# --- the parent -------------------------------------------------------------------------------


def fuzz(
    kind: str,
    curve: str,
    n_listed: int,
    n_random: int,
    folder: Path,
    every: int = 4,
    patience: int = 150,
    seed: int = SEED,
    prelude: str = "",
) -> Counter[str]:
    """Run the inputs in a child process; how many ended in which way.

    Args:
        kind: a key of `SUBJECTS`.
        curve: a key of `CASES`.
        n_listed: how many of the listed inputs at most.
        n_random: how many random ones.
        folder: scratch; keeps the last input.
        every: one input of so many is judged thoroughly: proved, and described; kept ones always.
        patience: seconds the child may take in all.
        seed: which random inputs, and which sample of the listed ones.
        prelude: code that the child runs first; the harness' own tests plant faults with it.

    Raises:
        FaultFound: see there.
    """
    arguments = [kind, curve, *map(str, (seed, n_listed, n_random, every)), str(folder)]
    code = f"from tests.fuzz import harness\n{prelude}\nharness.main()"
    command = [sys.executable, "-X", "faulthandler", "-c", code, "run", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=patience
        )
        ended, words = f"ended with {done.returncode}", done.stderr
        told = json.loads(done.stdout) if done.returncode == 0 else {}
    except subprocess.TimeoutExpired:
        ended, words, told = f"did not end in {patience} s", "", {}
    if "outcomes" in told:
        return Counter(told["outcomes"])
    path, label = folder / f"input.{kind}", folder / f"input.{kind}.name"
    name = label.read_text() if label.exists() else "start-up, with the good file"
    raise FaultFound(
        f"{kind}, {curve}, seed {seed}, {name}: the child {ended}\n{told.get('fault', words)}\n"
        f"the input is {path}; keep it: cp {path} {CORPUS / kind}/{curve}-WHAT-IT-IS"
    )


def main() -> None:
    """`run …` is the child; `input KIND CURVE SEED INDEX` prints a random input."""
    what, kind, curve, *rest = sys.argv[1:]
    if what == "input":
        sys.stdout.buffer.write(input_at(kind, curve, *map(int, rest)))
    else:
        *numbers, folder = rest
        _child(kind, curve, *map(int, numbers), Path(folder))


if __name__ == "__main__":
    main()
