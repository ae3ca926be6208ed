"""Properties of the partitioned function: its scope, kinds, and elementwise operations."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from kapi_numba_offload.analysis.kind_inference import Kinds
from kapi_numba_offload.analysis.kinds import ANY, SCALAR, ArrayKind, is_number_type, may_have_axes
from kapi_numba_offload.analysis.numpy_functions import elementwise
from kapi_numba_offload.analysis.operations import operator_operands
from kapi_numba_offload.analysis.scope import UNKNOWN, Scope
from kapi_numba_offload.analysis.syntax import indices_of, names_in
from kapi_numba_offload.elements.statements import StatementLocation
from kapi_numba_offload.libraries.interface import ArrayLibrary
from kapi_numba_offload.run.options import OffloadOptions

__all__ = ["PREFIX", "FunctionInfo", "loaded"]

PREFIX = "__kapi_"
"""The prefix of names that a partitioned body has and the user's does not."""


MadeByHelper = Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], Any]


class FunctionInfo:
    """A function, before it is partitioned.

    - `contiguous`: variables that are always C-contiguous arrays of one dtype and USM kind.
    - `library`: the library of its arrays, or of those that it makes; None if it has neither.
    - `numba_types`: whether expressions have Numba's types; else the array library's.
    - `has_narrow_integers`: whether it may have integers of fewer than 64 bits, or NumPy's bools.
    - `made_by_helper`: gives what a function makes on a device, by the function, a queue, and the arguments, which have
      no arrays; None where Numba is to run it.
    """

    def __init__(
        self,
        original: Callable[..., Any],
        definition: ast.FunctionDef,
        names: Scope,
        kinds: Kinds,
        contiguous: frozenset[str],
        options: OffloadOptions,
        library: ArrayLibrary | None,
        *,
        numba_types: bool,
        has_narrow_integers: bool = True,
        made_by_helper: MadeByHelper = lambda *_: None,
    ) -> None:
        self.made_by_helper = made_by_helper
        self.original, self.definition, self.names, self.kinds = original, definition, names, kinds
        self.contiguous, self.options, self.numba_types = contiguous, options, numba_types
        self.library, self.library_name = library, "" if library is None else library.name
        self.has_narrow_integers = has_narrow_integers
        self.written: dict[int, ast.AST] = {}  # what new statements and expressions stand for, by their identity
        self.inner_plans: dict[int, Any] = {}  # of loops by their identity, where the loop around them has asked

        self.filename, self.function = original.__code__.co_filename, definition.name
        nodes = list(ast.walk(definition))
        self.local_functions: list[ast.stmt] = [
            copy.deepcopy(each)
            for each in nodes
            if (isinstance(each, ast.FunctionDef) and each is not definition)
            or (isinstance(each, ast.Assign) and isinstance(each.value, ast.Lambda))
        ]

        self.usm_names = kinds.usm_parameters | {
            each.id for each in nodes if isinstance(each, ast.Name) and may_have_axes(kinds.kind(each))
        }
        self._loads = Counter(names_in(nodes, ast.Load))
        self._loads.update(
            each.target.id for each in nodes if isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name)
        )

    def location(self, node: ast.AST) -> StatementLocation:
        """Source location of `node`, or of what it stands for."""
        line, text = getattr(node, "lineno", 0), ast.unparse(self.written.get(id(node), node))
        return StatementLocation(self.filename, line, self.function, text, self.definition.lineno)

    def loads(self, name: str) -> int:
        """Number of reads of the variable `name`."""
        return self._loads[name]

    def rebinding(self, statement: ast.stmt) -> ast.stmt:
        """`x = x + y` for `x += y` where `x` is a number, or one that is a 0-d array on the device; else the statement.

        Whoever else has that number keeps it, as numbers are not changed in place.
        """
        if not isinstance(statement, ast.AugAssign) or not isinstance(statement.target, ast.Name):
            return statement
        kind = self.kinds.target(statement)
        is_number = isinstance(kind, ArrayKind) and kind == ArrayKind(True, 0) and not kind.is_array
        is_number |= self.has_narrow_integers and kind == SCALAR
        if not is_number:
            return statement
        before = loaded(statement.target.id, statement.target)
        self.kinds.note(before, kind)
        value = ast.copy_location(ast.BinOp(before, statement.op, statement.value), statement)
        made: ast.stmt = ast.Assign([statement.target], value)
        return ast.copy_location(made, statement)

    def number_operation(self, node: ast.expr) -> tuple[str, list[ast.expr]] | None:
        """Name and operands of an operator of numbers whose types for integers are Numba's; None for anything else."""
        found = operator_operands(node) if isinstance(node, (ast.BinOp, ast.UnaryOp)) else None
        if found is None or not self.has_narrow_integers:
            return None
        return found if all(self.kinds.kind(each) == SCALAR for each in found[1]) else None

    def may_be_usm(self, node: ast.expr) -> bool:
        """Whether the value may be a USM array."""
        kind = self.kinds.kind(node)
        return kind == ANY or (isinstance(kind, ArrayKind) and kind.usm)

    def is_usm(self, node: ast.expr) -> bool:
        """Whether the value is known to be a USM array."""
        kind = self.kinds.kind(node)
        return isinstance(kind, ArrayKind) and kind.usm

    def is_number(self, node: ast.expr) -> bool:
        """Whether the value is known to be a number, or a 0-d array on the device that stands for one."""
        return isinstance(node, ast.Constant) or self.kinds.kind(node) == SCALAR or self.kinds.is_number(node)

    def is_operation(self, node: ast.expr) -> bool:
        """Whether `node` is an elementwise operation that may be of USM arrays."""
        return self.may_be_usm(node) and self.operation(node) is not None

    def operation(self, node: ast.expr) -> tuple[str, list[ast.expr]] | None:
        """Name and operands of an elementwise operation; None if it is none."""
        is_method = isinstance(node, ast.Call) and self.names.value(node.func) is UNKNOWN
        if not is_method:
            return self._conversion(node) or elementwise(node, self.names)
        assert isinstance(node, ast.Call)
        is_cast = isinstance(node.func, ast.Attribute) and node.func.attr == "astype" and len(node.args) == 1
        if is_cast and not node.keywords and self.dtype(node.args[0]) is not None:
            assert isinstance(node.func, ast.Attribute)
            return "astype", [node.func.value]
        return None

    def _conversion(self, node: ast.expr) -> tuple[str, list[ast.expr]] | None:
        """A call such as `numpy.float32(array)` as an operation."""
        if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords or not self.is_usm(node.args[0]):
            return None
        return ("astype", node.args) if is_number_type(self.names.value(node.func)) else None

    def converted_to(self, node: ast.Call) -> np.dtype[Any] | None:
        """The dtype to which an operation `astype` converts: `a.astype(dtype)` and `dtype(a)` name it."""
        is_method = self.names.value(node.func) is UNKNOWN
        return self.dtype(node.args[0] if is_method else node.func)

    def dtype(self, node: ast.expr) -> np.dtype[Any] | None:
        """The dtype that an expression names, None if it is not known before the function runs."""
        value = node.value if isinstance(node, ast.Constant) else self.names.value(node)
        if not isinstance(value, (str, type, np.dtype)):
            return None
        try:
            return np.dtype(value)
        except TypeError:
            return None

    def is_view(self, node: ast.Subscript) -> bool:
        """Whether the subscript is a view of a USM array, one element or more, and no selection that copies."""
        owner = self.kinds.kind(node.value)
        if not isinstance(owner, ArrayKind) or not owner.usm:
            return False
        axes = indices_of(node)
        plain = all(
            isinstance(axis, ast.Slice)
            or (isinstance(axis, ast.Constant) and (axis.value is Ellipsis or axis.value is None))
            or self.kinds.kind(axis) == SCALAR
            for axis in axes
        )
        return plain and any(isinstance(axis, ast.Slice) or self.kinds.kind(axis) != SCALAR for axis in axes)


def loaded(name: str, where: ast.AST) -> ast.Name:
    """The variable `name`, read where `where` stands."""
    return ast.copy_location(ast.Name(name, ast.Load()), where)
