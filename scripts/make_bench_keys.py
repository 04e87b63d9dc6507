#!/usr/bin/env python3
"""Make Groth16 proving keys and witnesses for benchmarks, with circom and snarkjs from npm.

    python scripts/make_bench_keys.py OUTDIR [--log-n 14 16] [--curve bn128 bls12381] [--tools DIR]

For each curve and each size the script writes a MiMC chain in circom,

    x[i+1] = (x[i] + k + c[i])^7,    out = x[rounds] + k,

with private inputs ``x`` and ``k`` and the public output ``out``. A round takes four constraints
and the last sum takes one, so that 2^log_n - 3 constraints, one public signal and the constant
wire fill a domain of exactly 2^log_n. Nearly every witness value is a full-size field element.

The tools are the npm packages circom2 (the circom compiler, built for WebAssembly) and snarkjs,
at the versions named below; node and npm must be on PATH. Without --tools they are installed into
OUTDIR/tools. The files of a case are left in OUTDIR/<curve>_mimc_<log_n>/:

    circuit.r1cs  witness.wtns  circuit.zkey  verification_key.json  input.json

The circuit's source, its witness generator and the key before its contribution go to OUTDIR/build,
and the powers of tau to OUTDIR/ptau. A step whose output exists is skipped, and each output is
written under a temporary name first, so an interrupted run can simply be started again.

Both phases of the setup have one contributor, this script: the keys are for benchmarks and tests,
not for proofs that anybody is meant to rely on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import secrets
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TOOLS = {"circom2": "0.2.23", "snarkjs": "0.7.6"}
CURVES = ("bn128", "bls12381")
MIN_LOG_N = 3
MAX_LOG_N = 24
KEEP_PTAU_BYTES = 1 << 30  # powers-of-tau files larger than this are deleted after use

CIRCUIT = """\
pragma circom 2.0.0;

template MimcChain(rounds) {
    signal input x;
    signal input k;
    signal output out;

    signal t2[rounds];
    signal t4[rounds];
    signal t6[rounds];
    signal s[rounds + 1];

    s[0] <== x;
    var c = 5;
    for (var i = 0; i < rounds; i++) {
        t2[i] <== (s[i] + k + c) * (s[i] + k + c);
        t4[i] <== t2[i] * t2[i];
        t6[i] <== t4[i] * t2[i];
        s[i + 1] <== t6[i] * (s[i] + k + c);
        c = c * c + i + 1;
    }
    out <== s[rounds] + k;
}

