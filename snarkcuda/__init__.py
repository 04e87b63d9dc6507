"""snarkcuda: a Groth16 prover whose every kernel is Python."""
