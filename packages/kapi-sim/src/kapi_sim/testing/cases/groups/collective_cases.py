# mypy: disable-error-code="name-defined,no-untyped-def,no-untyped-call,untyped-decorator"
# The kernels are written as users write them.
"""Cases of group algorithms on work-groups: every operator and dtype, up to three dimensions, in device functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import kapi_sim as kapi
from kapi_sim.testing.case import Case, kernel, kernel_of_expressions, output_case

__all__ = ["CASES"]


@kernel
def _tests(nd_item: kapi.NdItem, a, out):
    group = nd_item.get_group()
    i = nd_item.get_global_id(0)
    out[0, i] = kapi.any_of_group(group, a[i] > 5)
    out[1, i] = kapi.all_of_group(group, a[i] > 5)
    out[2, i] = kapi.none_of_group(group, a[i] > 5)
    out[3, i] = kapi.reduce_over_group(group, a[i] > 5, kapi.logical_and)
    out[4, i] = kapi.reduce_over_group(group, a[i] > 5, kapi.logical_or)
    out[5, i] = kapi.exclusive_scan_over_group(group, a[i] > 5, kapi.logical_or)
    out[6, i] = kapi.inclusive_scan_over_group(group, a[i] > 5, kapi.logical_and)


@kernel
def _broadcast(nd_item: kapi.NdItem, a, out):
    group = nd_item.get_group()
    i = nd_item.get_global_id(0)
    out[0, i] = kapi.group_broadcast(group, a[i])
    out[1, i] = kapi.group_broadcast(group, a[i], 3)
    last = group.get_local_linear_range() - 1
    out[2, i] = kapi.group_broadcast(group, a[i], linear_id=last)


@kernel
def _two_dimensions(nd_item: kapi.NdItem, a, out):
    group = nd_item.get_group()
    y = nd_item.get_global_id(0)
    x = nd_item.get_global_id(1)
    out[0, y, x] = kapi.reduce_over_group(group, a[y, x], kapi.plus)
    out[1, y, x] = kapi.inclusive_scan_over_group(group, a[y, x], kapi.plus)
    out[2, y, x] = kapi.group_broadcast(group, a[y, x], 4)


@kernel
def _three_dimensions(nd_item: kapi.NdItem, out):
    group = nd_item.get_group()
    z = nd_item.get_global_id(0)
    y = nd_item.get_global_id(1)
    x = nd_item.get_global_id(2)
    i = nd_item.get_local_linear_id()
    out[0, z, y, x] = kapi.exclusive_scan_over_group(group, i, kapi.plus)
    out[1, z, y, x] = kapi.reduce_over_group(group, i, kapi.maximum)


def _in_device_functions(kapi: Any) -> Any:
    @kapi.device_func
    def total(group, x):
        return kapi.reduce_over_group(group, x, kapi.plus)

    @kapi.device_func
    def share(group, x):
        return x / total(group, x)

    @kapi.kernel
    def shares(nd_item: kapi.NdItem, a, out):
        i = nd_item.get_global_id(0)
        out[i] = share(nd_item.get_group(), a[i])

    return shares


@kernel
def _in_a_uniform_loop(nd_item: kapi.NdItem, a, out):
    group = nd_item.get_group()
    k = nd_item.get_local_id(0)
    row = group.get_group_id(0)
    total = a.dtype.type(0)
    for start in range(0, a.shape[1], 4):
        total += kapi.reduce_over_group(group, a[row, start + k], kapi.plus)
    if group.leader:
        out[row] = total


@kernel
def _python_numbers(nd_item: kapi.NdItem, out):
    group = nd_item.get_group()
    i = nd_item.get_global_id(0)
    k = nd_item.get_local_id(0)
    out[0, i] = kapi.reduce_over_group(group, 1, kapi.plus) * 0.5
    out[1, i] = kapi.inclusive_scan_over_group(group, k * 0.5, kapi.plus)
    out[2, i] = kapi.exclusive_scan_over_group(group, k, kapi.maximum) > 0


_SIZE = 8
_COUNT = 24
_INTEGER_UFUNCS = (np.add, np.multiply, np.minimum, np.maximum, np.bitwise_and, np.bitwise_or, np.bitwise_xor)


def _values(dtype: Any) -> np.ndarray[Any, Any]:
    integers = (np.arange(_COUNT) * 37 + 11) % 29 + 1
    if np.dtype(dtype).kind == "f":
        # Powers of two: sums and products of a group are exact in any order.
        return np.ldexp(1.0, (integers % 5 - 2).astype(np.int32)).astype(dtype)
    return (integers * (-1 if np.dtype(dtype).kind == "i" else 1) ** np.arange(_COUNT)).astype(dtype)


def _identities(dtype: Any) -> list[Any]:
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return [0, 1, np.inf, -np.inf]
    limits = np.iinfo(kind)
    return [0, 1, limits.max, limits.min, kind.type(0) if kind.kind == "b" else ~kind.type(0), 0, 0]


def _expected_operators(dtype: Any) -> Callable[[list[Any]], dict[int, np.ndarray[Any, Any]]]:
    def expected(given: list[Any]) -> dict[int, np.ndarray[Any, Any]]:
        rows = _values(dtype).reshape(-1, _SIZE)
        identities = _identities(dtype)
        reduced, inclusive, exclusive = (np.zeros((len(identities), _COUNT), dtype) for _ in range(3))
        for k, identity in enumerate(identities):
            scanned = np.empty_like(rows)
            for g, row in enumerate(rows):
                scanned[g] = _INTEGER_UFUNCS[k].accumulate(row, dtype=dtype)
            inclusive[k] = scanned.reshape(-1)
            reduced[k] = np.repeat(scanned[:, -1], _SIZE)
            shifted = np.full_like(rows, identity)
            shifted[:, 1:] = scanned[:, :-1]
            exclusive[k] = shifted.reshape(-1)
        return {1: np.concatenate([reduced, inclusive, exclusive])}

    return expected


_ALGORITHMS = ("reduce_over_group", "inclusive_scan_over_group", "exclusive_scan_over_group")
_OPERATORS = ("plus", "multiplies", "minimum", "maximum", "bit_and", "bit_or", "bit_xor")


def _operator_case(dtype: str) -> Case:
    operators = _OPERATORS[:4] if dtype.startswith("float") else _OPERATORS
    calls = [f"kapi.{algorithm}(group, a[i], kapi.{each})" for algorithm in _ALGORITHMS for each in operators]
    head = "def kernel(item: kapi.NdItem, a, out):\n    group, i = item.get_group(), item.get_global_id(0)"
    return Case(
        f"collectives/operators-{dtype}",
        kernel_of_expressions(head, calls),
        ((_COUNT,), (_SIZE,)),
        lambda: [_values(dtype), np.zeros((len(calls), _COUNT), dtype)],
        _expected_operators(dtype),
        covers=_ALGORITHMS,
    )


_NUMBERS = np.array([9, 7, 8, 6, 1, 9, 5, 5, 2, 3, 5, 0, 9, 9, 9, 4], np.int32)


def _expected_tests(given: list[Any]) -> dict[int, np.ndarray[Any, Any]]:
    rows = (_NUMBERS > 5).reshape(-1, 4)
    before = np.zeros_like(rows)
    before[:, 1:] = np.logical_or.accumulate(rows, axis=1)[:, :-1]
    each = [rows.any(axis=1), rows.all(axis=1), ~rows.any(axis=1), rows.all(axis=1), rows.any(axis=1)]
    repeated = [np.repeat(row, 4) for row in each]
    return {1: np.array([*repeated, before.reshape(-1), np.logical_and.accumulate(rows, axis=1).reshape(-1)])}


def _broadcast_case(dtype: str) -> Case:
    values = (np.arange(16) * 3 % 7 > 2) if dtype == "bool" else (np.arange(16) * 5 % 23).astype(dtype)
    return output_case(
        f"collectives/broadcast-{dtype}",
        _broadcast,
        ((16,), (8,)),
        [values],
        [np.repeat(values.reshape(2, 8)[:, k], 8) for k in (0, 3, 7)],
        dtype,
        covers=("group_broadcast",),
    )


_PLANE = (np.arange(24, dtype=np.int64).reshape(4, 6) * 13) % 17


def _expected_plane(given: list[Any]) -> dict[int, np.ndarray[Any, Any]]:
    out = np.zeros((3, 4, 6), np.int64)
    for y in range(0, 4, 2):
        for x in range(0, 6, 3):
            block = _PLANE[y : y + 2, x : x + 3]
            out[0, y : y + 2, x : x + 3] = block.sum()
            out[1, y : y + 2, x : x + 3] = np.cumsum(block.reshape(-1)).reshape(2, 3)
            out[2, y : y + 2, x : x + 3] = block[1, 1]
    return {1: out}


def _expected_cube(given: list[Any]) -> dict[int, np.ndarray[Any, Any]]:
    block = np.arange(12)
    scan = np.concatenate([[0], np.cumsum(block)[:-1]]).reshape(2, 2, 3)
    return {0: np.array([np.tile(scan, (2, 1, 2)), np.full((4, 2, 6), 11)])}


_MATRIX = np.arange(24, dtype=np.float32).reshape(2, 12)


def _at_ends_with_choices(kapi: Any) -> Any:
    """Python's compiler writes such an end once for each value; which ones depends on its version."""

    @kapi.device_func
    def total(group, x):
        return kapi.reduce_over_group(group, x, kapi.plus)

    @kapi.device_func
    def total_of_chosen(group, x, is_chosen):
        return kapi.reduce_over_group(group, x if is_chosen else 0.5, kapi.plus)

    @kapi.device_func
    def total_of_three(group, x, k):
        return total(group, x if k == 0 else -x if k == 1 else 0.25)

    @kapi.device_func
    def first_of_chosen(group, x, is_chosen):
        if x < 0:  # of no work-item
            return -1.0
        return kapi.group_broadcast(group, 100 * x if is_chosen else x, 0)

    @kapi.device_func
    def store_total(group, out, index, x, is_chosen):
        out[index] = total(group, x if is_chosen else 0.5)

    @kapi.kernel
    def at_ends_with_choices(nd_item: kapi.NdItem, a, out):
        i, group = nd_item.get_global_id(0), nd_item.get_group()
        k = nd_item.get_local_id(0)

        def counted(is_chosen):
            return total(group, 2 if is_chosen else 1)

        out[0, i] = total_of_chosen(group, a[i], k % 3 == 0)
        out[1, i] = total_of_three(group, a[i], k % 3)
        out[2, i] = first_of_chosen(group, a[i], k % 2 == 0)
        out[3, i] = counted(k % 2 == 0)
        store_total(group, out, (4, i), a[i], k % 3 == 0)

    return at_ends_with_choices


