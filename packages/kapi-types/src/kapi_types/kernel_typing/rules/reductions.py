"""The types of `sum`, `any`, `all`, `min`, `max` of arrays of rank 1 and ranges; those of tuples are elsewhere."""

from __future__ import annotations

from typing import Any

from kapi_types._numba_compat import templates, types
from kapi_types.arrays import ArrayType
from kapi_types.kernel_typing.library.sequence_functions import FUNCTIONS
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
        returned = self.context.type_device_function(FUNCTIONS[self.function], given)
        return templates.signature(returned, *args)


_function: Any
for _function in FUNCTIONS:
    _members = {"key": _function, "function": staticmethod(_function)}
    registry.register_global(_function)(type(f"_Reduction_{_function.__name__}", (_Reduction,), _members))
