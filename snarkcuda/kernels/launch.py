"""stub"""

from dataclasses import dataclass
from typing import Any
from snarkcuda.kernels.target import cuda, simulated


@dataclass
class DeviceKernel:
    label: str
    function: Any
    signature: tuple
    max_threads: int
    min_blocks: int = 1

    def launch(self, stream, blocks, threads, *args, shared=0):
        cuda.jit(self.function)[blocks, threads, 0, shared](*args)


def device_kernel(label, signature, max_threads, min_blocks=1):
    return lambda f: DeviceKernel(label, f, signature, max_threads, min_blocks)