component main = MimcChain(%d);
"""


class StepError(Exception):
    """A tool failed, or made something other than what was asked of it."""


@dataclass(frozen=True)
class R1csInfo:
    """Counts from the header of an .r1cs file."""

    constraints: int
    wires: int
    public: int


@dataclass(frozen=True)
class Case:
    """One curve and one domain size, and where its files lie."""

    root: Path
    curve: str
    log_n: int

    @property
    def name(self) -> str:
        return f"{self.curve}_mimc_{self.log_n}"

    @property
    def out(self) -> Path:
        return self.root / self.name

    @property
    def build(self) -> Path:
        return self.root / "build" / self.name

    @property
    def ptau(self) -> Path:
        return self.root / "ptau" / f"{self.curve}_{self.log_n}"

    @property
    def rounds(self) -> int:
        # 4 * rounds + 1 constraints, 1 public signal and the constant wire: 2^log_n - 1 rows
        return (1 << (self.log_n - 2)) - 1


class Tools:
    """Runs circom2 and snarkjs from a folder that has them under node_modules."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder.resolve() / "node_modules" / ".bin"

    @staticmethod
    def _run(command: Sequence[str], cwd: Path | None = None) -> None:
        done = subprocess.run(
            command,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode != 0:
            shown = " ".join(command)
            raise StepError(f"exit status {done.returncode} from: {shown}\n{done.stdout[-4000:]}")

    def snarkjs(self, *args: str | Path) -> None:
        self._run([str(self.bin / "snarkjs"), *map(str, args)])

    def circom(self, cwd: Path, *args: str) -> None:
        # circom2 sees only paths relative to the folder it is started in
        self._run([str(self.bin / "circom2"), *args], cwd=cwd)

    @classmethod
    def find_or_install(cls, given: Path | None, outdir: Path) -> Tools:
        """The tools in ``given``, or else those in OUTDIR/tools, installed there if need be."""
        folder = given if given is not None else outdir / "tools"
        found = {name: installed_version(folder, name) for name in TOOLS}
        if None in found.values():
            if given is not None:
                missing = ", ".join(name for name, version in found.items() if version is None)
                raise StepError(f"not found under {given / 'node_modules'}: {missing}")
            wanted = [f"{name}@{version}" for name, version in TOOLS.items()]
            say(f"npm install {' '.join(wanted)} into {folder}")
            folder.mkdir(parents=True, exist_ok=True)
            cls._run(
                ["npm", "install", "--no-fund", "--no-audit", "--prefix", str(folder), *wanted]
            )
            found = {name: installed_version(folder, name) for name in TOOLS}
        for name, version in found.items():
            note = "" if version == TOOLS[name] else f" (this script was written for {TOOLS[name]})"
            say(f"{name} {version}{note}")
        return cls(folder)


def say(text: str) -> None:
    print(text, flush=True)


def installed_version(folder: Path, package: str) -> str | None:
    manifest = folder / "node_modules" / package / "package.json"
    if not manifest.is_file():
        return None
    return str(json.loads(manifest.read_text(encoding="utf-8"))["version"])


@contextmanager
def timed(case: Case, title: str) -> Iterator[None]:
    say(f"[{case.name}] {title} ...")
    start = time.monotonic()
    yield
    say(f"[{case.name}] {title}: {time.monotonic() - start:.1f} s")


def make(case: Case, title: str, target: Path, write: Callable[[Path], None]) -> None:
    """Have ``write`` make ``target`` under a temporary name and rename it, unless it exists."""
    if target.exists():
        say(f"[{case.name}] {title}: {target.name} exists, skipped")
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name("tmp." + target.name)
    temporary.unlink(missing_ok=True)
    with timed(case, title):
        write(temporary)
    if not temporary.is_file():
        raise StepError(f"{title} made no file for {target}")
    temporary.replace(target)


def section(path: Path, magic: bytes, wanted: int) -> bytes:
    """The bytes of one section of an iden3 binary file (.r1cs, .wtns, .zkey, .ptau)."""
    with path.open("rb") as file:
        found, _version, count = struct.unpack("<4sII", file.read(12))
        if found != magic:
            raise StepError(f"{path} does not begin with {magic!r}")
        for _ in range(count):
            kind, size = struct.unpack("<IQ", file.read(12))
            if kind == wanted:
                return file.read(size)
            file.seek(size, 1)
    raise StepError(f"{path} has no section {wanted}")


def r1cs_info(path: Path) -> R1csInfo:
    header = section(path, b"r1cs", 1)
    (field_bytes,) = struct.unpack_from("<I", header)
    wires, outputs, inputs, _private, _labels, constraints = struct.unpack_from(
        "<IIIIQI", header, 4 + field_bytes
    )
    return R1csInfo(constraints, wires, outputs + inputs)


def zkey_domain(path: Path) -> int:
    header = section(path, b"zkey", 2)
    offset = 0
    for _ in range(2):  # the primes q and r, each after its length
        (field_bytes,) = struct.unpack_from("<I", header, offset)
        offset += 4 + field_bytes
    _variables, _public, domain = struct.unpack_from("<III", header, offset)
    return int(domain)


def inputs(case: Case) -> dict[str, str]:
    """Fixed inputs of 248 bits, below the scalar field's modulus on either curve."""

    def value(name: str) -> str:
        digest = hashlib.sha256(f"{case.name}/{name}".encode()).digest()
        return str(int.from_bytes(digest[:31], "big"))

    return {"x": value("x"), "k": value("k")}


def entropy() -> str:
    return f"-e={secrets.token_hex(32)}"


def compile_circuit(case: Case, tools: Tools) -> None:
    """circuit.r1cs and circuit.wasm, which come from one run of the compiler."""
    source = case.build / "circuit.circom"
    r1cs = case.out / "circuit.r1cs"
    wasm = case.build / "circuit.wasm"
    make(
        case,
        "circuit source",
        source,
        lambda path: void(path.write_text(CIRCUIT % case.rounds, encoding="utf-8")),
    )
    if r1cs.exists() and wasm.exists():
        say(f"[{case.name}] compile: circuit.r1cs and circuit.wasm exist, skipped")
    else:
        temporary = case.build / "tmp.compile"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        with timed(case, "compile"):
            tools.circom(
                case.build,
                source.name,
                *("--O1", "-p", case.curve, "--r1cs", "--wasm", "-o", temporary.name),
            )
        (temporary / "circuit_js" / "circuit.wasm").replace(wasm)
        (temporary / "circuit.r1cs").replace(r1cs)
        shutil.rmtree(temporary)

    info = r1cs_info(r1cs)
    rows = info.constraints + info.public + 1
    if not (1 << case.log_n) // 2 < rows <= 1 << case.log_n:
        raise StepError(
            f"{r1cs}: {info.constraints} constraints, {info.public} public: "
            f"{rows} rows are not for a domain of 2^{case.log_n}"
        )


def make_witness(case: Case, tools: Tools) -> None:
    values = case.out / "input.json"
    make(
        case,
        "inputs",
        values,
        lambda path: void(path.write_text(json.dumps(inputs(case), indent=1) + "\n")),
    )
    wasm = case.build / "circuit.wasm"
    make(
        case,
        "witness",
        case.out / "witness.wtns",
        lambda path: tools.snarkjs("wtns", "calculate", wasm, values, path),
    )


def make_ptau(case: Case, tools: Tools) -> Path:
    """Powers of tau for 2^log_n, prepared for phase 2."""
    new, contributed, prepared = (
        case.ptau / name for name in ("new.ptau", "contributed.ptau", "prepared.ptau")
    )
    if not prepared.exists():
        if not contributed.exists():
            make(
                case,
                "powers of tau, new",
                new,
                lambda path: tools.snarkjs("powersoftau", "new", case.curve, str(case.log_n), path),
            )
        make(
            case,
            "powers of tau, contribute",
            contributed,
            lambda path: tools.snarkjs(
                "powersoftau", "contribute", new, path, "--name=benchmark", entropy()
            ),
        )
        drop_if_large(new)
    make(
        case,
        "powers of tau, prepare phase 2",
        prepared,
        lambda path: tools.snarkjs("powersoftau", "prepare", "phase2", contributed, path),
    )
    drop_if_large(new, contributed)
    return prepared


def make_key(case: Case, tools: Tools) -> None:
    r1cs = case.out / "circuit.r1cs"
    zkey = case.out / "circuit.zkey"
    verification = case.out / "verification_key.json"
    first = case.build / "circuit_0000.zkey"
    if not zkey.exists():
        verification.unlink(missing_ok=True)  # it would be of another key
    if not zkey.exists() and not first.exists():
        prepared = make_ptau(case, tools)
        make(
            case,
            "groth16 setup",
            first,
            lambda path: tools.snarkjs("groth16", "setup", r1cs, prepared, path),
        )
        drop_if_large(prepared)
    make(
        case,
        "key, contribute",
        zkey,
        lambda path: tools.snarkjs(
            "zkey", "contribute", first, path, "--name=benchmark", entropy()
        ),
    )
    domain = zkey_domain(zkey)
    if domain != 1 << case.log_n:
        raise StepError(f"{zkey}: the domain is {domain}, not 2^{case.log_n}")
    make(
        case,
        "verification key",
        verification,
        lambda path: tools.snarkjs("zkey", "export", "verificationkey", zkey, path),
    )


def void(_value: object) -> None:
    """Drop a value, for a lambda that is to return nothing."""


def drop_if_large(*paths: Path) -> None:
    for path in paths:
        if path.exists() and path.stat().st_size > KEEP_PTAU_BYTES:
            say(f"deleting {path}, which is no longer needed")
            path.unlink()


def make_case(case: Case, tools: Tools) -> None:
    start = time.monotonic()
    case.out.mkdir(parents=True, exist_ok=True)
    case.build.mkdir(parents=True, exist_ok=True)
    compile_circuit(case, tools)
    make_witness(case, tools)
    make_key(case, tools)
    say(f"[{case.name}] done in {time.monotonic() - start:.1f} s")


def table(cases: Sequence[Case]) -> str:
    heads = ("case", "constraints", "wires", "public", "domain", "r1cs B", "wtns B", "zkey B")
    rows: list[tuple[str, ...]] = [heads]
    for case in cases:
        info = r1cs_info(case.out / "circuit.r1cs")
        sizes = [
            (case.out / name).stat().st_size
            for name in ("circuit.r1cs", "witness.wtns", "circuit.zkey")
        ]
        domain = zkey_domain(case.out / "circuit.zkey")
        numbers = (info.constraints, info.wires, info.public, domain, *sizes)
        rows.append((case.name, *map(str, numbers)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells))
    return "\n".join(lines)


def log_size(text: str) -> int:
    value = int(text)
    if not MIN_LOG_N <= value <= MAX_LOG_N:
        raise argparse.ArgumentTypeError(f"must be from {MIN_LOG_N} to {MAX_LOG_N}")
    return value


def parse_args(argv: Sequence[str] | None) -> argparse.Namespace:
    summary = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(description=summary)
    parser.add_argument("outdir", type=Path, metavar="OUTDIR", help="folder for everything made")
    parser.add_argument(
        "--log-n",
        type=log_size,
        nargs="+",
        default=[14, 16],
        metavar="N",
        help="base-2 logarithms of the domain sizes (default: 14 16)",
    )
    parser.add_argument(
        "--curve",
        choices=CURVES,
        nargs="+",
        default=["bn128"],
        help="curves, taken in this order (default: bn128)",
    )
    parser.add_argument(
        "--tools",
        type=Path,
        metavar="DIR",
        help="folder whose node_modules has circom2 and snarkjs (default: OUTDIR/tools, "
        "installed there with npm if not found)",
    )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    args = parse_args(argv)
    outdir: Path = args.outdir.resolve()
    cases = [Case(outdir, curve, log_n) for curve in args.curve for log_n in args.log_n]
    try:
        tools = Tools.find_or_install(args.tools, outdir)
        for case in cases:
            make_case(case, tools)
        say(table(cases))
    except (StepError, OSError) as error:
        print(f"make_bench_keys: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
