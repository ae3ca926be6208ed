# mypy: disable-error-code="name-defined,no-untyped-def,no-untyped-call,untyped-decorator"
# The kernels are written as users write them.
"""Cases of the parts of sub-groups, each compared in the kernel with loops over the members of a part."""

from __future__ import annotations

from typing import Any

import numpy as np

import kapi_sim as kapi
from kapi_sim.testing.case import Case, kernel

__all__ = ["CASES"]

_SIZE = 40


@kapi.device_func
def later(x, y):
    """An operator that is not commutative."""
    return y if y > 0 else x


@kapi.device_func
def compare(sub_group, part, keys, a, first, result, i):
    """Write whether what a part gives is what loops give; work-items of a sub-group with equal keys are a part."""
    k = sub_group.get_local_id()
    own, key = a[first + k], keys[first + k]
    size, local_id = 0, 0
    total, up_to, least, last, after = own * 0, own, own, own, own
    has_any, has_all, has_after = False, True, False
    for m in range(sub_group.get_local_range()):
        if keys[first + m] == key:
            x = a[first + m]
            if m < k:
                local_id += 1
                up_to = up_to + x
            elif m > k and not has_after:
                after, has_after = x, True
            total = total + x
            least = min(least, x)
            last = later(last, x) if size > 0 else x
            has_any = has_any or x > 3
            has_all = has_all and x > -3
            size += 1
    result[i, 0] = kapi.part_size(part) == size
    result[i, 1] = kapi.part_local_id(sub_group, part) == local_id
    result[i, 2] = kapi.reduce_over_part(sub_group, part, own, kapi.plus) == total
    result[i, 3] = kapi.reduce_over_part(sub_group, part, own, kapi.minimum) == least
    result[i, 4] = kapi.reduce_over_part(sub_group, part, own, later) == last
    result[i, 5] = kapi.inclusive_scan_over_part(sub_group, part, own, kapi.plus) == up_to
    result[i, 6] = kapi.exclusive_scan_over_part(sub_group, part, own, kapi.plus) == up_to - own
    result[i, 7] = kapi.any_of_part(sub_group, part, own > 3) == has_any
    result[i, 8] = kapi.all_of_part(sub_group, part, own > -3) == has_all
    result[i, 9] = kapi.select_from_part(sub_group, part, own, local_id + 1) == after
    leader = kapi.select_from_part(sub_group, part, k, 0)
    result[i, 10] = keys[first + leader] == key and (leader == k) == (local_id == 0)


@kernel
def by_chunks(item, a, keys, result, size):
    sub_group, i = item.get_sub_group(), item.get_local_id(0)
    k = sub_group.get_local_id()
    keys[i] = k // size
    kapi.group_barrier(item.get_group())
    compare(sub_group, kapi.chunked_partition(sub_group, size), keys, a, i - k, result, i)


@kernel
def by_predicate(item, a, keys, result, divisor):
    sub_group, i = item.get_sub_group(), item.get_local_id(0)
    holds = a[i] % divisor == 0
    keys[i] = 1 if holds else 0
    kapi.group_barrier(item.get_group())
    compare(sub_group, kapi.binary_partition(sub_group, holds), keys, a, i - sub_group.get_local_id(), result, i)


_CHECKS = 11


def _case(name: str, program: Any, dtype: str, number: int) -> Case:
    def inputs() -> list[Any]:
        a = ((np.arange(_SIZE) * 7 + 3) % 11 - 5).astype(dtype)
        return [a, np.full(_SIZE, -1, np.int32), np.zeros((_SIZE, _CHECKS), np.bool_), number]

    def expected(given: list[Any]) -> dict[int, Any]:
        return {2: np.ones((_SIZE, _CHECKS), np.bool_)}

    return Case(name, program, ((_SIZE,), (_SIZE,)), inputs, expected)


CASES: tuple[Case, ...] = (
    *(_case(f"parts/chunks-{size}", by_chunks, "int32", size) for size in (1, 3, 4, 64)),
    *(_case(f"parts/predicate-{each}", by_predicate, "int64", each) for each in (1, 2)),
    _case("parts/predicate-float32", by_predicate, "float32", 3),
)
