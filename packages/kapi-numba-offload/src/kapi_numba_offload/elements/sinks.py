"""The kernels that an element expression ends in: one that stores it, and those that reduce it, to one or along axes.

`Elements` is the expression for the operands in hand. An end gives the kernel's lines their frame; the operands are
read, and the value is spelled, alike for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import kapi_runtime
from kapi_numba_offload.elements.combining import combining_lines, combining_parameters
from kapi_numba_offload.elements.expression import Node, leaves_of
from kapi_numba_offload.elements.kernel_source import Indexing, emit, index_lines, make_kernel, spell_index
from kapi_numba_offload.elements.operands import dtype_of
from kapi_numba_offload.elements.reductions import Combination
from kapi_numba_offload.elements.spelling import Operand, cast
from kapi_numba_offload.elements.statements import Statement, StatementLocation
from kapi_numba_offload.elements.work_distribution import POSITION_LINES
from kapi_numba_offload.libraries.arrays import is_device_array
from kapi_numba_offload.libraries.interface import DeviceFacts

__all__ = ["Along", "Elements", "along_axes", "extents_of", "full", "full_by_one_group", "stored"]


@dataclass(frozen=True, slots=True)
class Elements:
    """Elementwise statements for operands of known dtypes.

    Attributes
    ----------
    statements : sequence of Statement
        In their order.
    arrays : sequence of bool
        Which leaves are arrays.
    operands : sequence of Operand
        How the leaves are spelled once they are read, and their dtypes.
    dtypes : mapping
        The dtype of each node, None for Python's own numbers.
    fastmath : bool or frozenset of str
        Whether kernels may be optimised as if arithmetic were exact, or flags for how far.
    """

    statements: Sequence[Statement]
    arrays: Sequence[bool]
    operands: Sequence[Operand]
    dtypes: Mapping[Node, np.dtype[Any] | None]
    fastmath: bool | frozenset[str]

    @classmethod
    def of(
        cls,
        statements: Sequence[Statement],
        leaves: Sequence[Any],
        values: Mapping[Node, Any],
        fastmath: bool | frozenset[str],
    ) -> Elements:
        """The statements for leaves, with the values or types of their nodes."""
        return cls(
            statements,
            [is_device_array(leaf) for leaf in leaves],
            [Operand(f"x{number}", dtype_of(leaf)) for number, leaf in enumerate(leaves)],
            {node: dtype_of(value) for node, value in values.items()},
            fastmath,
        )

    @property
    def location(self) -> StatementLocation:
        """Source location of the first statement."""
        return self.statements[0].location

    @property
    def name(self) -> str:
        """Name of its kernels."""
        function = self.location.function
        return function if function.isidentifier() else "expression"

    @property
    def parameters(self) -> list[str]:
        """The parameters of kernels for the leaves."""
        return [f"{'a' if is_array else 'x'}{number}" for number, is_array in enumerate(self.arrays)]

    def reads(self, indices: Sequence[str | None], elsewhere: Mapping[int, Any] | None = None) -> list[str]:
        """The lines that read an element of each array.

        Parameters
        ----------
        indices : sequence of str or None
            The index for each leaf, in brackets; None for a number.
        elsewhere : mapping of int, optional
            Leaves that are read where they are used.
        """
        used = set().union(*(leaves_of(each.node) for each in self.statements))
        return [
            f"x{number} = a{number}{index}"
            for number, index in enumerate(indices)
            if index is not None and number in used and number not in (elsewhere or ())
        ]

    def value(self, dtype: np.dtype[Any]) -> str:
        """The source of the only statement's value, of a dtype."""
        made = emit(self.statements[0].node, self.operands, (), self.dtypes)
        return f"({made.source} != 0)" if dtype.kind == "b" else cast(made, dtype)

    def kernel(self, parameters: Sequence[str], lines: Sequence[str], suffix: str = "") -> kapi_runtime.Kernel:
        """A kernel of these parameters and lines."""
        return make_kernel(
            self.name + suffix, tuple(parameters), tuple(lines), str(self.location), fastmath=self.fastmath
        )


