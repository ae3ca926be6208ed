"""Views: the part of an array that an expression in a loop's body names, and its elements."""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from kapi_numba_offload.analysis.syntax import expression, index_of, indices_of, integer_literal, plus, times, variable
from kapi_numba_offload.loops.body.launches.launch_conditions import within
from kapi_numba_offload.loops.body.launches.slices_within import extent_within
from kapi_numba_offload.loops.body.state import BodyState, NotInKernelError
from kapi_numba_offload.loops.body.views import ArrayPart, Extent, FixedAxis, FreeAxis, Rows

__all__ = ["ViewReader"]


class ViewReader:
    """Reads views."""

    def __init__(self, state: BodyState) -> None:
        self._state = state

    def of(self, node: ast.expr) -> ArrayPart | None:
        """The part of an array that an expression names, None if it names none."""
        state = self._state
        match node:
            case ast.Name() if (view := state.bound_view(node)) is not None:
                return view
            case ast.Name(name) if name in state.expressions:
                return ArrayPart.full(name, state.expressions[name].shape)
            case ast.Name(name) if name in state.arrays:
                return ArrayPart.full(name, [Extent(expression(f"{name}.shape[{axis}]"), is_one)
                                             for axis, is_one in enumerate(state.arrays[name].ones)])  # fmt: skip
            case ast.Attribute(value, "T") if (view := self.of(value)) is not None:
                return replace(view, order=view.order[::-1])
            case ast.Subscript(ast.Name(name), index) if name in state.tuples:
                number = integer_literal(index)
                if number is None or not -len(state.tuples[name]) <= number < len(state.tuples[name]):
                    raise NotInKernelError("an index of a tuple that is no constant", node)
                return self.of(variable(state.tuples[name][number]))
            case ast.Subscript(value) if (view := self.of(value)) is not None:
                return self._part(view, node)
        return None

    def _part(self, outer: ArrayPart, node: ast.Subscript) -> ArrayPart:
        source = self._state.expressions.get(outer.array)
        if source is not None and source.mask is not None:
            raise NotInKernelError("a part of what a mask selects", node)
        indices = indices_of(node)
        taken = sum(not _is_constant(each, ...) and not self._is_new_axis(each) for each in indices)
        if taken > len(outer.order):
            raise NotInKernelError("an index with more parts than the array has axes", node)
        rest: list[ast.expr] = [ast.Slice()] * (len(outer.order) - taken)
        dots = [number for number, each in enumerate(indices) if _is_constant(each, ...)]
        at = dots[0] if dots else len(indices)
        indices[at : at + len(dots)] = rest
        axes = list(outer.axes)
        order: list[int | None] = []
        given = iter(zip(outer.order, outer.free, strict=True))
        for index in indices:
            if self._is_new_axis(index):
                order.append(None)
                continue
            number, axis = next(given)
            part = self._sliced(axis, index) if isinstance(index, ast.Slice) else self._indexed(axis, index)
            if number is not None:
                axes[number] = part
            elif isinstance(index, ast.Slice) and part is not axis:
                raise NotInKernelError("a slice of a new axis", node)
            if isinstance(part, FreeAxis):
                order.append(number)
        return ArrayPart(outer.array, tuple(axes), tuple(order))

    def _is_new_axis(self, index: ast.expr) -> bool:
        return _is_constant(index, None) or (
            isinstance(index, ast.Attribute) and self._state.names.value(index) is None
        )

    def _indexed(self, axis: FreeAxis, index: ast.expr) -> FixedAxis:
        at = self._state.wrapped(index, axis.extent.length)
        at = within(self._state, at, axis.extent.length, index)
        return FixedAxis(plus(axis.start, times(at, axis.step)))

    def _sliced(self, axis: FreeAxis, index: ast.Slice) -> FreeAxis:
        if index.lower is None and index.upper is None and index.step is None:
            return axis
        step = 1 if index.step is None else integer_literal(index.step)
        if not step:
            raise NotInKernelError("a slice whose step is no constant", index)
        state, suffix = self._state, "" if step > 0 else "_down"
        if step == 1 and (extent := extent_within(state, axis.extent.length, index)) is not None:
            start = ast.Constant(0) if index.lower is None else state.scalar(copy.deepcopy(index.lower))
            self._note_bound(extent.length, axis, index)
            return FreeAxis(state.kept(plus(axis.start, times(start, axis.step))), axis.step, extent)
        length = state.kept(copy.deepcopy(axis.extent.length))
        last = expression("LENGTH - 1", LENGTH=length)
        ends = (ast.Constant(0), length) if step > 0 else (last, ast.Constant(-1))
        start, stop = (
            state.kept(end if bound is None else expression(
                f"kapi_slice_bound{suffix}(BOUND, LENGTH)", BOUND=state.scalar(copy.deepcopy(bound)), LENGTH=length))
            for bound, end in zip((index.lower, index.upper), ends, strict=True)
        )  # fmt: skip
        text = f"kapi_slice_length{suffix}(START, STOP, {abs(step)})"
        count = state.kept(expression(text, START=start, STOP=stop))
        self._note_bound(count, axis, index)
        first = state.kept(plus(axis.start, times(start, axis.step)))
        # Of a group, no slice of one element serves others: its launch tells that lengths are equal.
        extent = Extent(count, None if state.group is None else False)
        return FreeAxis(first, times(axis.step, ast.Constant(step)), extent)

    def _note_bound(self, length: ast.expr, axis: FreeAxis, index: ast.Slice) -> None:
        """Note what tells the most that the length of a slice may be."""
        if isinstance(length, ast.Name):
            self._state.launch.bounds[length.id] = lambda: self._most(axis, index)

    def _most(self, axis: FreeAxis, index: ast.Slice) -> int | None:
        """The most elements that a slice may have."""
        upper = index.upper if index.step is None or integer_literal(index.step) == 1 else None
        lower = index.lower or ast.Constant(0)
        difference = None if upper is None else self._state.launch.difference(upper, lower)
        of_axis = self._state.launch.most(axis.extent.length)
        if difference is None or difference < 0:
            return of_axis
        return difference if of_axis is None else min(difference, of_axis)

    # -------------------------------------------------------------------------------------------- elements

    def element(self, view: ArrayPart, at: Sequence[ast.expr]) -> ast.expr:
        """The element of a view at an index."""
        index = view.index(at)
        rows = self._state.expressions.get(view.array)
        if rows is not None:
            return rows.element(index)
        return ast.Subscript(variable(view.array), index_of(index), ast.Load())  # its line is that of the statement

    def stored(self, view: ArrayPart, at: Sequence[ast.expr], node: ast.AST) -> ast.Subscript:
        """The same as an assignment's target."""
        element = self.element(view, at)
        if view.array in self._state.expressions or not isinstance(element, ast.Subscript):
            raise NotInKernelError("a temporary array of a length that only the launch knows", node)
        element.ctx = ast.Store()
        return element

    def rows(self, view: ArrayPart) -> Rows:
        """A view of rank 1 or more as rows."""
        state = self._state
        if state.is_put_off:
            view = replace(view, axes=tuple(_changed(axis, state.frozen) for axis in view.axes))
        made = Rows.of(view.shape, lambda at: self.element(view, at))
        source = state.expressions.get(view.array)
        if source is not None:
            return replace(source, shape=made.shape, spelled=made.spelled)
        is_narrow = state.arrays[view.array].has_narrow_integers
        return replace(made, reads=frozenset({view.access}), has_narrow_integers=is_narrow)

    def bind(self, name: str, view: ArrayPart, node: ast.AST) -> None:
        """Let a variable be a view, as it is here: what its index depends on may change afterwards."""
        state = self._state
        state.require_own(name, node)
        if name in state.arrays or name in state.expressions:
            raise NotInKernelError(f"variable {name} for several arrays", node)
        if state.assignments[name] <= 1:
            axes = [_changed(axis, state.frozen) for axis in view.axes]
        else:
            # Any of several assignments may have been the latest: each writes the same variables.
            axes = [_changed(axis, self._renewed(name, number, node)) for number, axis in enumerate(view.axes)]
            if name in state.sliced:  # any of them may be of one element
                axes = [replace(axis, extent=Extent(axis.extent.length)) if isinstance(axis, FreeAxis) else axis
                        for axis in axes]  # fmt: skip
        made = ArrayPart(view.array, tuple(axes), view.order)
        if _form(state.views.get(name, made)) != _form(made):
            raise NotInKernelError(f"variable {name} for parts of several arrays or ranks", node)
        state.bind(name, made)

    def _renewed(self, source: str, axis: int, node: ast.AST) -> Callable[[ast.expr], ast.expr]:
        """Assigns one variable after the other to what it is given, for an axis of a variable."""
        numbers = itertools.count(1)

        def assign(value: ast.expr) -> ast.expr:
            name = f"kapi_{source}_{axis}_{next(numbers)}"
            if isinstance(value, ast.Name) and value.id == name:
                return value
            if not self._state.launch.may_get(name, value):
                raise NotInKernelError(f"variable {source} for parts of several lengths", node)
            self._state.renewed.add(name)
            return self._state.assigned(name, value)

        return assign


def _changed(axis: FixedAxis | FreeAxis, change: Callable[[ast.expr], ast.expr]) -> FixedAxis | FreeAxis:
    if isinstance(axis, FixedAxis):
        return FixedAxis(change(axis.index))
    start, step, length = (change(each) for each in (axis.start, axis.step, axis.extent.length))
    return FreeAxis(start, step, Extent(length, axis.extent.is_one))


def _form(view: ArrayPart) -> tuple[Any, ...]:
    return view.array, view.order, [type(axis) for axis in view.axes], [each.is_one for each in view.shape]


def _is_constant(node: ast.expr, value: Any) -> bool:
    return isinstance(node, ast.Constant) and node.value is value
