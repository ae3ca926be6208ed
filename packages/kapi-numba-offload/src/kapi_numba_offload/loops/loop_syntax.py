"""Syntax of a parallel loop: its variables, live-ins, live-outs and reductions."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np

from kapi_numba_offload.analysis.control_flow import has_jump, may_leave_early
from kapi_numba_offload.analysis.scope import Scope
from kapi_numba_offload.analysis.syntax import COMPREHENSIONS, mentions, names_in, nodes_in
from kapi_numba_offload.loops.updates import COMMUTATIVE, IN_ANY_ORDER, kept
from kapi_numba_offload.run.fallback import Refusal

__all__ = ["Axis", "LoopSyntax", "first_use", "is_parallel", "parallel_loop", "variables_of"]

MOST_AXES = 3


@dataclass(frozen=True, slots=True)
class Axis:
    """One loop of a nest: its variable and `range` arguments."""

    variable: str
    start: ast.expr
    stop: ast.expr
    step: ast.expr


@dataclass(frozen=True, slots=True)
class LoopSyntax:
    """A parallel loop, or a nest of up to three of them with nothing between.

    - `axes`: the loops, outermost first.
    - `body`: what is done for each iteration.
    - `captured`: the function's variables that the body reads from outside.
    - `reductions`: variable and operation (`sum`, `prod`, `min`, `max`, `and`, `or`, `xor`) of each scalar reduction.
    - `ordered`: reductions whose order nans show: `m = max(x, m)` takes a nan, and the next number in its place.
    - `assigned`: variables that the body assigns, reductions and loop variables left out.
    - `refusals`: why the loop cannot be a kernel, as far as its syntax says.
    """

    node: ast.For | ast.While
    axes: list[Axis]
    body: list[ast.stmt]
    captured: list[str] = field(default_factory=list)
    reductions: dict[str, str] = field(default_factory=dict)
    ordered: set[str] = field(default_factory=set)
    assigned: set[str] = field(default_factory=set)
    refusals: list[Refusal] = field(default_factory=list)

    @property
    def bounds(self) -> tuple[ast.expr, ...]:
        """Start, stop and step of each axis, one after another."""
        return tuple(each for axis in self.axes for each in (axis.start, axis.stop, axis.step))


def is_parallel(node: ast.For, names: Scope) -> bool:
    """Whether the loop is over `prange`."""
    return isinstance(node.iter, ast.Call) and names.value(node.iter.func) is numba.prange


def parallel_loop(node: ast.For, names: Scope, depth: int | None = None) -> LoopSyntax:
    """Read the syntax of a `prange` loop, or of a nest of so many `range` loops whose iterations are independent."""
    axes = [_axis(node)]
    body = node.body
    while len(axes) < (depth or MOST_AXES) and len(body) == 1 and isinstance(body[0], ast.For):
        if depth is None and not is_parallel(body[0], names):
            break
        if body[0].orelse or may_leave_early(body[0]):
            break
        inner = _axis(body[0])
        variables = {axis.variable for axis in axes}
        bounds = (inner.start, inner.stop, inner.step)
        if any(mentions(each, variables) for each in bounds):
            break
        axes.append(inner)
        body = body[0].body
    variables = {axis.variable for axis in axes}
    stored = variables_of(body, ast.Store)
    reductions: dict[str, str] = {}
    assigned: set[str] = set()
    refusals: list[Refusal] = []
    for name in sorted(stored - variables):
        first = first_use(name, body) == "read"
        operation = _reduction(name, body, names) if first else None
        if operation is not None:
            reductions[name] = operation
            continue
        assigned.add(name)
        if first:
            refusals.append(Refusal("carried-value", node.lineno, name))
    refusals += [Refusal("loop-variable", node.lineno, name) for name in sorted(variables & stored)]
    own = assigned | variables | reductions.keys() | {each.name for each in body if isinstance(each, ast.FunctionDef)}
    captured = sorted(name for name in variables_of(body, ast.Load) if name in names.locals and name not in own)
    ordered = {name for name in reductions if any(_takes_nans(name, each, names) for each in nodes_in(body))}
    return LoopSyntax(node, axes, body, captured, reductions, ordered, assigned, refusals)


def _axis(node: ast.For) -> Axis:
    assert isinstance(node.iter, ast.Call)
    assert isinstance(node.target, ast.Name)
    args = node.iter.args
    zero, one = ast.Constant(0), ast.Constant(1)
    start, stop, step = (zero, args[0], one) if len(args) == 1 else (*args, one) if len(args) == 2 else args
    return Axis(node.target.id, start, stop, step)


def variables_of(statements: Sequence[ast.AST], context: type[Any]) -> set[str]:
    """The variables that statements read (`ast.Load`) or assign (`ast.Store`), without those of comprehensions."""
    nodes = nodes_in(statements)
    own = _nodes_of_comprehensions(nodes)
    nodes = [each for each in nodes if each not in own]
    found = set(names_in(nodes, context))
    if context is ast.Load:  # `x += 1` reads x
        found |= {
            each.target.id for each in nodes if isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name)
        }
    return found


def _nodes_of_comprehensions(nodes: Sequence[ast.AST]) -> set[ast.AST]:
    """The names that stand for the variables of a comprehension, in it: no others have their values."""
    found: set[ast.AST] = set()
    for each in nodes:
        if isinstance(each, COMPREHENSIONS):
            targets = [part for generator in each.generators for part in ast.walk(generator.target)]
            own = {part.id for part in targets if isinstance(part, ast.Name)}
            outside = set(ast.walk(each.generators[0].iter))
            inside = (part for part in ast.walk(each) if isinstance(part, ast.Name) and part.id in own)
            found.update(part for part in inside if part not in outside)
    return found


def first_use(name: str, statements: Sequence[ast.stmt]) -> str | None:
    """First use of a variable: "read" if on some control-flow path, "written" if on all paths; else None."""
    is_sure = True
    for statement in statements:
        use = _use(name, statement)
        if use is not None:
            return use if use == "read" or is_sure else None
        # A `break` or `continue` leads past what follows, to where the variable may be read.
        is_sure = is_sure and not has_jump(statement)
    return None


def _use(name: str, node: ast.stmt) -> str | None:
    if isinstance(node, ast.If):
        if _mentions(name, node.test):
            return "read"
        uses = [first_use(name, node.body), first_use(name, node.orelse)]
        return "read" if "read" in uses else "written" if uses == ["written", "written"] else None
    if isinstance(node, (ast.For, ast.While)):
        return _use_of_loop(name, node)
    if isinstance(node, ast.Assign):
        reads = _mentions(name, node.value) or any(_mentions(name, each) for each in node.targets)
        return "read" if reads else "written" if name in variables_of(node.targets, ast.Store) else None
    is_deleted = isinstance(node, ast.Delete) and any(isinstance(each, ast.Name) and each.id == name
                                                      for each in node.targets)  # fmt: skip
    if is_deleted or name in variables_of([node], ast.Load):
        return "read"
    is_written = isinstance(node, ast.AnnAssign) and node.value is not None and _is(name, node.target)
    # What else may assign may also be left before it does: `with`, `try`, `match`.
    return "written" if is_written or (isinstance(node, ast.FunctionDef) and node.name == name) else None


def _use_of_loop(name: str, node: ast.For | ast.While) -> str | None:
    head = node.iter if isinstance(node, ast.For) else node.test
    if _mentions(name, head):
        return "read"
    if isinstance(node, ast.For) and name in variables_of([node.target], ast.Store):
        (*_, last) = node.iter.args if isinstance(node.iter, ast.Call) and node.iter.args else (None,)
        runs = isinstance(last, ast.Constant) and type(last.value) is int and last.value > 0
        # Without iterations, it stays as it was.
        is_sure = runs and isinstance(node.iter, ast.Call) and len(node.iter.args) == 1
        return "written" if is_sure else "read" if _mentions_in(name, node.orelse) else None
    uses = [first_use(name, node.body), first_use(name, node.orelse)]
    if isinstance(head, ast.Constant) and head.value is True:  # `while True` runs once at least
        return uses[0]
    if "read" in uses or (uses[0] == "written" and _mentions_in(name, node.orelse)):
        return "read"
    # Without a `break`, what stands in `else` is always done.
    return "written" if uses[1] == "written" and not any(map(has_jump, node.body)) else None


def _mentions_in(name: str, statements: Sequence[ast.stmt]) -> bool:
    return name in variables_of(statements, ast.Load)


def _mentions(name: str, node: ast.AST) -> bool:
    return name in names_in(ast.walk(node), ast.Load)


def _reduction(name: str, body: Sequence[ast.stmt], names: Scope) -> str | None:
    """The operation if all that the body does with the variable is to reduce into it, else None."""
    operations = {
        id(part): operation
        for node in nodes_in(body)
        if (operation := _operation(name, node, names)) is not None
        for part in ast.walk(node)
    }
    found = {operations.get(id(each)) for each in nodes_in(body) if _is(name, each)}
    return found.pop() if len(found) == 1 else None


def _operation(name: str, node: ast.AST, names: Scope) -> str | None:
    """The operation of a statement that reduces into the variable, which it reads once; None for other nodes."""
    match node:
        case ast.AugAssign(ast.Name(target), operation, value) if target == name:
            return None if _mentions(name, value) else IN_ANY_ORDER.get(type(operation))
        case ast.Assign([ast.Name(target)], ast.BinOp() as value) if target == name:
            return _chained(name, value)
        case ast.Assign([ast.Name(target)], ast.Call(called, [_, _, *_] as args, [])) if target == name:
            others = [each for each in args if not _is(name, each)]
            function = names.value(called)
            if len(others) == len(args) - 1 and not any(_mentions(name, each) for each in others):
                return next((each for known, each in _EXTREMA if function is known), None)
        case ast.If(test, [ast.Assign([ast.Name(target)], value)], []) if target == name:
            found = kept(name, test, value)
            if found and not any(isinstance(each, ast.Call) or _is(name, each) for each in ast.walk(value)):
                return "max" if found[1] is ast.Gt else "min"
    return None


def _takes_nans(name: str, node: ast.AST, names: Scope) -> bool:
    """Whether `node` is a call of Python's `min` or `max` whose first argument, nan or not, is another one."""
    if not isinstance(node, ast.Call) or not any(names.value(node.func) is each for each in (min, max)):
        return False
    return any(_is(name, each) for each in node.args[1:])


def _chained(name: str, value: ast.expr) -> str | None:
    """The operation of `name + x - y` and its like, which have the variable once."""
    match value:
        case ast.BinOp(left, operation, right) if type(operation) in IN_ANY_ORDER:
            kind = IN_ANY_ORDER[type(operation)]
            sides = [(left, right), (right, left)] if isinstance(operation, COMMUTATIVE) else [(left, right)]
            if any(not _mentions(name, other) and (_is(name, own) or _chained(name, own) == kind)
                   for own, other in sides):  # fmt: skip
                return kind
    return None


_EXTREMA = ((min, "min"), (max, "max"), (np.minimum, "min"), (np.maximum, "max"))


def _is(name: str, node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == name
