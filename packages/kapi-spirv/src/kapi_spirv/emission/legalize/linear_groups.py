"""Work-groups of two and three dimensions that are launched as groups of one: their ids, worked out by division.

Sub-groups are made of work-items with neighbouring linear ids. Drivers need not make them so of work-groups with more
than one dimension, and Intel's for CPUs makes them of rows. So the entry point of a kernel that has sub-groups begins
with a call of `kapi.linear_groups.N`, which names the extents of the work-group and the number of groups, the fastest
dimension first. OpenCL's queries are answered from these here, after LLVM's passes, when all is in one function.
"""

from __future__ import annotations

import re
from functools import reduce

from kapi_lowering.emission.llvm_ir import I32, Builder, Function, Instruction, IRValue, Module, declare
from kapi_lowering.emission.pipeline import module_pass

from ..ir.queries import query

__all__ = ["linearize_groups"]

_MARKER = "kapi.linear_groups."
_ANSWERED = ("get_local_id", "get_local_size", "get_group_id", "get_num_groups", "get_global_id", "get_global_size")
_BROADCAST = re.compile(r"_Z20work_group_broadcast([jm])m+")


@module_pass
def linearize_groups(module: Module) -> None:
    """Answer the queries of a kernel with linear groups from linear ids.

    Raises `RuntimeError` if a query stands where the extents are not at hand, which no pass of LLVM is known to do.
    """
    markers = [name for name in module.functions if name.startswith(_MARKER)]
    if not markers:
        return
    for function in module.definitions:
        _answer(function)
    for name in markers:
        del module.functions[name]


def _answer(function: Function) -> None:
    """Exchange the queries of a function, and the lanes of its broadcasts."""
    answers: dict[str, list[IRValue]] = {}
    for each in function.instructions():
        if each.callee.startswith(_MARKER):
            ndim = int(each.callee[-1])
            answers = _answers(Builder.before(each), each.arguments[:ndim], each.arguments[ndim:])
            each.erase()
        elif (name := query(each)) in _ANSWERED:
            _exchange(each, answers.get(name, []))
        elif broadcast := _BROADCAST.fullmatch(each.callee):
            _linearize(each, broadcast[1], answers.get("get_local_size", []))


def _answers(builder: Builder, local: list[IRValue], groups: list[IRValue]) -> dict[str, list[IRValue]]:
    """Work out every id once: what each query has for an answer, by dimension."""
    ids: dict[str, list[IRValue]] = {}
    for kind, extents, width in (("local", local, 32), ("group", groups, 64)):
        # A work-group has fewer than 2**31 work-items, and a division of 32 bits is the faster one.
        head = f"spir_func i64 @_Z12get_{kind}_idj"
        declare(builder.block.function, f"{head}(i32) nounwind memory(none)")
        rest: IRValue = builder.emit(f"call {head}(i32 0)", name=f"kapi.{kind}.rest")
        rest = builder.emit("trunc i64 ? to i32", rest) if width == 32 else rest
        ids[kind] = []
        for dim, extent in enumerate(extents):
            own = rest
            if dim < len(extents) - 1:
                divisor = builder.emit("trunc i64 ? to i32", extent) if width == 32 else extent
                own = builder.emit(f"urem i{width} ?, ?", rest, divisor)
                rest = builder.emit(f"udiv i{width} ?, ?", rest, divisor)
            ids[kind].append(builder.emit("zext i32 ? to i64", own) if width == 32 else own)
    global_ids: list[IRValue] = []
    global_sizes: list[IRValue] = []
    for own, group, extent, number in zip(ids["local"], ids["group"], local, groups, strict=True):
        start = builder.emit("mul i64 ?, ?", group, extent)
        global_ids.append(builder.emit("add i64 ?, ?", start, own))
        global_sizes.append(builder.emit("mul i64 ?, ?", number, extent))
    return {
        "get_local_id": ids["local"],
        "get_local_size": local,
        "get_group_id": ids["group"],
        "get_num_groups": groups,
        "get_global_id": global_ids,
        "get_global_size": global_sizes,
    }


def _exchange(each: Instruction, choices: list[IRValue]) -> None:
    """Exchange a query for the choice of its dimension, a number or a value."""
    if not choices:
        raise RuntimeError(f"a work-item query must come after the extents of linear groups, got {each} before")
    (dim,) = each.arguments
    builder = Builder.before(each)
    if dim.integer is not None:
        chosen = choices[dim.integer]
    else:
        chosen = choices[0]
        for position, choice in enumerate(choices[1:], 1):
            is_here = builder.emit(f"icmp eq {I32} ?, {position}", dim)
            chosen = builder.emit("select i1 ?, i64 ?, i64 ?", is_here, choice, chosen)
    each.replace_all_uses_with(chosen)
    each.erase()


def _linearize(each: Instruction, code: str, extents: list[IRValue]) -> None:
    """Let a broadcast name the linear id of the work-item in its work-group."""
    if not extents:
        raise RuntimeError("a broadcast must come after the extents of linear groups, got one before")
    value, *position = each.arguments
    builder = Builder.before(each)

    def linear(slower: IRValue, faster: tuple[IRValue, IRValue]) -> IRValue:
        own, extent = faster
        return builder.emit("add i64 ?, ?", builder.emit("mul i64 ?, ?", slower, extent), own)

    pairs = [*zip(position[:-1], extents[:-1], strict=True)]
    head = f"spir_func {value.type} @_Z20work_group_broadcast{code}m"
    assert each.block is not None
    declare(each.block.function, f"{head}({value.type}, i64) nounwind convergent")
    each.rewrite(f"call {head}({value.type} ?, i64 ?)", value, reduce(linear, reversed(pairs), position[-1]))
