"""The tree transformation behind `kapi_sim.instrument.instrumented_kernel`."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from types import CellType, ModuleType
from typing import Any

import numpy as np

from kapi_sim.checks.call_paths import DEVICE
from kapi_sim.instrument.added_statements import mark_lines
from kapi_sim.instrument.arithmetic_rewriter import names_of_truths
from kapi_sim.instrument.barrier_rewriter import BarrierRewriter, identifier, members_of
from kapi_sim.instrument.join_points import JoinPoints
from kapi_sim.instrument.mixed_types import CHECK_JOIN
from kapi_sim.instrument.negative_indices import with_indices_from_end
from kapi_sim.instrument.wait_loops import (
    names_from_memory,
    private_names,
)
from kapi_sim.items.convergence import (
    Converging,
    is_convergent,
)
from kapi_sim.items.undefined_values import passing
from kapi_sim.language.attributes import MISSING, bound_names, called_function, dotted_path
from kapi_sim.language.integers import as_plain
from kapi_sim.language.intrinsics.atomics import AtomicRef, atomic_fence
from kapi_sim.language.intrinsics.memory import PrivateArray
from kapi_sim.language.launchables.device_function import DeviceFunction
from kapi_sim.language.source import ADDED_ITEM
from kapi_sim.language.table.other_names import numpy_names
from kapi_sim.memory.records import assignable
from kapi_sim.numbers.arithmetic import complex_of_parts
from kapi_sim.numbers.attributes import attribute, called, check_unpackable, is_guarded
from kapi_sim.numbers.fitting import folded, values_with_literals
from kapi_sim.numbers.mathematics import SUBSTITUTES
from kapi_sim.settings.breakpoints import stops

__all__ = ["Rewriter"]

_OF_THE_LAUNCH = {
    id(AtomicRef): "_kapi_reference",
    id(atomic_fence): "_kapi_fence",
    id(print): "_kapi_print",
    id(np.void): "_kapi_record",
}
_OF_SHAPES = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.LShift, ast.RShift)


class Rewriter(BarrierRewriter):
    """Rewrites the tree of one function."""

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
        is_joined = self._is_checked and self._callees.dialect.is_strict
        joins = JoinPoints(tree, self._integers_outside(tree)) if is_joined else None
        tree.body = [statement for old in tree.body for statement in self._statements(old)]
        if joins is not None and joins.instrument(tree, self._is_kernel):
            self.has_changed = True
            self.cells[CHECK_JOIN] = CellType()
        if self._marks_lines:
            self.has_changed = True
            self.cells["_kapi_line"] = CellType()
            mark_lines(tree, self._function.__code__.co_filename)
        self._scopes.pop()
        return tree

    def _integers_outside(self, tree: ast.FunctionDef) -> set[str]:
        """The names of Python integers that a function takes from outside."""
        found = {node.id: self._lookup(node) for node in ast.walk(tree) if isinstance(node, ast.Name)}
        integers = {name: value for name, value in found.items() if type(value) is int}
        self._callees.dependencies += [(self._function, (name,), value) for name, value in integers.items()]
        return set(integers)

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
        if isinstance(node.ctx, ast.Store) and self._callees.dialect.is_strict:
            node.value = self._call(assignable, [node.value], node.value)
        if is_looked_at:
            return self._call(attribute, [node.value, ast.copy_location(ast.Constant(node.attr), node)], node)
        return node

    def _substituted(self, node: ast.Name | ast.Attribute) -> ast.expr:
        if not isinstance(node.ctx, ast.Load):
            return node
        value = self._lookup(node)
        if value is MISSING:
            return node
        if isinstance(value, (np.ndarray, np.void)) and self._callees.dialect.is_strict:
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
        name = f"_kapi_math_{identifier(value)}_{id(value)}"
        if passes and not isinstance(substitute, ModuleType):
            substitute = passing(substitute)
        return self._inject(name, CellType(substitute), node)

    def _constant_array(self, node: ast.Name | ast.Attribute, array: np.ndarray[Any, Any] | np.void) -> ast.expr:
        """An array or a record from outside, as it is now: each launch gives the kernel a view of its own."""
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
            node.args = [self._argument(argument) for argument in node.args]
            for keyword in node.keywords:
                keyword.value = self._argument(keyword.value)
            node.func = self._rewritten(function, node.func)
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
            full = passing(complex_of_parts) if self._callees.passes_undefined else complex_of_parts
            node.func = self._inject("_kapi_to_complex", CellType(full), node.func)
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

    def _argument(self, node: ast.expr) -> ast.expr:
        """An argument of a device function: where it is one itself, as it was rewritten."""
        value = self._lookup(node)
        if not isinstance(value, DeviceFunction) or self._callees.is_generator(value.py_func):
            visited: ast.expr = self.visit(node)
            return visited
        return self._rewritten(value.py_func, node)

    def _rewritten(self, function: Callable[..., Any], node: ast.expr) -> ast.expr:
        name = f"{DEVICE}{identifier(function)}_{id(function)}"
        return self._inject(name, self._callees.cell(function), node)

    def _may_convert(self, node: ast.Call) -> bool:
        """Whether a type may be called with a number, by a name of its own or as an array's."""
        is_type = isinstance(node.func, ast.Name) or (isinstance(node.func, ast.Attribute) and node.func.attr == "type")
        return self._callees.dialect.is_strict and is_type and len(node.args) == 1 and not node.keywords

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
            members = members_of(each)
            if members and not (isinstance(node.value, ast.Tuple) and not any(members)):
                node.value = self._check_unpackable(check_unpackable, node.value, members)
        return node

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
        """Return whether an expression is made of numbers that are known before any launch."""
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


def _is_literal(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and type(value.value) in (int, float)


def _is_number_type(value: object) -> bool:
    return isinstance(value, type) and (value in (int, float, complex) or issubclass(value, np.number))