def stored(
    elements: Elements,
    indexings: Sequence[Indexing],
    results: Sequence[np.dtype[Any]],
    ndim: int,
    memory: Mapping[int, int],
) -> kapi_runtime.Kernel:
    """The kernel that stores each element of the statements.

    Parameters
    ----------
    elements : Elements
        The statements.
    indexings : sequence of Indexing
        How each leaf is indexed.
    results : sequence of numpy.dtype
        The dtype of each statement's value.
    ndim : int
        Axes of the index space.
    memory : mapping of int to int
        Leaves whose elements statements change: they are read at each use, under the one leaf that is stored to.

    Raises
    ------
    TypeError
        If an operation cannot be spelled for these dtypes.
    """
    extents = [f"n{axis}" for axis in range(ndim)]
    indices = [None if each is None else spell_index(each) for each in indexings]
    lines = [*index_lines(ndim, extents), *elements.reads(indices, memory)]
    spelled = [
        Operand(f"a{memory[number]}{indices[number]}", operand.dtype) if number in memory else operand
        for number, operand in enumerate(elements.operands)
    ]
    full_index = spell_index(tuple(range(ndim)))
    values: list[Operand] = []
    outputs = []
    for number, (statement, dtype) in enumerate(zip(elements.statements, results, strict=True)):
        lines.append(f"v{number} = {emit(statement.node, spelled, values, elements.dtypes).source}")
        value = Operand(f"v{number}", dtype)
        if statement.target is not None:
            target = f"a{memory[statement.target]}{indices[statement.target]}"
            lines.append(f"{target} = v{number}")
            value = Operand(target, elements.operands[statement.target].dtype)
        elif statement.is_output:
            lines.append(f"o{number}{full_index} = v{number}")
        if statement.target is not None or statement.is_output:
            outputs.append(f"o{number}")
        values.append(value)
    return elements.kernel([*outputs, *elements.parameters, *_extents(extents)], lines)


def full(
    elements: Elements,
    indexings: Sequence[Indexing],
    ndim: int,
    combination: Combination,
    dtype: np.dtype[Any],
    facts: DeviceFacts,
    *,
    is_mean: bool,
) -> tuple[kapi_runtime.Kernel, kapi_runtime.Kernel]:
    """The kernels that reduce all elements of an expression: to one a work-item, and these to one.

    Parameters
    ----------
    elements : Elements
        The expression, one statement.
    indexings : sequence of Indexing
        How each leaf is indexed.
    ndim : int
        Axes of the expression: one where its arrays are contiguous, and given as arrays of one axis.
    combination : Combination
        What two values become.
    dtype : numpy.dtype
        The result's.
    facts : DeviceFacts
        Those of the device.
    is_mean : bool
        Whether the result is divided by the number of elements.
    """
    first = [
        *POSITION_LINES,
        "total = identity",
        "for step in range(kapi_steps):",
        "    i = kapi_base + step * kapi_lanes",
        "    if i < count:",
        *(f"        {line}" for line in _combined(elements, indexings, ndim, combination, dtype)),
        "partial[kapi_row * kapi_lanes + kapi_lane] = total",
    ]
    second = combining_lines(combination, dtype, _finished(dtype, is_mean), facts)
    return (
        elements.kernel(["partial", "identity", *elements.parameters, "count", "kapi_steps", *_lengths(ndim)], first),
        elements.kernel(combining_parameters(facts), second, "_combined"),
    )


def full_by_one_group(
    elements: Elements,
    indexings: Sequence[Indexing],
    ndim: int,
    combination: Combination,
    dtype: np.dtype[Any],
    facts: DeviceFacts,
    *,
    is_mean: bool,
) -> kapi_runtime.Kernel:
    """The kernel that reduces all elements of few, as `full` does with two, by one work-group of a GPU."""
    each = _combined(elements, indexings, ndim, combination, dtype)
    lines = combining_lines(combination, dtype, _finished(dtype, is_mean), facts, each)
    parameters = ["result", "identity", *elements.parameters, "items", "count", *_lengths(ndim), "shared"]
    return elements.kernel(parameters, lines, "_by_one_group")


def _combined(
    elements: Elements, indexings: Sequence[Indexing], ndim: int, combination: Combination, dtype: np.dtype[Any]
) -> list[str]:
    """The lines that combine the element number `i` of an expression."""
    lines = ["rest = i"] if ndim > 1 else []
    for axis in reversed(range(1, ndim)):
        lines += [f"i{axis} = rest % n{axis}", f"rest = rest // n{axis}"]
    lines.append("i0 = rest" if ndim > 1 else "i0 = i")
    indices = [None if each is None else spell_index(each) for each in indexings]
    return [*lines, *elements.reads(indices), f"value = {elements.value(dtype)}", combination.line("value", dtype)]


def _lengths(ndim: int) -> list[str]:
    return [f"n{axis}" for axis in range(1, ndim)]


