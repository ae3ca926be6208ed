"""Counters of 32 bits where 64 are not needed.

A kernel's integers have 64 bits, as Python's have no limit. What only counts iterations can do without the upper half:
that is half the additions and comparisons of a GPU. A vectorising compiler keeps the counter of a loop that work-items
leave at different iterations in a vector, which then has half the registers.
"""

from __future__ import annotations

from ..llvm_ir import I32, I64, Builder, ControlFlow, Function, Instruction, IRValue, NaturalLoop, defined
from ..pipeline import function_pass

__all__ = ["narrow_counters"]

_LARGEST = 2**31 - 1


@function_pass
def narrow_counters(function: Function) -> None:
    """Count in 32 bits where a loop ends at a number that 31 bits hold and no address uses the counter."""
    if not any(phi.type is I64 for block in function.blocks for phi in block.phis):
        return
    flow = ControlFlow(function)
    for loop in flow.loops:
        if loop.header is not None:
            for phi in loop.header.phis:
                if phi.type is I64:
                    _narrow(loop, phi)


def _narrow(loop: NaturalLoop, phi: Instruction) -> None:
    """Narrow one variable of a loop, if it is a counter that can be."""
    starts = [value.integer for value, _ in phi.incoming if value.integer is not None]
    following = [each for value, _ in phi.incoming if (each := defined(value, "add"))]
    if len(phi.incoming) != 2 or len(starts) != 1 or len(following) != 1 or not -1 <= starts[0] <= _LARGEST:
        return
    (next_,) = following
    step = next_.operands[1].integer
    if next_.operands[0] is not phi or step is None or not 0 < step <= _LARGEST:
        return
    bound = _bound(loop, phi, next_, starts[0], step)
    users = [each for each in dict.fromkeys((*phi.users, *next_.users)) if each is not phi and each is not next_]
    if bound is None or not all(_is_narrowable(each, phi, next_, bound) for each in users):
        return
    if starts[0] < 0 and any(each.opcode != "icmp" for each in users):
        return  # as an unsigned number it is another one in 32 bits
    for each in users:
        if each.opcode == "trunc":
            _narrow_truncation(each)
            continue
        for position, operand in enumerate(each.operands):
            if operand is bound and bound.integer is None:
                each.set_operand(position, Builder.before(each).emit("trunc i64 ? to i32", bound))
        each.retype(I64, I32)
    phi.retype(I64, I32)
    next_.retype(I64, I32)


def _bound(loop: NaturalLoop, phi: Instruction, next_: Instruction, start: int, step: int) -> IRValue | None:
    """The value at which the loop is left in each iteration or at its end, if 31 bits hold it and it is reached."""
    for block in loop.exiting:
        branch = block.terminator
        test = defined(branch.operands[0], "icmp")
        if block not in (loop.header, *loop.latches) or branch.opcode != "br" or test is None:
            continue
        tested, bound = test.operands
        leaves = branch.operands[1 if test.predicate == "eq" else 2]
        if test.predicate not in ("eq", "ne") or leaves in loop.blocks or tested not in (phi, next_):
            continue
        number = bound.integer
        if number is not None:
            # After the step the number is one more than the start at least.
            is_reached = start + (step if tested is next_ else 0) <= number <= _LARGEST and (number - start) % step == 0
        else:
            is_reached = tested is next_ and start == 0 and _is_multiple(bound, step)
            is_reached = is_reached or (tested is phi and step == 1 and _is_not_below(bound, start))
        if is_reached:
            return bound
    return None


def _is_multiple(value: IRValue, step: int) -> bool:
    """Whether a number has 31 bits, and counting from 0 by `step` does not step over it."""
    if widened := defined(value, "zext"):
        return step == 1 and "nneg" in widened.flags and widened.operands[0].type is I32
    masked = defined(value, "and")
    mask = masked.operands[1].integer if masked else None
    # The lower bits of a multiple are masked, all of them.
    return mask is not None and 0 <= mask <= _LARGEST and step & (step - 1) == 0 and mask & (step - 1) == 0


def _is_not_below(value: IRValue, start: int) -> bool:
    """Whether a number is a start of 0 or less, and a number of 31 bits more."""
    if start < 0:
        sum_ = defined(value, "add")
        if sum_ is None or sum_.operands[1].integer != start:
            return False
        value = sum_.operands[0]
    return start <= 0 and _is_multiple(value, 1)


def _is_narrowable(user: Instruction, phi: Instruction, next_: Instruction, bound: IRValue) -> bool:
    """Whether an instruction that uses a counter can use one of 32 bits."""
    if user.opcode == "icmp":
        others = [each for each in user.operands if each not in (phi, next_)]
        return all(each is bound or (each.integer is not None and 0 <= each.integer <= _LARGEST) for each in others)
    if user.opcode == "trunc":
        return user.type.text in ("i8", "i16", "i32")
    return user.opcode in ("sitofp", "uitofp")


def _narrow_truncation(user: Instruction) -> None:
    if user.type is I32:
        user.replace_all_uses_with(user.operands[0])
        user.erase()
    else:
        user.drop_flags()
        user.retype(I64, I32)
