"""The types of `sum`, `any`, `all`, `min`, `max` of arrays of rank 1 and ranges, and of ranges compared."""

from __future__ import annotations

import operator
from typing import Any

from kapi_types._numba_compat import templates, types
from kapi_types.arrays import ArrayType
from kapi_types.kernel_typing.library.sequence_functions import FUNCTIONS, OF_RANGES
from kapi_types.kernel_typing.rules.iteration import RangeType
from kapi_types.kernel_typing.rules.rule_registry import RuleRegistry
from kapi_types.weak import weak_int

__all__ = ["registry"]

registry = RuleRegistry()


@registry.shared_rule(*FUNCTIONS)
def _reduction(function: Any, context: Any, *args: types.Type) -> Any:
    """Typed by the function of the library, which is compiled for the sequence."""
    is_sum = function is sum
    if not 1 <= len(args) <= 1 + is_sum:
        return None
    if not (isinstance(args[0], RangeType) or (isinstance(args[0], ArrayType) and args[0].ndim == 1)):
        return None
    given = (*args, weak_int) if is_sum and len(args) == 1 else args
    functions = OF_RANGES if isinstance(args[0], RangeType) else FUNCTIONS
    return templates.signature(context.type_device_function(functions[function], given), *args)


@registry.shared_rule(operator.eq, operator.ne)
def _equal_ranges(function: Any, context: Any, left: types.Type, right: types.Type) -> Any:
    if not (isinstance(left, RangeType) and isinstance(right, RangeType)):
        return None
    return templates.signature(context.type_device_function(OF_RANGES[function], (left, right)), left, right)
