"""`setup`: a proving key for a circuit, from a ceremony's powers of tau or for research."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from snarkcuda.arguments import checked_threads
from snarkcuda.circuits.checks import check_r1cs
from snarkcuda.circuits.r1cs import R1cs, check_rows, domain_size
from snarkcuda.cpu.pool import Pool
from snarkcuda.errors import ForgeableKeyWarning
from snarkcuda.formats.opening import FilePath, shown
from snarkcuda.formats.ptau import check_fits, read_ptau
from snarkcuda.formats.r1cs import read_r1cs
from snarkcuda.formats.r1cs_header import CircuitHeader, read_r1cs_header
from snarkcuda.groth16.ceremony_key import ceremony_key
from snarkcuda.groth16.keys import ProvingKey
from snarkcuda.groth16.research_key import research_key
from snarkcuda.groth16.timeline import Timeline
from snarkcuda.groth16.trust import key_warnings


def setup(
    circuit: FilePath | R1cs,
    powers: FilePath | None = None,
    *,
    research: bool = False,
    seed: bytes | None = None,
    threads: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> ProvingKey:
    """Make a proving key; its `verifying_key` is inside. `write_zkey` writes it to a file.

    Either kind is made with a `ForgeableKeyWarning`: for a key from powers of tau anyone can forge
    proofs until somebody contributes to it (`snarkjs zkey contribute`), for a research key whoever
    made it.

    Args:
        circuit: an r1cs file, or an `R1cs` already read.
        powers: a prepared powers-of-tau file; the key is then that of `snarkjs groth16 setup`.
        research: instead of powers, draw the toxic waste here and forget it.
        seed: with research, makes the key reproducible, for tests; whoever knows it can forge.
        threads: worker threads, 1 to 4096; by default all processors that this process may use.
        progress: called with each stage's name as it begins.

    Raises:
        ValueError: both or neither of powers and research, a seed without research, or
            threads that are no whole number from 1 to 4096.
        FormatError, NotInFieldError: a file is broken, or the circuit is larger than a key.
        MismatchError: the powers are of another curve, or too few.
        NotOnCurveError: a point of the powers is off its curve.
    """
    if (powers is None) != research:
        raise ValueError("a key is made either from powers of tau or with research=True")
    if seed is not None and not research:
        raise ValueError("a seed is for research keys: powers of tau leave nothing to draw")
    with Pool(checked_threads(threads)) as pool:
        key = setup_on(pool, Timeline(progress), circuit, powers, seed)
    found = key_warnings(key.verifying_key, key)
    warnings.warn(f"{key.source}: {'; '.join(found)}", ForgeableKeyWarning, stacklevel=2)
    return key


def check_headers(circuit: FilePath, powers: FilePath | None) -> CircuitHeader:
    """The circuit's header; what the headers of two files rule out is refused without a kernel.

    Raises:
        FormatError: a header is broken, or the circuit has more rows than a key.
        MismatchError: the powers are of another curve, or too few.
    """
    header, source = read_r1cs_header(circuit), shown(circuit)
    n_public = header.n_outputs + header.n_public_inputs
    check_rows(header.curve, header.n_constraints, n_public, source)
    if powers is not None:
        rows = domain_size(header.n_constraints, n_public)
        check_fits(read_ptau(powers), header.curve, rows, source)
    return header


def setup_on(
    pool: Pool,
    timeline: Timeline,
    circuit: FilePath | R1cs,
    powers: FilePath | None,
    seed: bytes | None = None,
) -> ProvingKey:
    """`setup` on threads that are there, with a record of its stages; research without powers."""
    if isinstance(circuit, R1cs):
        check_r1cs(circuit)
    else:
        with timeline.stage("read circuit"):
            circuit = pool.call(read_r1cs, circuit)
    if powers is None:
        return research_key(circuit, pool, timeline, seed)
    return ceremony_key(circuit, read_ptau(powers), pool, timeline)
