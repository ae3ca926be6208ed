"""One end of a function where Python's compiler made several: a group algorithm there is one for all work-items.

For ``return reduce_over_group(group, x if chosen else 0, plus)`` the compiler writes the call once behind each value,
if no more than four instructions follow. Work-items that choose another value would then be in another call. And each
copy would have a type of its own. Which statements have copies depends on the version of Python.

A copy has its original's source location, line and column. So it is distinguished from what the author wrote twice.
"""

from __future__ import annotations

import dis
from types import CodeType

__all__ = ["with_shared_exits"]

_EXITS = [dis.opmap[name] for name in ("RETURN_VALUE", "RETURN_CONST") if name in dis.opmap]
_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))
_UNIT = 2  # bytes of an instruction
_BYTE = 8
_FARTHEST = 1 << 2 * _BYTE  # of a jump with one prefix, in units


def with_shared_exits(code: CodeType) -> CodeType:
    """Code with the same effect, its local functions' too, that jumps to the last copy of each end.

    Returns the same object where nothing is written twice.
    """
    constants = tuple(with_shared_exits(each) if isinstance(each, CodeType) else each for each in code.co_consts)
    if any(new is not old for new, old in zip(constants, code.co_consts, strict=True)):
        code = code.replace(co_consts=constants)
    if code.co_exceptiontable or sum(map(code.co_code[::_UNIT].count, _EXITS)) < 2:
        return code
    instructions = list(dis.get_instructions(code))
    exits = [number for number, each in enumerate(instructions) if each.opcode in _EXITS]
    text = bytearray(code.co_code)
    kept: list[int] = []
    for last in reversed(exits):
        length, other = max(((_common(instructions, last, each), each) for each in kept), default=(0, 0))
        if length < 2 or not _jump(text, instructions[last + 1 - length : last + 1], instructions[other + 1 - length]):
            kept.append(last)
    return code if text == code.co_code else code.replace(co_code=bytes(text))


def _common(instructions: list[dis.Instruction], one: int, other: int) -> int:
    """The number of instructions before two exits that are copies of each other and have one entry."""
    length = 0
    while length <= one and one < other - length:
        a, b = instructions[one - length], instructions[other - length]
        is_copy = (a.opcode, a.arg, a.positions) == (b.opcode, b.arg, b.positions)
        if not is_copy or a.positions is None or a.positions.lineno is None or a.opcode in _JUMPS:
            break
        length += 1
        if a.is_jump_target or b.is_jump_target:
            break
    return length


def _jump(text: bytearray, copy: list[dis.Instruction], target: dis.Instruction) -> bool:
    """Write a jump in place of a copy; False if it is too far."""
    start, end = copy[0].offset, copy[-1].offset + _UNIT
    distance = (target.offset - start) // _UNIT - 2  # from behind a prefix and the jump
    if distance >= _FARTHEST:
        return False
    jump = [dis.opmap["EXTENDED_ARG"], distance >> _BYTE, dis.opmap["JUMP_FORWARD"], distance % (1 << _BYTE)]
    nothing = [dis.opmap["NOP"], 0] * ((end - start) // _UNIT - 2)
    text[start:end] = bytes(jump + nothing)
    return True
