"""Random numbers: calls of the functions in the kernel language that compute them."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry, types
from kapi_sim.language.table.intrinsics import Intrinsic, rows
from kapi_types.kernel_typing.calls.device_functions import DeviceFunctionType
from kapi_types.kernel_typing.calls.random_numbers import computed_by

__all__ = ["LOWERED", "registry"]

registry = LoweringRegistry("kapi random numbers")

LOWERED = {row.key for row in rows(family="random")}


def _register(row: Intrinsic) -> None:
    @registry.lower(row.key, types.VarArg(types.Any))
    def draw(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        function, given = computed_by(row, sig)
        # The type of the result comes last, and is no value.
        called = context.get_function(DeviceFunctionType(function), sig.return_type(*given))
        return called(builder, args[: len(given)])


for _row in rows(family="random"):
    _register(_row)
