"""Files: keys, witnesses, proofs and verifying keys, as circom, snarkjs and rapidsnark have them.

    opening           inputs: regular files only, mapped or read within a bound
    sections          the container of zkey, wtns, r1cs, ptau: read · section_writer: written
    checked_arrays    arrays out of sections, canonical and in range
    zkey              proving keys (zkey_header: their first two sections)
    checked_record    that a key has been checked, beside it
    wtns              witnesses · ptau: powers of tau (ptau_header)
    r1cs              circuits (r1cs_header; the rows need kernels)
    strict_json       JSON with places in errors · json_points: points and curve names in it
    proof_json, vkey_json, public_json · calldata: a proof for a Solidity contract
    output            all outputs or none, never over an input
    identify          which kind a file is · describe: what is in it

Everything that enters is checked here: lengths before allocation, every number canonical. Points
being on the curve is checked where there is arithmetic for it (`groth16/verify`). Only `r1cs`
imports numba, and `describe` does without it, so that `snarkcuda info` starts fast.
"""
