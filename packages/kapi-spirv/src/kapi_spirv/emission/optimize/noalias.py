"""Arrays that are only read share no memory with those that are written: told to drivers."""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import Module
from kapi_lowering.emission.passes.packed_arrays import ARRAYS, array_of, arrays_of, is_kernel
from kapi_lowering.emission.pipeline import module_pass

__all__ = ["ALIASING", "set_noalias_metadata"]

ALIASING = "SPV_INTEL_memory_access_aliasing"
"""The extension by which SPIR-V says it."""

_SCOPE = "llvm.experimental.noalias.scope.decl"


@module_pass
def set_noalias_metadata(module: Module, is_enabled: bool) -> None:
    """Tell that an access of an array that is only read aliases none of a written one.

    Each launch has proved it. Intel's OpenCL CPU compiler takes what does not depend on the work-item out of its loop
    over work-items; without this, a store to one array keeps the reads of all others in it. Accesses alone are marked:
    LLVM marks calls as well, barriers among them. What it says is left out, as is all of it unless it `is_enabled`.
    """
    for each in module.instructions():
        if each.callee == _SCOPE:
            each.erase()
        elif each.metadata:
            each.attach("alias.scope", None)
            each.attach("noalias", None)
    module.functions.pop(_SCOPE, None)
    arrays = arrays_of(module)
    module.named_metadata.pop(ARRAYS, None)
    if not is_enabled or {each.is_written for each in arrays.values()} != {False, True}:
        return
    domain = module.add_metadata("distinct !{{}}")
    read, written = (module.add_metadata(f"distinct !{{{{}}, {domain}}}") for _ in range(2))
    reads, writes = (module.add_metadata(f"!{{{scope}}}") for scope in (read, written))
    for function in filter(is_kernel, module.definitions):
        for each in function.instructions():
            is_access = each.opcode in ("load", "store") and "atomic" not in each.flags and each.form.alignment
            found = array_of(each.operands[-1]) if is_access else None
            if found is not None and found[0] in arrays:
                is_written = arrays[found[0]].is_written
                each.attach("alias.scope", writes if is_written else reads)
                each.attach("noalias", reads if is_written else writes)
