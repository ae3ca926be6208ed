"""Tuples: members by constant and by computed index, length, and loops over members of one type."""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir

from kapi_spirv._numba_compat import LoweringRegistry, getiter_unituple, iternext_unituple, types
from kapi_spirv.lowering.builtins import I64
from kapi_spirv.lowering.conversion import convert

__all__ = ["registry"]

registry = LoweringRegistry("kapi tuples")


@registry.lower("static_getitem", types.BaseTuple, types.Any)
def _constant_index(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    value, index = args
    return builder.extract_value(value, index % len(sig.args[0]))


@registry.lower(operator.getitem, types.UniTuple, types.Integer)
def _computed_index(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    """A chain of selects: tuples are short, and memory for them would be private memory."""
    (tuple_type, index_type), (value, index) = sig.args, args
    index = convert(builder, index, index_type, types.int64)
    chosen = builder.extract_value(value, 0)
    for position in range(1, len(tuple_type)):
        is_here = builder.icmp_signed("==", index, I64(position))
        chosen = builder.select(is_here, builder.extract_value(value, position), chosen)
    return chosen


@registry.lower(len, types.BaseTuple)
def _len(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    return I64(len(sig.args[0]))


registry.lower("getiter", types.UniTuple)(getiter_unituple)
registry.lower("iternext", types.UniTupleIter)(iternext_unituple)
