"""What every CUDA kernel takes, for one architecture after another; no GPU needed.

python scripts/record_kernels.py --out benchmarks/DATE-kernels.json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from snarkcuda.bench.machine_line import dated
from snarkcuda.curve.params import CURVES
from snarkcuda.kernels.report import report, table

ARCHITECTURES = ((7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    record = dated(1) | {"architectures": {}}
    for architecture in ARCHITECTURES:
        name = f"sm_{architecture[0]}{architecture[1]}"
        lines = report(CURVES, architecture)
        print(f"{name}\n{table(lines)}", flush=True)
        record["architectures"][name] = [vars(line) for line in lines]
        if problems := [line.problem for line in lines if line.problem]:
            print(f"{name}: {'; '.join(problems)}")
    if options.out:
        options.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
