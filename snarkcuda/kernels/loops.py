"""A word for loops in kernels."""

from __future__ import annotations

from typing import Any

from snarkcuda.kernels.target import simulated

if simulated():

    def no_unroll() -> None:
        """Keep the loop that it stands in, as below, where that matters."""

else:
    from llvmlite import ir
    from numba.cuda import types
    from numba.cuda.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator]
    def no_unroll(typing: Any) -> Any:
        """Keep the loop that it stands in: LLVM takes a block of PTX for one cheap instruction.

        An empty block of assembly that must not be duplicated. Only in kernels: LLVM does not
        inline a function that holds one.
        """

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            nothing = ir.FunctionType(ir.VoidType(), [])
            call = builder.call(ir.InlineAsm(nothing, "", "", side_effect=True), [])
            set.add(call.attributes, "noduplicate")  # llvmlite's list of attributes lacks it
            return context.get_dummy_value()

        return types.void(), codegen
