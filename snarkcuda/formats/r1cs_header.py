"""The header of a circuit as circom writes it: r1cs version 1.

1 header        u32 32, prime, u32 wires, outputs, public inputs, private inputs, u64 labels,
                u32 constraints
2 constraints   3 wire labels   4, 5 custom gates (PLONK only)

Apart from `r1cs`, which reads the rest, because `info` must not load numba.
"""

from __future__ import annotations

from dataclasses import dataclass

from snarkcuda.curve.params import Curve
from snarkcuda.formats.opening import FilePath
from snarkcuda.formats.sections import Layout, SectionFile, SectionKind
from snarkcuda.formats.wtns import scalar_field_curve

R1CS = Layout(
    magic=b"r1cs",
    version=1,
    sections={
        1: SectionKind("header", "which holds the prime and the sizes"),
        2: SectionKind("constraints", "the circuit itself"),
        3: SectionKind("wire labels", "the names of the wires"),
        4: SectionKind("custom gates", "gates for PLONK"),
        5: SectionKind("custom gate uses", "gates for PLONK"),
    },
)


@dataclass(frozen=True)
class CircuitHeader:
    """The sizes of a circuit; wires are the constant, outputs, public inputs, then the rest."""

    curve: Curve
    n_wires: int
    n_outputs: int
    n_public_inputs: int
    n_private_inputs: int
    n_labels: int
    n_constraints: int


def read_r1cs_header(path: FilePath) -> CircuitHeader:
    """Read the header of an r1cs file.

    Raises:
        FormatError: the file breaks its format, its prime is no known scalar field, or it has more
            public signals than wires.
    """
    return circuit_header(SectionFile(path, R1CS))


def circuit_header(file: SectionFile) -> CircuitHeader:
    """The header of an open r1cs file; errors as `read_r1cs_header`."""
    header = file.section(1)
    curve = scalar_field_curve(header)
    at = 4 + 8 * curve.fr.limbs
    header.require_length(at + 28, "prime and sizes")
    wires, outputs, public, private = (
        header.uint(at + 4 * i, 4, "number of wires") for i in range(4)
    )
    labels = header.uint(at + 16, 8, "number of labels")
    constraints = header.uint(at + 24, 4, "number of constraints")
    # Private inputs do not count: circom drops those that no constraint needs, not their number.
    if wires < 1 + outputs + public:
        raise header.error(
            f"says {wires} wires, fewer than the constant, {outputs} outputs and {public} public "
            "inputs: the file is damaged; compile the circuit again"
        )
    return CircuitHeader(curve, wires, outputs, public, private, labels, constraints)
