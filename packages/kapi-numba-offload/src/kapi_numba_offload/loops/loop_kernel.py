"""The kernel of a parallel loop: its index space, its body as a function of a work-item, and its reductions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

import numba
import numpy as np

import kapi_runtime
from kapi_numba_offload._numba_compat import DUFunc
from kapi_numba_offload.analysis.scope import Scope
from kapi_numba_offload.analysis.syntax import statements
from kapi_numba_offload.elements.work_distribution import POSITION_LINES
from kapi_numba_offload.loops.body.passes.draw_random import DRAWN
from kapi_numba_offload.loops.body.pipeline import LoweredBody, lower_body
from kapi_numba_offload.loops.body.views import HELPERS, LaunchFacts
from kapi_numba_offload.loops.cooperation.group_body import GROUP_LINES, OF_GROUPS
from kapi_numba_offload.loops.loop_syntax import LoopSyntax, variables_of
from kapi_numba_offload.loops.privatization import BLOCK, PrivatizedBody
from kapi_sim.language.source import remember_tree

__all__ = ["LoopFunctions"]


class LoopFunctions:
    """Makes the Python functions of one loop."""

    def __init__(self, function: Callable[..., Any], names: Scope, syntax: LoopSyntax) -> None:
        self._function, self._names, self._syntax = function, names, syntax
        read = variables_of(syntax.body, ast.Load)
        outside = {**function.__globals__, **names.closure}
        self._globals = {
            **outside,
            **{name: _as_scalar_function(outside[name]) for name in read & outside.keys()},
            **HELPERS,
            **DRAWN,
            "kapi_AtomicRef": kapi_runtime.AtomicRef,
            "kapi_AddressSpace": kapi_runtime.AddressSpace,
            "kapi_MemoryOrder": kapi_runtime.MemoryOrder,
            "kapi_MemoryScope": kapi_runtime.MemoryScope,
            "kapi_PrivateArray": kapi_runtime.PrivateArray,
            **{f"kapi_{name}": getattr(kapi_runtime, name) for name in OF_GROUPS},
        }

    def lowered_body(self, known: LaunchFacts, *, has_numba_floats: bool, checks_lengths: bool = False) -> LoweredBody:
        """The body for a launch; see `lower_body`."""
        parallel = [axis.variable for axis in self._syntax.axes]
        kept = {*self._syntax.captured, *self._syntax.reductions}
        made = lower_body(
            self._names, known, self._syntax.body, parallel, kept, has_numba_floats=has_numba_floats,
            checks_lengths=checks_lengths,
        )  # fmt: skip
        self.use(made.outside)
        return made

    def use(self, outside: Mapping[str, Any]) -> None:
        """Let bodies have the names of `LoweredBody.outside`."""
        self._globals.update(outside)

    def kernel(self, body: Sequence[ast.stmt]) -> FunctionType:
        """One work-item for each iteration; parameters: the captured variables, then start and step of each axis."""
        lines = [self._value(number, f"item.get_id({number})") for number in range(len(self._syntax.axes))]
        parameters = ["item", *self._syntax.captured, *self._bounds()]
        return self._made(parameters, [*lines, "kapi_body"], _ContinueToReturn().of(body))

    def reduction(self, body: Sequence[ast.stmt], initial: Mapping[str, np.generic]) -> FunctionType:
        """A share of the iterations for each work-item; parameters: partial results first, extents of axes last."""
        lines = [
            *(f"{name} = kapi_initial_{name}" for name in initial),
            *POSITION_LINES,
            "for kapi_step in range(kapi_steps):",
            "    kapi_at = kapi_base + kapi_step * kapi_lanes",
            "    if kapi_at < kapi_count:",
            *(f"        {line}" for line in [*self._positions(), "kapi_body"]),
            *(f"kapi_partial_{name}[kapi_row * kapi_lanes + kapi_lane] = {name}" for name in initial),
        ]
        return self._made([*self._shared_out(initial), "kapi_steps"], lines, body)

    def coarsened(
        self, body: Sequence[ast.stmt], initial: Mapping[str, np.generic], private: PrivatizedBody | None = None
    ) -> FunctionType:
        """Many iterations in each work-item, over an `NdRange`; parameters of `reduction`, but the last.

        A work-item takes `kapi_share` iterations of the outermost loop, and all of the inner ones. Where the private
        body has a second part, the innermost loop is strip-mined: in each strip, it is a loop of the first part, and
        then one of the second.

        - `body`: what the rewriter gave.
        - `initial`: what each reduction starts with.
        - `private`: the body with private rows, whose parameters come after those of reductions.
        """
        lines = [f"{name} = kapi_initial_{name}" for name in initial]
        lines += ["kapi_row = item.get_global_id(0)", *(private.before if private else ())]
        share = "kapi_row * kapi_share"
        loops = [("kapi_at", f"{share}, ", f"min({share} + kapi_share, kapi_count)")]
        loops += [(f"kapi_at{number}", "", f"kapi_extent{number}") for number in range(1, len(self._syntax.axes))]
        indent, after = "", list[str]()
        for number, (counter, start, stop) in enumerate(loops):
            if private and private.second and number == len(loops) - 1:
                lines.append(f"{indent}for kapi_block in range({start or '0, '}{stop}, {BLOCK}):")
                indent += "    "
                lines.append(f"{indent}kapi_length = min({BLOCK}, {stop} - kapi_block)")
                lines.append(f"{indent}for kapi_number in range(kapi_length):")
                after = [lines[-1], f"{indent}    kapi_second"]
                lines.append(f"{indent}    {counter} = kapi_block + kapi_number")
            else:
                lines.append(f"{indent}for {counter} in range({start}{stop}):")
            indent += "    "
            lines.append(f"{indent}{self._value(number, counter)}")
        lines += [f"{indent}kapi_body", *after, *(f"kapi_partial_{name}[kapi_row] = {name}" for name in initial)]
        parameters = [*self._shared_out(initial, private), "kapi_share"]
        return self._made(parameters, lines, private.first if private else body, private.second if private else ())

    def by_groups(self, private: PrivatizedBody) -> FunctionType:
        """Many iterations in each work-item of a group that has copies of arrays in its local memory.

        Parameters: what copies start with, those of `kernel`, extents but the first, the count of iterations, copies.
        """
        lines = [
            "kapi_k = item.get_local_id(0)",
            "kapi_size = item.get_local_range(0)",
            *private.before,
            "kapi_group_barrier(item.get_group())",
            "for kapi_at in range(item.get_global_id(0), kapi_count, item.get_global_range(0)):",
            *(f"    {line}" for line in [*self._positions(), "kapi_body"]),
            "kapi_group_barrier(item.get_group())",
            *private.after,
        ]
        identities = [each.parameters[-1] for each in private.arrays]
        given = [*self._syntax.captured, *self._bounds(), *self._extents(), "kapi_count"]
        parameters = ["item", *identities, *given, *(each.local for each in private.arrays)]
        return self._made(parameters, lines, private.first)

    def cooperative(self, body: Sequence[ast.stmt], initial: Mapping[str, np.generic]) -> FunctionType:
        """Iterations that a work-group does together; parameters of `reduction`, but the last.

        Parameters
        ----------
        body : sequence of ast.stmt
            The body for a work-group.
        initial : mapping of str to NumPy scalar
            What each reduction starts with.
        """
        lines = [
            *(f"{name} = kapi_initial_{name}" for name in initial),
            *GROUP_LINES,
            "for kapi_at in range(kapi_group.get_group_id(0), kapi_count, kapi_group.get_group_range(0)):",
            *(f"    {line}" for line in [*self._positions(), "kapi_body"]),
        ]
        if initial:
            lines.append("if kapi_k == 0:")
            lines += [f"    kapi_partial_{name}[kapi_group.get_group_id(0)] = {name}" for name in initial]
        return self._made(self._shared_out(initial), lines, body)

    def independent(self, body: Sequence[ast.stmt], initial: Mapping[str, Any]) -> FunctionType:
        """One iteration that work-items do, each with elements of its own; parameters of `cooperative`."""
        lines = [
            *(f"{name} = kapi_initial_{name}" for name in initial),
            "kapi_k = item.get_global_id(0)",
            "kapi_size = item.get_global_range(0)",
            "kapi_body",
        ]
        if initial:
            lines.append("if kapi_k == 0:")
            lines += [f"    kapi_partial_{name}[0] = {name}" for name in initial]
        return self._made(self._shared_out(initial), lines, body)

    def value_of(self, outside: Mapping[str, Any]) -> Callable[[ast.expr], Any]:
        """Lookup of the values of names of the source, and of `LoweredBody.outside`."""
        return self._names.with_outside(outside).value

    def typing(self, body: Sequence[ast.stmt]) -> FunctionType:
        """A function that does all iterations and returns the reductions, to know their types."""
        names = list(self._syntax.reductions)
        lines = [
            *(f"{name} = kapi_initial_{name}" for name in names),
            "for kapi_at in range(kapi_count):",
            *(f"    {line}" for line in [*self._positions(), "kapi_body"]),
            f"return ({''.join(f'{name}, ' for name in names)})",
        ]
        parameters = [f"kapi_initial_{name}" for name in names]
        parameters += [*self._syntax.captured, *self._bounds(), *self._extents(), "kapi_count"]
        return self._made(parameters, lines, body)

    def _shared_out(self, initial: Mapping[str, np.generic], private: PrivatizedBody | None = None) -> list[str]:
        """The parameters of a kernel whose work-items or groups take shares of the iterations."""
        partial, starts = [f"kapi_partial_{name}" for name in initial], [f"kapi_initial_{name}" for name in initial]
        given = [*self._syntax.captured, *self._bounds(), *self._extents()]
        rows = [parameter for each in (private.arrays if private else ()) for parameter in each.parameters]
        return ["item", *partial, *starts, *rows, *given, "kapi_count"]

    def _positions(self) -> list[str]:
        """Lines that give the loop variables from the number of the iteration."""
        lines, rest = [], "kapi_at"
        for number in reversed(range(len(self._syntax.axes))):
            position = rest if number == 0 else f"({rest} % kapi_extent{number})"
            lines.append(self._value(number, position))
            rest = f"({rest} // kapi_extent{number})"
        return lines

    def _value(self, number: int, position: str) -> str:
        """The line that gives an axis' variable; without a step of 1, so that neighbours are seen to be such."""
        axis = self._syntax.axes[number]
        start = "" if _is_literal(axis.start, 0) else f"kapi_start{number} + "
        step = "" if _is_literal(axis.step, 1) else f" * kapi_step{number}"
        return f"{axis.variable} = {start}{position}{step}"

    def _bounds(self) -> list[str]:
        return [f"kapi_{word}{number}" for number in range(len(self._syntax.axes)) for word in ("start", "step")]

    def _extents(self) -> list[str]:
        return [f"kapi_extent{number}" for number in range(1, len(self._syntax.axes))]

    def _made(
        self, parameters: Sequence[str], lines: Sequence[str], body: Sequence[ast.stmt], second: Sequence[ast.stmt] = ()
    ) -> FunctionType:
        """The function with these lines, the parts of a body for `kapi_body` and `kapi_second`.

        What the user has not written has the line of the loop.
        """
        name = self._function.__name__ if self._function.__name__.isidentifier() else "lambda_"
        name, line = f"{name}_line_{self._syntax.node.lineno}", self._syntax.node.lineno
        text = "\n    ".join([f"def {name}({', '.join(parameters)}):", "kapi_numba_integers", *lines])
        (definition,) = statements(text, kapi_body=list(body), kapi_second=list(second))
        assert isinstance(definition, ast.FunctionDef)
        definition.lineno = definition.end_lineno = line
        definition.col_offset = definition.end_col_offset = 0
        module = ast.fix_missing_locations(ast.Module([definition], []))
        scope: dict[str, Any] = {}
        exec(compile(module, self._function.__code__.co_filename, "exec"), self._globals, scope)
        made = scope[name]
        assert isinstance(made, FunctionType)
        remember_tree(made, definition)
        return made


