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
from kapi_numba_offload.analysis.syntax import nodes_in
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

    def lowered_body(self, known: LaunchFacts, *, has_numba_floats: bool) -> LoweredBody:
        """The body for a launch."""
        parallel = [axis.variable for axis in self._syntax.axes]
        kept = {*self._syntax.captured, *self._syntax.reductions}
        made = lower_body(self._names, known, self._syntax.body, parallel, kept, has_numba_floats=has_numba_floats)
        self._globals.update(made.outside)
        return made

    def kernel(self, body: Sequence[ast.stmt]) -> FunctionType:
        """One work-item for each iteration; parameters: the captured variables, then start and step of each axis."""
        axes = self._syntax.axes
        lines = [self._value(number, f"item.get_id({number})") for number in range(len(axes))]
        parameters = [*self._syntax.captured, *self._bounds()]
        return self._made(["item", *parameters], [*_parsed(lines), *_ContinueToReturn().of(body)])

    def reduction(self, body: Sequence[ast.stmt], initial: Mapping[str, np.generic]) -> FunctionType:
        """A share of the iterations for each work-item; parameters: partial results first, extents of axes last."""
        axes = self._syntax.axes
        lines = [f"{name} = kapi_initial_{name}" for name in initial]
        lines += [
            *POSITION_LINES,
            "for kapi_step in range(kapi_steps):",
            "    kapi_at = kapi_base + kapi_step * kapi_lanes",
            "    if kapi_at < kapi_count:",
            "        pass",
            *(f"kapi_partial_{name}[kapi_row * kapi_lanes + kapi_lane] = {name}" for name in initial),
        ]
        statements = _parsed(lines)
        (loop,) = (each for each in statements if isinstance(each, ast.For))
        guard = loop.body[-1]
        assert isinstance(guard, ast.If)
        guard.body = [*_parsed(self._positions(len(axes))), *body]
        return self._made([*self._shared_out(initial), "kapi_steps"], statements)

    def coarsened(
        self, body: Sequence[ast.stmt], initial: Mapping[str, np.generic], private: PrivatizedBody | None = None
    ) -> FunctionType:
        """Many iterations in each work-item, over an `NdRange`; parameters of `reduction`, but the last.

        A work-item takes `kapi_share` iterations of the outermost loop, and all of the inner ones.

        Parameters
        ----------
        body : sequence of ast.stmt
            What the rewriter gave.
        initial : mapping of str to NumPy scalar
            What each reduction starts with.
        private : PrivatizedBody, optional
            The body with private rows, whose parameters come after those of reductions.
        """
        axes = self._syntax.axes
        lines = [f"{name} = kapi_initial_{name}" for name in initial]
        lines += ["kapi_row = item.get_global_id(0)", *(private.before if private else ())]
        lines += [
            "for kapi_at in range(kapi_row * kapi_share, min(kapi_row * kapi_share + kapi_share, kapi_count)):",
            f"    {self._value(0, 'kapi_at')}",
        ]
        for number in range(1, len(axes)):
            indent = "    " * number
            lines.append(f"{indent}for kapi_at{number} in range(kapi_extent{number}):")
            lines.append(f"{indent}    {self._value(number, f'kapi_at{number}')}")
        lines += [f"kapi_partial_{name}[kapi_row] = {name}" for name in initial]
        statements = _parsed(lines)
        *_, loop = (each for each in statements if isinstance(each, ast.For))
        for _ in axes[1:]:
            last = loop.body[-1]
            assert isinstance(last, ast.For)
            loop = last
        loop.body += private.first if private else body
        if private and private.second:
            _strip_mine(loop, private.second)
        return self._made([*self._shared_out(initial, private), "kapi_share"], statements)

    def by_groups(self, private: PrivatizedBody) -> FunctionType:
        """Many iterations in each work-item of a group that has copies of arrays in its local memory.

        Parameters: what copies start with, those of `kernel`, extents but the first, the count of iterations, copies.
        """
        lines = ["kapi_k = item.get_local_id(0)", "kapi_size = item.get_local_range(0)", *private.before]
        lines += [
            "kapi_group_barrier(item.get_group())",
            "for kapi_at in range(item.get_global_id(0), kapi_count, item.get_global_range(0)):",
            *(f"    {line}" for line in self._positions(len(self._syntax.axes))),
            "kapi_group_barrier(item.get_group())",
            *private.after,
        ]
        statements = _parsed(lines)
        loop = next(each for each in statements if isinstance(each, ast.For) and _named(each.target) == "kapi_at")
        loop.body += private.first
        identities = [each.parameters[-1] for each in private.arrays]
        given = [*self._syntax.captured, *self._bounds(), *self._extents(), "kapi_count"]
        return self._made(["item", *identities, *given, *(each.local for each in private.arrays)], statements)

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
            *(f"    {line}" for line in self._positions(len(self._syntax.axes))),
        ]
        if initial:
            lines.append("if kapi_k == 0:")
            lines += [f"    kapi_partial_{name}[kapi_group.get_group_id(0)] = {name}" for name in initial]
        statements = _parsed(lines)
        loop = next(each for each in statements if isinstance(each, ast.For))
        loop.body += body
        return self._made(self._shared_out(initial), statements)

    def value_of(self, outside: Mapping[str, Any]) -> Callable[[ast.expr], Any]:
        """Lookup of the values of names of the source, and of `LoweredBody.outside`."""
        return self._names.with_outside(outside).value

    def typing(self, body: Sequence[ast.stmt]) -> FunctionType:
        """A function that does all iterations and returns the reductions, to know their types."""
        axes = self._syntax.axes
        names = list(self._syntax.reductions)
        lines = [*(f"{name} = kapi_initial_{name}" for name in names), "for kapi_at in range(kapi_count):", "    pass"]
        lines.append(f"return ({''.join(f'{name}, ' for name in names)})")
        statements = _parsed(lines)
        (loop,) = (each for each in statements if isinstance(each, ast.For))
        loop.body = [*_parsed(self._positions(len(axes))), *body]
        parameters = [f"kapi_initial_{name}" for name in names]
        parameters += [*self._syntax.captured, *self._bounds(), *self._extents(), "kapi_count"]
        return self._made(parameters, statements)

    def _shared_out(self, initial: Mapping[str, np.generic], private: PrivatizedBody | None = None) -> list[str]:
        """The parameters of a kernel whose work-items or groups take shares of the iterations."""
        partial, starts = [f"kapi_partial_{name}" for name in initial], [f"kapi_initial_{name}" for name in initial]
        given = [*self._syntax.captured, *self._bounds(), *self._extents()]
        rows = [parameter for each in (private.arrays if private else ()) for parameter in each.parameters]
        return ["item", *partial, *starts, *rows, *given, "kapi_count"]

    def _positions(self, count: int) -> list[str]:
        """Lines that give the loop variables from the number of the iteration."""
        lines, rest = [], "kapi_at"
        for number in reversed(range(count)):
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

    def _made(self, parameters: Sequence[str], body: Sequence[ast.stmt]) -> FunctionType:
        name = self._function.__name__ if self._function.__name__.isidentifier() else "lambda_"
        name = f"{name}_line_{self._syntax.node.lineno}"
        definition = ast.parse(f"def {name}({', '.join(parameters)}): pass").body[0]
        assert isinstance(definition, ast.FunctionDef)
        definition.body = [*_parsed(["kapi_numba_integers"]), *body]
        line = self._syntax.node.lineno
        for node in ast.walk(definition):
            if isinstance(node, (ast.stmt, ast.expr, ast.arg)) and getattr(node, "kapi_made", False):
                node.lineno = node.end_lineno = line
        module = ast.fix_missing_locations(ast.Module([definition], []))
        scope: dict[str, Any] = {}
        exec(compile(module, self._function.__code__.co_filename, "exec"), self._globals, scope)
        made = scope[name]
        assert isinstance(made, FunctionType)
        remember_tree(made, definition)
        return made


