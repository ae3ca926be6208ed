"""The part of the tree transformation that makes barriers, group algorithms and loops hand over to the scheduler."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from types import CellType
from typing import Any, Protocol

import numpy as np

from kapi_sim.errors import KernelProblem
from kapi_sim.instrument.added_statements import ITERATION, counted_loop, holds_convergent_call, numbered_loop
from kapi_sim.instrument.arithmetic_rewriter import ArithmeticRewriter
from kapi_sim.instrument.wait_loops import (
    Callee,
    SpinLoops,
    kind_of_method,
    waiting_of,
)
from kapi_sim.items.convergence import (
    ALGORITHM,
    Converging,
    DialectIntrinsic,
    defaults_of,
    is_convergent,
    parameters_of,
)
from kapi_sim.language.attributes import MISSING, bound_names, called_function, dotted_path, resolve
from kapi_sim.language.intrinsics.convergence import group_barrier
from kapi_sim.memory.constant_arrays import Snapshot
from kapi_sim.memory.dialect import Dialect
from kapi_sim.memory.infinite_loops import LOOP_NUMBER, spin
from kapi_sim.numbers.attributes import unpack_each
from kapi_sim.numbers.mathematics import SUBSTITUTES

__all__ = ["Callees", "BarrierRewriter", "identifier", "members_of"]

_SHORT = 10_000
"""A range of fewer iterations needs no check."""


class Callees(Protocol):
    """The properties of called device functions that the rewriter asks for."""

    dependencies: list[tuple[Callable[..., Any], tuple[str, ...], object]]
    dialect: Dialect
    hands_over: bool
    marks_lines: bool
    on_threads: bool
    has_complex: bool
    numbers_iterations: bool
    passes_undefined: bool
    waits: bool

    def is_generator(self, function: Callable[..., Any]) -> bool:
        """Return whether `function` is rewritten to a generator function."""
        ...

    def snapshot(
        self, function: Callable[..., Any], path: tuple[str, ...], array: np.ndarray[Any, Any] | np.void
    ) -> Snapshot:
        """Return what an array or a record, which a path in a function leads to, holds now."""
        ...

    def cell(self, function: Callable[..., Any]) -> CellType:
        """Return the cell that holds the rewritten `function`."""
        ...


class BarrierRewriter(ArithmeticRewriter):
    """Rewrites the convergence points, loops and local functions of one function.

    - `function`: whose closure and globals the names are looked up in.
    - `callees`: knows the device functions.
    - `is_checked`: whether every weak integer result is looked at, or those of ``* ** <<`` only.
    - `is_kernel`: whether it is the kernel, else a device function.
    - `problems`: what cannot be rewritten.
    """

    def __init__(self, function: Callable[..., Any], callees: Callees, is_checked: bool, is_kernel: bool) -> None:
        super().__init__(is_checked, callees.dialect.is_strict, callees.has_complex)
        self._is_kernel = is_kernel
        self._from_memory: frozenset[str] = frozenset()
        self._private: frozenset[str] | None = None
        self._function = function
        self._callees = callees
        self._scopes: list[set[str]] = []
        self._parameters: set[str] = set()
        self._generators: set[str] = set()
        self._lambdas = 0
        self._loop_counters: list[str] = []
        self._hands_over = callees.hands_over
        self._marks_lines = callees.marks_lines
        self._private_name = ""
        self.problems: list[KernelProblem] = []

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

    def _add_problem(self, node: ast.expr, code: str, text: str) -> None:
        self.problems.append(KernelProblem(code, self._function.__code__.co_filename, node.lineno, text))

    # Convergence points: barriers and group algorithms.

    def _converges_by_method(self, node: ast.Call) -> bool:
        return isinstance(node.func, ast.Attribute) and node.func.attr in self._callees.dialect.converging_methods

    def _convergence_key(self, node: ast.Call) -> ast.Tuple:
        """The identity of a convergence point: its source location, and in loops the iterations."""
        known: tuple[Any, ...] = (self._function.__code__.co_filename, node.lineno, node.col_offset)
        # A tuple of constants is made when the code is compiled, not in each run.
        iterations = [ast.Name(name, ast.Load()) for name in self._loop_counters]
        return ast.Tuple([*(ast.Constant(part) for part in known), *iterations], ast.Load())

    def _converging(self, node: ast.Call, word: Converging | None) -> ast.expr:
        """A word of a dialect says itself, from its arguments, who converges; a method, the object that it is of."""
        self._refuse_in_lambda(node)
        arguments = [self.visit(argument) for argument in node.args]
        keywords = [self.visit(keyword) for keyword in node.keywords]
        if word is None:
            name, arrive = "_kapi_meet_method", self._callees.dialect.convergent_method
            arguments.insert(0, self.visit(node.func))
        else:
            name, arrive = f"_kapi_meet_{identifier(word)}", word.arrive
        function = self._inject(name, CellType(arrive), node)
        call = ast.copy_location(ast.Call(function, [self._convergence_key(node), *arguments], keywords), node)
        return ast.copy_location(ast.Yield(call), node)

    def _yield_at_convergence(self, node: ast.Call, word: Callable[..., Any]) -> ast.expr:
        self._refuse_in_lambda(node)
        names, defaults = parameters_of(word), defaults_of(word)
        given: dict[str | None, ast.expr] = dict(zip(names, node.args, strict=False))
        given.update({keyword.arg: keyword.value for keyword in node.keywords})
        is_complete = set(names) - set(defaults) <= set(given) <= set(names)
        if not is_complete or len(given) < len(node.args) + len(node.keywords):
            wanted = ", ".join(f"{name} (which may be left out)" if name in defaults else name for name in names)
            self._add_problem(
                node, "call-arguments", f"{word.__name__} must be called with {wanted}, got `{ast.unparse(node)}`"
            )
            return node
        self.has_changed = True
        if not self._callees.numbers_iterations:
            # With nothing to check, that a barrier is reached is all the scheduler has to know.
            return ast.copy_location(ast.Yield(ast.copy_location(ast.Constant(True), node)), node)
        location = self._convergence_key(node)
        arguments = [self.visit(given[n]) if n in given else ast.Constant(defaults[n]) for n in names]
        parts: list[ast.expr] = [location, *arguments]
        if word is not group_barrier:
            named = self._inject(f"_kapi_word_{word.__name__}", CellType(word), node)
            other = arguments[2] if len(arguments) > 2 else ast.Constant(None)
            parts = [location, arguments[0], ast.Constant(ALGORITHM), named, arguments[1], other]
        return ast.copy_location(ast.Yield(ast.Tuple(parts, ast.Load())), node)

    def _refuse_in_lambda(self, node: ast.Call) -> None:
        # A lambda that yields would be called, but never run.
        if self._lambdas:
            self._add_problem(
                node,
                "barrier-in-lambda",
                "a barrier or group algorithm, or a function with one or with a `while` loop, must not stand in a "
                f"lambda, got `{ast.unparse(node)}`: write a local function",
            )

    # Loops.

    def visit_While(self, node: ast.While) -> ast.stmt | list[ast.stmt]:
        """Count the iterations of a loop that no barrier counts."""
        # An iteration that always comes to a barrier is counted by the scheduler.
        has_continue = any(isinstance(part, ast.Continue) for part in ast.walk(node))
        is_counted = not has_continue and any(self._is_barrier(statement) for statement in node.body)
        waiting = self._waiting(node)
        numbered = self._numbered(node)
        if is_counted:
            return numbered
        self.has_changed = True
        self._temporaries += 1
        hands_over = self._hands_over and len(self._scopes) == 1
        if hands_over:
            self.cells["_kapi_hand_over_limit"] = CellType()
            self.cells["_kapi_loop_number"] = LOOP_NUMBER
        else:
            self.cells["_kapi_spin_limit"] = CellType()
            self.cells["_kapi_spin"] = CellType(spin)
        file = self._function.__code__.co_filename
        at = numbered.index(node)
        counted = counted_loop(node, file, self._temporaries, hands_over, waiting)
        made = [*numbered[:at], *counted, *numbered[at + 1 :]]
        if waiting.idles:
            self.cells["_kapi_changes"] = CellType()
        return made

    def _waiting(self, node: ast.While | ast.For) -> SpinLoops:
        waiting = waiting_of(node, self._callee, self._from_memory, self._private)
        self._callees.waits |= waiting.reads_shared
        return waiting

    def _callee(self, node: ast.Call) -> Callee:
        """Tell what a call, as written, may do."""
        value = self._lookup(node.func)
        if value is MISSING:
            return kind_of_method(node.func.attr) if isinstance(node.func, ast.Attribute) else Callee.UNKNOWN
        if is_convergent(value):
            return Callee.UNKNOWN
        if isinstance(value, DialectIntrinsic) and value.is_atomic:
            return Callee.ATOMIC
        return Callee.QUIET if called_function(value) is None else Callee.FUNCTION

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        """Give up a range of which no launch sees the end, and number the iterations in which work-items converge."""
        is_range = isinstance(node.iter, ast.Call) and self._lookup(node.iter.func) is builtins.range
        is_counted = is_range and not _is_short(node.iter)
        idles = is_counted and self._waiting(node).idles
        made = self._numbered(node)
        if is_counted:
            self.cells["_kapi_range"] = CellType()
            location: Any = (self._function.__code__.co_filename, node.lineno, node.end_lineno or node.lineno)
            given = [ast.copy_location(ast.Constant(each), node) for each in (location, idles)]
            node.iter = self._call_of_cell("_kapi_range", [node.iter, *given], node.iter)
        members = members_of(node.target)
        is_of_pairs = isinstance(node.iter, ast.Call) and self._lookup(node.iter.func) in (enumerate, zip)
        if members and not (is_of_pairs and not any(members)):
            node.iter = self._check_unpackable(unpack_each, node.iter, members)
        return made

    def _numbered(self, node: ast.For | ast.While) -> list[ast.stmt]:
        """Visit a loop, which numbers its iterations if work-items converge in it and convergence is checked."""
        if not self._hands_over:
            self.generic_visit(node)
            return [node]
        self._temporaries += 1
        variable = f"{ITERATION}{self._temporaries}"
        self._loop_counters.append(variable)
        self.generic_visit(node)
        self._loop_counters.pop()
        return numbered_loop(node, variable) if holds_convergent_call(node) else [node]

    def _is_barrier(self, statement: ast.stmt) -> bool:
        if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
            return False
        value = self._lookup(statement.value.func)
        return is_convergent(value) or (value is MISSING and self._converges_by_method(statement.value))

    def _check_unpackable(self, check: Callable[..., Any], value: ast.expr, members: Any) -> ast.expr:
        """A value that several names are assigned, looked at."""
        if not self._callees.dialect.is_strict:
            return value
        return self._call(check, [value, ast.copy_location(ast.Constant(members), value)], value)

    # Local functions.

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        inner = bound_names(node)
        calls = [call for call in ast.walk(node) if isinstance(call, ast.Call)]
        if any(self._reaches_barrier(call, inner) for call in calls):
            self._generators.add(node.name)
        self._scopes.append(inner)
        node.args.defaults = [self.visit(default) for default in node.args.defaults]
        iterations, self._loop_counters = self._loop_counters, []
        node.body = [statement for old in node.body for statement in self._statements(old)]
        self._loop_counters = iterations
        self._scopes.pop()
        return node

    def _reaches_barrier(self, call: ast.Call, inner: set[str]) -> bool:
        if self._converges_by_method(call):
            return not self._callees.on_threads
        path = dotted_path(call.func)
        if path is None or path[0] in inner:
            return False
        if path[0] in self._generators:
            return True
        value = self._lookup(call.func)
        called = called_function(value)
        if called is not None:
            return self._callees.is_generator(called)
        return is_convergent(value) and not self._callees.on_threads

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        self._lambdas += 1
        self._scopes.append(bound_names(node))
        node.body = self.visit(node.body)
        self._scopes.pop()
        self._lambdas -= 1
        return node


def members_of(target: ast.expr) -> tuple[Any, ...] | None:
    """The argument of `check_unpackable` that describes the targets of an assignment."""
    return tuple(map(members_of, target.elts)) if isinstance(target, (ast.Tuple, ast.List)) else None


def _is_short(node: ast.expr) -> bool:
    """Return whether the arguments of a range are numbers, and small."""
    return isinstance(node, ast.Call) and all(
        isinstance(argument, ast.Constant) and isinstance(argument.value, int) and argument.value < _SHORT
        for argument in node.args
    )


def identifier(function: Any) -> str:
    """The name of a function as a part of a variable's name."""
    name: str = function.__name__
    return name if name.isidentifier() else "word" if isinstance(function, DialectIntrinsic) else "lambda"
