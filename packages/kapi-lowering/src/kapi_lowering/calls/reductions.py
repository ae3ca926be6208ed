"""`sum`, `any`, `all`, `min` and `max` of arrays and ranges, and ranges compared: calls of the library's functions."""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry, types
from kapi_lowering.llvm_calls import I64
from kapi_types import ArrayType
from kapi_types.kernel_typing.calls.device_functions import DeviceFunctionType
from kapi_types.kernel_typing.library.sequence_functions import FUNCTIONS, OF_RANGES
from kapi_types.kernel_typing.rules.iteration import RangeType
from kapi_types.weak import weak_int

__all__ = ["registry"]

registry = LoweringRegistry("kapi reductions")


def _call(context: Any, builder: ir.IRBuilder, function: Any, sig: Any, args: Any) -> ir.Value:
    """Call a function of the library, which type inference has had compiled."""
    result: ir.Value = context.get_function(DeviceFunctionType(function), sig)(builder, args)
    return result


def _register(python_function: Any, *arguments: Any) -> None:
    @registry.lower(python_function, *arguments)
    def reduction(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        given, values = sig.args, list(args)
        if python_function is sum and len(given) == 1:
            given, values = (*given, weak_int), [*values, I64(0)]
        functions = OF_RANGES if isinstance(given[0], RangeType) else FUNCTIONS
        return _call(context, builder, functions[python_function], sig.return_type(*given), values)


for _sequence in (ArrayType, RangeType):
    for _function in FUNCTIONS:
        _register(_function, _sequence)
    _register(sum, _sequence, types.Any)
for _function in (operator.eq, operator.ne):
    _register(_function, RangeType, RangeType)
