"""The protocol: keys, prover and verifier of Groth16 (Groth 2016, eprint 2016/260)."""