def _expected_at_ends(given: list[Any]) -> dict[int, Any]:
    groups, k = given[0].reshape(2, 4), np.arange(4)
    chosen = np.where(k % 3 == 0, groups, 0.5)
    of_three = np.where(k % 3 == 0, groups, np.where(k % 3 == 1, -groups, 0.25))
    rows = [chosen.sum(axis=1), of_three.sum(axis=1), 100 * groups[:, 0]]
    wanted = [np.repeat(row, 4) for row in rows]
    return {1: np.array([*wanted, np.full(8, 6.0), wanted[0]])}


CASES: tuple[Case, ...] = (
    *(_operator_case(dtype) for dtype in ("int32", "int64", "uint32", "uint64", "float32", "float64")),
    *(_broadcast_case(dtype) for dtype in ("bool", "int32", "uint64", "float32", "float64")),
    Case(
        "collectives/tests",
        _tests,
        ((16,), (4,)),
        lambda: [_NUMBERS, np.zeros((7, 16), np.bool_)],
        _expected_tests,
        covers=("any_of_group", "all_of_group", "none_of_group"),
    ),
    Case(
        "collectives/two-dimensions",
        _two_dimensions,
        ((4, 6), (2, 3)),
        lambda: [_PLANE, np.zeros((3, 4, 6), np.int64)],
        _expected_plane,
    ),
    Case(
        "collectives/three-dimensions",
        _three_dimensions,
        ((4, 2, 6), (2, 2, 3)),
        lambda: [np.zeros((2, 4, 2, 6), np.int64)],
        _expected_cube,
    ),
    output_case(
        "collectives/in-device-functions",
        _in_device_functions,
        ((8,), (4,)),
        [np.array([1.0, 2.0, 3.0, 2.0, 4.0, 4.0, 8.0, 0.0])],
        [0.125, 0.25, 0.375, 0.25, 0.25, 0.25, 0.5, 0.0],
    ),
    Case(
        "collectives/at-ends-with-choices",
        _at_ends_with_choices,
        ((8,), (4,)),
        lambda: [np.array([1.0, 2.0, 3.0, 2.0, 4.0, 4.0, 8.0, 0.0]), np.zeros((5, 8))],
        _expected_at_ends,
    ),
    output_case(
        "collectives/in-a-uniform-loop", _in_a_uniform_loop, ((8,), (4,)), [_MATRIX], _MATRIX.sum(axis=1), np.float32
    ),
    output_case(
        "collectives/python-numbers",
        _python_numbers,
        ((8,), (4,)),
        [],
        np.tile([[2.0] * 4, [0.0, 0.5, 1.5, 3.0], [0.0, 0.0, 1.0, 1.0]], (1, 2)),
    ),
)
