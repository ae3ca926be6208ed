"""Legalization of bools, which are integers of one bit to LLVM and none to SPIR-V."""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import I1, Function, VectorType, constant
from kapi_lowering.emission.pipeline import function_pass

__all__ = ["lower_bool_to_float"]


@function_pass
def lower_bool_to_float(function: Function) -> None:
    """Make floats of bools by a choice between two floats.

    A true `i1` is -1 as a signed number. Of `sitofp i1` the back end makes a choice between 1 and 0, and converts
    that. LLVM's passes write it for `-1 if c else 0` and all that comes to it. `uitofp i1` is right, and goes the same
    way. Remove this when `test_backend_limits` says that the back end is mended.
    """
    for each in function.instructions():
        if each.opcode in ("sitofp", "uitofp") and each.form.operand_types[0].scalar is I1:
            (condition,) = each.operands
            true = constant(each.type.scalar, -1.0 if each.opcode == "sitofp" else 1.0)
            false = constant(each.type.scalar, 0.0)
            ends = [str(end) for end in (true, false)]
            if isinstance(each.type, VectorType):
                ends = [f"{each.type} <{', '.join([end] * each.type.count)}>" for end in ends]
            each.rewrite(f"select {condition.type} ?, {ends[0]}, {ends[1]}", condition)
