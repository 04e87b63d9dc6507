"""The CUDA backend: kernels in numba.cuda, on a GPU or in numba's simulator."""
