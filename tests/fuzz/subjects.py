"""What is fuzzed, and what must come out: for each kind of file a judge of one damaged copy.

A judge returns how an input that was accepted ended, and raises `Fault` when a wrong statement
passed. A `SnarkcudaError` is an input refused, as it should be; any other exception, a crash, a
hang or memory without bounds is a fault, which the harness sees.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from snarkcuda import (
    Proof,
    Prover,
    SnarkcudaError,
    UnsatisfiedError,
    VerifyingKey,
    read_proof,
    read_public,
    read_verifying_key,
    read_witness,
    read_zkey,
    setup,
    verify,
)
from snarkcuda.circuits.satisfied import first_unsatisfied
from snarkcuda.formats.calldata import calldata
from snarkcuda.formats.describe import describe
from snarkcuda.formats.ptau import LAGRANGE, read_ptau
from snarkcuda.formats.ptau_header import read_ptau_header
from snarkcuda.formats.r1cs import read_r1cs
from snarkcuda.formats.r1cs_header import read_r1cs_header
from snarkcuda.groth16.check_circuit import check_circuit
from snarkcuda.groth16.check_key import check_key

VECTORS = Path(__file__).parents[1] / "vectors"
CASES = {"bn": "bn128", "bls": "bls12381"}


class Fault(Exception):
    """A damaged input got further than it may."""


@dataclass(frozen=True)
class Good:
    """The undamaged statement on one curve that damaged files are set against: c = a·b = 33."""

    curve: str  # a key of `CASES`

    def file(self, name: str) -> Path:
        """A committed file of the case."""
        return VECTORS / f"{self.curve}_mul2" / name

    @cached_property
    def prover(self) -> Prover:
        """Holds the good key."""
        return Prover(self.file("circuit.zkey"), threads=1)

    @cached_property
    def vk(self) -> VerifyingKey:
        """The verifying key."""
        return read_verifying_key(self.file("verification_key.json"))

    @cached_property
    def proof(self) -> Proof:
        """A true proof."""
        return read_proof(self.file("proof.json"))

    @cached_property
    def public(self) -> list[int]:
        """Its signals."""
        return read_public(self.file("public.json"), self.vk.curve)


Judge = Callable[[Good, Path, bool], str]


def _zkey(good: Good, path: Path, thoroughly: bool) -> str:
    """A key that is read makes a proof that its own verifying key accepts, or none."""
    key = read_zkey(path)
    if not thoroughly:
        return "read"
    with suppress(SnarkcudaError):  # whatever it says, it must not fall over
        check_key(good.prover._backend.pool, key)
        check_circuit(key, read_r1cs(good.file("circuit.r1cs")))
    with Prover(key, threads=1) as prover:
        proved = prover.prove(good.file("witness.wtns"))
    if not verify(key.verifying_key, proved.public, proved.proof):
        raise Fault("the proof does not verify under the key that made it")
    if key.verifying_key == good.vk and proved.public != good.public:
        raise Fault(f"another statement was proved: {proved.public}")
    return "proved"


def _wtns(good: Good, path: Path, thoroughly: bool) -> str:
    """A witness that is read satisfies the circuit, and is proved, or no proof comes out."""
    values = read_witness(path).values
    if not thoroughly:
        return "read"
    proved = good.prover.prove(path)
    if not verify(good.vk, proved.public, proved.proof):
        raise Fault("the proof does not verify")
    c, b, a = (int(value) for value in values[1:4, 0])
    if (values[1:4, 1:] == 0).all() and c < 1 << 60 and a * b != c:
        raise Fault(f"proved {a}·{b} = {c}")
    return "proved"


def _proof(good: Good, path: Path, thoroughly: bool) -> str:
    """True only for the proof itself, however it is spelled."""
    proof = read_proof(path, good.vk.curve)
    with suppress(SnarkcudaError):
        calldata(proof, good.public)
    if not verify(good.vk, good.public, proof):
        return "false"
    if proof != good.proof:
        raise Fault("verify says True for another proof")
    return "true"


def _public(good: Good, path: Path, thoroughly: bool) -> str:
    """True only for the signals themselves."""
    signals = read_public(path, good.vk.curve, good.vk.n_public)
    if not verify(good.vk, signals, good.proof):
        return "false"
    if signals != good.public:
        raise Fault(f"verify says True for {signals}")
    return "true"


def _vk(good: Good, path: Path, thoroughly: bool) -> str:
    """True only under the key itself."""
    key = read_verifying_key(path)
    if not verify(key, good.public, good.proof):
        return "false"
    if key != good.vk:
        raise Fault("verify says True under another key")
    return "true"


def _r1cs(good: Good, path: Path, thoroughly: bool) -> str:
    """Two judges agree: the witness satisfies the constraints if and only if it can be proved."""
    read_r1cs_header(path)
    r1cs = read_r1cs(path)
    if not thoroughly:
        return "read"
    witness = read_witness(good.file("witness.wtns"))
    fails = first_unsatisfied(good.prover._backend.pool, r1cs, witness)
    key = setup(r1cs, research=True, seed=b"fuzz", threads=1)
    with Prover(key, threads=1) as prover:
        try:
            proved = prover.prove(witness)
        except UnsatisfiedError:
            if fails is None:
                raise Fault("every constraint holds, and the proof is refused") from None
            raise
        if fails is not None:
            raise Fault(f"constraint {fails} does not hold, and a proof was made")
        if not verify(key.verifying_key, proved.public, proved.proof):
            raise Fault("the proof does not verify")
    return "proved"


def _ptau(good: Good, path: Path, thoroughly: bool) -> str:
    """A key made from it makes a proof that its own verifying key accepts, or none."""
    read_ptau_header(path)
    powers = read_ptau(path)
    if not thoroughly:
        return "read"
    for section in LAGRANGE:
        powers.lagrange(section, powers.power)
    key = setup(good.file("circuit.r1cs"), path, threads=1)
    with Prover(key, threads=1) as prover:
        proved = prover.prove(good.file("witness.wtns"))
    if not verify(key.verifying_key, proved.public, proved.proof):
        raise Fault("the proof does not verify under the key that made it")
    return "proved"


@dataclass(frozen=True)
class Subject:
    """A kind of file: where good ones are, and its judge. `{}` is the curve, as files call it."""

    name: str
    good: str  # under VECTORS
    others: tuple[str, ...]  # more good ones, to take pieces from
    judge: Judge


def _of_cases(name: str, file: str, judge: Judge) -> Subject:
    others = ("no_public", "mux3", "mul2_fresh")
    return Subject(name, "{}_mul2/" + file, tuple(f"{{}}_{case}/{file}" for case in others), judge)


SUBJECTS = {
    subject.name: subject
    for subject in (
        _of_cases("zkey", "circuit.zkey", _zkey),
        _of_cases("wtns", "witness.wtns", _wtns),
        _of_cases("r1cs", "circuit.r1cs", _r1cs),
        Subject("ptau", "pot3_{}.ptau", ("pot3_bn128.ptau", "pot3_bls12381.ptau"), _ptau),
        _of_cases("proof", "proof.json", _proof),
        _of_cases("public", "public.json", _public),
        _of_cases("vk", "verification_key.json", _vk),
    )
}


def good_files(subject: Subject, curve: str) -> list[bytes]:
    """The file to damage, then the others."""
    name = CASES[curve] if subject.name == "ptau" else curve
    return [(VECTORS / path.format(name)).read_bytes() for path in (subject.good, *subject.others)]


def judged(subject: Subject, good: Good, path: Path, thoroughly: bool) -> str:
    """How one input ends; `thoroughly` also proves, and describes the file as `info` does."""
    if thoroughly:
        describe(path)
    return subject.judge(good, path, thoroughly)
