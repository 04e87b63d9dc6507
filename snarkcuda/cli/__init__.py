"""The command line: arguments in snarkjs's order, words on stderr, results in files."""
