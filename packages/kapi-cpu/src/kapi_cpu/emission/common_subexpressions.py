"""Common subexpressions, such as of iterations that LLVM has unrolled last: each is computed once.

Divisions become branches for several lanes, across which LLVM does not find them again.
"""

from __future__ import annotations

from kapi_cpu.emission.legalize.group_operations import BARRIER
from kapi_lowering.emission.llvm_ir import BINARY, CASTS, Block, ControlFlow, Function, Instruction, IRValue
from kapi_lowering.emission.pipeline import function_pass

__all__ = ["merge_common_subexpressions"]

_PURE = BINARY | CASTS | {"icmp", "fcmp", "select", "getelementptr"}

_Expression = tuple[str, tuple[IRValue, ...]]


@function_pass
def merge_common_subexpressions(function: Function) -> None:
    """Take the result of an equal instruction that dominates, but for values that barriers would have to keep."""
    if any(each.callee.startswith(BARRIER) for each in function.instructions()):
        return
    flow = ControlFlow(function)
    known: dict[_Expression, list[tuple[Block, Instruction]]] = {}
    for block in flow.reverse_postorder:
        for each in [*block.instructions]:
            if each.opcode not in _PURE:
                continue
            found = known.setdefault((each.form.text, tuple(each.operands)), [])
            same = next((other for above, other in found if flow.dominators.dominates(above, block)), None)
            if same is None:
                found.append((block, each))
            else:
                each.replace_all_uses_with(same)
                each.erase()
