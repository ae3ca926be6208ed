# mypy: disable-error-code="name-defined,no-untyped-def,no-untyped-call,untyped-decorator"
# The kernels are written as users write them.
"""Cases of the algorithms that a group runs over an array together."""

from __future__ import annotations

from typing import Any

import numpy as np

import kapi_sim as kapi
from kapi_sim.testing.case import Case, Local, kernel

__all__ = ["CASES"]


@kernel
def joined(item, a, result, up_to, before, tile):
    group, sub_group = item.get_group(), item.get_sub_group()
    kapi.joint_inclusive_scan(group, a[::-1], up_to, kapi.plus)
    kapi.joint_exclusive_scan(group, a, before, 3, kapi.maximum)
    kapi.joint_inclusive_scan(
        sub_group, a[:5], tile[item.get_local_id(0) // sub_group.get_max_local_range(), :], kapi.plus, 10
    )
    kapi.group_barrier(group)
    i = item.get_local_id(0)
    result[i, 0] = kapi.joint_reduce(group, a, 5, kapi.plus)
    result[i, 1] = kapi.joint_reduce(sub_group, a[2:9], -7, kapi.minimum)
    result[i, 2] = kapi.joint_reduce(group, a[:0], 4, kapi.multiplies)
    result[i, 3] = tile[0, 4]


@kapi.device_func
def is_negative(x):
    """A predicate."""
    return x < 0


@kernel
def asked(item, a, result):
    group, i = item.get_group(), item.get_local_id(0)
    result[i, 0] = kapi.joint_any_of(group, a, is_negative)
    result[i, 1] = kapi.joint_all_of(group, a[:3], is_negative)
    result[i, 2] = kapi.joint_none_of(item.get_sub_group(), a[3:], is_negative)
    result[i, 3] = kapi.joint_any_of(group, a[:0], is_negative)
    result[i, 4] = kapi.joint_all_of(group, a[:0], is_negative)


def _joined(name: str, dtype: str, length: int) -> Case:
    def inputs() -> list[Any]:
        a = ((np.arange(length) * 7 + 3) % 11 - 2).astype(dtype)
        return [
            a,
            np.full((8, 4), -1, dtype),
            np.full(length, -1, dtype),
            np.full(length, -1, dtype),
            Local((8, 5), dtype),
        ]

    def expected(given: list[Any]) -> dict[int, Any]:
        a = given[0].tolist()
        sums = [sum(a[::-1][: i + 1]) for i in range(length)]
        most = [max([3, *a[:i]]) for i in range(length)]
        row = [sum(a) + 5, min([-7, *a[2:9]]), 4, 10 + sum(a[:5])]
        return {1: np.array([row] * 8, dtype), 2: np.array(sums, dtype), 3: np.array(most, dtype)}

    return Case(name, joined, ((8,), (8,)), inputs, expected)


def _asked() -> Case:
    def inputs() -> list[Any]:
        return [np.array([-1, -2, -3, *range(30)], np.int32), np.full((4, 5), 9, np.int32)]

    def expected(given: list[Any]) -> dict[int, Any]:
        return {1: np.array([[1, 1, 1, 0, 1]] * 4, np.int32)}

    return Case("joint/predicates", asked, ((4,), (4,)), inputs, expected)


CASES: tuple[Case, ...] = (
    *(_joined(f"joint/combined-{dtype}-{length}", dtype, length) for dtype, length in (("int32", 37), ("float32", 9))),
    _asked(),
)
