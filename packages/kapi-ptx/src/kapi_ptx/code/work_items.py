"""Queries of work-items and sub-groups, as PTX's special registers.

References
----------
PTX ISA, section "Special Registers".
"""

from __future__ import annotations

from llvmlite import ir

from kapi_lowering.llvm_calls import I32, I64, call_declared
from kapi_lowering.target import SubGroupQuery, WorkItemQuery

__all__ = ["EVERY_LANE", "group_size", "lane", "linear_id", "sub_group_query", "sub_group_size", "work_item_query"]

_REGISTERS = {"local_id": "tid", "local_size": "ntid", "group_id": "ctaid", "group_count": "nctaid"}
_WARP_BITS = 5

EVERY_LANE = I32(-1)
"""The mask of the work-items that converge in an instruction of a sub-group.

Such an instruction waits for the lanes of its mask that have not exited, and lanes without a work-item count as exited.
A constant costs nothing; for a mask of the run time the assembler writes a comparison of all lanes' masks.
"""


def work_item_query(builder: ir.IRBuilder, query: WorkItemQuery, axis: ir.Value, is_small: bool) -> ir.Value:
    """The answer for one axis, in 64 bits; `is_small` says that it has at most 31."""

    def part(register: str) -> ir.Value:
        value = _of_axis(builder, register, axis)
        return value if is_small else builder.zext(value, I64)

    exact = ("nuw", "nsw")
    if query == "global_id":
        start = builder.mul(part("ctaid"), part("ntid"), flags=exact)
        answer = builder.add(start, part("tid"), flags=exact)
    elif query == "global_size":
        answer = builder.mul(part("nctaid"), part("ntid"), flags=exact)
    else:
        answer = part(_REGISTERS[query])
    return builder.zext(answer, I64) if is_small else answer


def _of_axis(builder: ir.IRBuilder, register: str, axis: ir.Value) -> ir.Value:
    """A register for an axis: 0 is x, the fastest one."""
    if isinstance(axis, ir.Constant):
        return _read(builder, f"{register}.{'xyz'[axis.constant]}")
    value = _read(builder, f"{register}.z")
    for position, name in ((1, "y"), (0, "x")):
        is_here = builder.icmp_unsigned("==", axis, I32(position))
        value = builder.select(is_here, _read(builder, f"{register}.{name}"), value)
    return value


def _read(builder: ir.IRBuilder, register: str) -> ir.Value:
    return call_declared(builder, f"llvm.nvvm.read.ptx.sreg.{register}", I32, [])


def linear_id(builder: ir.IRBuilder) -> ir.Value:
    """The work-item's linear id in its group, in 32 bits; sub-groups are made of 32 of them in a row."""
    position = _read(builder, "tid.z")
    for axis in ("y", "x"):
        position = builder.add(builder.mul(position, _read(builder, f"ntid.{axis}")), _read(builder, f"tid.{axis}"))
    return position


def group_size(builder: ir.IRBuilder) -> ir.Value:
    """Work-items of the group, in 32 bits."""
    size = _read(builder, "ntid.x")
    for axis in ("y", "z"):
        size = builder.mul(size, _read(builder, f"ntid.{axis}"))
    return size


def lane(builder: ir.IRBuilder) -> ir.Value:
    """The work-item's lane in its sub-group, in 32 bits."""
    return _read(builder, "laneid")


def sub_group_size(builder: ir.IRBuilder) -> ir.Value:
    """Work-items of the sub-group, in 32 bits: the last one has what is left of the group."""
    first = builder.and_(linear_id(builder), I32(-1 << _WARP_BITS))
    left = builder.sub(group_size(builder), first)
    return builder.select(builder.icmp_unsigned("<", left, I32(1 << _WARP_BITS)), left, I32(1 << _WARP_BITS))


def sub_group_query(builder: ir.IRBuilder, query: SubGroupQuery) -> ir.Value:
    """The answer in 32 bits."""
    if query == "sub_group_id":
        return builder.lshr(linear_id(builder), I32(_WARP_BITS))
    if query == "sub_group_count":
        return builder.lshr(builder.add(group_size(builder), I32((1 << _WARP_BITS) - 1)), I32(_WARP_BITS))
    if query == "local_id":
        return lane(builder)
    if query == "size":
        return sub_group_size(builder)
    return I32(1 << _WARP_BITS)
