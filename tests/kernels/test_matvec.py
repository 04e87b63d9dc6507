"""Rows on a device against sums of integers, and the slices that they are read from."""

import random

import numpy as np
import pytest

from snarkcuda.cpu.matvec import Matrices, group_by_row
from snarkcuda.cpu.matvec import evaluate as evaluate_on_cpu
from snarkcuda.cpu.pool import Pool
from snarkcuda.field import arrays
from snarkcuda.field.params import BLS12_381_FR, BN254_FR
from snarkcuda.formats.wtns import read_witness
from snarkcuda.formats.zkey import read_zkey
from snarkcuda.kernels.evaluate import evaluate, load_matrices
from snarkcuda.kernels.field import device_field
from snarkcuda.kernels.matvec_plan import END, NOWHERE, PARTIAL, WARP, sliced
from snarkcuda.kernels.target import simulated

LENGTHS = [0, 1, 2, 3, 7, 8, 31, 32, 33, 64, 65, 90 if simulated() else 100_000]


def matrices(field, lengths, n_wires, seed):
    """Rows of these lengths: coefficients 1, −1 and others; the same as lists of integers."""
    draw, p, R = random.Random(seed), field.modulus, field.montgomery
    table = [draw.randrange(p) for _ in range(5)]
    rows = []
    for length in lengths:
        rows.append([(draw.randrange(n_wires), draw.choice((0, 0, 1, 2, 4, 6)))
                     for _ in range(length)])  # fmt: skip
    entries = [entry for row in rows for entry in row]
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    wires, codes = (np.array([e[i] for e in entries], dtype=np.uint32) for i in (0, 1))
    raw = arrays.from_ints([v * R * R % p for v in table], field.limbs)
    coefficients = [1, -1, *table]
    values = [[(wire, coefficients[code]) for wire, code in row] for row in rows]
    return Matrices(field, len(lengths) // 2, start, wires, codes, raw), values


def sums(rows, witness, p):
    return [sum(c * witness[wire] for wire, c in row) % p for row in rows]


@pytest.mark.parametrize("longest", [1, 4, 32])
@pytest.mark.parametrize("field", [BN254_FR, BLS12_381_FR], ids=lambda f: f.name)
def test_against_integers(device, arena, scope, stream, field, longest) -> None:
    draw, n_wires, p = random.Random(longest), 50, field.modulus
    lengths = [*LENGTHS, *(draw.choice((0, 1, 2, 3, 5)) for _ in range(52))]
    draw.shuffle(lengths)
    m, rows = matrices(field, lengths, n_wires, "rows")
    witness = [1, 0, p - 1, *(draw.randrange(p) for _ in range(n_wires - 3))]
    F = device_field(field)
    threads = 8 if simulated() else 128
    loaded = load_matrices(scope, F, m, longest)
    values_there = arena.upload(arrays.from_ints(witness, field.limbs), stream)
    abc = evaluate(arena, stream, loaded, values_there, threads)
    found = np.empty((3, m.n, field.limbs), dtype=np.uint64)
    stream.download(abc, found)
    values = [field.from_montgomery(v) for v in arrays.to_ints(found)]
    a, b, c = (values[i : i + m.n] for i in range(0, 3 * m.n, m.n))
    assert a + b == sums(rows, witness, p)
    assert c == [x * y % p for x, y in zip(a, b, strict=True)]
    arena.free(abc, stream)


def test_what_would_be_summed_wrongly(device, arena, scope, stream) -> None:
    """Blocks of no power of two, and a witness of another circuit, are refused before a launch."""
    m, _ = matrices(BN254_FR, [3, 2, 0, 40], 60, "refused")
    loaded = load_matrices(scope, device_field(BN254_FR), m)
    wires = int(m.wires.max()) + 1
    witness = scope.upload(np.zeros((wires, 4), dtype=np.uint64))
    for threads, there in ((24, witness), (8, witness.part(0, 8 * (wires - 1)))):
        with pytest.raises(ValueError, match=rf"and rows read {wires} wires"):
            evaluate(arena, stream, loaded, there, threads)


@pytest.mark.parametrize("name", ["bn_poseidon1", "bls_mul2", "bn_linear_O0"])
def test_keys_of_circom(device, arena, scope, stream, vectors, name) -> None:
    """The rows of real keys: as on the CPU, bit for bit modulo p."""
    key = read_zkey(vectors / name / "circuit.zkey")
    witness = read_witness(vectors / name / "witness.wtns").values
    fr = key.curve.fr
    m = group_by_row(fr, key.domain_size, key.n_wires, key.coefficients)
    loaded = load_matrices(scope, device_field(fr), m)
    abc = scope.adopt(evaluate(arena, stream, loaded, scope.upload(witness), 32))
    found = np.empty((3, m.n, fr.limbs), dtype=np.uint64)
    stream.download(abc, found)
    with Pool(1) as pool:
        on_cpu = evaluate_on_cpu(pool, m, witness)
    pairs = zip(arrays.to_ints(found), arrays.to_ints(on_cpu), strict=True)
    assert all((a - b) % fr.modulus == 0 for a, b in pairs)


@pytest.mark.parametrize("window", [32, 64, 4096])
@pytest.mark.parametrize("longest", [1, 4, 32])
def test_slices_hold_every_entry_once(longest, window) -> None:
    draw = random.Random(window)
    lengths = [draw.choice((0, 1, 2, 3, 9, 40, 100)) for _ in range(150)]
    m, _ = matrices(BN254_FR, lengths, 1000, "slices")
    s = sliced(m, longest, window)
    assert len(s.targets) == WARP * (len(s.start) - 1)
    assert len(s.wires) - WARP == len(s.codes) == WARP * int(s.start[-1])
    pieces: dict[int, list[tuple[int, int]]] = {}
    for piece, target in enumerate(map(int, s.targets)):
        slice_, lane = divmod(piece, WARP)
        first, last = int(s.start[slice_]), int(s.start[slice_ + 1])
        places = [WARP * step + lane for step in range(first, last)]
        entries = [(int(s.wires[i]), int(s.codes[i])) for i in places if s.codes[i] != END]
        # Padding comes last, and the first piece of a slice has none.
        assert all(s.codes[i] == END for i in places[len(entries) :])
        assert lane > 0 or len(entries) == len(places) or target == NOWHERE
        if target == NOWHERE:
            assert not entries
        else:
            assert target not in pieces
            pieces[target] = entries
    long_rows = {int(r): (int(first), int(n)) for r, first, n in s.long_rows}
    assert sum(n for _, n in long_rows.values()) == s.partials
    for row, length in enumerate(lengths):
        expected = [
            (int(m.wires[i]), int(m.codes[i])) for i in range(m.start[row], m.start[row + 1])
        ]
        if length <= longest:
            found = pieces.pop(row)
        else:
            first, n = long_rows[row]
            found = [e for k in range(first, first + n) for e in pieces.pop(PARTIAL + k)]
        assert found == expected
    assert not pieces


@pytest.mark.parametrize(("longest", "window"), [(0, 32), (32, 0), (32, 48)])
def test_windows_that_are_no_whole_slices(longest, window) -> None:
    m, _ = matrices(BN254_FR, [3] * 100, 1000, "windows")
    with pytest.raises(ValueError, match=f"pieces of {longest} entries, {window} sorted"):
        sliced(m, longest, window)


def test_padding_is_little() -> None:
    """Rows as circuits have them: pieces sorted in windows leave a hundredth of padding."""
    draw = random.Random("padding")
    lengths = [draw.choice((1, 1, 2, 2, 3, 5, 17)) for _ in range(20_000)]
    m, _ = matrices(BN254_FR, lengths, 1000, "padding")
    assert len(sliced(m).codes) < 1.02 * sum(lengths)
