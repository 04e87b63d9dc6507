"""Keys made here and by snarkjs: the same bytes from powers of tau, good proofs from research keys.

Needs node and snarkjs (`SNARKJS` names the executable, or it is on PATH): pytest -m interop.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from snarkcuda import setup
from snarkcuda.cpu.pool import Pool
from snarkcuda.curve.params import BLS12_381, BN254, CURVES, Curve
from snarkcuda.formats.proof_json import read_proof, write_proof
from snarkcuda.formats.ptau import read_ptau
from snarkcuda.formats.public_json import public_to_json, read_public, write_public
from snarkcuda.formats.r1cs import read_r1cs
from snarkcuda.formats.vkey_json import read_verifying_key
from snarkcuda.formats.zkey import write_zkey, zkey_chunks
from snarkcuda.groth16.ceremony_key import ceremony_key
from snarkcuda.groth16.prover import Prover
from snarkcuda.groth16.snarkjs_overrun import snarkjs_difference
from snarkcuda.groth16.timeline import Timeline
from snarkcuda.groth16.verify import verify
from tests.interop.test_snarkjs import NODE, SNARKJS, VECTORS, package

CASES = sorted(path.parent.name for path in VECTORS.glob("*/circuit.r1cs"))
POWERS = {BN254: 10, BLS12_381: 8}  # the largest domain among the cases of each curve

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(not SNARKJS, reason="no snarkjs: set SNARKJS, or put it on PATH"),
    pytest.mark.skipif(not NODE, reason="no node on PATH"),
    pytest.mark.filterwarnings("ignore::snarkcuda.ForgeableKeyWarning"),
]

# argv: package, folder, JSON of {curves: [[name, power]], circuits: [[curve, r1cs, zkey]]}
CEREMONY = """
const snarkjs = require(process.argv[1]);
const curves = require(require.resolve("ffjavascript", {paths: [process.argv[1]]}));
const folder = process.argv[2], wanted = JSON.parse(process.argv[3]);
(async () => {
    for (const [name, power] of wanted.curves) {
        const curve = await curves.getCurveFromName(name);
        const at = (part) => `${folder}/${name}_${part}.ptau`;
        await snarkjs.powersOfTau.newAccumulator(curve, power, at("new"));
        await snarkjs.powersOfTau.contribute(at("new"), at("contributed"), "test", "entropy");
        await snarkjs.powersOfTau.preparePhase2(at("contributed"), at("prepared"));
    }
    for (const [name, r1cs, zkey] of wanted.circuits)
        await snarkjs.zKey.newZKey(r1cs, `${folder}/${name}_prepared.ptau`, zkey);
    process.exit(0);
})();
"""


def curve_of(case: str) -> Curve:
    return BN254 if case.startswith("bn_") else BLS12_381


def node(script: str, *arguments: str) -> str:
    done = subprocess.run(
        [str(NODE), "-e", script, str(package()), *arguments],
        capture_output=True,
        text=True,
        timeout=170,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def ceremony(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with snarkjs's powers of tau for each curve, and its key for each case."""
    folder = tmp_path_factory.mktemp("ceremony")
    wanted = {
        "curves": [[curve.file_name, power] for curve, power in POWERS.items()],
        "circuits": [
            [
                curve_of(case).file_name,
                str(VECTORS / case / "circuit.r1cs"),
                str(folder / f"{case}.zkey"),
            ]
            for case in CASES
        ],
    }
    node(CEREMONY, str(folder), json.dumps(wanted))
    return folder


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(2) as pool:
        yield pool


def test_every_case_has_a_circuit() -> None:
    assert len(CASES) == 33


@pytest.mark.parametrize("case", CASES)
def test_keys_from_powers_of_tau_are_snarkjs_s_bytes(case: str, ceremony: Path, pool: Pool) -> None:
    powers = read_ptau(ceremony / f"{curve_of(case).file_name}_prepared.ptau")
    key = ceremony_key(read_r1cs(VECTORS / case / "circuit.r1cs"), powers, pool, Timeline())
    ours = b"".join(map(bytes, zkey_chunks(key)))
    assert ours == (ceremony / f"{case}.zkey").read_bytes()


@pytest.mark.parametrize("case", ["bn_poseidon2", "bls_mux3", "bn_no_public"])
def test_research_keys_prove_and_verify_in_snarkjs(case: str, tmp_path: Path) -> None:
    key = setup(VECTORS / case / "circuit.r1cs", research=True)
    zkey, witness = tmp_path / "research.zkey", VECTORS / case / "witness.wtns"
    write_zkey(zkey, key)

    def snarkjs(*arguments: object) -> None:
        command = [str(SNARKJS), *map(str, arguments)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr

    snarkjs("zkey", "export", "verificationkey", zkey, "vk.json")
    snarkjs("groth16", "prove", zkey, witness, "theirs.json", "public.json")
    vk = read_verifying_key(tmp_path / "vk.json")
    public = read_public(tmp_path / "public.json", vk.curve)
    assert verify(vk, public, read_proof(tmp_path / "theirs.json"))
    with Prover(zkey) as prover:
        proved = prover.prove(witness)
    assert public_to_json(proved.public) == public_to_json(public)
    write_proof(tmp_path / "ours.json", proved.proof)
    write_public(tmp_path / "ours_public.json", proved.public)
    snarkjs("groth16", "verify", "vk.json", "ours_public.json", "ours.json")


# argv: package, curve, JSON of [[x1, y1, x2, y2]] as hex of little-endian words
DIFFERENCES = """
const curves = require(require.resolve("ffjavascript", {paths: [process.argv[1]]}));
(async () => {
    const {G1} = await curves.getCurveFromName(process.argv[2], {singleThread: true});
    const bytes = (hex) => Uint8Array.from(Buffer.from(hex, "hex"));
    const differences = JSON.parse(process.argv[3]).map(([left, right]) =>
        Buffer.from(G1.toAffine(G1.sub(bytes(left), bytes(right)))).toString("hex"));
    console.log(JSON.stringify(differences));
    process.exit(0);
})();
"""


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_differences_of_words_that_are_no_points(curve: Curve) -> None:
    """What snarkjs hashes when it reads past the powers of tau, see `snarkjs_overrun`."""
    rng, size, fq = random.Random(curve.name), 8 * curve.fq.limbs, curve.fq
    pairs = []
    for _ in range(60):
        top = rng.choice([fq.modulus, fq.montgomery])
        right = tuple(rng.randrange(fq.modulus) for _ in range(2))
        pairs.append(((rng.randrange(top), rng.randrange(top)), right))
    given = [
        ["".join(word.to_bytes(size, "little").hex() for word in pair) for pair in both]
        for both in pairs
    ]
    answers = json.loads(node(DIFFERENCES, curve.file_name, json.dumps(given)))
    for (left, right), answer in zip(pairs, answers, strict=True):
        words = snarkjs_difference(fq, left, right)
        assert b"".join(word.to_bytes(size, "little") for word in words).hex() == answer
