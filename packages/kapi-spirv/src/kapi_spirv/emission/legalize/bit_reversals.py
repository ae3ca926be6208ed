"""Reversed bits, which LLVM makes of loops over bits, as shifts and masks; and integers of odd widths in whole bytes.

LLVM counts the bits that such a loop moves: of five bits it makes an integer of five, which the back end does not have.
It counts the last iterations of a loop in two bits, too, where it has unrolled a loop around it.
"""

from __future__ import annotations

import re

from kapi_lowering.emission.llvm_ir import Builder, Function, Instruction, IntType, IRType, IRValue, int_type
from kapi_lowering.emission.pipeline import function_pass

__all__ = ["expand_bit_reversals"]

_STEPS = (1, 2, 4, 8, 16, 32)
_FULL = (8, 16, 32, 64)
# Of values whose upper bits are 0, the wider operation gives such a value too, and the same truth.
_SAME_WIDER = ("and", "or", "xor", "lshr", "udiv", "urem", "uitofp", "phi", "select", "freeze")
# Of such values, the wider operation may give one with other upper bits.
_MASKED_WIDER = ("add", "sub", "mul", "shl")
_UNSIGNED = ("eq", "ne", "ult", "ule", "ugt", "uge")


@function_pass
def expand_bit_reversals(function: Function) -> None:
    """Reverse bits by shifts and masks, and compute integers of odd widths in whole bytes.

    A function that does more with such integers than is known here stays as it is: `refuse_unsupported` tells of it.
    """
    types = {
        each.type
        for each in function.instructions()
        if isinstance(each.type, IntType) and (_is_reversal(each) or each.type.bits not in (1, *_FULL))
    }
    for narrow in sorted(types, key=lambda each: each.bits):
        full = next((int_type(bits) for bits in _FULL if bits >= narrow.bits), None)
        if full is None:
            continue
        involved = [each for each in function.instructions() if _involves(each, narrow)]
        if narrow is full:
            involved = [each for each in involved if _is_reversal(each)]
        if all(_is_known(each, narrow) for each in involved):
            for each in involved:
                _widen(each, narrow, full)


def _is_reversal(each: Instruction) -> bool:
    return each.callee.startswith("llvm.bitreverse.i")


def _types(each: Instruction) -> list[IRType]:
    element = each.form.element
    return [each.type, *each.form.operand_types, *([] if element is None else [element])]


def _involves(each: Instruction, narrow: IntType) -> bool:
    """Whether an instruction has to do with integers of a type."""
    return any(_involves_type(type_, narrow) for type_ in _types(each))


def _involves_type(type_: IRType, narrow: IntType) -> bool:
    return narrow.text in re.findall(r"\bi\d+\b", str(type_))


def _is_known(each: Instruction, narrow: IntType) -> bool:
    """Whether it is known how to do without the type in an instruction."""
    if _is_reversal(each):
        return True
    if each.opcode in ("trunc", "zext", "sext"):
        other = each.form.operand_types[0] if each.opcode == "trunc" else each.type
        return isinstance(other, IntType) and other.bits in _FULL
    is_same = each.opcode in (*_SAME_WIDER, *_MASKED_WIDER) or (each.opcode == "icmp" and each.predicate in _UNSIGNED)
    return is_same and all(type_ is narrow or not _involves_type(type_, narrow) for type_ in _types(each))


def _widen(each: Instruction, narrow: IntType, full: IntType) -> None:
    """Let an instruction work on whole bytes, whose upper bits are 0."""
    builder = Builder.before(each)
    value = each.operands[0]
    if _is_reversal(each):
        new = _reversed(builder, each.arguments[0], full, full.bits - narrow.bits)
    elif each.opcode == "trunc":
        cut = value if value.type is full else builder.emit(f"trunc {value.type} ? to {full}", value)
        new = builder.emit(f"and {full} ?, {2**narrow.bits - 1}", cut)
    elif each.opcode == "zext":
        new = value if each.type is full else builder.emit(f"zext {full} ? to {each.type}", value)
    elif each.opcode == "sext":
        high = builder.emit(f"shl {full} ?, {full.bits - narrow.bits}", value)
        new = builder.emit(f"ashr {full} ?, {full.bits - narrow.bits}", high)
        new = new if each.type is full else builder.emit(f"sext {full} ? to {each.type}", new)
    elif each.opcode in _MASKED_WIDER:
        each.drop_flags()
        each.retype(narrow, full, is_unsigned=True)
        new = Builder.after(each).emit(f"and {full} ?, {2**narrow.bits - 1}", each)
        each.replace_all_uses_with(new, but=[new])
        return
    else:
        each.retype(narrow, full, is_unsigned=True)
        return
    each.replace_all_uses_with(new)
    each.erase()


def _reversed(builder: Builder, value: IRValue, type_: IntType, unused: int) -> IRValue:
    """Reverse bits by exchanging neighbours, pairs, and so on, and drop some of the lowest."""
    for step in (each for each in _STEPS if each < type_.bits):
        mask = sum(1 << bit for bit in range(type_.bits) if bit // step % 2 == 0)
        low = builder.emit(f"and {type_} ?, {mask}", value)
        up = builder.emit(f"shl {type_} ?, {step}", low)
        high = builder.emit(f"lshr {type_} ?, {step}", value)
        down = builder.emit(f"and {type_} ?, {mask}", high)
        value = builder.emit(f"or disjoint {type_} ?, ?", up, down)
    return builder.emit(f"lshr {type_} ?, {unused}", value) if unused else value
