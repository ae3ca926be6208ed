"""Calls of functions written in the kernel language: random numbers, reductions of sequences, and ranges compared."""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry, types
from kapi_lowering.llvm_calls import I64
from kapi_sim.language.table.intrinsics import Intrinsic, rows
from kapi_types import ArrayType
from kapi_types.kernel_typing.calls.device_functions import DeviceFunctionType
from kapi_types.kernel_typing.calls.random_numbers import computed_by
from kapi_types.kernel_typing.library.sequence_functions import FUNCTIONS, OF_RANGES
from kapi_types.kernel_typing.rules.iteration import RangeType
from kapi_types.weak import weak_int

__all__ = ["LOWERED", "registry"]

registry = LoweringRegistry("kapi library calls")

LOWERED = {row.key for row in rows(family="random")}


def _call(context: Any, builder: ir.IRBuilder, function: Any, sig: Any, args: Any) -> ir.Value:
    """Call a function of the library, which type inference has had compiled."""
    result: ir.Value = context.get_function(DeviceFunctionType(function), sig)(builder, args)
    return result


def _register_reduction(python_function: Any, *arguments: Any) -> None:
    @registry.lower(python_function, *arguments)
    def reduction(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        given, values = sig.args, list(args)
        if python_function is sum and len(given) == 1:
            given, values = (*given, weak_int), [*values, I64(0)]
        functions = OF_RANGES if isinstance(given[0], RangeType) else FUNCTIONS
        return _call(context, builder, functions[python_function], sig.return_type(*given), values)


for _sequence in (ArrayType, RangeType):
    for _function in FUNCTIONS:
        _register_reduction(_function, _sequence)
    _register_reduction(sum, _sequence, types.Any)
for _function in (operator.eq, operator.ne):
    _register_reduction(_function, RangeType, RangeType)


def _register_row(row: Intrinsic) -> None:
    @registry.lower(row.key, types.VarArg(types.Any))
    def draw(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        function, given = computed_by(row, sig)
        # The type of the result comes last, and is no value.
        return _call(context, builder, function, sig.return_type(*given), args[: len(given)])


for _row in rows(family="random"):
    _register_row(_row)
