"""The circuits of the benches: full-size wires (`random`), or words of bits (`bits`)."""

from __future__ import annotations

from snarkcuda.bench.case import SEED, Case
from snarkcuda.circuits.mimc_chain import mimc_chain
from snarkcuda.circuits.sha_like import sha_like
from snarkcuda.circuits.synthetic import Generated
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.params import curve_named


def circuit(case: Case, pool: Pool) -> Generated:
    """A circuit that fills 2^log_n rows (constant and public signal take two), and its witness."""
    make = sha_like if case.scalars == "bits" else mimc_chain
    return pool.call(make, curve_named(case.curve), (1 << case.log_n) - 2, SEED)
