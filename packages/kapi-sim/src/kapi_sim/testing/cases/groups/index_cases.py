# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# The kernels are written as users write them.
"""Cases of the index queries: each of Item, NdItem and Group in one, two and three dimensions."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import kapi_sim as kapi
from kapi_sim.language.table.intrinsics import rows
from kapi_sim.testing.case import Case, kernel, kernel_of_expressions

__all__ = ["CASES"]

_SHAPES = ((12,), (4, 6), (2, 4, 6))
_LOCALS = ((4,), (2, 3), (1, 2, 3))


_OWNERS: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    "Item": ("Item", "item", "item.get_linear_id()", ("get_id", "get_range")),
    "NdItem": ("NdItem", "item", "item.get_global_linear_id()", ("get_global_id", "get_global_range")),
    "Group": ("NdItem", "item.get_group()", "item.get_global_linear_id()", ("get_group_id", "get_group_range")),
}
"""The type of a kernel's item, the owner and the index of its results, and its queries of one dimension."""


def _queries(owner: str, ndim: int) -> Any:
    """A kernel that stores what each query gives, along each dimension and linear."""
    item, subject, index, names = _OWNERS[owner]
    if item == "NdItem":
        names = (*names, "get_local_id", "get_local_range")
    queries = [f"subject.{name}({dimension})" for name in names for dimension in range(ndim)]
    queries += [re.sub("_(id|range)$", r"_linear_\1()", f"subject.{name}") for name in names]
    queries += ["subject.dimensions", *(["1 if subject.leader else 0"] if owner == "Group" else [])]
    return kernel_of_expressions(f"def kernel(item: kapi.{item}, out):\n    subject, i = {subject}, {index}", queries)


@kernel
def _dimension_in_a_variable(item: kapi.Item, out):
    total = 0
    for dim in range(3):
        total += item.get_id(dim) * 10**dim
    out[item.get_id(0), item.get_id(1), item.get_id(2)] = total


def _columns(index: np.ndarray[Any, Any], extents: tuple[int, ...]) -> list[np.ndarray[Any, Any]]:
    """Index along each dimension, then the extents, each as one column over all work-items."""
    return [*index, *(np.full(index.shape[1], extent) for extent in extents)]


def _linear(index: np.ndarray[Any, Any], extents: tuple[int, ...]) -> list[np.ndarray[Any, Any]]:
    count = index.shape[1]
    return [np.ravel_multi_index(tuple(index), extents), np.full(count, np.prod(extents))]


def _expected(owner: str, shape: tuple[int, ...], local: tuple[int, ...]) -> np.ndarray[Any, Any]:
    ids = np.indices(shape).reshape(len(shape), -1)
    per_group = np.array(local)[:, None]
    groups = tuple(g // n for g, n in zip(shape, local, strict=False))
    inner, outer = ids % per_group, ids // per_group
    dimensions = np.full(ids.shape[1], len(shape))
    if owner == "Item":
        columns = [*_columns(ids, shape), *_linear(ids, shape), dimensions]
    else:
        index, extents = (outer, groups) if owner == "Group" else (ids, shape)
        columns = [*_columns(index, extents), *_columns(inner, local)]
        columns += [*_linear(index, extents), *_linear(inner, local), dimensions]
        if owner == "Group":
            columns.append((inner == 0).all(axis=0))
    return np.stack(columns).astype(np.int64)


def _case(owner: str, ndim: int) -> Case:
    shape, local = _SHAPES[ndim - 1], _LOCALS[ndim - 1]
    wanted = _expected(owner, shape, local)
    covers = tuple(row.key for row in rows(owner))
    return Case(
        name=f"index/{owner}-{ndim}d",
        make=_queries(owner, ndim),
        space=(shape,) if owner == "Item" else (shape, local),
        inputs=lambda: [np.full(wanted.shape, -1, np.int64)],
        expected=lambda inputs: {0: wanted},
        covers=(*covers, "NdItem.get_group") if owner == "Group" else covers,
    )


CASES: tuple[Case, ...] = (
    *(_case(owner, ndim) for owner in _OWNERS for ndim in (1, 2, 3)),
    Case(
        name="index/dimension-in-a-variable",
        make=_dimension_in_a_variable,
        space=((2, 3, 4),),
        inputs=lambda: [np.zeros((2, 3, 4), np.int64)],
        expected=lambda inputs: {0: np.tensordot([1, 10, 100], np.indices((2, 3, 4)), 1)},
    ),
)
