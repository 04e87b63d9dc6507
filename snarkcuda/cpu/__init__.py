"""The CPU backend: njit kernels on a pool of threads."""
