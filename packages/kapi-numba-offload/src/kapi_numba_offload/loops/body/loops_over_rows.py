"""Loops over the elements of rows in the body of a loop, as loops over indices."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

import numpy as np

from kapi_numba_offload.analysis.counted_loops import CountedLoops
from kapi_numba_offload.analysis.syntax import index_of, names_in, nodes_in, variable
from kapi_numba_offload.loops.body.state import BodyState, NotInKernelError
from kapi_numba_offload.loops.body.view_reading import ViewReader

__all__ = ["LoopsOverRows"]


class LoopsOverRows(CountedLoops):
    """Rewrites loops over rows."""

    def __init__(self, state: BodyState, views: ViewReader) -> None:
        super().__init__(state.names)
        self._state, self._views = state, views
        self._variables: dict[ast.expr, str] = {}

    def lengths(self, value: ast.expr, loop: ast.For, *, is_flat: bool) -> list[ast.expr] | None:
        """The lengths of rows, which get a variable, as they are before the loop."""
        state = self._state
        rows = state.rows(value)
        if rows is None:
            return None
        if rows.mask is not None:
            raise NotInKernelError("a loop over what a mask selects", loop)
        name = self._variables[value] = state.new("s")
        view = state.view(value)
        if view is not None:
            self._views.bind(name, view, value)
        else:
            state.expressions[name] = rows
        return rows.lengths

    def item(self, value: ast.expr, at: Sequence[ast.expr]) -> ast.expr:
        """The item of rows."""
        return ast.Subscript(variable(self._variables[value]), copy.deepcopy(index_of(at)), ast.Load())

    def new_counter(self) -> str:
        """A variable that counts from 0."""
        name = self._state.new("k")
        self._state.lower.take_counter(name)
        return name

    def counted(self, loop: ast.For) -> ast.For | None:
        """The loop that counts; loops over the indices of arrays, with their elements or without, are some, too."""
        match loop.iter, loop.target:
            case ast.Call(called, [value], []), ast.Tuple([index, element]) if (
                self.names.value(called) is np.ndenumerate
            ):
                lengths = self.lengths(value, loop, is_flat=True)
                return self._over_indices(loop, lengths, index, (element, value)) if lengths else None
            case ast.Call(called, args, []), index if self.names.value(called) is np.ndindex:
                lengths = args
                match args:
                    case [ast.Tuple(parts)]:
                        lengths = parts
                    case [ast.Attribute(owner, "shape")] if (rows := self._state.rows(owner)) is not None:
                        lengths = rows.lengths
                return self._over_indices(loop, lengths, index) if lengths else None
        return super().counted(loop)

    def _over_indices(
        self,
        loop: ast.For,
        lengths: Sequence[ast.expr],
        index: ast.expr,
        element: tuple[ast.expr, ast.expr] | None = None,
    ) -> ast.For | None:
        """Loops in each other for one over indices, and over elements if these have a target and a value."""

        def first(at: list[ast.expr]) -> list[ast.stmt]:
            if isinstance(index, ast.Name) and index.id not in names_in(nodes_in(loop.body), ast.Store, ast.Del):
                loop.body = [_AtIndex(index.id, at).visit(each) for each in loop.body]
            made: list[ast.stmt] = [ast.Assign([index], ast.Tuple(at, ast.Load()))]
            return made if element is None else [*made, ast.Assign([element[0]], self.item(element[1], at))]

        return self.nested(loop, lengths, first)


class _AtIndex(ast.NodeTransformer):
    """The counters instead of an index that is a tuple: `a[index]` is `a[i, j]`, and `index[0]` is `i`."""

    def __init__(self, name: str, at: Sequence[ast.expr]) -> None:
        self._name, self._at = name, at

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Subscript(slice=ast.Name(name)) if name == self._name:
                node.slice = copy.deepcopy(index_of(self._at))
            case ast.Subscript(ast.Name(name), ast.Constant(int(axis))) if name == self._name and axis < len(self._at):
                return ast.copy_location(copy.deepcopy(self._at[axis]), node)
        return node
