"""Loads from arrays that nothing writes to while the kernel runs: PTX has an instruction of their own for them.

Arrays that a kernel only reads, and that lie apart from those that it writes to, come to the kernel's function as
pointers without an alias. So LLVM knows a scope of them once that function is a part of the entry point, and writes the
scope to each load that reads from nothing else.
"""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import Module
from kapi_lowering.emission.pipeline import module_pass

__all__ = ["mark_invariant_loads"]


@module_pass
def mark_invariant_loads(module: Module) -> None:
    """Tell of each such load that it reads the same at all times."""
    node = None
    for each in module.instructions():
        if each.opcode == "load" and each.form.is_plain and str(each.operands[0].type) == "ptr addrspace(1)":
            if each.attachment("alias.scope"):
                node = node or module.add_metadata("!{}")
                each.attach("invariant.load", node)
