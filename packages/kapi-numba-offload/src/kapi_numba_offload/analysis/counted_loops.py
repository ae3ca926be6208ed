"""Loops over the elements of arrays, as loops that count: `for x in a` becomes `for i in range(len(a)): x = a[i]`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from kapi_numba_offload.analysis.control_flow import has_break
from kapi_numba_offload.analysis.scope import Scope
from kapi_numba_offload.analysis.syntax import located, names_in, nested_loops, nodes_in, plus, statements, variable

__all__ = ["CountedLoops"]


class CountedLoops:
    """Writes loops over `a`, `a.flat`, `enumerate(a)` and `zip(a, b)`; a subclass knows what is an array."""

    def __init__(self, names: Scope) -> None:
        self.names = names

    def lengths(self, value: ast.expr, loop: ast.For, *, is_flat: bool) -> list[ast.expr] | None:
        """The lengths of the axes of what a loop iterates, along the first or over all of them; None for others."""
        raise NotImplementedError

    def item(self, value: ast.expr, at: Sequence[ast.expr]) -> ast.expr:
        """The item of what is iterated at an index."""
        raise NotImplementedError

    def new_counter(self) -> str:
        """A variable that counts from 0."""
        raise NotImplementedError

    def counted(self, loop: ast.For) -> ast.For | None:
        """The loop that counts; None for one over something else."""
        match loop.iter:
            case ast.Attribute(value, "flat"):
                lengths = self.lengths(value, loop, is_flat=True)
                first: Callable[[list[ast.expr]], list[ast.stmt]]
                first = lambda at: [ast.Assign([loop.target], self.item(value, at))]  # noqa: E731
                return self.nested(loop, lengths, first) if lengths else None
            case ast.Call(called, [value, *start], []) if self.names.value(called) is enumerate and len(start) < 2:
                match loop.target:
                    case ast.Tuple([counter, element]):
                        return self.over(loop, [element], [value], (counter, *start))
            case ast.Call(called, values, []) if self.names.value(called) is zip:
                if isinstance(loop.target, ast.Tuple) and len(loop.target.elts) == len(values):
                    return self.over(loop, loop.target.elts, values)
            case value if not isinstance(value, ast.Call):
                return self.over(loop, [loop.target], [value])
        return None

    def over(
        self, loop: ast.For, targets: Sequence[ast.expr], values: Sequence[ast.expr], counted: Sequence[ast.expr] = ()
    ) -> ast.For | None:
        """A loop over the items of several values at once; `counted` is a target that counts, and perhaps its start."""
        axes = [each for value in values if (each := self.lengths(value, loop, is_flat=False))]
        if len(axes) < len(values):
            return None
        target, *start = counted or (None,)
        is_own = isinstance(target, ast.Name) and not start
        other = [*names_in(nodes_in(loop.body), ast.Store, ast.Del), *names_in(nodes_in(values), ast.Load)]
        is_own = is_own and target.id not in other  # type: ignore[union-attr]
        counter = target.id if is_own else self.new_counter()  # type: ignore[union-attr]
        first: list[ast.stmt] = [
            ast.Assign([each], self.item(value, [variable(counter)]))
            for each, value in zip(targets, values, strict=True)
        ]
        if target is not None and not is_own:
            first.append(ast.Assign([target], plus(variable(counter), start[0] if start else ast.Constant(0))))
        length = ", ".join(ast.unparse(each[0]) for each in axes)
        text = f"for AT in range({length if len(axes) == 1 else f'min({length})'}):\n    BODY"
        (made,) = statements(text, AT=counter, BODY=[*first, *loop.body])
        return self._in_place_of(loop, made)

    def nested(
        self, loop: ast.For, lengths: Sequence[ast.expr], first: Callable[[list[ast.expr]], list[ast.stmt]]
    ) -> ast.For | None:
        """Loops in each other for one over all indices; `first` gives the statements for an index before the body's."""
        if len(lengths) > 1 and (has_break(loop) or loop.orelse):
            return None
        counters = [self.new_counter() for _ in lengths]
        made = nested_loops(counters, lengths, [*first(list(map(variable, counters))), *loop.body])
        return self._in_place_of(loop, made)

    @staticmethod
    def _in_place_of(loop: ast.For, made: ast.stmt) -> ast.For:
        assert isinstance(made, ast.For)
        made.orelse = loop.orelse
        return located(made, loop)
