"""What is in a file, as the `info` command tells it: plain numbers and text, ready for JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from snarkcuda.circuits.r1cs import domain_size
from snarkcuda.field.arrays import U64Array, zero_rows
from snarkcuda.formats.identify import file_kind
from snarkcuda.formats.opening import FilePath
from snarkcuda.formats.proof_json import read_proof
from snarkcuda.formats.ptau_header import read_ptau_header
from snarkcuda.formats.public_json import MAX_BYTES as MAX_PUBLIC_BYTES
from snarkcuda.formats.r1cs_header import read_r1cs_header
from snarkcuda.formats.sections import SectionFile
from snarkcuda.formats.strict_json import read_json
from snarkcuda.formats.vkey_json import read_verifying_key
from snarkcuda.formats.wtns import read_witness
from snarkcuda.formats.zkey import read_zkey
from snarkcuda.formats.zkey_header import ZKEY
from snarkcuda.groth16.trust import key_warnings

Description = dict[str, object]


def describe(path: FilePath) -> Description:
    """What a file holds; its key "kind" is `identify.file_kind`'s word.

    Reads and checks the whole file as its reader does, except r1cs and ptau: their headers.

    Raises:
        SnarkcudaError: what the reader of that kind raises.
    """
    kind = file_kind(path)
    return {"kind": kind, **_DESCRIBERS[kind](path)}


def _zkey(path: FilePath) -> Description:
    key = read_zkey(path)
    table = SectionFile(path, ZKEY).table
    queries = {
        "A": key.a_query,
        "B1": key.b_g1_query,
        "B2": key.b_g2_query,
        "L": key.l_query,
        "H": key.h_query,
        "IC": key.verifying_key.ic,
    }
    rows = int(key.coefficients["constraint"].max()) + 1 if len(key.coefficients) else 0
    return {
        "curve": key.curve.name,
        "wires": key.n_wires,
        "public": key.n_public,
        "private": key.n_wires - key.n_public - 1,
        "rows": rows,  # of the domain, used: constraints, then one for each public wire
        "constraints": max(0, rows - key.n_public - 1),
        "domain": key.domain_size,
        "coefficients": len(key.coefficients),
        "points_at_infinity": {name: _count_infinity(query) for name, query in queries.items()},
        "sections": [
            {
                "id": number,
                "name": ZKEY.sections[number].name if number in ZKEY.sections else "unknown",
                "offset": offset,
                "bytes": length,
            }
            for number, (offset, length) in table.items()
        ],
        "warnings": key_warnings(key.verifying_key, key),
    }


def _count_infinity(points: U64Array) -> int:
    return sum(1 for _ in zero_rows(points))


def _wtns(path: FilePath) -> Description:
    witness = read_witness(path)
    values = witness.values
    low, high = values[:, 0], values[:, 1:].any(axis=1)
    zeros = int(np.count_nonzero(~high & (low == 0)))
    ones = int(np.count_nonzero(~high & (low == 1)))
    return {
        "curve": witness.curve.name,
        "values": len(values),
        "zeros": zeros,
        "ones": ones,
        "share_of_zeros": round(zeros / len(values), 4),
        "share_of_ones": round(ones / len(values), 4),
    }


def _r1cs(path: FilePath) -> Description:
    header = read_r1cs_header(path)
    rows = domain_size(header.n_constraints, header.n_outputs + header.n_public_inputs)
    return {
        "curve": header.curve.name,
        "wires": header.n_wires,
        "outputs": header.n_outputs,
        "public_inputs": header.n_public_inputs,
        "private_inputs": header.n_private_inputs,
        "constraints": header.n_constraints,
        "domain": rows,
        "power": rows.bit_length() - 1,  # of the smallest powers of tau that serve it
    }


def _ptau(path: FilePath) -> Description:
    header = read_ptau_header(path)
    return {
        "curve": header.curve.name,
        "power": header.power,
        "ceremony_power": header.ceremony_power,
        "prepared_for_phase_2": header.prepared,
    }


def _proof(path: FilePath) -> Description:
    proof = read_proof(path)
    return {"curve": proof.curve.name, "c_is_infinity": not proof.c.any()}


def _public(path: FilePath) -> Description:
    signals = read_json(path, MAX_PUBLIC_BYTES, "public signals").items(name="signal")
    values = [signal.integer() for signal in signals]
    return {"signals": len(values), "largest_bits": max(values, default=0).bit_length()}


def _verification_key(path: FilePath) -> Description:
    key = read_verifying_key(path)
    return {
        "curve": key.curve.name,
        "public": key.n_public,
        "ic_points_at_infinity": _count_infinity(key.ic),
        "warnings": key_warnings(key),
    }


_DESCRIBERS: dict[str, Callable[[FilePath], Any]] = {
    "zkey": _zkey,
    "wtns": _wtns,
    "r1cs": _r1cs,
    "ptau": _ptau,
    "proof": _proof,
    "public": _public,
    "verification_key": _verification_key,
}