def _is_literal(node: ast.expr, value: int) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value == value


def _as_scalar_function(value: Any) -> Any:
    """A function of `numba.vectorize` as one of numbers; any other value, and what has several loops, as it is."""
    if not isinstance(value, DUFunc):
        return value
    function = numba.njit(value._dispatcher.py_func)
    if not value._frozen:
        return function
    if len(value.types) != 1:
        return value  # which loop it is depends on the numbers
    own, _, made = value.types[0].partition("->")
    names = [f"x{number}" for number in range(len(own))]
    types = {f"t{number}": np.dtype(letter).type for number, letter in enumerate(own)}
    given = ", ".join(f"t{number}({name})" for number, name in enumerate(names))
    scope = {**types, "f": function, "t": np.dtype(made).type}
    exec(f"def {value.__name__}({', '.join(names)}):\n    return t(f({given}))\n", scope)
    return numba.njit(scope[value.__name__])


class _ContinueToReturn(ast.NodeTransformer):
    """`continue` of the parallel loop ends the work-item."""

    def of(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [self.visit(each) for each in body]

    def visit_For(self, node: ast.For) -> ast.For:
        return node

    def visit_While(self, node: ast.While) -> ast.While:
        return node

    def visit_Continue(self, node: ast.Continue) -> ast.stmt:
        return ast.copy_location(ast.Return(None), node)
