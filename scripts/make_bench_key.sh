#!/bin/sh
# A circuit, a witness and a research key for the benches, in a folder of their own:
#
#     scripts/make_bench_key.sh FOLDER KIND CONSTRAINTS [CURVE]
#     scripts/make_bench_key.sh keys/mimc_16 mimc 65534
#
# KIND is mimc, sha or random, see `snarkcuda generate --help`. With its one public signal and the
# constant, a circuit of 2^k - 2 constraints fills a domain of 2^k rows.
set -eu
mkdir -p "$1"
snarkcuda generate "$2" "$3" "$1/circuit.r1cs" "$1/witness.wtns" --curve "${4:-bn254}" -q
snarkcuda setup "$1/circuit.r1cs" "$1/circuit.zkey" --research -q