def _named(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _is_literal(node: ast.expr, value: int) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value == value


def _parsed(lines: Sequence[str]) -> list[ast.stmt]:
    body = ast.parse("\n".join(lines)).body
    for node in nodes_in(body):
        node.kapi_made = True  # type: ignore[attr-defined]  # it has no line in the user's file
    return body


def _strip_mine(loop: ast.For, second: Sequence[ast.stmt]) -> None:
    """Strip-mine a loop: in each strip, a loop of its body, and then one of what comes second."""
    assert isinstance(loop.iter, ast.Call)
    start, stop = map(ast.unparse, loop.iter.args if len(loop.iter.args) == 2 else (ast.Constant(0), *loop.iter.args))
    (made,) = _parsed(
        [
            f"for kapi_block in range({start}, {stop}, {BLOCK}):",
            f"    kapi_length = min({BLOCK}, {stop} - kapi_block)",
            "    for kapi_number in range(kapi_length):",
            f"        {ast.unparse(loop.target)} = kapi_block + kapi_number",
            "    for kapi_number in range(kapi_length):",
            "        pass",
        ]
    )
    assert isinstance(made, ast.For)
    _, one, other = made.body
    assert isinstance(one, ast.For)
    assert isinstance(other, ast.For)
    one.body += loop.body
    other.body = list(second)
    loop.target, loop.iter, loop.body = made.target, made.iter, made.body


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
