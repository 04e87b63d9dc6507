"""The command line: arguments in snarkjs's order, words on stderr, results in files."""

import time

BEGAN = time.perf_counter()  # this module is the first of ours that a command loads
