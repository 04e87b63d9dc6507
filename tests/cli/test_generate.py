"""`snarkcuda generate`: both files or neither, the record, the options, the errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from snarkcuda.circuits.satisfied import first_unsatisfied
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.params import curve_named
from snarkcuda.formats.r1cs import read_r1cs
from snarkcuda.formats.wtns import read_witness

FILES = ("c.r1cs", "w.wtns")


@pytest.mark.parametrize("kind", ["mimc", "sha", "random"])
@pytest.mark.parametrize("curve", ["bn128", "BLS12-381"])
def test_files_and_record(run, tmp_path, kind, curve):
    done = run("generate", kind, 500, *FILES, "--curve", curve, "--json")
    assert done.returncode == 0, done.stderr
    assert "500 constraints" in done.stderr and "for benchmarks only" in done.stderr
    r1cs, witness = (
        read(tmp_path / name) for read, name in zip((read_r1cs, read_witness), FILES, strict=True)
    )
    assert r1cs.curve == curve_named(curve)
    with Pool(1) as pool:
        assert first_unsatisfied(pool, r1cs, witness) is None
    record = json.loads(done.stdout)
    assert (record["kind"], record["seed"]) == (kind, "snarkcuda")
    assert record["curve"] == r1cs.curve.name
    assert (record["circuit"], record["witness"]) == FILES
    assert (record["constraints"], record["wires"]) == (500, r1cs.n_wires)
    assert (record["public"], record["domain"]) == (1, 512)
    assert record["entries"] == [len(m.wires) for m in (r1cs.a, r1cs.b, r1cs.c)]
    assert 0 < record["bits"] < 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [*FILES]


def test_seed_and_quiet(run, tmp_path):
    """The default seed is `snarkcuda`; --quiet leaves nothing to read."""
    for name, options in (("1", ()), ("2", ("--seed", "snarkcuda")), ("3", ("--seed", "other"))):
        done = run("generate", "random", 50, f"{name}.r1cs", f"{name}.wtns", "-q", *options)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    for suffix in ("r1cs", "wtns"):
        one, two, three = ((tmp_path / f"{i}.{suffix}").read_bytes() for i in (1, 2, 3))
        assert one == two != three


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("mimc", 0, *FILES), "0 is not in the range"),
        (("mimc", 1 << 28, *FILES), "is not in the range"),
        (("mimc", "many", *FILES), "'many' is not a valid integer"),
        (("keccak", 5, *FILES), "'keccak' is not one of 'mimc', 'sha', 'random'"),
        (("mimc", 5, *FILES, "--curve", "ed25519"), "'ed25519' is none of bn254, bn128"),
        (("mimc", 5, "c.r1cs", "c.r1cs"), "same file as the output"),
        (("mimc", 5, "c.r1cs", "nowhere/w.wtns"), "no folder"),
        (("mimc", 5, "c.r1cs"), "Missing argument 'WITNESS'"),
    ],
)
def test_refusals(run, tmp_path: Path, arguments, words):
    """Exit code 2, one line, and neither file."""
    done = run("generate", *arguments, "--json")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert words in line
    assert json.loads(done.stdout)["exit_code"] == 2
    assert list(tmp_path.iterdir()) == []


def test_help_is_a_page(run):
    told = run("generate", "--help").stdout
    for words in ("mimc", "sha", "random", "benchmarks", "Exit codes", "Example", "--seed"):
        assert words in told
