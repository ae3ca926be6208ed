"""Barriers after operations of groups, which free the memory that values were passed through.

A kernel needs one only where the next operation of a group may come: after the last one there is nothing to wait for.
"""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import I32, ControlFlow, Function, Instruction, Module, constant, declare, postorder
from kapi_lowering.emission.pipeline import module_pass

__all__ = ["insert_scratch_barriers"]

_FREED = "kapi_scratch_is_free"
_SCRATCH = "@kapi_group_scratch"
_BARRIER = "llvm.nvvm.barrier.cta.sync.aligned.all"


@module_pass
def insert_scratch_barriers(module: Module) -> None:
    """Put a barrier, or nothing, in place of each note that an operation of a group is done."""
    if _FREED not in module.functions:
        return
    users = [each for each in module.definitions if any(map(_uses_scratch, each.instructions()))]
    for function in module.definitions:
        _settle(function, may_omit=users == [function] and "ptx_kernel" in function.words)
    del module.functions[_FREED]


def _settle(function: Function, may_omit: bool) -> None:
    flow = ControlFlow(function)
    using = {each.block for each in function.instructions() if _uses_scratch(each)}
    for each in function.instructions():
        if each.callee != _FREED:
            continue
        assert each.block is not None
        rest = each.block.instructions[each.block.instructions.index(each) :]
        following = postorder(flow.successors[each.block], flow.successors)
        if may_omit and not any(map(_uses_scratch, rest)) and using.isdisjoint(following):
            each.erase()
        else:
            declare(function, f"void @{_BARRIER}(i32) convergent nounwind")
            each.rewrite(f"call void @{_BARRIER}(i32 ?)", constant(I32, 0))
            each.metadata = ""  # a note aliases nothing, and a barrier all


def _uses_scratch(each: Instruction) -> bool:
    return any(_SCRATCH in operand.ref for operand in each.operands)
