"""Index-space queries of Item, NdItem, Group and SubGroup, by the names of the intrinsic table.

SYCL's last dimension is the fastest. A target counts axes from the fastest one: dimension `d` of `n` here is its axis
`n - 1 - d`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry, types
from kapi_lowering.llvm_calls import I32, I64
from kapi_lowering.target import SubGroupQuery, WorkItemQuery
from kapi_sim.language.table.intrinsics import rows
from kapi_types import GroupType, ItemType, NdItemType, SubGroupType

__all__ = ["LOWERED", "registry"]

registry = LoweringRegistry("kapi index space")

_QUERIES: dict[tuple[str, str], WorkItemQuery] = {
    ("Item", "id"): "global_id",
    ("NdItem", "global_id"): "global_id",
    ("NdItem", "global_range"): "global_size",
    ("NdItem", "local_id"): "local_id",
    ("NdItem", "local_range"): "local_size",
    ("Group", "group_id"): "group_id",
    ("Group", "group_range"): "group_count",
    ("Group", "local_id"): "local_id",
    ("Group", "local_range"): "local_size",
}
"""Owner and what is asked for, to the target's query for one axis."""

_TYPES = {"Item": ItemType, "NdItem": NdItemType, "Group": GroupType}

LOWERED: set[str] = set()
"""Keys of the table's rows that are lowered here; a test compares it with the table."""

Query = Callable[[Any, ir.IRBuilder, Any, ir.Value, ir.Value], ir.Value]


def _query(owner: str, what: str) -> Query:
    """Code that answers `what` for a dimension, a 64-bit value in SYCL's order."""
    if (owner, what) == ("Item", "range"):

        def from_argument(context: Any, builder: ir.IRBuilder, type_: Any, this: ir.Value, dim: ir.Value) -> ir.Value:
            extents = context.make_helper(builder, type_, this).range
            chosen = builder.extract_value(extents, 0)
            for axis in range(1, type_.ndim):
                is_here = builder.icmp_signed("==", dim, I64(axis))
                chosen = builder.select(is_here, builder.extract_value(extents, axis), chosen)
            return chosen

        return from_argument

    query = _QUERIES[owner, what]

    def from_hardware(context: Any, builder: ir.IRBuilder, type_: Any, this: ir.Value, dim: ir.Value) -> ir.Value:
        axis = builder.trunc(builder.sub(I64(type_.ndim - 1), dim), I32)
        return context.kernel_target.work_item_query(builder, query, axis)

    return from_hardware


def _register_dimension_query(owner: str, method: str, query: Query) -> None:
    @registry.lower(f"{owner}.{method}", _TYPES[owner], types.Integer)
    def implement(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        return query(context, builder, sig.args[0], args[0], args[1])


def _register_linear_query(owner: str, method: str, extent: Query, index: Query | None) -> None:
    """A linear range, the product of all extents; or with `index` a linear id, in row-major order."""

    @registry.lower(f"{owner}.{method}", _TYPES[owner])
    def implement(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        (type_,), (this,) = sig.args, args
        total: ir.Value = I64(0 if index else 1)
        for axis in range(type_.ndim):
            if index is None or axis > 0:
                total = builder.mul(total, extent(context, builder, type_, this, I64(axis)))
            if index is not None:
                total = builder.add(total, index(context, builder, type_, this, I64(axis)))
        return total


def _register_methods() -> None:
    for row in rows(family="index"):
        if row.owner not in _TYPES or row.kind != "method" or not row.name.startswith("get_"):
            continue
        what = row.name.removeprefix("get_")
        if row.parameters:
            _register_dimension_query(row.owner, row.name, _query(row.owner, what))
        elif "linear_" in what:
            plain = what.replace("linear_", "")
            extent = plain.replace("id", "range")
            index = _query(row.owner, plain) if plain.endswith("id") else None
            _register_linear_query(row.owner, row.name, _query(row.owner, extent), index)
        else:
            continue
        LOWERED.add(row.key)


@registry.lower("NdItem.get_group", NdItemType)
@registry.lower("NdItem.get_sub_group", NdItemType)
def _get_group(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    return context.get_dummy_value()


def _dimensions(context: Any, builder: ir.IRBuilder, type_: Any, value: ir.Value) -> ir.Value:
    return I64(type_.ndim)


@registry.lower_getattr(GroupType, "leader")
def _leader(context: Any, builder: ir.IRBuilder, type_: Any, value: ir.Value) -> ir.Value:
    """Whether every local id is 0."""
    first: ir.Value = ir.IntType(1)(1)
    for axis in range(type_.ndim):
        local_id = context.kernel_target.work_item_query(builder, "local_id", I32(axis))
        first = builder.and_(first, builder.icmp_unsigned("==", local_id, I64(0)))
    return first


_register_methods()
for _owner, _type in _TYPES.items():
    registry.lower_getattr(_type, "dimensions")(_dimensions)
    LOWERED.add(f"{_owner}.dimensions")
LOWERED |= {"NdItem.get_group", "Group.leader", "NdItem.get_sub_group", *(row.key for row in rows(owner="SubGroup"))}

_SUB_GROUP_QUERIES: dict[str, SubGroupQuery] = {
    "get_group_id": "sub_group_id",
    "get_group_range": "sub_group_count",
    "get_local_id": "local_id",
    "get_local_range": "size",
    "get_max_local_range": "max_size",
}


def _register_sub_group_query(method: str, query: SubGroupQuery) -> None:
    @registry.lower(f"SubGroup.{method}", SubGroupType)
    def implement(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        return builder.zext(context.kernel_target.sub_group_query(builder, query), I64)


for _method, _asked in _SUB_GROUP_QUERIES.items():
    _register_sub_group_query(_method, _asked)


@registry.lower_getattr(SubGroupType, "leader")
def _sub_group_leader(context: Any, builder: ir.IRBuilder, type_: Any, value: ir.Value) -> ir.Value:
    return builder.icmp_unsigned("==", context.kernel_target.sub_group_query(builder, "local_id"), I32(0))
