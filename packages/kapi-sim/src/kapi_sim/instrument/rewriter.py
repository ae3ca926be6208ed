"""The tree transformation behind `kapi_sim.instrument.rewrite`."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from types import CellType, ModuleType
from typing import Any, Protocol

import numpy as np

from kapi_sim.checks.calls import DEVICE
from kapi_sim.errors import KernelProblem
from kapi_sim.instrument.arithmetic_rewriter import ArithmeticRewriter, names_of_truths
from kapi_sim.instrument.from_end import with_indices_from_end
from kapi_sim.instrument.join_points import JoinPoints
from kapi_sim.instrument.mixed_types import ARGUMENT_TYPES, CHECK_JOIN, argument_types
from kapi_sim.instrument.statements import ITERATION, counted_loop, holds_convergent_call, mark_lines, numbered_loop
from kapi_sim.instrument.wait_loops import (
    Callee,
    SpinLoops,
    kind_of_method,
    names_from_memory,
    private_names,
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
from kapi_sim.items.undefined import passing
from kapi_sim.language.attributes import MISSING, bound_names, called_function, dotted_path, resolve
from kapi_sim.language.integers import as_plain
from kapi_sim.language.intrinsics.atomics import AtomicRef, atomic_fence
from kapi_sim.language.intrinsics.convergence import group_barrier
from kapi_sim.language.intrinsics.memory import PrivateArray
from kapi_sim.language.source import ADDED_ITEM
from kapi_sim.language.table.other_names import numpy_names
from kapi_sim.memory.constants import Snapshot
from kapi_sim.memory.dialect import Dialect
from kapi_sim.memory.watchdog import LOOP_NUMBER, spin
from kapi_sim.numbers.arithmetic import complex_of_parts
from kapi_sim.numbers.attributes import attribute, called, check_unpackable, is_guarded, unpack_each
from kapi_sim.numbers.fitting import folded, values_with_literals
from kapi_sim.numbers.mathematics import SUBSTITUTES
from kapi_sim.settings.debugging import stops

__all__ = ["Callees", "Rewriter"]

_OF_THE_LAUNCH = {id(AtomicRef): "_kapi_reference", id(atomic_fence): "_kapi_fence", id(print): "_kapi_print"}
_OF_SHAPES = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.LShift, ast.RShift)
_SHORT = 10_000
"""A range of fewer turns needs no look."""


class Callees(Protocol):
    """The properties of called device functions that the rewriter asks for."""

    dependencies: list[tuple[Callable[..., Any], tuple[str, ...], object]]
    dialect: Dialect
    hands_over: bool
    marks_lines: bool
    on_threads: bool
    has_complex: bool
    tells_meetings: bool
    passes_undefined: bool
    waits: bool

    def is_generator(self, function: Callable[..., Any]) -> bool:
        """Tell whether `function` is rewritten to a generator function."""
        ...

    def snapshot(self, function: Callable[..., Any], path: tuple[str, ...], array: np.ndarray[Any, Any]) -> Snapshot:
        """Return what an array, which a path in a function leads to, holds now."""
        ...

    def cell(self, function: Callable[..., Any]) -> CellType:
        """Return the cell that holds the rewritten `function`."""
        ...


class Rewriter(ArithmeticRewriter):
    """Rewrites the tree of one function.

    Parameters
    ----------
    function : function
        Whose closure and globals the names are looked up in.
    callees : Callees
        Knows the device functions.
    is_checked : bool
        Whether every weak integer result is looked at, or those of ``* ** <<`` only.
    is_kernel : bool
        Whether it is the kernel, else a device function.

    Attributes
    ----------
    problems : list of KernelProblem
        What cannot be rewritten.
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
        self._turns: list[str] = []
        self._hands_over = callees.hands_over
        self._marks_lines = callees.marks_lines
        self._private_name = ""
        self.problems: list[KernelProblem] = []

    def rewrite(self, tree: ast.FunctionDef) -> ast.FunctionDef:
        """Return `tree` rewritten, without decorators, defaults and annotations."""
        tree.decorator_list = []
        tree.returns = None
        arguments = tree.args
        arguments.defaults = []
        arguments.kw_defaults = [None] * len(arguments.kwonlyargs)
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            argument.annotation = None
        defaults = *(self._function.__defaults__ or ()), *(self._function.__kwdefaults__ or {}).values()
        self.has_changed |= as_plain(defaults) is not defaults
        added = self._callees.dialect.adapted(tree, self._function)
        from_end, dependencies = with_indices_from_end(tree, self._function, self._callees.dialect)
        self._callees.dependencies += dependencies
        added |= from_end
        self.has_changed |= bool(added)
        self.cells.update({name: CellType(value) for name, value in added.items()})
        # A default that was stripped must not leave a keyword-only parameter required by the code
        # object: the function made of it takes the original's own defaults.
        self._scopes.append(bound_names(tree))
        self._parameters = {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
        self._once = _assigned_once(tree)
        self._truths = names_of_truths(tree, self._parameters)
        self._from_memory = names_from_memory(tree, self._callee)
        if self._is_kernel:
            # A device function may be given private memory.
            self._private = private_names(tree, self._callee, lambda call: self._lookup(call.func) is PrivateArray)
        if self._callees.dialect.is_strict:
            self.has_changed |= values_with_literals(tree)
        elif self._is_kernel and not self._callees.dialect.has_item:
            # Who runs a kernel gives it the work-item.
            self.has_changed = True
            (arguments.posonlyargs or arguments.args).insert(0, ast.arg(ADDED_ITEM))
        joins = JoinPoints(tree) if self._is_checked and self._callees.dialect.is_strict else None
        tree.body = [statement for old in tree.body for statement in self._statements(old)]
        if joins is not None and joins.instrument(tree, self._is_kernel):
            self.has_changed = True
            self.cells |= {CHECK_JOIN: CellType(), ARGUMENT_TYPES: CellType(argument_types)}
        if self._marks_lines:
            self.has_changed = True
            self.cells["_kapi_line"] = CellType()
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

    # Names: `math` and its functions, however imported.

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._substituted(node)

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.MatchValue:
        """Leave a pattern as it is: Python allows no call there."""
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        made = self._substituted(node)
        if made is not node:
            return made
        is_looked_at = (
            self._callees.dialect.is_strict
            and isinstance(node.ctx, ast.Load)
            and is_guarded(node.attr, isinstance(node.value, ast.Name) and node.value.id in self._parameters)
            and self._lookup(node) is MISSING
        )
        self.generic_visit(node)
        if is_looked_at:
            return self._call(attribute, [node.value, ast.copy_location(ast.Constant(node.attr), node)], node)
        return node

    def _substituted(self, node: ast.Name | ast.Attribute) -> ast.expr:
        if not isinstance(node.ctx, ast.Load):
            return node
        value = self._lookup(node)
        if value is MISSING:
            return node
        if isinstance(value, np.ndarray) and self._callees.dialect.is_strict:
            return self._constant_array(node, value)
        hook = _OF_THE_LAUNCH.get(id(value))
        if hook is not None:
            return self._inject(hook, CellType(), node)
        passes = self._callees.passes_undefined
        plain = as_plain(value) if self._callees.dialect.is_strict else value
        if plain is not value:
            self._callees.dependencies.append((self._function, dotted_path(node) or (), value))
            return self._inject(f"_kapi_plain_{id(value)}", CellType(plain), node)
        own = numpy_names(value)
        if own is value and id(value) not in SUBSTITUTES:
            return node
        substitute = SUBSTITUTES.get(id(own), own)
        name = f"_kapi_math_{_identifier(value)}_{id(value)}"
        if passes and not isinstance(substitute, ModuleType):
            substitute = passing(substitute)
        return self._inject(name, CellType(substitute), node)

    def _constant_array(self, node: ast.Name | ast.Attribute, array: np.ndarray[Any, Any]) -> ast.expr:
        """An array from outside, as it is now: each launch gives the kernel a view of its own."""
        snapshot = self._callees.snapshot(self._function, dotted_path(node) or (), array)
        held = self._inject(f"_kapi_array_{id(snapshot)}", CellType(snapshot), node)
        name = ast.copy_location(ast.Constant(ast.unparse(node)), node)
        return ast.copy_location(ast.Call(self._inject("_kapi_constant", CellType(), node), [held, name], []), node)

    # Calls: barriers and device functions.

    def visit_Call(self, node: ast.Call) -> ast.expr:
        value = self._lookup(node.func)
        if is_convergent(value) and not self._callees.on_threads:
            return (
                self._converging(node, value)
                if isinstance(value, Converging)
                else self._yield_at_convergence(node, value)
            )
        if value is MISSING and self._converges_by_method(node) and not self._callees.on_threads:
            return self._converging(node, None)
        if value is PrivateArray:
            return self._private_array(node)
        if value is builtins.breakpoint:
            test = self._call(stops, [], node)
            return ast.copy_location(ast.IfExp(test, node, ast.copy_location(ast.Constant(None), node)), node)
        function = called_function(value)
        if function is not None:
            node.args = [self.visit(argument) for argument in node.args]
            node.keywords = [self.visit(keyword) for keyword in node.keywords]
            name = f"{DEVICE}{_identifier(function)}_{id(function)}"
            node.func = self._inject(name, self._callees.cell(function), node.func)
            if self._callees.is_generator(function):
                self._refuse_in_lambda(node)
                return ast.copy_location(ast.YieldFrom(node), node)
            return node
        convert: Callable[[Any], Any] | None = None
        if len(node.args) == 1 and not node.keywords:
            convert = self._callees.dialect.conversion(value, _is_literal(node.args[0]))
            if convert is None and _is_number_type(value):
                convert = value
        if convert is not None:
            if self._callees.passes_undefined:
                convert = passing(convert)
            if convert is not value:
                name = getattr(value, "__name__", None) or f"number_{id(value)}"
                node.func = self._inject(f"_kapi_to_{name}", CellType(convert), node.func)
        if value is complex and len(node.args) == 2 and not node.keywords:
            whole = passing(complex_of_parts) if self._callees.passes_undefined else complex_of_parts
            node.func = self._inject("_kapi_to_complex", CellType(whole), node.func)
        if any(value is each for each in (min, max, divmod)):
            node.func = self.visit(node.func)
            node.args = self._check_all_wide(node.args)
            node.keywords = [self.visit(each) for each in node.keywords]
            return node
        if value is builtins.range and self._callees.dialect.is_strict:
            for end in (each for each in map(folded, node.args) if isinstance(each, int) and each >= 2**63):
                self._add_problem(node, "number-unfit", f"ends of range() must fit int64, got {end}")
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in self._generators:
            return ast.copy_location(ast.YieldFrom(node), node)
        if value is MISSING and self._may_convert(node):
            node.func = self._call(called, [node.func], node.func)
        return node

    def _may_convert(self, node: ast.Call) -> bool:
        """Whether a type may be called with a number, by a name of its own or as an array's."""
        is_type = isinstance(node.func, ast.Name) or (isinstance(node.func, ast.Attribute) and node.func.attr == "type")
        return self._callees.dialect.is_strict and is_type and len(node.args) == 1 and not node.keywords

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
            self._add_problem(
                node,
                "barrier-in-lambda",
                "a barrier or group algorithm, or a function with one or with a `while` loop, must not stand in a "
                f"lambda, got `{ast.unparse(node)}`: write a local function",
            )

    def _converges_by_method(self, node: ast.Call) -> bool:
        return isinstance(node.func, ast.Attribute) and node.func.attr in self._callees.dialect.converging_methods

    def _convergence_key(self, node: ast.Call) -> ast.Tuple:
        """The identity of a convergence point: its source location, and in loops the iterations."""
        known: tuple[Any, ...] = (self._function.__code__.co_filename, node.lineno, node.col_offset)
        # A tuple of constants is made when the code is compiled, not in each run.
        iterations = [ast.Name(name, ast.Load()) for name in self._turns]
        return ast.Tuple([*(ast.Constant(part) for part in known), *iterations], ast.Load())

    def _converging(self, node: ast.Call, word: Converging | None) -> ast.expr:
        """A word of a dialect says itself, from its arguments, who meets; a method, the object that it is of."""
        self._refuse_in_lambda(node)
        arguments = [self.visit(argument) for argument in node.args]
        keywords = [self.visit(keyword) for keyword in node.keywords]
        if word is None:
            name, arrive = "_kapi_meet_method", self._callees.dialect.convergent_method
            arguments.insert(0, self.visit(node.func))
        else:
            name, arrive = f"_kapi_meet_{_identifier(word)}", word.arrive
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
        if not self._callees.tells_meetings:
            # With nothing to check, that a barrier is met is all the scheduler has to know.
            return ast.copy_location(ast.Yield(ast.copy_location(ast.Constant(True), node)), node)
        place = self._convergence_key(node)
        arguments = [self.visit(given[n]) if n in given else ast.Constant(defaults[n]) for n in names]
        parts: list[ast.expr] = [place, *arguments]
        if word is not group_barrier:
            named = self._inject(f"_kapi_word_{word.__name__}", CellType(word), node)
            other = arguments[2] if len(arguments) > 2 else ast.Constant(None)
            parts = [place, arguments[0], ast.Constant(ALGORITHM), named, arguments[1], other]
        return ast.copy_location(ast.Yield(ast.Tuple(parts, ast.Load())), node)

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        if self._is_kernel and self._callees.dialect.marks_returns and len(self._scopes) == 1:
            # Whoever runs the kernel learns where a work-item left it.
            self.has_changed = True
            node.value = ast.copy_location(ast.Constant(node.lineno), node)
            return node
        self.generic_visit(node)
        return node

    # Private memory.

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        target = node.targets[0]
        self._private_name = target.id if isinstance(target, ast.Name) else ""
        self.generic_visit(node)
        self._private_name = ""
        for each in node.targets:
            members = _members(each)
            if members and not (isinstance(node.value, ast.Tuple) and not any(members)):
                node.value = self._check_unpackable(check_unpackable, node.value, members)
        return node

    def _check_unpackable(self, check: Callable[..., Any], value: ast.expr, members: Any) -> ast.expr:
        """A value that several names are assigned, looked at."""
        if not self._callees.dialect.is_strict:
            return value
        return self._call(check, [value, ast.copy_location(ast.Constant(members), value)], value)

    def _private_array(self, node: ast.Call) -> ast.expr:
        name = self._private_name or "PrivateArray"
        shape = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg == "shape"), None)
        if shape is not None and not self._is_constant(shape):
            self._add_problem(
                node,
                "shape-unknown",
                f"shape of PrivateArray must be known when the kernel is compiled, got `{ast.unparse(shape)}`: "
                "use constants",
            )
        node.func = self._inject("_kapi_private_array", CellType(), node.func)
        self.generic_visit(node)
        node.keywords.append(ast.keyword("name", ast.copy_location(ast.Constant(name), node)))
        return node

    def _is_constant(self, node: ast.expr) -> bool:
        """Tell whether an expression is made of numbers that are known before any launch."""
        if isinstance(node, ast.Tuple):
            return all(self._is_constant(element) for element in node.elts)
        if isinstance(node, ast.BinOp):
            return isinstance(node.op, _OF_SHAPES) and self._is_constant(node.left) and self._is_constant(node.right)
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, ast.USub) and self._is_constant(node.operand)
        if isinstance(node, ast.Subscript):
            return self._is_constant(node.value) and self._is_constant(node.slice)
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.Name) and node.id in self._once:
            return self._is_constant(self._once[node.id])
        value = self._lookup(node)
        sizes = value if isinstance(value, tuple) else (value,)
        return all(isinstance(size, (int, np.integer)) for size in sizes)

    def _add_problem(self, node: ast.expr, code: str, text: str) -> None:
        self.problems.append(KernelProblem(code, self._function.__code__.co_filename, node.lineno, text))

    # Loops.

    def visit_While(self, node: ast.While) -> ast.stmt | list[ast.stmt]:
        """Count the turns of a loop that no barrier counts."""
        # A turn that always comes to a barrier is counted by the scheduler.
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
            self.cells["_kapi_spin_turn"] = CellType()
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
        """Give up a range of which no launch sees the end, and number the turns in which work-items meet."""
        is_range = isinstance(node.iter, ast.Call) and self._lookup(node.iter.func) is builtins.range
        is_counted = is_range and not _is_short(node.iter)
        idles = is_counted and self._waiting(node).idles
        made = self._numbered(node)
        if is_counted:
            self.cells["_kapi_range"] = CellType()
            place: Any = (self._function.__code__.co_filename, node.lineno, node.end_lineno or node.lineno)
            given = [ast.copy_location(ast.Constant(each), node) for each in (place, idles)]
            node.iter = self._call_of_cell("_kapi_range", [node.iter, *given], node.iter)
        members = _members(node.target)
        is_of_pairs = isinstance(node.iter, ast.Call) and self._lookup(node.iter.func) in (enumerate, zip)
        if members and not (is_of_pairs and not any(members)):
            node.iter = self._check_unpackable(unpack_each, node.iter, members)
        return made

    def _numbered(self, node: ast.For | ast.While) -> list[ast.stmt]:
        """Visit a loop, which numbers its turns if work-items meet in it and that is looked at."""
        if not self._hands_over:
            self.generic_visit(node)
            return [node]
        self._temporaries += 1
        variable = f"{ITERATION}{self._temporaries}"
        self._turns.append(variable)
        self.generic_visit(node)
        self._turns.pop()
        return numbered_loop(node, variable) if holds_convergent_call(node) else [node]

    def _is_barrier(self, statement: ast.stmt) -> bool:
        if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
            return False
        value = self._lookup(statement.value.func)
        return is_convergent(value) or (value is MISSING and self._converges_by_method(statement.value))

    # Local functions.

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        inner = bound_names(node)
        calls = [call for call in ast.walk(node) if isinstance(call, ast.Call)]
        if any(self._reaches_barrier(call, inner) for call in calls):
            self._generators.add(node.name)
        self._scopes.append(inner)
        node.args.defaults = [self.visit(default) for default in node.args.defaults]
        iterations, self._turns = self._turns, []
        node.body = [statement for old in node.body for statement in self._statements(old)]
        self._turns = iterations
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


def _assigned_once(tree: ast.FunctionDef) -> dict[str, ast.expr]:
    """Return the values of the variables that one plain assignment, and nothing else, binds."""
    stores = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    taken = {argument.arg for argument in ast.walk(tree) if isinstance(argument, ast.arg)}
    values: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if stores.count(name) == 1 and name not in taken:
                values[name] = node.value
    return values


def _members(target: ast.expr) -> tuple[Any, ...] | None:
    """The argument of `check_unpackable` that describes the targets of an assignment."""
    return tuple(map(_members, target.elts)) if isinstance(target, (ast.Tuple, ast.List)) else None


def _is_short(node: ast.expr) -> bool:
    """Tell whether the arguments of a range are numbers, and small."""
    return isinstance(node, ast.Call) and all(
        isinstance(argument, ast.Constant) and isinstance(argument.value, int) and argument.value < _SHORT
        for argument in node.args
    )


def _is_literal(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and type(value.value) in (int, float)


def _is_number_type(value: object) -> bool:
    return isinstance(value, type) and (value in (int, float, complex) or issubclass(value, np.number))


def _identifier(function: Any) -> str:
    name: str = function.__name__
    return name if name.isidentifier() else "word" if isinstance(function, DialectIntrinsic) else "lambda"
