"""Minima, maxima and absolute values in loops as instructions: compilers make vectors of loops without calls."""

from __future__ import annotations

import re

from kapi_lowering.emission.llvm_ir import Builder, ControlFlow, Function, Instruction, IRValue
from kapi_lowering.emission.pipeline import function_pass

from ..ir.opaque_zero import integer_of

__all__ = ["expand_simple_functions"]

_FUNCTION = re.compile(r"llvm\.([us]m(?:in|ax)|f?abs)\.[if]\d+")
_IS_FIRST = {"smin": "slt", "smax": "sgt", "umin": "ult", "umax": "ugt"}


@function_pass
def expand_simple_functions(function: Function) -> None:
    """Compare and choose in loops, in place of calls.

    The back end makes calls of OpenCL's functions of LLVM's ``smin``, ``abs``, ``fabs`` and their like. Intel's
    compiler for CPUs has vectors of these for work-items side by side, but makes no vectors of a loop that calls them.
    Of comparisons and of masks it makes one instruction again.
    """
    calls = [each for each in function.instructions() if _FUNCTION.fullmatch(each.callee) and integer_of(each.type)]
    if calls:
        in_loops = set().union(*(loop.blocks for loop in ControlFlow(function).loops))
        for each in calls:
            if each.block in in_loops and each.type.text != "half":
                _expand(each)


def _expand(call: Instruction) -> None:
    name = call.callee.split(".")[1]
    type_, (x, *others) = call.type, call.arguments
    builder = Builder.before(call)
    line = call.attachment("dbg")
    call.metadata = "" if line is None else f", !dbg {line}"

    def emit(text: str, *values: IRValue) -> Instruction:
        return builder.emit(text, *values, metadata=call.metadata)

    if name == "fabs":
        bits = integer_of(type_)
        assert bits is not None
        magnitude = emit(f"and {bits} ?, {2 ** (bits.bits - 1) - 1}", emit(f"bitcast {type_} ? to {bits}", x))
        call.rewrite(f"bitcast {bits} ? to {type_}", magnitude)
    elif name == "abs":
        is_negative = emit(f"icmp slt {type_} ?, 0", x)
        call.rewrite(f"select i1 ?, {type_} ?, {type_} ?", is_negative, emit(f"sub {type_} 0, ?", x), x)
    else:
        is_first = emit(f"icmp {_IS_FIRST[name]} {type_} ?, ?", x, others[0])
        call.rewrite(f"select i1 ?, {type_} ?, {type_} ?", is_first, x, others[0])
