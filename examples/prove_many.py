"""One key, many proofs: the key is loaded once, and threads share it.

Run from anywhere: `python examples/prove_many.py`.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from snarkcuda import Prover, read_verifying_key, read_witness, verify

HERE = Path(__file__).parent


def main() -> None:
    witness = read_witness(HERE / "poseidon.wtns")
    verifying_key = read_verifying_key(HERE / "poseidon_vk.json")
    with Prover(HERE / "poseidon.zkey") as prover, ThreadPoolExecutor(4) as threads:
        results = list(threads.map(lambda _: prover.prove(witness), range(8)))
    valid = [verify(verifying_key, result.public, result.proof) for result in results]
    print(f"{sum(valid)} of {len(valid)} proofs verify; public signals {results[0].public}")


if __name__ == "__main__":
    main()
