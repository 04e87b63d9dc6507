"""Proofs with the key resident: a `Prover` beside snarkjs's `groth16.prove` in one node process.

    python scripts/bench_resident.py KEYDIR [KEYDIR …] [--snarkjs PATH] [--proofs 5] [--rounds 3]
                                     [--threads 2] [--out FILE.json]

A KEYDIR holds circuit.zkey and witness.wtns, as for `bench_prove.py`. Each round, in turn:

    ours       `--proofs` proofs by a `Prover` that has made one: the witness read from its file,
               the proof, its check by the verifier's equation
    snarkjs    three proofs in a new node process, from the same files; its first compiles
               WebAssembly, the second counts

The ratio is the median over the rounds of snarkjs's second proof by our median. Both run on the
same `--threads` processors (Linux). Every proof of both is verified here, outside the time. The
record has every single proof and our stages' medians.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from measuring import record

from snarkcuda import Prover, read_proof, read_public, verify
from snarkcuda.errors import ForgeableKeyWarning

NODE = """
const fs = require("fs");
const [snarkjs, zkey, wtns, out, proofs] = process.argv.slice(1);
const { groth16 } = require(snarkjs);
(async () => {
    const seconds = [];
    for (let i = 0; i < Number(proofs); i++) {
        const began = process.hrtime.bigint();
        const { proof, publicSignals } = await groth16.prove(zkey, wtns);
        seconds.push(Number(process.hrtime.bigint() - began) / 1e9);
        fs.writeFileSync(`${out}/proof${i}.json`, JSON.stringify(proof));
        fs.writeFileSync(`${out}/public${i}.json`, JSON.stringify(publicSignals));
    }
    console.log(JSON.stringify({ node: process.version, seconds }));
    process.exit(0);
})();
"""
_THEIR_PROOFS = 3


def snarkjs_package(executable: str) -> Path:
    """The folder of the package that an installed `snarkjs` belongs to."""
    real = Path(executable).resolve()
    for folder in real.parents:
        described = folder / "package.json"
        if described.exists() and json.loads(described.read_text()).get("name") == "snarkjs":
            return folder
    sys.exit(f"{real} is in no package called snarkjs: name its executable with --snarkjs")


def theirs(case: Path, package: Path, vk: Any) -> tuple[str, list[float]]:
    """The version of node, and seconds of each proof."""
    with tempfile.TemporaryDirectory() as out:
        arguments = [package, case / "circuit.zkey", case / "witness.wtns", out, _THEIR_PROOFS]
        command = ["node", "-e", NODE, *map(str, arguments)]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        for i in range(_THEIR_PROOFS):
            proof, public = read_proof(f"{out}/proof{i}.json"), read_public(f"{out}/public{i}.json")
            check(case, "snarkjs", verify(vk, public, proof))
    found = json.loads(done.stdout.splitlines()[-1])
    return found["node"], found["seconds"]


def check(case: Path, whose: str, is_true: bool) -> None:
    if not is_true:
        sys.exit(f"{case}: a proof of {whose} is false: the witness belongs to another circuit?")


def bench(case: Path, package: Path | None, given: argparse.Namespace) -> dict[str, Any]:
    witness, began = case / "witness.wtns", time.perf_counter()
    prover = Prover(case / "circuit.zkey", threads=given.threads)
    load = time.perf_counter() - began
    result: dict[str, Any] = {"case": case.name, "load_s": round(load, 3)}
    rounds: list[dict[str, list[float]]] = []
    stages: dict[str, list[float]] = {}
    with prover:
        vk = prover.key.verifying_key
        prover.prove(witness)
        for _ in range(given.rounds):
            ours = []
            for _ in range(given.proofs):
                began = time.perf_counter()
                proved = prover.prove(witness)
                ours.append(time.perf_counter() - began)
                check(case, "snarkcuda", verify(vk, proved.public, proved.proof))
                for stage in proved.stages:
                    stages.setdefault(stage.name, []).append(1000 * stage.seconds)
            rounds.append({"snarkcuda": ours})
            if package:
                result["node"], rounds[-1]["snarkjs"] = theirs(case, package, vk)
    result["median_s"] = middle([second for turn in rounds for second in turn["snarkcuda"]])
    result["stages_ms"] = {name: middle(values) for name, values in stages.items()}
    if package:
        for i, name in ((1, "snarkjs_second_s"), (2, "snarkjs_third_s")):
            result[name] = middle([turn["snarkjs"][i] for turn in rounds])
        ratios = [turn["snarkjs"][1] / statistics.median(turn["snarkcuda"]) for turn in rounds]
        result["snarkjs_over_snarkcuda"] = round(statistics.median(ratios), 2)
    return {**result, "rounds": rounds}


def middle(values: list[float]) -> float:
    return round(statistics.median(values), 4)


def table(results: list[dict[str, Any]]) -> str:
    lines = [
        "| case | ms | snarkjs second ms | third ms | snarkjs / snarkcuda |",
        "|---|---|---|---|---|",
    ]
    for result in results:
        times = [result.get(key) for key in ("median_s", "snarkjs_second_s", "snarkjs_third_s")]
        cells = [result["case"], *("" if t is None else f"{1000 * t:.0f}" for t in times)]
        lines.append(f"| {' | '.join([*cells, str(result.get('snarkjs_over_snarkcuda', ''))])} |")
    for result in results:
        stages = ", ".join(f"{name} {ms:.1f}" for name, ms in result["stages_ms"].items())
        lines += ["", f"{result['case']}, ms: {stages}"]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("cases", nargs="+", type=Path)
    parser.add_argument("--snarkjs", default=os.environ.get("SNARKJS") or shutil.which("snarkjs"))
    parser.add_argument("--proofs", type=int, default=5, help="of ours, a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, help="write the record here")
    given = parser.parse_args()
    warnings.simplefilter("ignore", ForgeableKeyWarning)  # keys for benches are such keys
    if hasattr(os, "sched_setaffinity"):  # snarkjs has a worker for each processor of the machine
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: given.threads])
    package = snarkjs_package(given.snarkjs) if given.snarkjs else None
    results = [bench(case, package, given) for case in given.cases]
    versions = {"threads": given.threads}
    if package:
        versions["snarkjs"] = json.loads((package / "package.json").read_text())["version"]
    record({**versions, "cases": results}, given.out)
    print(table(results))


if __name__ == "__main__":
    main()