@dataclass(frozen=True, slots=True)
class Along:
    """Layout of a reduction along axes.

    Attributes
    ----------
    shape : tuple of int
        Shape of the expression.
    axes : sequence of int
        The axes that go, in order.
    pieces : int
        Work-items for each element of the result.
    """

    shape: tuple[int, ...]
    axes: Sequence[int]
    pieces: int

    @property
    def kept(self) -> tuple[int, ...]:
        """The lengths of the axes that stay."""
        return tuple(length for axis, length in enumerate(self.shape) if axis not in self.axes)

    @property
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
        """The numbers that the first kernel is given after its arrays."""
        inner = (self.shape[axis] for axis in self.axes[1:])
        return (self.count, self.steps, self.pieces, *inner, *extents_of(self.virtual))


def along_axes(
    elements: Elements,
    indexings: Sequence[Indexing],
    along: Along,
    combination: Combination,
    dtype: np.dtype[Any],
    *,
    is_mean: bool,
) -> tuple[kapi_runtime.Kernel, kapi_runtime.Kernel | None]:
    """The kernel that reduces along axes, and the one that combines its pieces where there are several.

    Neighbouring work-items take neighbouring elements in memory: those of the result where the last axis is kept, else
    those of the last axis.

    Parameters
    ----------
    elements : Elements
        The expression, one statement.
    indexings : sequence of Indexing
        How each leaf is indexed, by axes of the expression.
    along : Along
        The layout.
    combination : Combination
        What two values become.
    dtype : numpy.dtype
        The result's.
    is_mean : bool
        Whether the result is divided by the number of elements that became one.
    """
    virtual, split = along.virtual, along.pieces > 1
    # Which index of the kernel each axis follows: `i` those of work-items, `j` those of the loop.
    first_kept = 1 if split and not along.is_along_last else 0
    named: dict[int, str] = {axis: f"j{axis}" for axis in along.axes}
    kept = [axis for axis in range(len(along.shape)) if axis not in along.axes]
    named |= {axis: f"i{first_kept + number}" for number, axis in enumerate(kept)}
    extents = [f"n{axis}" for axis in range(len(virtual))]
    piece = None if not split else f"i{len(virtual) - 1}" if along.is_along_last else "i0"
    inner: list[str] = []
    rest = "at"
    for axis in reversed(along.axes[1:]):
        inner += [f"j{axis} = {rest} % m{axis}", f"rest{axis} = {rest} // m{axis}"]
        rest = f"rest{axis}"
    inner.append(f"j{along.axes[0]} = {rest}")
    indices = [
        None if each is None else f"[{', '.join('0' if axis < 0 else named[axis] for axis in each) or '()'}]"
        for each in indexings
    ]
    inner += [*elements.reads(indices), f"value = {elements.value(dtype)}", combination.line("value", dtype)]
    lines = [*index_lines(len(virtual), extents), "total = identity"]
    if piece is None:
        lines += ["for at in range(count):", *(f"    {line}" for line in inner)]
    else:
        index = f"step * pieces + {piece}" if along.is_along_last else f"{piece} * steps + step"
        lines += ["for step in range(steps):", f"    at = {index}", "    if at < count:"]
        lines += [f"        {line}" for line in inner]
    lines.append(f"result{spell_index(tuple(range(len(virtual))))} = {_finished(dtype, is_mean and not split)}")
    lengths = [f"m{axis}" for axis in along.axes[1:]]
    parameters = ["result", "identity", *elements.parameters, "count", "steps", "pieces", *lengths, *_extents(extents)]
    first = elements.kernel(parameters, lines)
    if not split:
        return first, None
    own = [f"i{axis}" for axis in range(len(along.kept))]
    partial = ", ".join([*own, "piece"] if along.is_along_last else ["piece", *own])
    extents = [f"n{axis}" for axis in range(len(own))]
    lines = [
        *index_lines(len(own), extents),
        "total = identity",
        "for piece in range(pieces):",
        f"    {combination.line(f'partial[{partial}]', dtype)}",
        f"result{spell_index(tuple(range(len(own))))} = {_finished(dtype, is_mean)}",
    ]
    parameters = ["result", "partial", "identity", "pieces", "count", *_extents(extents)]
    return first, elements.kernel(parameters, lines, "_combined")


def extents_of(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The extents that a kernel over the elements of an array of this shape is given."""
    return shape[1 : len(shape) - 2] if len(shape) > 3 else ()


def _extents(names: Sequence[str]) -> Sequence[str]:
    return names[1 : len(names) - 2] if len(names) > 3 else ()


def _finished(dtype: np.dtype[Any], is_mean: bool) -> str:
    return f"total / np.{dtype.name}(count)" if is_mean else "total"
