"""Combining by work-groups of a GPU, and the kernel that combines partial results to one for each result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

import kapi_runtime
from kapi_numba_offload.elements.kernel_source import index_lines, make_kernel, space_of, spell_index
from kapi_numba_offload.elements.reduction_operators import Accumulator
from kapi_numba_offload.elements.sinks import extent_names, extents_of
from kapi_numba_offload.elements.work_distribution import group_size
from kapi_numba_offload.libraries.interface import DeviceFacts

__all__ = [
    "combines_by_items",
    "combining_arguments",
    "combining_kernel",
    "combining_space",
    "group_arguments",
    "group_lines",
    "strided_lines",
    "group_space",
    "kept_lines",
]

_FEW_PIECES = 32  # of one result: a work-item combines them sooner than a group, if results lie side by side


def group_lines(
    accumulator: Accumulator, before: Sequence[str], combined: Sequence[str], stored: Sequence[str]
) -> list[str]:
    """The lines of a kernel whose work-groups combine elements: each work-item some of them, and a tree these.

    - `accumulator`: what values become.
    - `before`: lines that come first; they know the work-item's number `k` in its group `group` of `size`, and the
      group's `number`.
    - `combined`: lines that combine the work-item's elements.
    - `stored`: lines that store the value, which one work-item runs.
    """
    names = list(zip(accumulator.variables, accumulator.arrays("shared"), strict=True))
    keep = [f"{array}[k] = {name}" for name, array in names]
    return [
        "k = item.get_local_id(0)",
        "size = item.get_local_range(0)",
        "group = item.get_group()",
        "number = group.get_group_linear_id()",
        *before,
        *combined,
        *keep,
        "half = size // 2",
        "while half > 0:",
        "    kapi_runtime.group_barrier(group)",
        "    if k < half:",
        *(f"        {line}" for line in [*accumulator.taken_from("shared", "k + half"), *keep]),
        "    half = half // 2",
        "if k == 0:",
        *(f"    {line}" for line in stored),
    ]


def strided_lines(accumulator: Accumulator, value: Callable[[str, str], Sequence[str]], in_flight: int) -> list[str]:
    """The lines that combine the elements from `at` on, a `step` apart, before the `end`.

    - `value`: what gives the lines that give a variable the value of the next element, which is at another variable.
    - `in_flight`: how many elements are read before the first of them is combined, since combining may branch.
    """
    numbers = range(in_flight)
    reads = [line for number in numbers for line in value(f"value{number}", f"at{number}")]
    combines = [line for number in numbers for line in accumulator.taken_in_order(f"value{number}", f"at{number}")]
    return [
        *accumulator.start_at("at", "end"),
        f"while at + {in_flight - 1} * step < end:",
        *(f"    at{number} = at + {number} * step" for number in numbers),
        *(f"    {line}" for line in [*reads, *combines]),
        f"    at = at + {in_flight} * step",
        "while at < end:",
        *(f"    {line}" for line in [*value("value", "at"), *accumulator.taken_in_order("value", "at")]),
        "    at = at + step",
    ]


def kept_lines(ndim: int, rest: str) -> list[str]:
    """The lines of a work-group that give `i0`, `i1`, ...: the indices of the result that has a number."""
    lines = [f"rest = {rest}"] if ndim else []
    for axis in reversed(range(1, ndim)):
        lines += [f"i{axis} = rest % n{axis}", f"rest = rest // n{axis}"]
    return lines + (["i0 = rest"] if ndim else [])


@lru_cache(maxsize=256)
def group_space(groups: int, count: int) -> kapi_runtime.NdRange:
    """The index space of such a kernel, with work-groups that suit so many elements for each."""
    size = group_size(count)
    return kapi_runtime.NdRange(groups * size, size)


def group_arguments(accumulator: Accumulator, count: int) -> tuple[Any, ...]:
    """The arrays in local memory of such a kernel."""
    return _local_memory(accumulator.dtypes, group_size(count))


@cache
def _local_memory(dtypes: tuple[np.dtype[Any], ...], size: int) -> tuple[Any, ...]:
    return tuple(kapi_runtime.LocalAccessor(size, dtype) for dtype in dtypes)


@cache
def combining_kernel(
    accumulator: Accumulator,
    ndim: int,
    by_items: bool,
    name: str,
    location: str,
    *,
    is_along_last: bool = True,
    is_mean: bool = False,
    fastmath: bool | frozenset[str] = False,
) -> kapi_runtime.Kernel:
    """The kernel that combines partial results, which have an axis more than results: the last one or the first.

    - `accumulator`: what values become.
    - `ndim`: axes of the results.
    - `by_items`: whether a work-item takes those of one result, as `combines_by_items` has it; else a work-group does.
    - `name`, `location`: the kernel's, and where it comes from.
    - `is_along_last`: which axis of the partial results is combined.
    - `is_mean`: whether the result is divided by `count`.
    - `fastmath`: as of `make_kernel`.
    """
    own = [f"i{axis}" for axis in range(ndim)]
    index = ", ".join([*own, "at"] if is_along_last else ["at", *own])
    extents = [f"n{axis}" for axis in range(ndim)]
    each = accumulator.taken_from("partial", index)
    stored = f"result{spell_index(tuple(range(ndim)))} = {accumulator.value(is_mean=is_mean)}"
    parameters = ["result", *accumulator.arrays("partial"), "identity", "items", "count"]
    if by_items:
        body = [*accumulator.start, "for at in range(items):", *(f"    {line}" for line in each), stored]
        lines, parameters = [*index_lines(ndim, extents), *body], [*parameters, *extent_names(extents)]
    else:
        combined = [*accumulator.start, "at = k", "while at < items:", *(f"    {line}" for line in each)]
        combined.append("    at = at + size")
        lines = group_lines(accumulator, kept_lines(ndim, "number"), combined, [stored])
        parameters += [*extents[1:], *accumulator.arrays("shared")]
    return make_kernel(name, tuple(parameters), tuple(lines), location, fastmath=fastmath)


def combines_by_items(items: int, facts: DeviceFacts, *, is_along_last: bool = True) -> bool:
    """Whether a work-item combines so many partial results, and no work-group.

    - `is_along_last`: as of `combining_kernel`.
    """
    return facts.is_cpu or (not is_along_last and items <= _FEW_PIECES)


def combining_space(shape: tuple[int, ...], items: int, *, by_items: bool) -> kapi_runtime.Range | kapi_runtime.NdRange:
    """The index space of that kernel for results of a shape, each of so many partial ones."""
    return space_of(shape) if by_items else group_space(int(np.prod(shape, dtype=np.int64)), items)


def combining_arguments(
    accumulator: Accumulator, shape: tuple[int, ...], items: int, count: int, *, by_items: bool
) -> tuple[Any, ...]:
    """Its arguments after `identity`."""
    rest = extents_of(shape) if by_items else [*shape[1:], *group_arguments(accumulator, items)]
    return (items, count, *rest)
