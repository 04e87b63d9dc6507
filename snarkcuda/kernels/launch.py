"""`DeviceKernel`: a kernel's Python source with what compiling and launching it takes.

    @device_kernel("ntt_pass[bn254_fr,ptx]", ("words", "i32"), max_threads=128)
    def ntt_pass(x, n): ...

    ntt_pass.launch(stream, blocks, threads, x, n, shared=bytes)

Kernels are made by factories that close over a `DeviceField`. Nothing is compiled until a kernel is
first launched on a device, or `compiling.compiled` asks for it. A launch returns at once; what goes
wrong on the device is raised where the stream is waited for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from snarkcuda.kernels.device import Stream

KINDS = ("words", "i32", "i64", "u32")


@dataclass(frozen=True, eq=False)
class DeviceKernel:
    """A kernel.

    Attributes:
        label: its name in reports and in the cache, unique in the project.
        function: the source; `uint32` arrays and integers in, nothing out.
        signature: the kind of each argument: "words", a one-dimensional uint32 array in global
            memory, or an integer's type.
        max_threads: of a block, at most; launches may use fewer, down to one.
        min_blocks: how many blocks of that size a multiprocessor should have room for, which limits
            registers.
        may_spill: whether registers may go to local memory for that, which tests refuse otherwise.
    """

    label: str
    function: Callable[..., None]
    signature: tuple[str, ...]
    max_threads: int
    min_blocks: int = 1
    may_spill: bool = False

    def launch(
        self, stream: Stream, blocks: int, threads: int, *arguments: Any, shared: int = 0
    ) -> None:
        """Run on a stream.

        Args:
            stream: where; it belongs to a device.
            blocks, threads: the grid and the block, one-dimensional.
            arguments: `DeviceArray`s and integers, as the signature says.
            shared: bytes of dynamic shared memory.

        Raises:
            DeviceError: the kernel cannot be compiled, or the device refuses the launch.
        """
        if len(arguments) != len(self.signature) or threads > self.max_threads:
            raise ValueError(
                f"{self.label} takes {len(self.signature)} arguments and up to "
                f"{self.max_threads} threads, not {len(arguments)} and {threads}"
            )
        if blocks:  # a grid of none is an error to CUDA
            stream.launch(self, blocks, threads, arguments, shared)


def device_kernel(
    label: str,
    signature: tuple[str, ...],
    max_threads: int,
    min_blocks: int = 1,
    may_spill: bool = False,
) -> Callable[[Callable[..., None]], DeviceKernel]:
    """Make a `DeviceKernel` of the function below."""

    def make(function: Callable[..., None]) -> DeviceKernel:
        return DeviceKernel(label, function, signature, max_threads, min_blocks, may_spill)

    return make
