"""The rows of the intrinsic table for group algorithms.

A SPIR-V operation with ``...`` stands for the one of its family that fits operator and dtype.
"""

from __future__ import annotations

from kapi_sim.language.table.row import Intrinsic, Parameter

__all__ = ["GROUP_ROWS"]

_GROUP: Parameter = ("group", "group", None)
_SUB_GROUP: Parameter = ("group", "SubGroup", None)
_VALUE: Parameter = ("x", "scalar", None)
_OPERATED: tuple[Parameter, ...] = (_GROUP, ("x", "number", None), ("op", "operator", None))
_TESTED: tuple[Parameter, ...] = (_GROUP, ("pred", "predicate", None))

# name, parameters, result, meaning, SYCL section, SPIR-V operation
_ALL: tuple[tuple[str, tuple[Parameter, ...], str, str, str, str], ...] = (
    (
        "group_broadcast",
        (_GROUP, _VALUE, ("linear_id", "uniform integer", 0)),
        "argument",
        "the value of one work-item, to all of the group",
        "4.17.3",
        "OpGroupBroadcast",
    ),
    (
        "reduce_over_group",
        _OPERATED,
        "argument",
        "all values combined by an operator, to all of the group",
        "4.17.4",
        "OpGroup... Reduce",
    ),
    (
        "inclusive_scan_over_group",
        _OPERATED,
        "argument",
        "the values up to and with the work-item's own, combined",
        "4.17.4",
        "OpGroup... InclusiveScan",
    ),
    (
        "exclusive_scan_over_group",
        _OPERATED,
        "argument",
        "the values before the work-item's own, combined; the identity for the first",
        "4.17.4",
        "OpGroup... ExclusiveScan",
    ),
    ("any_of_group", _TESTED, "bool", "whether any work-item's value is true", "4.17.4", "OpGroupAny"),
    ("all_of_group", _TESTED, "bool", "whether all work-items' values are true", "4.17.4", "OpGroupAll"),
    ("none_of_group", _TESTED, "bool", "whether no work-item's value is true", "4.17.4", "OpGroupAny"),
    (
        "shift_group_left",
        (_SUB_GROUP, _VALUE, ("delta", "uniform integer", 1)),
        "argument",
        "the value of the work-item that comes delta after; undefined if there is none",
        "4.17.4",
        "OpGroupNonUniformShuffleDown",
    ),
    (
        "shift_group_right",
        (_SUB_GROUP, _VALUE, ("delta", "uniform integer", 1)),
        "argument",
        "the value of the work-item that comes delta before; undefined if there is none",
        "4.17.4",
        "OpGroupNonUniformShuffleUp",
    ),
    (
        "permute_group_by_xor",
        (_SUB_GROUP, _VALUE, ("mask", "uniform integer", None)),
        "argument",
        "the value of the work-item whose id is the own one xor mask; undefined if there is none",
        "4.17.4",
        "OpGroupNonUniformShuffleXor",
    ),
    (
        "select_from_group",
        (_SUB_GROUP, _VALUE, ("remote_local_id", "integer", None)),
        "argument",
        "the value of the work-item that has this id in the sub-group",
        "4.17.4",
        "OpGroupNonUniformShuffle",
    ),
)

GROUP_ROWS: tuple[Intrinsic, ...] = tuple(
    Intrinsic(name, "group", None, "function", parameters, returns, meaning, sycl, spirv)
    for name, parameters, returns, meaning, sycl, spirv in _ALL
)
