# mypy: disable-error-code="name-defined,no-untyped-def,no-untyped-call,untyped-decorator"
# The kernels are written as users write them.
"""Cases of the index queries: each of Item, NdItem and Group in one, two and three dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from kapi_sim.language.table.intrinsics import rows
from kapi_sim.testing.case import Case

__all__ = ["CASES"]

_SHAPES = ((12,), (4, 6), (2, 4, 6))
_LOCALS = ((4,), (2, 3), (1, 2, 3))


def _item_1(kapi: Any) -> Any:
    @kapi.kernel
    def item_queries(item: kapi.Item, out):
        i = item.get_linear_id()
        out[i, 0] = item.get_id(0)
        out[i, 1] = item.get_range(0)
        out[i, 2] = item.get_linear_id()
        out[i, 3] = item.get_linear_range()
        out[i, 4] = item.dimensions

    return item_queries


def _item_2(kapi: Any) -> Any:
    @kapi.kernel
    def item_queries(item: kapi.Item, out):
        i = item.get_linear_id()
        out[i, 0] = item.get_id(0)
        out[i, 1] = item.get_id(1)
        out[i, 2] = item.get_range(0)
        out[i, 3] = item.get_range(1)
        out[i, 4] = item.get_linear_id()
        out[i, 5] = item.get_linear_range()
        out[i, 6] = item.dimensions

    return item_queries


def _item_3(kapi: Any) -> Any:
    @kapi.kernel
    def item_queries(item: kapi.Item, out):
        i = item.get_linear_id()
        out[i, 0] = item.get_id(0)
        out[i, 1] = item.get_id(1)
        out[i, 2] = item.get_id(2)
        out[i, 3] = item.get_range(0)
        out[i, 4] = item.get_range(1)
        out[i, 5] = item.get_range(2)
        out[i, 6] = item.get_linear_id()
        out[i, 7] = item.get_linear_range()
        out[i, 8] = item.dimensions

    return item_queries


def _nd_item_1(kapi: Any) -> Any:
    @kapi.kernel
    def nd_item_queries(nd_item: kapi.NdItem, out):
        i = nd_item.get_global_linear_id()
        out[i, 0] = nd_item.get_global_id(0)
        out[i, 1] = nd_item.get_global_range(0)
        out[i, 2] = nd_item.get_local_id(0)
        out[i, 3] = nd_item.get_local_range(0)
        out[i, 4] = nd_item.get_global_linear_id()
        out[i, 5] = nd_item.get_global_linear_range()
        out[i, 6] = nd_item.get_local_linear_id()
        out[i, 7] = nd_item.get_local_linear_range()
        out[i, 8] = nd_item.dimensions

    return nd_item_queries


def _nd_item_2(kapi: Any) -> Any:
    @kapi.kernel
    def nd_item_queries(nd_item: kapi.NdItem, out):
        i = nd_item.get_global_linear_id()
        out[i, 0] = nd_item.get_global_id(0)
        out[i, 1] = nd_item.get_global_id(1)
        out[i, 2] = nd_item.get_global_range(0)
        out[i, 3] = nd_item.get_global_range(1)
        out[i, 4] = nd_item.get_local_id(0)
        out[i, 5] = nd_item.get_local_id(1)
        out[i, 6] = nd_item.get_local_range(0)
        out[i, 7] = nd_item.get_local_range(1)
        out[i, 8] = nd_item.get_global_linear_id()
        out[i, 9] = nd_item.get_global_linear_range()
        out[i, 10] = nd_item.get_local_linear_id()
        out[i, 11] = nd_item.get_local_linear_range()
        out[i, 12] = nd_item.dimensions

    return nd_item_queries


def _nd_item_3(kapi: Any) -> Any:
    @kapi.kernel
    def nd_item_queries(nd_item: kapi.NdItem, out):
        i = nd_item.get_global_linear_id()
        out[i, 0] = nd_item.get_global_id(0)
        out[i, 1] = nd_item.get_global_id(1)
        out[i, 2] = nd_item.get_global_id(2)
        out[i, 3] = nd_item.get_global_range(0)
        out[i, 4] = nd_item.get_global_range(1)
        out[i, 5] = nd_item.get_global_range(2)
        out[i, 6] = nd_item.get_local_id(0)
        out[i, 7] = nd_item.get_local_id(1)
        out[i, 8] = nd_item.get_local_id(2)
        out[i, 9] = nd_item.get_local_range(0)
        out[i, 10] = nd_item.get_local_range(1)
        out[i, 11] = nd_item.get_local_range(2)
        out[i, 12] = nd_item.get_global_linear_id()
        out[i, 13] = nd_item.get_global_linear_range()
        out[i, 14] = nd_item.get_local_linear_id()
        out[i, 15] = nd_item.get_local_linear_range()
        out[i, 16] = nd_item.dimensions

    return nd_item_queries


def _group_1(kapi: Any) -> Any:
    @kapi.kernel
    def group_queries(nd_item: kapi.NdItem, out):
        i = nd_item.get_global_linear_id()
        group = nd_item.get_group()
        out[i, 0] = group.get_group_id(0)
        out[i, 1] = group.get_group_range(0)
        out[i, 2] = group.get_local_id(0)
        out[i, 3] = group.get_local_range(0)
        out[i, 4] = group.get_group_linear_id()
        out[i, 5] = group.get_group_linear_range()
        out[i, 6] = group.get_local_linear_id()
        out[i, 7] = group.get_local_linear_range()
        out[i, 8] = group.dimensions
        out[i, 9] = 1 if group.leader else 0

    return group_queries


def _group_2(kapi: Any) -> Any:
    @kapi.kernel
    def group_queries(nd_item: kapi.NdItem, out):
        i = nd_item.get_global_linear_id()
        group = nd_item.get_group()
        out[i, 0] = group.get_group_id(0)
        out[i, 1] = group.get_group_id(1)
        out[i, 2] = group.get_group_range(0)
        out[i, 3] = group.get_group_range(1)
        out[i, 4] = group.get_local_id(0)
        out[i, 5] = group.get_local_id(1)
        out[i, 6] = group.get_local_range(0)
        out[i, 7] = group.get_local_range(1)
        out[i, 8] = group.get_group_linear_id()
        out[i, 9] = group.get_group_linear_range()
        out[i, 10] = group.get_local_linear_id()
        out[i, 11] = group.get_local_linear_range()
        out[i, 12] = group.dimensions
        out[i, 13] = 1 if group.leader else 0

    return group_queries


def _group_3(kapi: Any) -> Any:
    @kapi.kernel
    def group_queries(nd_item: kapi.NdItem, out):
        i = nd_item.get_global_linear_id()
        group = nd_item.get_group()
        out[i, 0] = group.get_group_id(0)
        out[i, 1] = group.get_group_id(1)
        out[i, 2] = group.get_group_id(2)
        out[i, 3] = group.get_group_range(0)
        out[i, 4] = group.get_group_range(1)
        out[i, 5] = group.get_group_range(2)
        out[i, 6] = group.get_local_id(0)
        out[i, 7] = group.get_local_id(1)
        out[i, 8] = group.get_local_id(2)
        out[i, 9] = group.get_local_range(0)
        out[i, 10] = group.get_local_range(1)
        out[i, 11] = group.get_local_range(2)
        out[i, 12] = group.get_group_linear_id()
        out[i, 13] = group.get_group_linear_range()
        out[i, 14] = group.get_local_linear_id()
        out[i, 15] = group.get_local_linear_range()
        out[i, 16] = group.dimensions
        out[i, 17] = 1 if group.leader else 0

    return group_queries


def _dimension_in_a_variable(kapi: Any) -> Any:
    @kapi.kernel
    def sum_of_ids(item: kapi.Item, out):
        total = 0
        for dim in range(3):
            total += item.get_id(dim) * 10**dim
        out[item.get_id(0), item.get_id(1), item.get_id(2)] = total

    return sum_of_ids


def _columns(index: np.ndarray[Any, Any], extents: tuple[int, ...]) -> list[np.ndarray[Any, Any]]:
    """Index along each dimension, then the extents, each as one column over all work-items."""
    return [*index, *(np.full(index.shape[1], extent) for extent in extents)]


def _linear(index: np.ndarray[Any, Any], extents: tuple[int, ...]) -> list[np.ndarray[Any, Any]]:
    count = index.shape[1]
    return [np.ravel_multi_index(tuple(index), extents), np.full(count, np.prod(extents))]


def _expected(owner: str, shape: tuple[int, ...], local: tuple[int, ...]) -> np.ndarray[Any, Any]:
    whole = np.indices(shape).reshape(len(shape), -1)
    per_group = np.array(local)[:, None]
    groups = tuple(g // n for g, n in zip(shape, local, strict=False))
    inner, outer = whole % per_group, whole // per_group
    dimensions = np.full(whole.shape[1], len(shape))
    if owner == "Item":
        columns = [*_columns(whole, shape), *_linear(whole, shape), dimensions]
    elif owner == "NdItem":
        columns = [
            *_columns(whole, shape),
            *_columns(inner, local),
            *_linear(whole, shape),
            *_linear(inner, local),
            dimensions,
        ]
    else:
        columns = [
            *_columns(outer, groups),
            *_columns(inner, local),
            *_linear(outer, groups),
            *_linear(inner, local),
            dimensions,
            (inner == 0).all(axis=0),
        ]
    return np.stack([column.astype(np.int64) for column in columns], axis=1)


def _case(owner: str, ndim: int, make: Any) -> Case:
    shape, local = _SHAPES[ndim - 1], _LOCALS[ndim - 1]
    wanted = _expected(owner, shape, local)
    covers = tuple(row.key for row in rows(owner))
    return Case(
        name=f"index/{owner}-{ndim}d",
        make=make,
        space=(shape,) if owner == "Item" else (shape, local),
        inputs=lambda: [np.full(wanted.shape, -1, np.int64)],
        expected=lambda inputs: {0: wanted},
        covers=(*covers, "NdItem.get_group") if owner == "Group" else covers,
    )


CASES: tuple[Case, ...] = (
    _case("Item", 1, _item_1),
    _case("Item", 2, _item_2),
    _case("Item", 3, _item_3),
    _case("NdItem", 1, _nd_item_1),
    _case("NdItem", 2, _nd_item_2),
    _case("NdItem", 3, _nd_item_3),
    _case("Group", 1, _group_1),
    _case("Group", 2, _group_2),
    _case("Group", 3, _group_3),
    Case(
        name="index/dimension-in-a-variable",
        make=_dimension_in_a_variable,
        space=((2, 3, 4),),
        inputs=lambda: [np.zeros((2, 3, 4), np.int64)],
        expected=lambda inputs: {0: np.tensordot([1, 10, 100], np.indices((2, 3, 4)), 1)},
    ),
)
