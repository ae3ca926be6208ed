"""Remainders of floats by OpenCL's `fmod`: Intel's OpenCL CPU compiler calls a function for each `OpFRem`."""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import Function, declare
from kapi_lowering.emission.pipeline import function_pass

__all__ = ["lower_frem"]

_CODES = {"half": "Dh", "float": "f", "double": "d"}


@function_pass
def lower_frem(function: Function) -> None:
    """Call OpenCL's `fmod`, which is as exact, in place of `frem`."""
    for each in function.instructions():
        if each.opcode == "frem" and each.type.text in _CODES:
            type_ = each.type
            head = f"spir_func {type_} @_Z4fmod{_CODES[type_.text] * 2}"
            declare(function, f"{head}({type_}, {type_}) nounwind memory(none)")
            each.rewrite(f"call {head}({type_} ?, {type_} ?)", *each.operands)
