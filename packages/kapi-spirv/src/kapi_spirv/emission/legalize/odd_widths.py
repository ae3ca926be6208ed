"""Integers of odd widths in whole bytes.

LLVM counts the bits that a loop over bits moves: of five bits it makes an integer of five, which the back end does not
have. It counts the last iterations of a loop in two bits, too, where it has unrolled a loop around it.
"""

from __future__ import annotations

import re

from kapi_lowering.emission.llvm_ir import Builder, Function, Instruction, IntType, IRType, IRValue, int_type
from kapi_lowering.emission.pipeline import function_pass

__all__ = ["widen_odd_integers"]

_FULL = (8, 16, 32, 64)
# Of values whose upper bits are 0, the wider operation gives such a value too, and the same truth.
_SAME_WIDER = ("and", "or", "xor", "lshr", "udiv", "urem", "uitofp", "phi", "select", "freeze")
# Of such values, the wider operation may give one with other upper bits.
_MASKED_WIDER = ("add", "sub", "mul", "shl")
_UNSIGNED = ("eq", "ne", "ult", "ule", "ugt", "uge")


@function_pass
def widen_odd_integers(function: Function) -> None:
    """Compute integers of odd widths in whole bytes.

    A function that does more with such integers than is known here stays as it is: `refuse_unsupported` reports it.
    """
    types = {
        each.type
        for each in function.instructions()
        if isinstance(each.type, IntType) and each.type.bits not in (1, *_FULL)
    }
    for narrow in sorted(types, key=lambda each: each.bits):
        full = next((int_type(bits) for bits in _FULL if bits >= narrow.bits), None)
        involved = [each for each in function.instructions() if _involves(each, narrow)]
        if full is not None and all(_is_known(each, narrow) for each in involved):
            for each in involved:
                _widen(each, narrow, full)


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
    if each.opcode in ("trunc", "zext", "sext"):
        other = each.form.operand_types[0] if each.opcode == "trunc" else each.type
        return isinstance(other, IntType) and other.bits in _FULL
    is_same = each.opcode in (*_SAME_WIDER, *_MASKED_WIDER) or (each.opcode == "icmp" and each.predicate in _UNSIGNED)
    return is_same and all(type_ is narrow or not _involves_type(type_, narrow) for type_ in _types(each))


def _widen(each: Instruction, narrow: IntType, full: IntType) -> None:
    """Let an instruction work on whole bytes, whose upper bits are 0."""
    builder = Builder.before(each)
    value = each.operands[0]
    new: IRValue
    if each.opcode == "trunc":
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
