"""Queries of constant axes of the launch that there is."""

from __future__ import annotations

from collections.abc import Sequence

from kapi_lowering.emission.llvm_ir import I64, Builder, Function, Instruction, IRValue, Module, constant, declare
from kapi_lowering.emission.pipeline import module_pass

__all__ = ["QUERY", "lower_queries", "query"]

QUERY = "kapi.query."
_LINEAR = "kapi.linear."


@module_pass
def lower_queries(module: Module) -> None:
    """Ask for constant axes only, and for the axes that linear work-groups stand for by division."""
    for function in module.definitions:
        linear = next((each for each in function.instructions() if each.callee.startswith(_LINEAR)), None)
        if linear is not None:
            _lower_linear(function, linear)
        for each in function.instructions():
            if each.callee.startswith(QUERY) and each.arguments[0].integer is None:
                builder = Builder.before(each)
                _choose(each, [query(builder, each.callee[len(QUERY) :], axis) for axis in range(3)])


def query(builder: Builder, name: str, axis: int) -> Instruction:
    """Ask for one axis, the fastest being 0."""
    declare(builder.block.function, f"i64 @{QUERY}{name}(i32) memory(none)")
    return builder.emit(f"call i64 @{QUERY}{name}(i32 {axis})")


def _lower_linear(function: Function, linear: Instruction) -> None:
    """Axes of work-groups that are launched as linear ones."""
    values = linear.arguments
    count = len(values) // 2
    local, groups = values[:count], values[count:]
    builder = Builder.after(linear)
    own = [query(builder, name, 0) for name in ("local_id", "group_id")]
    local_id, group_id = _parts(builder, own[0], local), _parts(builder, own[1], groups)
    answers: dict[str, list[IRValue]] = {
        "local_id": local_id,
        "group_id": group_id,
        "local_size": [*local],
        "group_count": [*groups],
        "global_id": [
            builder.emit("add i64 ?, ?", builder.emit("mul i64 ?, ?", group, size), item)
            for group, size, item in zip(group_id, local, local_id, strict=True)
        ],
        "global_size": [builder.emit("mul i64 ?, ?", size, many) for size, many in zip(local, groups, strict=True)],
    }
    for each in function.instructions():
        if each.callee.startswith(QUERY) and each not in own:
            axis = each.arguments[0].integer
            name = each.callee[len(QUERY) :]
            if axis is None:
                _choose(each, answers[name])
                continue
            last = constant(I64, 0 if name.endswith("_id") else 1)
            each.replace_all_uses_with(answers[name][axis] if axis < count else last)
            each.erase()
    linear.erase()


def _choose(each: Instruction, answers: Sequence[IRValue]) -> None:
    """Answer for an axis that is known at run time."""
    builder, axis = Builder.before(each), each.arguments[0]
    found = answers[-1]
    for number in reversed(range(len(answers) - 1)):
        is_it = builder.emit(f"icmp eq i32 ?, {number}", axis)
        found = builder.emit("select i1 ?, i64 ?, i64 ?", is_it, answers[number], found)
    each.replace_all_uses_with(found)
    each.erase()


def _parts(builder: Builder, number: IRValue, extents: list[IRValue]) -> list[IRValue]:
    """The ids on each axis of a linear id, the fastest first."""
    found = []
    for extent in extents[:-1]:
        found.append(builder.emit("urem i64 ?, ?", number, extent))
        number = builder.emit("udiv i64 ?, ?", number, extent)
    return [*found, number]
