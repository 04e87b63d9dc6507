"""Whole proofs on a GPU from resident keys, beside the figures of other provers.

    python scripts/bench_proofs_cuda.py --out benchmarks/DATE-h200-proofs.json

Keys are research keys, made here; circuits are synthetic: SHA-256-like (most wires bits) and a MiMC
chain (dense). Every proof is verified. A proof's time is the host's, from the witness in memory to
the checked proof; stages are the device's.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import warnings
from pathlib import Path

from snarkcuda.bench.machine_line import dated, gpu
from snarkcuda.circuits.mimc_chain import mimc_chain
from snarkcuda.circuits.sha_like import sha_like
from snarkcuda.circuits.synthetic import share_of_bits
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.params import curve_named
from snarkcuda.errors import ForgeableKeyWarning
from snarkcuda.groth16.prover import Prover
from snarkcuda.groth16.research_key import research_key
from snarkcuda.groth16.timeline import Timeline

# ms of supraseal-c2 on the same card: most scalars bits, and dense.
SUPRASEAL = {("sha_like", 20): 1273, ("sha_like", 22): 4381, ("mimc_chain", 20): 3010,
             ("mimc_chain", 22): 13028}  # fmt: skip
CIRCUITS = {"sha_like": sha_like, "mimc_chain": mimc_chain}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--curve", nargs="*", default=["bls12_381", "bn254"])
    parser.add_argument("--circuit", nargs="*", default=list(CIRCUITS), choices=list(CIRCUITS))
    parser.add_argument("--log-n", type=int, nargs="*", default=[14, 16, 18, 20])
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    record = dated(1) | {"cases": []}
    warnings.simplefilter("ignore", ForgeableKeyWarning)
    for name in options.curve:
        curve = curve_named(name)
        for circuit in options.circuit:
            for log_n in options.log_n:
                r1cs, witness = CIRCUITS[circuit](curve, (1 << log_n) - 2, "bench")
                began = time.perf_counter()
                with Pool() as pool:
                    key = research_key(r1cs, pool, Timeline(), b"bench")
                setup_s = time.perf_counter() - began
                began = time.perf_counter()
                with Prover(key, device=options.device) as prover:
                    load_s = time.perf_counter() - began
                    began = time.perf_counter()
                    prover.prove(witness)
                    first_s = time.perf_counter() - began
                    times, stages = [], {}
                    for _ in range(options.runs):
                        began = time.perf_counter()
                        proved = prover.prove(witness)
                        times.append(1e3 * (time.perf_counter() - began))
                        for stage in proved.stages:
                            stages.setdefault(stage.name, []).append(1e3 * stage.seconds)
                    held = prover._resident
                    case = {
                        "operation": "prove", "curve": name, "circuit": circuit, "log_n": log_n,
                        "bits": share_of_bits(witness), "ms": statistics.median(times),
                        "least": min(times), "most": max(times),
                        "supraseal_c2": SUPRASEAL.get((circuit, log_n))
                        if name == "bls12_381" else None,
                        "setup_s": setup_s, "load_s": load_s, "first_s": first_s,
                        "multiples": held.of_witness.multiples, "key_bytes": held.held.nbytes,
                        "job_bytes": held.job_bytes,
                        "stages": {k: statistics.median(v) for k, v in stages.items()},
                    }  # fmt: skip
                record["cases"].append(case)
                print(json.dumps(case), flush=True)
                record["machine"]["gpu"] = gpu(options.device)
                if options.out:
                    options.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
