"""The tree transformation behind `kapi_sim.rewrite`."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from types import CellType
from typing import Any, Protocol

import numpy as np

from kapi_sim.arithmetic import SUBSTITUTES, conversion
from kapi_sim.debugging import stops
from kapi_sim.names import MISSING, bound_names, called_function, dotted_path, resolve
from kapi_sim.spec.convergence import group_barrier
from kapi_sim.spec.memory import MemoryScope
from kapi_sim.statements import counted_loop, mark_lines
from kapi_sim.tracing.switch import LINE
from kapi_sim.watchdog import LOOP_NUMBER, SPIN_LIMIT, SPIN_TURN, spin

__all__ = ["Callees", "Rewriter"]

_RING = (ast.Add, ast.Sub, ast.Mult, ast.Pow, ast.LShift)
_GROWING = (ast.Mult, ast.Pow, ast.LShift)
_DIVISIONS: dict[type[ast.operator], str] = {ast.FloorDiv: "_kapi_floor_divide", ast.Mod: "_kapi_remainder"}


class Callees(Protocol):
    """What the rewriter asks about the device functions that are called."""

    dependencies: list[tuple[Callable[..., Any], tuple[str, ...], object]]
    hands_over: bool
    marks_lines: bool
    on_threads: bool

    def has_barrier(self, function: Callable[..., Any]) -> bool:
        """Tell whether calling `function` may reach a barrier."""
        ...

    def is_generator(self, function: Callable[..., Any]) -> bool:
        """Tell whether `function` is rewritten to a generator function."""
        ...

    def cell(self, function: Callable[..., Any]) -> CellType:
        """Return the cell that holds the rewritten `function`."""
        ...


class Rewriter(ast.NodeTransformer):
    """Rewrites the tree of one function.

    Parameters
    ----------
    function : function
        Whose closure and globals the names are looked up in.
    callees : Callees
        Knows the device functions.
    is_checked : bool
        Whether every weak integer result is looked at, or those of ``* ** <<`` only.

    Attributes
    ----------
    cells : dict of str to cell
        What the rewritten source closes over in addition.
    problems : list of str
        What cannot be rewritten, one line each.
    has_changed : bool
        Whether the tree differs from the source.
    """

    def __init__(self, function: Callable[..., Any], callees: Callees, is_checked: bool) -> None:
        self._function = function
        self._callees = callees
        self._is_checked = is_checked
        self._scopes: list[set[str]] = []
        self._generators: set[str] = set()
        self._temporaries = 0
        self._lambdas = 0
        self._hands_over = callees.hands_over
        self._marks_lines = callees.marks_lines
        self.cells: dict[str, CellType] = {}
        self.problems: list[str] = []
        self.has_changed = False

    def rewrite(self, tree: ast.FunctionDef) -> ast.FunctionDef:
        """Return `tree` rewritten, without decorators, defaults and annotations."""
        tree.decorator_list = []
        tree.returns = None
        arguments = tree.args
        arguments.defaults = []
        arguments.kw_defaults = [None] * len(arguments.kwonlyargs)
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            argument.annotation = None
        # A default that was stripped must not leave a keyword-only parameter required by the code
        # object: the function made of it takes the original's own defaults.
        self._scopes.append(bound_names(tree))
        tree.body = [statement for old in tree.body for statement in self._statements(old)]
        if self._marks_lines:
            self.has_changed = True
            self.cells["_kapi_line"] = LINE
            mark_lines(tree, self._function.__code__.co_filename)
        self._scopes.pop()
        return tree

    def _statements(self, node: ast.stmt) -> list[ast.stmt]:
        made = self.visit(node)
        return made if isinstance(made, list) else [made]

    def _lookup(self, node: ast.AST) -> Any:
        """The object that an expression names, or `MISSING`."""
        path = dotted_path(node)
        if path is None or any(path[0] in scope for scope in self._scopes):
            return MISSING
        value = resolve(self._function, path)
        if value is MISSING or callable(value) or id(value) in SUBSTITUTES:
            self._callees.dependencies.append((self._function, path, value))
        return value

    def _inject(self, name: str, cell: CellType, node: ast.AST) -> ast.Name:
        self.cells[name] = cell
        self.has_changed = True
        return ast.copy_location(ast.Name(name, ast.Load()), node)

    def _call(self, name: str, arguments: list[ast.expr], node: ast.AST) -> ast.Call:
        self.has_changed = True
        function = ast.copy_location(ast.Name(name, ast.Load()), node)
        return ast.copy_location(ast.Call(function, arguments, []), node)

    # Names: `math` and its functions, however imported.

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._substituted(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        made = self._substituted(node)
        if made is node:
            self.generic_visit(node)
        return made

    def _substituted(self, node: ast.Name | ast.Attribute) -> ast.expr:
        if not isinstance(node.ctx, ast.Load):
            return node
        value = self._lookup(node)
        if value is MISSING or id(value) not in SUBSTITUTES:
            return node
        substitute = SUBSTITUTES[id(value)]
        return self._inject(f"_kapi_math_{getattr(value, '__name__', '')}", CellType(substitute), node)

    # Calls: barriers and device functions.

    def visit_Call(self, node: ast.Call) -> ast.expr:
        value = self._lookup(node.func)
        if value is group_barrier and not self._callees.on_threads:
            return self._barrier(node)
        if value is builtins.breakpoint:
            self.cells["_kapi_stops"] = CellType(stops)
            test = self._call("_kapi_stops", [], node)
            return ast.copy_location(ast.IfExp(test, node, ast.copy_location(ast.Constant(None), node)), node)
        called = called_function(value)
        if called is not None:
            node.args = [self.visit(argument) for argument in node.args]
            node.keywords = [self.visit(keyword) for keyword in node.keywords]
            name = f"_kapi_device_{_identifier(called)}_{id(called)}"
            node.func = self._inject(name, self._callees.cell(called), node.func)
            if self._callees.is_generator(called):
                self._refuse_in_lambda(node)
                return ast.copy_location(ast.YieldFrom(node), node)
            return node
        if _is_integer_type(value) and len(node.args) == 1 and not node.keywords:
            node.func = self._inject(f"_kapi_to_{value.__name__}", CellType(conversion(value)), node.func)
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in self._generators:
            return ast.copy_location(ast.YieldFrom(node), node)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        self._lambdas += 1
        self._scopes.append(bound_names(node))
        node.body = self.visit(node.body)
        self._scopes.pop()
        self._lambdas -= 1
        return node

    def _refuse_in_lambda(self, node: ast.Call) -> None:
        # A lambda that yields would be called, but never run.
        if self._lambdas:
            self.problems.append(
                f"{self._function.__code__.co_filename}:{node.lineno}: a barrier, or a function with a barrier or a "
                f"`while` loop, must not stand in a lambda, got `{ast.unparse(node)}`: write a local function"
            )

    def _barrier(self, node: ast.Call) -> ast.expr:
        self._refuse_in_lambda(node)
        given = dict(zip(("group", "fence_scope"), node.args, strict=False))
        given.update({keyword.arg: keyword.value for keyword in node.keywords if keyword.arg})
        if "group" not in given or set(given) - {"group", "fence_scope"} or len(node.args) > 2:
            self.problems.append(
                f"{self._function.__code__.co_filename}:{node.lineno}: group_barrier must be called with a "
                "group "
                f"and at most a fence_scope, got `{ast.unparse(node)}`"
            )
            return node
        self.has_changed = True
        if not self._hands_over:
            # With nothing to check, that a barrier is met is all the scheduler has to know.
            return ast.copy_location(ast.Yield(ast.copy_location(ast.Constant(True), node)), node)
        scope = given.get("fence_scope", ast.Constant(int(MemoryScope.WORK_GROUP)))
        place: Any = (self._function.__code__.co_filename, node.lineno, node.col_offset)
        site = ast.Constant(place)
        parts = [site, self.visit(given["group"]), self.visit(scope)]
        return ast.copy_location(ast.Yield(ast.Tuple(parts, ast.Load())), node)

    # Loops.

    def visit_While(self, node: ast.While) -> ast.stmt | list[ast.stmt]:
        """Count the turns of a loop that no barrier counts."""
        # A turn that always comes to a barrier is counted by the scheduler.
        has_continue = any(isinstance(part, ast.Continue) for part in ast.walk(node))
        is_counted = not has_continue and any(self._is_barrier(statement) for statement in node.body)
        self.generic_visit(node)
        if is_counted:
            return node
        self.has_changed = True
        self._temporaries += 1
        hands_over = self._hands_over and len(self._scopes) == 1
        if hands_over:
            self.cells["_kapi_spin_turn"] = SPIN_TURN
            self.cells["_kapi_loop_number"] = LOOP_NUMBER
        else:
            self.cells["_kapi_spin_limit"] = SPIN_LIMIT
            self.cells["_kapi_spin"] = CellType(spin)
        file = self._function.__code__.co_filename
        return counted_loop(node, file, self._temporaries, hands_over)

    def _is_barrier(self, statement: ast.stmt) -> bool:
        if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
            return False
        return self._lookup(statement.value.func) is group_barrier

    # Arithmetic.

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if self._is_checked and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
            return self._call("_kapi_ring", [node], node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        if _may_divide_by_zero(node.op, node.right):
            return self._call(_DIVISIONS[type(node.op)], [self.visit(node.left), self.visit(node.right)], node)
        if isinstance(node.op, _RING):
            needs_look = self._needs_look(node)
            self._visit_chain(node)
            return self._call("_kapi_ring", [node], node) if needs_look else node
        self.generic_visit(node)
        return node

    def _visit_chain(self, node: ast.BinOp) -> None:
        """Visit a chain of ring operations: wrapping its end wraps its inner results as well."""
        for side in ("left", "right"):
            operand = getattr(node, side)
            is_inner = isinstance(operand, ast.BinOp) and isinstance(operand.op, _RING)
            # An exponent or a shift count is no ring operand: it has to be right by itself.
            if is_inner and not (side == "right" and isinstance(node.op, (ast.Pow, ast.LShift))):
                self._visit_chain(operand)
            else:
                setattr(node, side, self.visit(operand))

    def _needs_look(self, node: ast.expr) -> bool:
        """Tell whether a chain of ring operations may leave 64 bits and has to be looked at."""
        operations: list[ast.operator] = []
        pending: list[ast.expr] = [node]
        while pending:
            part = pending.pop()
            if isinstance(part, ast.BinOp) and isinstance(part.op, _RING):
                operations.append(part.op)
                pending += [part.left, part.right]
            elif part is not node and isinstance(part, ast.Constant) and isinstance(part.value, (float, str)):
                return False
        return self._is_checked or any(isinstance(operation, _GROWING) for operation in operations)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        node.value = self.visit(node.value)
        # An index that left 64 bits is out of bounds anyway: its end needs no look of its own.
        node.slice = self._index(node.slice)
        return node

    def _index(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Tuple):
            node.elts = [self._index(element) for element in node.elts]
            return node
        if isinstance(node, ast.BinOp) and isinstance(node.op, _RING):
            self._visit_chain(node)
            return node
        made: ast.expr = self.visit(node)
        return made

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt | list[ast.stmt]:
        is_division = _may_divide_by_zero(node.op, node.value)
        target = node.target
        if isinstance(target, ast.Name) and (is_division or isinstance(node.op, _RING)):
            read = ast.copy_location(ast.Name(target.id, ast.Load()), target)
            value = ast.copy_location(ast.BinOp(read, node.op, node.value), node)
            return ast.copy_location(ast.Assign([target], self.visit(value)), node)
        if isinstance(target, ast.Subscript) and is_division:
            # The array and the index are evaluated once, as Python does.
            array, index = self._temporary(target.value), self._temporary(target.slice)
            place = [
                ast.copy_location(ast.Subscript(_load(array), _load(index), ctx), target)
                for ctx in (ast.Load(), ast.Store())
            ]
            result = self._call(_DIVISIONS[type(node.op)], [place[0], self.visit(node.value)], node)
            return [
                ast.copy_location(ast.Assign([array], self.visit(target.value)), node),
                ast.copy_location(ast.Assign([index], self._index(target.slice)), node),
                ast.copy_location(ast.Assign([place[1]], result), node),
            ]
        self.generic_visit(node)
        return node

    def _temporary(self, node: ast.expr) -> ast.Name:
        self._temporaries += 1
        return ast.copy_location(ast.Name(f"_kapi_{self._temporaries}", ast.Store()), node)

    # Local functions.

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        inner = bound_names(node)
        calls = [call for call in ast.walk(node) if isinstance(call, ast.Call)]
        if any(self._reaches_barrier(call, inner) for call in calls):
            self._generators.add(node.name)
        self._scopes.append(inner)
        node.args.defaults = [self.visit(default) for default in node.args.defaults]
        node.body = [statement for old in node.body for statement in self._statements(old)]
        self._scopes.pop()
        return node

    def _reaches_barrier(self, call: ast.Call, inner: set[str]) -> bool:
        path = dotted_path(call.func)
        if path is None or path[0] in inner:
            return False
        if path[0] in self._generators:
            return True
        value = self._lookup(call.func)
        called = called_function(value)
        if called is not None:
            return self._callees.is_generator(called)
        return value is group_barrier and not self._callees.on_threads


def _is_integer_type(value: object) -> bool:
    return isinstance(value, type) and (value is int or issubclass(value, np.integer))


def _identifier(function: Callable[..., Any]) -> str:
    return function.__name__ if function.__name__.isidentifier() else "lambda"


def _may_divide_by_zero(operation: ast.operator, right: ast.expr) -> bool:
    if type(operation) not in _DIVISIONS:
        return False
    return not (isinstance(right, ast.Constant) and isinstance(right.value, (int, float)) and right.value != 0)


def _load(name: ast.Name) -> ast.Name:
    return ast.copy_location(ast.Name(name.id, ast.Load()), name)
