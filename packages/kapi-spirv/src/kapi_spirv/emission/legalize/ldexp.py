"""`llvm.ldexp`, which LLVM's passes make of powers of two and its back end cannot lower."""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import Function, declare
from kapi_lowering.emission.pipeline import function_pass

__all__ = ["lower_ldexp"]

_MANGLED = {"half": "Dh", "float": "f", "double": "d"}


@function_pass
def lower_ldexp(function: Function) -> None:
    """Call OpenCL's `ldexp` in place of `llvm.ldexp`.

    The back end ends the process on the intrinsic. Remove this when `test_backend_limits` says that it is mended.
    """
    for each in function.instructions():
        if each.callee.startswith("llvm.ldexp.f"):
            head = f"spir_func {each.type} @_Z5ldexp{_MANGLED[each.type.text]}i"
            declare(function, f"{head}({each.type}, i32) nounwind memory(none)")
            words = [word for word in each.flags if word != "tail"]
            start = "tail call" if "tail" in each.flags else "call"
            each.rewrite(f"{' '.join((start, *words))} {head}({each.type} ?, i32 ?)", *each.arguments)
