"""Calls that OpenCL's functions are by their mangled names: queries of ids and sizes, barriers, group operations."""

from __future__ import annotations

import re

from kapi_lowering.emission.llvm_ir import Instruction, IRValue, defined

__all__ = ["id_axis", "is_convergent", "is_work_group_convergent", "query", "size_axis"]

_QUERY = re.compile(r"_Z\d+(get_\w+?)[jv]")
_CONVERGENT = re.compile(r"_Z\d+(?:__spirv_\w*(?:Barrier|Group)|(?:work|sub)_group_|barrier)")
_SPIRV_GROUP = re.compile(r"_Z\d+__spirv_(?:ControlBarrier|Group)")
_WORK_GROUP = re.compile(r"_Z\d+work_group_")
_SCOPE_OF_WORK_GROUPS = 2


def query(value: IRValue) -> str:
    """The name of the query that a value is the answer of, such as ``get_global_id``; empty for all else."""
    call = defined(value, "call")
    found = _QUERY.fullmatch(call.callee) if call else None
    return found[1] if found else ""


def _axis(value: IRValue, names: tuple[str, str]) -> tuple[str, int] | None:
    name = query(value)
    call = defined(value, "call")
    axis = call.arguments[0].integer if call and name in names else None
    return None if axis is None else (name.split("_")[1], axis)


def id_axis(value: IRValue) -> tuple[str, int] | None:
    """``global`` or ``local``, and the axis, of a value that is an id."""
    return _axis(value, ("get_global_id", "get_local_id"))


def size_axis(value: IRValue) -> tuple[str, int] | None:
    """``global`` or ``local``, and the axis, of a value that is the number of ids."""
    return _axis(value, ("get_global_size", "get_local_size"))


def is_convergent(instruction: Instruction) -> bool:
    """Whether an instruction is a barrier or an operation of a group."""
    return instruction.opcode == "call" and _CONVERGENT.match(instruction.callee) is not None


def is_work_group_convergent(instruction: Instruction) -> bool:
    """Whether an instruction is a barrier or an operation of the work-group."""
    if instruction.opcode != "call":
        return False
    if _WORK_GROUP.match(instruction.callee):
        return True
    is_group = _SPIRV_GROUP.match(instruction.callee) is not None
    return is_group and instruction.arguments[0].integer == _SCOPE_OF_WORK_GROUPS
