"""Loops of one block that compute in an iteration what the next one computes again of the same values.

Python tests the condition of a ``while`` at the loop's end, so what condition and body have in common, such as the
squares of ``x*x + y*y <= 4``, is computed at the end of an iteration and at the start of the next one. LLVM does not
look for values across iterations. Here such a value is carried into the next one; the first one has it from before
the loop.
"""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import Block, Builder, Function, Instruction, IRType, IRValue
from kapi_lowering.emission.pipeline import function_pass

__all__ = ["carry_values_across_iterations"]

_MOST = 8
"""Values that a loop carries: each takes a register."""

_COMMUTATIVE = frozenset(("fmul", "fadd", "mul", "add", "and", "or", "xor"))
_CARRIED = _COMMUTATIVE | {"fsub", "sub"}

_Operation = tuple[str, IRType, IRValue, IRValue]


@function_pass
def carry_values_across_iterations(function: Function) -> None:
    """Carry a value into the next iteration that would compute it again (predictive commoning)."""
    seen: set[Block] = set()
    for block in function.blocks:
        others = [each for each in block.predecessors if each is not block]
        is_loop = block in block.successors and len(block.successors) == 2
        if not is_loop or len(others) != 1 or not block.phis:
            continue
        (outside,) = others
        if any({*map(id, (from_ for _, from_ in phi.incoming))} != {id(block), id(outside)} for phi in block.phis):
            continue
        if outside.terminator.opcode == "br" and not seen & {block, outside} and _carry(block, outside):
            seen |= {block, outside}


def _carry(loop: Block, outside: Block) -> bool:
    """Carry the values of one loop; whether there are any."""
    phis = loop.phis
    first: dict[IRValue, IRValue] = {phi: phi.incoming_from(outside) for phi in phis}
    following: dict[IRValue, IRValue] = {phi: phi.incoming_from(loop) for phi in phis}
    operations = [each for each in loop.instructions if each.opcode in _CARRIED and not each.flags]
    made: dict[_Operation, Instruction] = {}
    for each in operations:
        made.setdefault(_key(each.opcode, each.type, *each.operands), each)
    carried: list[tuple[Instruction, Instruction]] = []
    for each in operations:
        is_of_variables = any(operand in first for operand in each.operands)
        if not is_of_variables or any(_is_computed(operand, loop) for operand in each.operands):
            continue
        operands = [following.get(operand, operand) for operand in each.operands]
        again = made.get(_key(each.opcode, each.type, *operands))
        if again is not None and again is not each and len(carried) < _MOST:
            carried.append((each, again))
    for each, again in carried:
        text = f"{each.opcode} {each.type} ?, ?"
        initial = [first.get(operand, operand) for operand in each.operands]
        builder = Builder.before(outside.terminator)
        start = builder.emit(text, *initial, name=each.quoted("first"))
        each.rewrite(f"phi {each.type} [ ?, ? ], [ ?, ? ]", start, outside, again, loop)
        each.insert_before(phis[0])
    return bool(carried)


def _is_computed(value: IRValue, loop: Block) -> bool:
    return isinstance(value, Instruction) and value.block is loop and value.opcode != "phi"


def _key(opcode: str, type_: IRType, left: IRValue, right: IRValue) -> _Operation:
    if opcode in _COMMUTATIVE and id(right) < id(left):
        left, right = right, left
    return opcode, type_, left, right
