"""Bounds: comparisons of a number that rises from lane to lane with one that all lanes share.

Along a row of work-items the answer changes once, at the split point. The row's first vector finds it, so that no
vector before or behind it needs a comparison (index-set splitting).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kapi_cpu.emission.legalize.queries import QUERY
from kapi_cpu.emission.vectorize.divergence import Shapes
from kapi_lowering.emission.llvm_ir import I1, SWAPPED, Block, Instruction, IRValue, constant, declare

if TYPE_CHECKING:
    from kapi_cpu.emission.vectorize.instructions.lanes import LaneEmitter

__all__ = ["BEFORE", "BEHIND", "SIDE", "Answers", "answers_of", "are_bounds", "bound_of", "split_branches"]

_SPLITTING = {"slt": 0, "sle": 1, "sge": 0, "sgt": 1, "ult": 0, "uge": 0}
"""The predicates whose split point is found, and what is added to the distance of the shared number."""

SIDE = "kapi.side"
"""A call that takes a split point, in work-items from the first lane, and says on which side of it a vector is."""

BEFORE, BEHIND = 1, 2
"""Sides: all lanes are before the split point, or all behind it; 0 of a vector on no known side."""

_FAR = 1 << 32
"""More work-items than a row has."""

Answers = tuple[IRValue, IRValue, IRValue]
"""The answer of each lane, whether one of them is yes, and whether all are."""


def bound_of(condition: IRValue, shapes: Shapes) -> tuple[IRValue, IRValue, str] | None:
    """Take apart a comparison of a number that rises from lane to lane with one that all lanes share.

    Where all lanes are on, it holds for one of them if it holds for the first or the last one, and for all if for both.
    That they are equal holds for one lane of those that count by one, or for none.

    Returns the strided and the uniform number, and the predicate with the strided one on the left.
    """
    if not isinstance(condition, Instruction) or condition.opcode != "icmp":
        return None
    strided, uniform = condition.operands
    predicate = condition.predicate
    if predicate in ("eq", "ne"):
        if shapes[strided] == 0:
            strided, uniform = uniform, strided
        return (strided, uniform, predicate) if shapes[uniform] == 0 and shapes[strided] == 1 else None
    if shapes[strided] == 0:
        strided, uniform, predicate = uniform, strided, SWAPPED[predicate]
    stride = shapes[strided]
    if shapes[uniform] != 0 or not isinstance(stride, int) or stride <= 0:
        return None
    if not _rises(strided, shapes, f"n{predicate[0]}w"):
        return None
    return strided, uniform, predicate


def _rises(value: IRValue, shapes: Shapes, flag: str) -> bool:
    """Whether a strided value does not wrap from the first to the last lane, if all are on."""
    if not isinstance(value, Instruction):
        return False
    if value.callee.startswith(QUERY):
        return True
    if value.opcode != "add" or flag not in value.flags:
        return False
    return all(shapes[each] == 0 or _rises(each, shapes, flag) for each in value.operands)


def split_branches(shapes: Shapes, of_group: Shapes) -> set[Block]:
    """The blocks at whose ends all vectors of a row compare their numbers with the same one.

    - `shapes`: of lanes.
    - `of_group`: of all work-items of a group.
    """
    everywhere = {*shapes.flow.reverse_postorder}
    found = set()
    for block in shapes.divergent_branches:
        bound = bound_of(block.terminator.operands[0], shapes)
        if bound is None or of_group.parts_within(block, everywhere):
            continue
        strided, uniform, predicate = bound
        if predicate in _SPLITTING and of_group[uniform] == 0 and shapes[strided] == 1:
            if _counts_items(strided, of_group):
                found.add(block)
    return found


def _counts_items(value: IRValue, of_group: Shapes) -> bool:
    """Whether a value is the number of a work-item, but for what its group shares."""
    if not isinstance(value, Instruction):
        return False
    if value.callee.startswith(QUERY):
        return True
    one, other = value.operands
    if of_group[one] == 0:
        one, other = other, one
    return of_group[other] == 0 and _counts_items(one, of_group)


def answers_of(emitter: LaneEmitter, condition: IRValue, is_split: bool) -> Answers:
    """Compare lanes with a bound; the first and the last one answer for all.

    - `condition`: a bound whose operands are at hand, or several.
    - `is_split`: whether a vector may know its side.
    """
    found = bound_of(condition, emitter.shapes)
    if found is None:
        return _answers_of_several(emitter, condition)
    strided, uniform, predicate = found
    builder, chosen = emitter.builder, emitter.vector(condition)
    some, full = _some_and_all(emitter, found)
    if not is_split:
        return chosen, some, full
    first, limit = emitter.scalar(strided), emitter.scalar(uniform)
    side = _side(emitter, first, limit, predicate)
    yes, no = (BEFORE, BEHIND) if predicate[1] == "l" else (BEHIND, BEFORE)
    is_all, is_any = builder.emit(f"icmp eq i32 ?, {yes}", side), builder.emit(f"icmp ne i32 ?, {no}", side)

    def known(answer: IRValue) -> IRValue:
        every, never = (is_all, is_any) if answer.type is I1 else (emitter.splat(is_all), emitter.splat(is_any))
        either = builder.emit(f"or {answer.type} ?, ?", answer, every)
        return builder.emit(f"and {answer.type} ?, ?", either, never)

    return known(chosen), known(some), known(full)


def _some_and_all(emitter: LaneEmitter, bound: tuple[IRValue, IRValue, str]) -> tuple[IRValue, IRValue]:
    """Whether a bound holds for one of the lanes, and whether it does for all."""
    strided, uniform, predicate = bound
    builder, first, limit = emitter.builder, emitter.scalar(strided), emitter.scalar(uniform)
    stride, type_ = emitter.shapes[strided], first.type
    assert isinstance(stride, int)
    if predicate in ("eq", "ne"):
        distance = builder.emit(f"sub {type_} ?, ?", limit, first)
        is_one = builder.emit(f"icmp ult {type_} ?, {emitter.lanes}", distance)
        if predicate == "eq":
            return is_one, constant(I1, "false")
        return constant(I1, "true"), builder.emit("xor i1 ?, true", is_one)
    last = builder.emit(f"add {type_} ?, {stride * (emitter.lanes - 1)}", first)
    one, other = (builder.emit(f"icmp {predicate} {type_} ?, ?", end, limit) for end in (first, last))
    return (one, other) if predicate[1] == "l" else (other, one)


def are_bounds(condition: IRValue, shapes: Shapes) -> bool:
    """Whether a condition is made of bounds, and of what all lanes share, all compared in its block."""
    if not isinstance(condition, Instruction) or _operands(condition) is None:
        return False
    pending: list[IRValue] = [condition]
    while pending:
        each = pending.pop()
        if shapes[each] == 0:
            continue
        if not isinstance(each, Instruction) or each.block is not condition.block:
            return False
        operands = _operands(each)
        if operands is None and bound_of(each, shapes) is None:
            return False
        pending += operands or ()
    return True


def _operands(condition: IRValue) -> list[IRValue] | None:
    """The two conditions that another one is made of; None of others."""
    if not isinstance(condition, Instruction) or condition.type is not I1:
        return None
    if condition.opcode in ("and", "or"):
        return condition.operands
    if condition.opcode == "select":
        first, one, other = condition.operands
        if other.ref == "false":
            return [first, one]
        if one.ref == "true":
            return [first, other]
    return None


def _answers_of_several(emitter: LaneEmitter, condition: IRValue) -> Answers:
    """Compare lanes where the first and the last one do not answer for all."""
    is_all, is_none = (emitter.builder.emit("freeze i1 ?", each) for each in _known_answers(emitter, condition))
    true, false = constant(I1, "true"), constant(I1, "false")

    def compared() -> list[IRValue]:
        chosen = emitter.vector(condition)
        return [chosen, emitter.any(chosen), emitter.all(chosen)]

    chosen, some, full = emitter.either(
        is_all,
        lambda: [emitter.all_on(), true, true],
        lambda: emitter.either(is_none, lambda: [emitter.zero(emitter.mask_type()), false, false], compared),
    )
    return chosen, some, full


def _known_answers(emitter: LaneEmitter, condition: IRValue) -> tuple[IRValue, IRValue]:
    """Whether a condition is known to hold for all lanes, and whether it is known to hold for none."""
    builder = emitter.builder
    if emitter.shapes[condition] == 0:
        answer = emitter.scalar(condition)
        return answer, builder.emit("xor i1 ?, true", answer)
    bound, operands = bound_of(condition, emitter.shapes), _operands(condition)
    if bound is not None:
        some, full = _some_and_all(emitter, bound)
        return full, builder.emit("xor i1 ?, true", some)
    assert operands is not None
    assert isinstance(condition, Instruction)
    (one_all, one_none), (other_all, other_none) = (_known_answers(emitter, each) for each in operands)
    both, either = "select i1 ?, i1 ?, i1 false", "select i1 ?, i1 true, i1 ?"
    if condition.opcode == "or" or (condition.opcode == "select" and condition.operands[1].ref == "true"):
        both, either = either, both
    return builder.emit(both, one_all, other_all), builder.emit(either, one_none, other_none)


def _side(emitter: LaneEmitter, first: IRValue, limit: IRValue, predicate: str) -> IRValue:
    """Ask on which side of the split point a vector is."""
    builder, type_, sign = emitter.builder, first.type, predicate[0]
    name = f"llvm.{sign}sub.sat.{type_}"
    declare(emitter.function, f"{type_} @{name}({type_}, {type_})")
    distance: IRValue = builder.emit(f"call {type_} @{name}({type_} ?, {type_} ?)", limit, first)
    if type_.text != "i64":
        distance = builder.emit(f"{sign}ext {type_} ? to i64".replace("uext", "zext"), distance)
    for limited, number in ((f"{sign}min", _FAR), ("smax", -1)):
        declare(emitter.function, f"i64 @llvm.{limited}.i64(i64, i64)")
        distance = builder.emit(f"call i64 @llvm.{limited}.i64(i64 ?, i64 {number})", distance)
    split_point = builder.emit(f"add i64 ?, {_SPLITTING[predicate]}", distance)
    declare(emitter.function, f"i32 @{SIDE}(i64)")
    return builder.emit(f"call i32 @{SIDE}(i64 ?)", split_point)
