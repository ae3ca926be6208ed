"""Views: the part of an array that an expression in a loop's body names, and its elements."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kapi_numba_offload.analysis.syntax import indices_of, integer_literal
from kapi_numba_offload.elements.expression import Leaf
from kapi_numba_offload.loops.body.state import BodyState, NotInKernelError
from kapi_numba_offload.loops.body.syntax_parts import call_of, length_of, one, plus, times, variable, zero
from kapi_numba_offload.loops.body.views import ArrayPart, FixedAxis, FreeAxis, RowLeaf, Rows

__all__ = ["ViewReader"]


class ViewReader:
    """Reads views."""

    def __init__(self, state: BodyState) -> None:
        self._state = state
        self._free_texts: dict[str, str] = {}

    def numbers(self, node: ast.expr) -> list[ast.expr] | None:
        """The parts of an expression that must be numbers for it to name a part of an array, None if it names none.

        These are indices, and bounds of slices.
        """
        if isinstance(node, ast.Name):
            known = self._state.views, self._state.expressions, self._state.arrays
            return [] if any(node.id in each for each in known) else None
        if isinstance(node, ast.Attribute) and node.attr == "T":
            return self.numbers(node.value)
        found = self.numbers(node.value) if isinstance(node, ast.Subscript) else None
        if found is None:
            return None
        assert isinstance(node, ast.Subscript)
        for index in indices_of(node):
            if isinstance(index, ast.Slice):
                found += [bound for bound in (index.lower, index.upper) if bound is not None]
            elif not _is_constant(index, ...) and not self._is_new_axis(index):
                found.append(index)
        return found

    def of(self, node: ast.expr, spelled: Mapping[ast.expr, ast.expr]) -> ArrayPart:
        """The part of an array that an expression names.

        Parameters
        ----------
        node : ast.expr
            The expression, of which `numbers` finds that it names one.
        spelled : mapping of ast.expr to ast.expr
            Each of `numbers`, as the kernel has it.
        """
        if isinstance(node, ast.Name):
            return self._named(node.id)
        if isinstance(node, ast.Attribute):
            view = self.of(node.value, spelled)
            return ArrayPart(view.array, view.axes, view.order[::-1])
        assert isinstance(node, ast.Subscript)
        return self._part(self.of(node.value, spelled), node, spelled)

    def _named(self, name: str) -> ArrayPart:
        if name in self._state.views:
            return self._state.views[name]
        if name in self._state.expressions:
            rows = self._state.expressions[name]
            return _full_part(name, [FreeAxis(zero(), one(), length, is_one)
                                 for length, is_one in zip(rows.lengths, rows.ones, strict=True)])  # fmt: skip
        ones = self._state.arrays[name].ones
        return _full_part(
            name, [FreeAxis(zero(), one(), length_of(name, axis), is_one) for axis, is_one in enumerate(ones)]
        )

    def _part(self, outer: ArrayPart, node: ast.Subscript, spelled: Mapping[ast.expr, ast.expr]) -> ArrayPart:
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
            part = self._indexed(axis, index, spelled)
            if number is None:
                if isinstance(index, ast.Slice) and part is not axis:
                    raise NotInKernelError("a slice of a new axis", node)
            else:
                axes[number] = part
            if isinstance(part, FreeAxis):
                order.append(number)
        return ArrayPart(outer.array, tuple(axes), tuple(order))

    def _is_new_axis(self, index: ast.expr) -> bool:
        return _is_constant(index, None) or (
            isinstance(index, ast.Attribute) and self._state.names.value(index) is None
        )

    def _indexed(self, axis: FreeAxis, index: ast.expr, spelled: Mapping[ast.expr, ast.expr]) -> FixedAxis | FreeAxis:
        if isinstance(index, ast.Slice):
            return self._sliced(axis, index, spelled)
        low, at = self._state.lower.of(index), spelled[index]
        if low is None or low < 0:
            at = call_of("kapi_wrapped_index", at, copy.deepcopy(axis.length))
        return FixedAxis(plus(axis.start, times(at, axis.step)))

    def _sliced(self, axis: FreeAxis, index: ast.Slice, spelled: Mapping[ast.expr, ast.expr]) -> FreeAxis:
        if index.lower is None and index.upper is None and index.step is None:
            return axis
        step = 1 if index.step is None else integer_literal(index.step)
        if not step:
            raise NotInKernelError("a slice whose step is no constant", index)
        kept, suffix = self._state.kept, "" if step > 0 else "_down"
        length = kept(copy.deepcopy(axis.length))
        last = ast.BinOp(copy.deepcopy(length), ast.Sub(), one())
        ends = (zero(), length) if step > 0 else (last, ast.Constant(-1))
        start, stop = (
            kept(end if bound is None else
                 call_of(f"kapi_slice_bound{suffix}", spelled[bound], copy.deepcopy(length)))
            for bound, end in zip((index.lower, index.upper), ends, strict=True)
        )  # fmt: skip
        count = kept(call_of(f"kapi_slice_length{suffix}", start, stop, ast.Constant(abs(step))))
        if isinstance(count, ast.Name):
            self._state.bounds[count.id] = lambda: self._most(axis, index)
        first = kept(plus(axis.start, times(start, axis.step)))
        return FreeAxis(first, times(axis.step, ast.Constant(step)), count)

    def _most(self, axis: FreeAxis, index: ast.Slice) -> int | None:
        """The most elements that a slice may have."""
        upper = index.upper if index.step is None or integer_literal(index.step) == 1 else None
        difference = None if upper is None else self._state.difference(upper, index.lower or zero())
        of_axis = self._state.most(axis.length)
        if difference is None or difference < 0:
            return of_axis
        return difference if of_axis is None else min(difference, of_axis)

    # -------------------------------------------------------------------------------------------- elements

    def element(self, view: ArrayPart, at: Sequence[ast.expr]) -> ast.expr:
        """The element of a view at an index."""
        index = self._index(view, at)
        rows = self._state.expressions.get(view.array)
        if rows is not None:
            return rows.element(index)
        spelled = index[0] if len(index) == 1 else ast.Tuple(index, ast.Load())
        return ast.Subscript(variable(view.array), spelled, ast.Load())  # its line is that of the statement

    def stored(self, view: ArrayPart, at: Sequence[ast.expr], node: ast.AST) -> ast.Subscript:
        """The same as an assignment's target."""
        element = self.element(view, at)
        if view.array in self._state.expressions or not isinstance(element, ast.Subscript):
            raise NotInKernelError("a temporary array of a length that only the launch knows", node)
        element.ctx = ast.Store()
        return element

    def text(self, view: ArrayPart) -> str:
        """A text for the view, distinct from that of others of the same array."""
        own = self._index(view, [variable("_")] * len(view.order))
        free = [None if isinstance(axis, FixedAxis) else index for axis, index in zip(view.axes, own, strict=True)]
        text, free_text = (
            ast.unparse(ast.Tuple([*(each or ast.Constant(None) for each in parts), ast.Constant(str(view.order))],
                                  ast.Load()))
            for parts in (own, free)
        )  # fmt: skip
        self._free_texts[text] = free_text
        return text

    def is_parallel_to(self, text: str, other: str) -> bool:
        """Whether two views of an array, by their texts, have the same axes, at indices of their own in the others.

        Then elements of the same index are one and the same, or no other element of either.
        """
        return self._free_texts.get(text, text) == self._free_texts.get(other, other)

    def rows(self, view: ArrayPart) -> Rows:
        """A view of rank 1 or more as rows."""
        if self._state.is_put_off:
            view = ArrayPart(view.array, tuple(_changed(axis, self._state.frozen) for axis in view.axes), view.order)
        source = self._state.expressions.get(view.array)
        arrays = frozenset({(view.array, self.text(view))}) if source is None else source.arrays
        free = view.free
        lengths, ones = tuple(axis.length for axis in free), tuple(axis.is_one for axis in free)
        leaf = RowLeaf(lengths, ones, lambda at: self.element(view, at))
        is_bool, mask = (False, None) if source is None else (source.is_bool, source.mask)
        is_narrow = self._is_narrow(view.array) if source is None else source.has_narrow_integers
        return Rows(lengths, ones, Leaf(0), (leaf,), arrays, is_bool, mask, is_narrow)

    def _is_narrow(self, array: str) -> bool:
        """Whether an array may have integers of fewer than 64 bits, or bools; types of own ones are not known."""
        if array in self._state.wide:
            return False
        dtype = self._state.arrays[array].dtype
        return dtype is None or (dtype.kind in "biu" and dtype.itemsize < 8)

    def _index(self, view: ArrayPart, at: Sequence[ast.expr]) -> list[ast.expr]:
        along = {number: each for number, each in zip(view.order, at, strict=True) if number is not None}
        return [
            copy.deepcopy(axis.index) if isinstance(axis, FixedAxis)
            else plus(copy.deepcopy(axis.start), times(along[number], copy.deepcopy(axis.step)))
            for number, axis in enumerate(view.axes)
        ]  # fmt: skip

    # ------------------------------------------------------------------------------------------- variables

    def bind(self, name: str, view: ArrayPart, node: ast.AST) -> None:
        """Let a variable be a view, as it is here: what its index depends on may change afterwards."""
        if name in self._state.arrays or name in self._state.expressions:
            raise NotInKernelError(f"variable {name} for several arrays", node)
        earlier = self._state.views.get(name)
        if self._state.is_assigned_at_most_once(name):
            axes = [_changed(axis, self._state.frozen) for axis in view.axes]
        else:
            # Any of several assignments may have been the latest: each writes the same variables.
            axes = [_changed(axis, _Numbered(self._state, f"kapi_{name}_{number}"))
                    for number, axis in enumerate(view.axes)]  # fmt: skip
            if name in self._state.sliced:  # any of them may be of one element
                axes = [replace(axis, is_one=None) if isinstance(axis, FreeAxis) else axis for axis in axes]
        made = ArrayPart(view.array, tuple(axes), view.order)
        if earlier is not None and (_form(earlier) != _form(made)):
            raise NotInKernelError(f"variable {name} for parts of several arrays or ranks", node)
        self._state.views[name] = made


class _Numbered:
    """Assigns one variable after the other to what it is given."""

    def __init__(self, state: BodyState, stem: str) -> None:
        self._state, self._stem, self._count = state, stem, 0

    def __call__(self, value: ast.expr) -> ast.expr:
        self._count += 1
        name = f"{self._stem}_{self._count}"
        if isinstance(value, ast.Name) and value.id == name:
            return value
        self._state.renewed.add(name)
        return self._state.assigned(name, value)


def _changed(axis: FixedAxis | FreeAxis, change: Callable[[ast.expr], ast.expr]) -> FixedAxis | FreeAxis:
    if isinstance(axis, FixedAxis):
        return FixedAxis(change(axis.index))
    return FreeAxis(change(axis.start), change(axis.step), change(axis.length), axis.is_one)


def _form(view: ArrayPart) -> tuple[Any, ...]:
    return view.array, view.order, [type(axis) for axis in view.axes], [axis.is_one for axis in view.free]


def _full_part(name: str, axes: list[FreeAxis]) -> ArrayPart:
    return ArrayPart(name, tuple(axes), tuple(range(len(axes))))


def _is_constant(node: ast.expr, value: Any) -> bool:
    return isinstance(node, ast.Constant) and node.value is value
