"""Branches to code that is seldom run, in a form that NVIDIA's assembler keeps.

The assembler runs a short body under predicates, without a branch. That takes the body's time whether it is to be run
or not. A running extremum, as in ``if distance < nearest: insert(distance)``, is updated seldom: log n times for n
numbers in any order. A body with a branch of its own is kept, so the last choice in it becomes one.
"""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import (
    Block,
    Builder,
    ControlFlow,
    Function,
    Instruction,
    IRValue,
    defined,
    is_pure,
)
from kapi_lowering.emission.pipeline import function_pass

__all__ = ["keep_rare_branches"]

_LEAST = 8
"""Instructions of a body that cost more under predicates than a branch."""

_ORDERS = frozenset("olt ole ogt oge ult ule ugt uge slt sle sgt sge".split())


@function_pass
def keep_rare_branches(function: Function) -> None:
    """Let the update of a running extremum end with a branch, so that the assembler keeps the one in front of it."""
    headers = {block: loop.header for loop in ControlFlow(function).loops for block in loop.blocks}  # of the innermost
    for body in [*function.blocks]:
        header = headers.get(body)
        head, join = _around(body)
        if header is None or head is None or join is None or not _is_update(header, head, body, join):
            continue
        chosen = _last_choice(body, join)
        if chosen:
            _branch(body, join, chosen)


def _around(body: Block) -> tuple[Block | None, Block | None]:
    """The block that branches to a body or past it, and the one where both go on; None for another shape."""
    predecessors, successors = body.predecessors, body.successors
    if len(predecessors) != 1 or len(successors) != 1 or len(body.instructions) <= _LEAST:
        return None, None
    (head,), (join,) = predecessors, successors
    is_triangle = len(head.successors) == 2 and join in head.successors and join is not body
    return (head, join) if is_triangle and all(map(is_pure, body.instructions[:-1])) else (None, None)


def _is_update(header: Block, head: Block, body: Block, join: Block) -> bool:
    """Whether the branch compares with a value that the loop carries and the body changes."""
    compared = defined(head.terminator.operands[0], "icmp", "fcmp")
    if compared is None or compared.predicate not in _ORDERS:
        return False
    return any(
        phi.incoming_from(head) in compared.operands
        and phi.incoming_from(body) is not phi.incoming_from(head)
        and _is_carried(phi.incoming_from(head), header)
        for phi in join.phis
    )


def _is_carried(value: IRValue, header: Block) -> bool:
    """Whether a value is a phi of a loop's header, or one of several that follow from it."""
    seen: set[IRValue] = set()
    pending = [value]
    while pending:
        phi = defined(pending.pop(), "phi")
        if phi is None or phi in seen:
            continue
        if phi.block is header:
            return True
        seen.add(phi)
        pending += [each for each, _ in phi.incoming]
    return False


def _last_choice(body: Block, join: Block) -> list[Instruction]:
    """The selects at the end of a body that have one condition, and that the phis of the join alone use."""
    chosen: list[Instruction] = []
    for each in reversed(body.instructions[:-1]):
        is_last = each.opcode == "select" and all(user.opcode == "phi" and user.block is join for user in each.users)
        if not is_last or (chosen and each.operands[0] is not chosen[0].operands[0]):
            break
        chosen.append(each)
    return chosen


def _branch(body: Block, join: Block, chosen: list[Instruction]) -> None:
    condition = chosen[0].operands[0]
    other = body.function.add_block(body.quoted("choice"), before=join)
    Builder(other).emit("br label ?", join)
    for phi in join.phis:
        incoming: list[tuple[IRValue, Block]] = []
        for value, block in phi.incoming:
            if block is not body:
                incoming.append((value, block))
            elif value in chosen:
                _, yes, no = defined(value, "select").operands  # type: ignore[union-attr]
                incoming += [(no, body), (yes, other)]
            else:
                incoming += [(value, body), (value, other)]
        gaps = ", ".join(["[ ?, ? ]"] * len(incoming))
        phi.rewrite(f"phi {phi.type} {gaps}", *(each for pair in incoming for each in pair))
    body.terminator.rewrite("br i1 ?, label ?, label ?", condition, other, join)
    for each in chosen:
        each.erase()
