"""Wrong work-items of Intel's OpenCL CPU compiler, avoided: comparisons of ids that it makes bounds of its loop."""

from __future__ import annotations

import re

from kapi_lowering.emission.llvm_ir import (
    BINARY,
    I1,
    I64,
    SWAPPED,
    Block,
    Builder,
    Function,
    Instruction,
    IntType,
    IRValue,
    constant,
    declare,
    defined,
    is_pure,
)
from kapi_lowering.emission.pipeline import function_pass

from ..ir.opaque_zero import opaque_zero
from ..ir.queries import id_axis, is_work_group_convergent, query

__all__ = ["guard_id_comparisons"]

_LOGIC = ("and", "or", "xor", "select", "freeze")
_COMPUTED = (BINARY - {"fadd", "fsub", "fmul", "fdiv", "frem"}) | {"trunc", "zext", "sext", "select", "freeze"}
_MIN_MAX = ("llvm.smin.", "llvm.smax.", "llvm.umin.", "llvm.umax.")
_RANGE = re.compile(r"!\{i\d+ (-?\d+), i\d+ -?\d+\}")
_CLAMPED = {"slt": 0, "sge": 0, "sgt": -1, "sle": -1, "ult": 0, "uge": 0, "ugt": 0, "ule": 0}
_NEXT = {"sgt": "sge", "sle": "slt"}
_LARGEST = 2**62


@function_pass
def guard_id_comparisons(function: Function) -> None:
    """Compare ids with what cannot be negative, or so that the compiler cannot read it.

    Intel's OpenCL CPU compiler (2026.2) makes bounds of its loop over work-items from conditions such as ``id < n``. It
    takes a negative `n` for a large one, so that all work-items are inside; ``n - id > 3`` and ``id + n < 3`` are wrong
    for others too, or end the process; and where an id of an outer dimension equals a number, it runs each of the
    work-items that are left several times. It does so from OpenCL C as well, but not behind a barrier or an algorithm
    of the work-group, where it has loops of another kind, so that conditions there are left alone. An id alone that is
    less or more is compared with a value that is clamped to those that ids have, which stays a bound. To an id in an
    expression, and to one that equals something, a zero is added that might differ between work-items. Remove this when
    `test_driver_limits` says that the driver is mended.
    """
    guards = _guard_conditions(function)
    for test in function.instructions() if guards else ():
        if test not in guards or test.opcode != "icmp" or not isinstance(test.operands[0].type, IntType):
            continue
        are_of_ids = [_depends_on_ids(each) for each in test.operands]
        if not any(are_of_ids):
            continue
        position = are_of_ids.index(True)
        value, limit = test.operands[position], test.operands[1 - position]
        if all(are_of_ids) or test.predicate not in _CLAMPED or not query(value) or not id_axis(value):
            type_ = test.operands[0].type
            zero = opaque_zero(function, type_, is_varying=True)
            test.set_operand(position, Builder.before(test).emit(f"add {type_} ?, ?", value, zero))
            test.rewrite(f"icmp {test.predicate} {type_} ?, ?", *test.operands)
        elif not _is_positive(limit):
            predicate = test.predicate if position == 0 else SWAPPED[test.predicate]
            clamped = _clamped(Builder.before(test), predicate, limit)
            test.rewrite(f"icmp {_NEXT.get(predicate, predicate)} i64 ?, ?", value, clamped)


def _guard_conditions(function: Function) -> set[IRValue]:
    """The values that make guards: conditions in front of all that a kernel does, whose other branch does nothing.

    Behind the first barrier, or algorithm, of the work-group there are none.
    """
    found: set[IRValue] = set()
    block, seen = function.entry, set[Block]()
    while block not in seen:
        seen.add(block)
        if any(map(is_work_group_convergent, block.instructions)):
            break
        targets = [*dict.fromkeys(block.successors)]
        quiet = [each for each in targets if _does_nothing(each)]
        if len(targets) == 2 and quiet:
            pending = block.terminator.operands[:1] if block.terminator.opcode == "br" else []
            while pending:
                each = pending.pop()
                found.add(each)
                if (logic := defined(each, *_LOGIC)) and logic.operands[0].type is I1:
                    pending += logic.operands
            targets = [each for each in targets if each not in quiet]
        if len(targets) != 1:
            break
        (block,) = targets
    return found


def _does_nothing(block: Block) -> bool:
    """Whether all that follows ends without a trace."""
    pending, seen = [block], set[Block]()
    while pending:
        each = pending.pop()
        if each not in seen:
            seen.add(each)
            if not all(_leaves_no_trace(instruction) for instruction in each.instructions):
                return False
            pending += each.successors
    return True


def _leaves_no_trace(each: Instruction) -> bool:
    return is_pure(each) or each.is_terminator or each.opcode in ("load", "alloca")


def _depends_on_ids(value: IRValue) -> bool:
    """Whether a value is computed from ids, without a memory in between."""
    pending, seen = [value], set[IRValue]()
    while pending:
        each = pending.pop()
        if each in seen or not isinstance(each, Instruction):
            continue
        seen.add(each)
        if id_axis(each):
            return True
        if each.opcode in _COMPUTED or each.callee.startswith(_MIN_MAX):
            pending += each.operands
    return False


def _is_positive(value: IRValue) -> bool:
    """Whether a value is known not to be negative."""
    if value.integer is not None:
        return value.integer >= 0
    if not isinstance(value, Instruction):
        return False
    shifted = value.operands[1].integer if value.opcode == "lshr" else None
    if value.opcode == "zext" or shifted:
        return True
    node = value.attachment("range")
    assert value.block is not None
    text = value.block.function.module.metadata.get(int(node[1:]), "") if node else ""
    first = _RANGE.fullmatch(text)
    return first is not None and int(first[1]) >= 0


def _clamped(builder: Builder, predicate: str, value: IRValue) -> IRValue:
    """A limit that ids are compared with in place of a value."""

    def call(name: str, value: IRValue, limit: int) -> IRValue:
        declare(builder.block.function, f"i64 @llvm.{name}.i64(i64, i64)")
        return builder.call(f"i64 @llvm.{name}.i64", value, constant(I64, limit))

    if predicate.startswith("u"):
        return call("umin", value, _LARGEST)
    least = call("smax", value, _CLAMPED[predicate])
    return builder.emit("add i64 ?, 1", call("smin", least, _LARGEST)) if predicate in _NEXT else least
