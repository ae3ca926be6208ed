"""The kernels that reduce or scan an element expression, entirely or along axes, without storing it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import kapi_runtime
from kapi_numba_offload.elements.group_reduction import group_lines, kept_lines, strided_lines
from kapi_numba_offload.elements.kernel_source import (
    Indexing,
    index_lines,
    make_device_function,
    make_kernel,
    spell_index,
)
from kapi_numba_offload.elements.reduction_operators import Accumulator
from kapi_numba_offload.elements.sinks import Elements, extent_names, extents_of
from kapi_numba_offload.elements.work_distribution import POSITION_LINES

__all__ = ["GROUP_OPERATORS", "Along", "AlongKernels", "full", "loading", "seeding"]


_MANY, _SEVERAL = 8, 4  # elements that a work-item has asked for before it combines the first of them
_SMALL = 3  # operands and operations of an expression whose values leave registers for many of them


@dataclass(frozen=True)
class Along:
    """Layout of a reduction along axes.

    - `shape`: shape of the expression.
    - `axes`: the axes that go, in order.
    - `pieces`: work-items for each element of the result, or work-groups.
    """

    shape: tuple[int, ...]
    axes: Sequence[int]
    pieces: int

    @cached_property
    def kept(self) -> tuple[int, ...]:
        """The lengths of the axes that stay."""
        return tuple(length for axis, length in enumerate(self.shape) if axis not in self.axes)

    @cached_property
    def count(self) -> int:
        """Elements that become one."""
        return math.prod(self.shape[axis] for axis in self.axes)

    @property
    def is_along_last(self) -> bool:
        """Whether neighbouring elements become one."""
        return len(self.shape) - 1 in self.axes

    @property
    def virtual(self) -> tuple[int, ...]:
        """The index space: the kept axes, and the pieces."""
        if self.pieces == 1:
            return self.kept
        return (*self.kept, self.pieces) if self.is_along_last else (self.pieces, *self.kept)

    @property
    def steps(self) -> int:
        """Elements that a work-item takes, at most."""
        return -(-self.count // self.pieces)

    @property
    def scalars(self) -> tuple[int, ...]:
        """The numbers that the kernel of `along_axes` is given after its arrays."""
        return (self.count, self.steps, self.pieces, *self.inner, *extents_of(self.virtual))

    @property
    def inner(self) -> tuple[int, ...]:
        """The lengths of the axes that go, but for the first."""
        return tuple(self.shape[axis] for axis in self.axes[1:])


GROUP_OPERATORS = {"cumsum": ("sum", kapi_runtime.plus, "+"), "cumprod": ("prod", kapi_runtime.multiplies, "*")}
"""The reduction that a scan is one of, and its operator in the kernel language, as function and as sign."""


@dataclass(frozen=True, slots=True)
class AlongKernels:
    """The kernels that reduce or scan an expression along axes.

    - `elements`: the expression, one statement.
    - `indexings`: how each leaf is indexed, by axes of the expression.
    - `accumulator`: what values become.
    """

    elements: Elements
    indexings: Sequence[Indexing]
    along: Along
    accumulator: Accumulator

    def by_groups(self, *, is_mean: bool) -> kapi_runtime.Kernel:
        """The kernel for a GPU that reduces, with one or several work-groups for each element of the result.

        - `is_mean`: whether the result is divided by the number of elements that became one.
        """
        elements, accumulator, split, ndim = (
            self.elements,
            self.accumulator,
            self.along.pieces > 1,
            len(self.along.kept),
        )
        before = kept_lines(ndim, "number // pieces" if split else "number")
        own = ", ".join(f"i{axis}" for axis in range(ndim))
        if split:
            before += ["at = number % pieces * size + k", "step = pieces * size", "end = count"]
            stored = accumulator.stored("partial", f"{own}, number % pieces" if own else "number % pieces")
        else:
            before += ["at = k", "step = size", "end = count"]
            stored = [f"result[{own or '()'}] = {accumulator.value(is_mean=is_mean)}"]
        results = accumulator.arrays("partial") if split else ["result"]
        lengths = [f"n{axis}" for axis in range(1, ndim)] + self._inner_lengths
        shared = accumulator.arrays("shared")
        parameters = [*results, "identity", *elements.parameters, "count", "pieces", *lengths, *shared]
        lines = group_lines(accumulator, before, self._strided(self._named_axes(0)), stored)
        return elements.kernel(parameters, lines, "_by_groups")

    def by_items(self, *, is_blocked: bool, is_cpu: bool, is_mean: bool) -> kapi_runtime.Kernel:
        """The kernel that reduces, with one or several work-items for each element of the result.

        Neighbouring work-items take neighbouring elements in memory: those of the result where the last axis is kept,
        else those of the last axis.

        - `is_blocked`: whether a work-item takes neighbouring elements of the axes that go, which a processor's caches
          like.
        - `is_cpu`: whether neighbouring work-items are lanes of a vector, which take as many steps.
        - `is_mean`: as for `by_groups`.
        """
        along, accumulator, virtual, split = self.along, self.accumulator, self.along.virtual, self.along.pieces > 1
        named = self._named_axes(1 if split and not along.is_along_last else 0)
        extents = [f"n{axis}" for axis in range(len(virtual))]
        piece = None if not split else f"i{len(virtual) - 1}" if along.is_along_last else "i0"
        lines = index_lines(len(virtual), extents)
        if not is_cpu:
            if piece is None:
                lines += ["at = 0", "step = 1", "end = count"]
            elif is_blocked:
                lines += [f"at = {piece} * steps", "step = 1", "end = min(count, at + steps)"]
            else:
                lines += [f"at = {piece}", "step = pieces", "end = count"]
            lines += self._strided(named)
        else:
            lines += accumulator.start
            inner = [*self._inner_lines(), *_combined(self.elements, self._indices(named), accumulator)]
            if piece is None:
                lines += ["for at in range(count):", *(f"    {line}" for line in inner)]
            else:
                index = f"{piece} * steps + step" if is_blocked else f"step * pieces + {piece}"
                lines += ["for step in range(steps):", f"    at = {index}", "    if at < count:"]
                lines += [f"        {line}" for line in inner]
        index = spell_index(tuple(range(len(virtual))))
        if split:
            lines += accumulator.stored("partial", index[1:-1])
        else:
            lines.append(f"result{index} = {accumulator.value(is_mean=is_mean)}")
        results = accumulator.arrays("partial") if split else ["result"]
        parameters = [*results, "identity", *self.elements.parameters, "count", "steps", "pieces", *self._inner_lengths]
        return self.elements.kernel([*parameters, *extent_names(extents)], lines)

    def row_scan(self, name: str) -> kapi_runtime.Kernel:
        """The kernel that scans along the last axis, a work-group for each row, as `GROUP_OPERATORS` has it."""
        _, operator, sign = GROUP_OPERATORS[name]
        named, ndim, (last,) = self._named_axes(0), len(self.along.kept), self.along.axes
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
            *(f"        {line}" for line in self._values(named)),
            f"    found = kapi_runtime.inclusive_scan_over_group(group, value, kapi_runtime.{operator.__name__})",
            f"    found = carry {sign} found",
            f"    if j{last} < count:",
            f"        result[{self._own_index(named)}] = found",
            "    carry = kapi_runtime.group_broadcast(group, found, size - 1)",
        ]
        lengths = [f"n{axis}" for axis in range(1, ndim)]
        parameters = ["result", "identity", *self.elements.parameters, "count", *lengths]
        return self.elements.kernel(parameters, lines, "_by_rows")

    def column_scan(self) -> kapi_runtime.Kernel:
        """The kernel that scans along another axis: each work-item a piece, from the value in `seeds` on."""
        virtual, split = self.along.virtual, self.along.pieces > 1
        named = self._named_axes(1 if split else 0)
        extents = [f"n{axis}" for axis in range(len(virtual))]
        inner = [*self._inner_lines(), *self._values(named), *self.accumulator.taken("value", "at")]
        inner.append(f"result[{self._own_index(named)}] = total")
        lines = index_lines(len(virtual), extents)
        if split:
            seed = ", ".join(f"i{axis}" for axis in range(len(virtual)))
            lines += [f"total = seeds[{seed}]", "for step in range(steps):", "    at = i0 * steps + step"]
            lines += ["    if at < count:", *(f"        {line}" for line in inner)]
        else:
            lines += ["total = identity", "for at in range(count):", *(f"    {line}" for line in inner)]
        first = "seeds" if split else "identity"
        parameters = ["result", first, *self.elements.parameters, "count", "steps", "pieces", *extent_names(extents)]
        return self.elements.kernel(parameters, lines, "_by_columns")

    def _strided(self, named: dict[int, str]) -> list[str]:
        """The lines of `strided_lines`, by the names of axes: of several, the indices come from those before."""
        indices, axes = self._indices(named), self.along.axes
        start = [*self._inner_lines(), *self._inner_lines("step", "s")] if len(axes) > 1 else []
        advance: list[str] = []
        for axis in reversed(axes[1:]):
            carry = " + carry" if advance else ""
            advance += [f"j{axis} = j{axis} + s{axis}{carry}", "carry = 0", f"if j{axis} >= m{axis}:"]
            advance += [f"    j{axis} = j{axis} - m{axis}", "    carry = 1"]
        if advance:
            advance.append(f"j{axes[0]} = j{axes[0]} + s{axes[0]} + carry")

        def value(name: str, at: str) -> list[str]:
            lines = _value_lines(self.elements, indices, self.accumulator, name)
            return [*lines, *advance] if advance else [f"j{axes[0]} = {at}", *lines]

        in_flight = _MANY if len(self.elements.dtypes) <= _SMALL else _SEVERAL
        return [*start, *strided_lines(self.accumulator, value, in_flight)]

    def _named_axes(self, first_kept: int) -> dict[int, str]:
        """The index of each axis: `i` those of results, from one number on, `j` those of the loop."""
        kept = [axis for axis in range(len(self.along.shape)) if axis not in self.along.axes]
        own = {axis: f"i{first_kept + number}" for number, axis in enumerate(kept)}
        return own | {axis: f"j{axis}" for axis in self.along.axes}

    def _own_index(self, named: dict[int, str]) -> str:
        return ", ".join(named[axis] for axis in range(len(self.along.shape)))

    def _indices(self, named: dict[int, str]) -> list[str | None]:
        """The index of each leaf, by the names of axes."""
        return [
            None if each is None else f"[{', '.join('0' if axis < 0 else named[axis] for axis in each) or '()'}]"
            for each in self.indexings
        ]

    def _values(self, named: dict[int, str]) -> list[str]:
        return _value_lines(self.elements, self._indices(named), self.accumulator, "value")

    @property
    def _inner_lengths(self) -> list[str]:
        return [f"m{axis}" for axis in self.along.axes[1:]]

    def _inner_lines(self, at: str = "at", letter: str = "j") -> list[str]:
        """The lines that give the indices of the axes that go, of the element at a variable, a letter before each."""
        lines, rest = [], at
        for axis in reversed(self.along.axes[1:]):
            lines += [f"{letter}{axis} = {rest} % m{axis}", f"rest{axis} = {rest} // m{axis}"]
            rest = f"rest{axis}"
        return [*lines, f"{letter}{self.along.axes[0]} = {rest}"]


def full(elements: Elements, indexings: Sequence[Indexing], accumulator: Accumulator) -> kapi_runtime.Kernel:
    """The kernel for a processor that reduces an expression of arrays of one axis to one value a work-item."""
    indices = [None if each is None else spell_index(each) for each in indexings]
    lines = [
        *POSITION_LINES,
        *accumulator.start,
        "for step in range(kapi_steps):",
        "    at = kapi_base + step * kapi_lanes",
        "    if at < count:",
        *(f"        {line}" for line in [*kept_lines(1, "at"), *_combined(elements, indices, accumulator)]),
        *accumulator.stored("partial", "kapi_row * kapi_lanes + kapi_lane"),
    ]
    partial = accumulator.arrays("partial")
    return elements.kernel([*partial, "identity", *elements.parameters, "count", "kapi_steps"], lines)


def _combined(elements: Elements, indices: Sequence[str | None], accumulator: Accumulator) -> list[str]:
    """The lines that combine an element of an expression, the one at `at`."""
    return [*_value_lines(elements, indices, accumulator, "value"), *accumulator.taken("value", "at")]


def _value_lines(elements: Elements, indices: Sequence[str | None], accumulator: Accumulator, name: str) -> list[str]:
    """The lines that give a variable the value of an element."""
    return [*elements.reads(indices), f"{name} = {elements.value(accumulator.dtype)}"]


def loading(elements: Elements, accumulator: Accumulator) -> Any:
    """The device function that gives the value of an expression of one array, of one axis, at an index."""
    (name,) = elements.parameters
    lines = [*elements.reads(["[index]"]), f"return {elements.value(accumulator.dtype)}"]
    return make_device_function("value_at", (name, "index"), tuple(lines), str(elements.location))


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
