"""The kernels that scan an element expression, and the function that loads its values for an algorithm's kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import kapi_runtime
from kapi_numba_offload.elements.combining import kept_lines
from kapi_numba_offload.elements.kernel_source import Indexing, index_lines, make_device_function, make_kernel
from kapi_numba_offload.elements.reduction_kernels import Along, inner_lines, named_axes, spelled_indices, value_lines
from kapi_numba_offload.elements.reductions import Accumulator
from kapi_numba_offload.elements.sinks import Elements, extent_names

__all__ = ["GROUP_OPERATORS", "column_scan", "loading", "row_scan", "seeding"]

GROUP_OPERATORS = {"cumsum": ("sum", kapi_runtime.plus, "+"), "cumprod": ("prod", kapi_runtime.multiplies, "*")}
"""The reduction that a scan is one of, and its operator in the kernel language, as function and as sign."""


def loading(elements: Elements, accumulator: Accumulator) -> Any:
    """The device function that gives the value of an expression of one array, of one axis, at an index."""
    (name,) = elements.parameters
    lines = [*elements.reads(["[index]"]), f"return {elements.value(accumulator.dtype)}"]
    return make_device_function("value_at", (name, "index"), tuple(lines), str(elements.location))


def row_scan(
    elements: Elements, indexings: Sequence[Indexing], along: Along, name: str, accumulator: Accumulator
) -> kapi_runtime.Kernel:
    """The kernel that scans along the last axis, a work-group for each row.

    Parameters
    ----------
    elements : Elements
        The expression, one statement.
    indexings : sequence of Indexing
        How each leaf is indexed, by axes of the expression.
    along : Along
        The layout, its axes the last one alone.
    name : str
        A key of `GROUP_OPERATORS`.
    accumulator : Accumulator
        What values become.
    """
    _, operator, sign = GROUP_OPERATORS[name]
    named, ndim = named_axes(along, 0), len(along.kept)
    index = ", ".join(named[axis] for axis in range(len(along.shape)))
    last = along.axes[0]
    lines = [
        "k = item.get_local_id(0)",
        "size = item.get_local_range(0)",
        "group = item.get_group()",
        *kept_lines(ndim, "group.get_group_linear_id()"),
        "carry = identity",
        "for base in range(0, count, size):",
        f"    j{last} = base + k",
        "    value = identity",
        f"    if j{last} < count:",
        *(f"        {each}" for each in value_lines(elements, spelled_indices(indexings, named), accumulator, "value")),
        f"    found = kapi_runtime.inclusive_scan_over_group(group, value, kapi_runtime.{operator.__name__})",
        f"    found = carry {sign} found",
        f"    if j{last} < count:",
        f"        result[{index}] = found",
        "    carry = kapi_runtime.group_broadcast(group, found, size - 1)",
    ]
    lengths = [f"n{axis}" for axis in range(1, ndim)]
    return elements.kernel(["result", "identity", *elements.parameters, "count", *lengths], lines, "_by_rows")


def column_scan(
    elements: Elements, indexings: Sequence[Indexing], along: Along, accumulator: Accumulator
) -> kapi_runtime.Kernel:
    """The kernel that scans along another axis: each work-item a piece, from the value in `seeds` on."""
    virtual, split = along.virtual, along.pieces > 1
    named = named_axes(along, 1 if split else 0)
    extents = [f"n{axis}" for axis in range(len(virtual))]
    index = ", ".join(named[axis] for axis in range(len(along.shape)))
    inner = [*inner_lines(along), *value_lines(elements, spelled_indices(indexings, named), accumulator, "value")]
    inner += [*accumulator.taken("value", "at"), f"result[{index}] = total"]
    lines = index_lines(len(virtual), extents)
    if split:
        seed = ", ".join(f"i{axis}" for axis in range(len(virtual)))
        lines += [f"total = seeds[{seed}]", "for step in range(steps):", "    at = i0 * steps + step"]
        lines += ["    if at < count:", *(f"        {line}" for line in inner)]
    else:
        lines += ["total = identity", "for at in range(count):", *(f"    {line}" for line in inner)]
    first = "seeds" if split else "identity"
    parameters = ["result", first, *elements.parameters, "count", "steps", "pieces", *extent_names(extents)]
    return elements.kernel(parameters, lines, "_by_columns")


def seeding(ndim: int, accumulator: Accumulator, location: str) -> kapi_runtime.Kernel:
    """The kernel that turns the totals of pieces into what comes before each, along their first axis."""
    own = [f"i{axis}" for axis in range(ndim)]
    extents = [f"n{axis}" for axis in range(ndim)]
    at = ", ".join(["piece", *own])
    lines = [
        *index_lines(ndim, extents),
        "total = identity",
        "for piece in range(pieces):",
        f"    value = seeds[{at}]",
        f"    seeds[{at}] = total",
        *(f"    {line}" for line in accumulator.taken("value", "piece")),
    ]
    parameters = ("seeds", "identity", "pieces", *extent_names(extents))
    return make_kernel("seeds", parameters, tuple(lines), location)
