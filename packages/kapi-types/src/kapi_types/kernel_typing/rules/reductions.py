"""The types of `sum`, `any`, `all`, `min`, `max` of arrays of rank 1 and ranges, and of ranges compared."""

from __future__ import annotations

import operator
from typing import Any

from kapi_types._numba_compat import templates, types
from kapi_types.arrays import ArrayType
from kapi_types.kernel_typing.library.sequence_functions import FUNCTIONS, OF_RANGES
from kapi_types.kernel_typing.rules.iteration import RangeType
from kapi_types.weak import weak_int

__all__ = ["registry"]

registry = templates.Registry()


class _Reduction(templates.AbstractTemplate):
    """Typed by the function of the library, which is compiled for the sequence."""

    function: Any

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        is_sum = self.function is sum
        if kws or not 1 <= len(args) <= 1 + is_sum:
            return None
        if not (isinstance(args[0], RangeType) or (isinstance(args[0], ArrayType) and args[0].ndim == 1)):
            return None
        given = (*args, weak_int) if is_sum and len(args) == 1 else args
        functions = OF_RANGES if isinstance(args[0], RangeType) else FUNCTIONS
        returned = self.context.type_device_function(functions[self.function], given)
        return templates.signature(returned, *args)


class _EqualRanges(templates.AbstractTemplate):
    function: Any

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        if kws or not all(isinstance(arg, RangeType) for arg in args):
            return None
        return templates.signature(self.context.type_device_function(OF_RANGES[self.function], args), *args)


_function: Any
for _function in FUNCTIONS:
    _members = {"key": _function, "function": staticmethod(_function)}
    registry.register_global(_function)(type(f"_Reduction_{_function.__name__}", (_Reduction,), _members))
for _function in (operator.eq, operator.ne):
    _members = {"key": _function, "function": staticmethod(_function)}
    registry.register_global(_function)(type(f"_EqualRanges_{_function.__name__}", (_EqualRanges,), _members))
