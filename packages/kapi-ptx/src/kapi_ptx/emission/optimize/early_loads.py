"""Loads before what takes long: divisions, roots, and functions of libdevice.

The assembler writes a branch for each of them, and moves no load across it. A load that comes after one in its block is
waited for by itself; before it, it is in flight with the others.
"""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import Block, Function, Instruction, is_pure
from kapi_lowering.emission.pipeline import function_pass

__all__ = ["schedule_loads_early"]

_MOST = 8
"""Loads of a block that are moved: each holds a register for longer."""

_ADDRESS = frozenset("getelementptr zext sext trunc add sub mul shl or and".split())
_QUICK = ("llvm.fma.", "llvm.fabs.", "llvm.minnum.", "llvm.maxnum.")


@function_pass
def schedule_loads_early(function: Function) -> None:
    """Put loads of global memory in front of what takes long."""
    for block in function.blocks:
        if any(map(_is_slow, block.instructions)):
            moved = 0
            for each in [*block.instructions]:
                if moved < _MOST and _is_load(each):
                    moved += _move(block, each)


def _move(block: Block, load: Instruction) -> bool:
    """Move a load, with what computes its address; false if it stays."""
    code = block.instructions
    at = code.index(load)
    positions = {each: position for position, each in enumerate(code[:at])}
    needed = {at}
    waiting = [*load.operands]
    while waiting:
        each = waiting.pop()
        position = positions.get(each) if isinstance(each, Instruction) else None
        if position is not None and position not in needed and _is_address(code[position]):
            needed.add(position)
            waiting += code[position].operands
    # What it needs besides that stays in front of it.
    first = 0
    for position in needed:
        for operand in code[position].operands:
            used = positions.get(operand) if isinstance(operand, Instruction) else None
            if used is not None and used not in needed:
                first = max(first, used + 1)
    is_constant = load.attachment("invariant.load") is not None
    for position in range(first, at):
        if not _may_pass(code[position], is_constant):
            first = position + 1
    slow = next((position for position in range(first, at) if _is_slow(code[position])), None)
    if slow is None:
        return False
    chosen = [code[position] for position in sorted(needed) if position > slow]
    rest = [each for each in code[slow:] if each not in chosen]
    block.instructions[slow:] = [*chosen, *rest]
    return True


def _is_load(each: Instruction) -> bool:
    return each.opcode == "load" and each.form.is_plain and str(each.operands[0].type) == "ptr addrspace(1)"


def _is_wide_product(each: Instruction) -> bool:
    return each.opcode == "call" and each.operands[0].ref.startswith('asm "mul.wide')


def _is_address(each: Instruction) -> bool:
    return each.opcode in _ADDRESS or _is_wide_product(each)


def _is_slow(each: Instruction) -> bool:
    return each.opcode in ("fdiv", "frem") or each.callee.startswith(("llvm.sqrt.", "__nv_"))


def _may_pass(each: Instruction, is_constant: bool) -> bool:
    """Whether a load may come before an instruction that is in front of it."""
    if each.opcode == "load":
        return each.form.is_plain
    if (is_pure(each) and each.opcode != "phi") or _is_slow(each) or _is_wide_product(each):
        return True
    is_quiet = each.callee.startswith((*_QUICK, "llvm.experimental.noalias"))
    return is_quiet or (is_constant and each.opcode == "store")
