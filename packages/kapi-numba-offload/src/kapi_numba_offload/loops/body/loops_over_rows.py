"""Loops over the elements of rows in the body of a loop, as loops over indices."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kapi_numba_offload.analysis.control_flow import has_break
from kapi_numba_offload.analysis.syntax import located, names_in, nodes_in
from kapi_numba_offload.loops.body.state import BodyState, NotInKernelError
from kapi_numba_offload.loops.body.syntax_parts import expression, index_of, nested_loops, plus, statements, variable
from kapi_numba_offload.loops.body.view_reading import ViewReader
from kapi_numba_offload.loops.body.views import Rows

__all__ = ["LoopsOverRows"]


@dataclass(frozen=True, slots=True)
class LoopsOverRows:
    """Rewrites loops over rows."""

    state: BodyState
    views: ViewReader

    def over_indices(self, node: ast.For) -> ast.For:
        """`for x in row`, and the same over `enumerate`, `zip` and all indices, by index; other loops as they are."""
        made = None
        match node.iter, node.target:
            case ast.Attribute(value, "flat"), target:
                made = self._over_elements(node, value, None, target)
            case ast.Call(called, args, keywords), target:
                function = self.state.names.value(called)
                match target:
                    case ast.Tuple([counter, element]) if function is enumerate and args and not keywords:
                        start = args[1] if len(args) == 2 else ast.Constant(0)
                        made = self._over(node, [element], args[:1], (counter, start))
                    case ast.Tuple(elements) if function is zip and len(elements) == len(args):
                        made = self._over(node, elements, args)
                    case ast.Tuple([index, element]) if function is np.ndenumerate and len(args) == 1:
                        made = self._over_elements(node, args[0], index, element)
                if getattr(function, "__name__", None) == "ndindex" and not keywords:
                    made = self._over_shape(node, args)
            case value, target:
                made = self._over(node, [target], [value])
        return node if made is None else made

    def _over_shape(self, node: ast.For, args: Sequence[ast.expr]) -> ast.For | None:
        """`for i, j in np.ndindex(m, n)` as loops in each other."""
        lengths = list(args)
        match lengths:
            case [ast.Tuple(parts)]:
                lengths = parts
            case [ast.Attribute(owner, "shape")] if (rows := self.state.rows(owner)) is not None:
                lengths = rows.lengths
        return self._nested(node, lengths, node.target, None) if lengths else None

    def _over_elements(
        self, node: ast.For, value: ast.expr, index: ast.expr | None, element: ast.expr
    ) -> ast.For | None:
        """A loop over all elements of an array in C order, with their indices if these have a target."""
        rows = self._rows([value], node)
        if rows is None:
            return None
        return self._nested(node, rows[0].lengths, index, (element, self._named(value, rows[0])))

    def _nested(
        self, node: ast.For, lengths: list[ast.expr], index: ast.expr | None, element: tuple[ast.expr, str] | None
    ) -> ast.For | None:
        """Loops in each other for one over indices, and the element at them if that has a target and a name."""
        if node.orelse or (len(lengths) > 1 and has_break(node)):
            return None
        counters = [self.state.new("k") for _ in lengths]
        at: list[ast.expr] = [variable(each) for each in counters]
        body = list(node.body)
        if isinstance(index, ast.Name) and index.id not in names_in(nodes_in(body), ast.Store, ast.Del):
            body = [_AtIndex(index.id, counters).visit(each) for each in body]
        first: list[ast.stmt] = [] if index is None else [ast.Assign([index], ast.Tuple(at, ast.Load()))]
        if element is not None:
            value = ast.Subscript(variable(element[1]), copy.deepcopy(index_of(at)), ast.Load())
            first.append(ast.Assign([element[0]], value))
        for counter in counters:
            self.state.lower.take_counter(counter)
        return _as_loop(nested_loops(counters, lengths, [*first, *body]), node)

    def _over(
        self,
        node: ast.For,
        targets: Sequence[ast.expr],
        values: Sequence[ast.expr],
        counted: tuple[ast.expr, ast.expr] | None = None,
    ) -> ast.For | None:
        """A loop over the elements of several rows at once; `counted` is a variable that counts, and its start."""
        rows = self._rows(values, node)
        if rows is None:
            return None
        counter = self.state.new("k")
        body: list[ast.stmt] = [
            ast.Assign([target], expression("ROW[AT]", ROW=self._named(value, each), AT=counter))
            for target, value, each in zip(targets, values, rows, strict=True)
        ]
        if counted is not None:
            body.append(ast.Assign([counted[0]], plus(variable(counter), counted[1])))
        self.state.lower.take_counter(counter)
        lengths = [ast.unparse(each.lengths[0]) for each in rows]
        length = lengths[0] if len(lengths) == 1 else f"min({', '.join(lengths)})"
        (loop,) = statements(f"for AT in range({length}):\n    BODY", AT=counter, BODY=[*body, *node.body])
        made = _as_loop(loop, node)
        made.orelse = node.orelse
        return made

    def _rows(self, values: Sequence[ast.expr], node: ast.For) -> list[Rows] | None:
        """The rows that a loop goes over; None if one of the values is no row."""
        rows = [each for value in values if (each := self.state.rows(value)) is not None]
        if len(rows) != len(values):
            return None
        if any(each.mask is not None for each in rows):
            raise NotInKernelError("a loop over what a mask selects", node)
        return rows

    def _named(self, value: ast.expr, rows: Rows) -> str:
        """A variable for what is iterated, as it is before the loop."""
        name = self.state.new("s")
        view = self.state.view(value)
        if view is not None:
            self.views.bind(name, view, value)
        else:
            self.state.expressions[name] = rows
        return name


def _as_loop(loop: ast.stmt, node: ast.For) -> ast.For:
    assert isinstance(loop, ast.For)
    return located(loop, node)


class _AtIndex(ast.NodeTransformer):
    """The counters instead of an index that is a tuple: `a[index]` is `a[i, j]`, and `index[0]` is `i`."""

    def __init__(self, name: str, counters: list[str]) -> None:
        self._name, self._counters = name, counters

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.slice, ast.Name) and node.slice.id == self._name:
            node.slice = index_of([variable(each) for each in self._counters])
        elif isinstance(node.value, ast.Name) and node.value.id == self._name:
            position = node.slice.value if isinstance(node.slice, ast.Constant) else None
            if isinstance(position, int) and 0 <= position < len(self._counters):
                return ast.copy_location(variable(self._counters[position]), node)
        return node
