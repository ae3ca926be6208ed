"""Which statements in a row become one region, and the region that they become."""

from __future__ import annotations

import ast
import itertools
import operator
from collections import Counter
from typing import Any, Protocol

import numpy as np

from kapi_numba_offload.analysis.effects import has_assignment_within, has_effects
from kapi_numba_offload.analysis.functions import OPERATORS
from kapi_numba_offload.analysis.kinds import ANY, SCALAR, ArrayKind, Kinds, TupleKind
from kapi_numba_offload.analysis.names import Names
from kapi_numba_offload.regions.expression import Apply, Cast, Const, Leaf, Node, Ref
from kapi_numba_offload.regions.fused import FusedRegion
from kapi_numba_offload.regions.statements import Place, Statement
from kapi_numba_offload.run.options import OffloadOptions

__all__ = ["PREFIX", "Group", "loaded"]

PREFIX = "__kapi_"
"""How the names begin that a partitioned body has and the author's does not."""


class Body(Protocol):
    """What a group asks of the function that its statements are from; `partition.Partition` answers."""

    names: Names
    kinds: Kinds
    regions: list[Any]
    contiguous: frozenset[str]
    options: OffloadOptions
    numba_types: bool

    def expression(self, node: ast.expr) -> ast.expr:
        """An expression, rewritten."""

    def helper(self, name: str, value: Any) -> str:
        """The name under which the new body calls `value`."""

    def place(self, node: ast.AST) -> Place:
        """Where `node` stands."""

    def loads(self, name: str) -> int:
        """How often the function reads the variable `name`."""

    def rebinding(self, statement: ast.stmt) -> ast.stmt:
        """`x = x + y` for `x += y` where `x` is a number that is a 0-d array; else the statement."""

    def may_be_usm(self, node: ast.expr) -> bool:
        """Whether the value may be a USM array."""

    def is_operation(self, node: ast.expr) -> bool:
        """Whether `node` is an elementwise operation that may be of USM arrays."""

    def operation(self, node: ast.expr) -> tuple[str, list[ast.expr]] | None:
        """Name and operands of an elementwise operation; None if it is none."""

    def dtype(self, node: ast.expr) -> np.dtype[Any] | None:
        """The dtype that an expression names, None if it is not known before the function runs."""

    def is_view(self, node: ast.Subscript) -> bool:
        """Whether the subscript is a view of a USM array, and no selection that copies."""


class Group:
    """Statements in a row that become one region.

    Parameters
    ----------
    partition : Body
        The function that they are from.
    """

    def __init__(self, partition: Body) -> None:
        self._partition = partition
        self._statements: list[tuple[str | None, int | None, str | None, Node, Place]] = []
        self._leaves: list[ast.expr] = []
        self._names: list[str] = []
        self._defined: dict[str, int] = {}
        self._reads: Counter[str] = Counter()
        self._mutates = False
        self._first_known = 0
        self._after: list[ast.stmt] = []

    def take(self, statement: ast.stmt) -> bool:
        """Take a statement into the region, if it can be part of it."""
        partition = self._partition
        if self._after or has_assignment_within(statement):  # nothing follows a return
            return False
        statement = partition.rebinding(statement)
        if isinstance(statement, ast.Return) and statement.value is not None:
            return self._take_return(statement, statement.value)
        if isinstance(statement, ast.AugAssign):
            return self._take_in_place(statement)
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, value = statement.targets[0], statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            target, value = statement.target, statement.value
        else:
            return False
        if not partition.is_operation(value):
            return False
        if isinstance(target, ast.Name):
            return self._fits(value) and self.add(target.id, None, None, value, statement)
        if isinstance(target, ast.Subscript) and partition.is_view(target):
            if not self._fits(value) or not self._fits(_as_read(target), is_target=True):
                return False
            return self.add(None, _as_read(target), None, value, statement)
        return False

    def _take_in_place(self, statement: ast.AugAssign) -> bool:
        partition = self._partition
        name = OPERATORS.get(type(statement.op))
        target = _as_read(statement.target)
        if isinstance(statement.target, ast.Name):
            partition.kinds.of[id(target)] = partition.kinds.target(statement)
            kind = partition.kinds.of[id(target)]
            is_array = isinstance(kind, ArrayKind) and kind.usm
            is_fit = partition.may_be_usm(target) and (
                statement.target.id not in self._defined or (is_array and self._is_in_place(statement.target.id))
            )
        else:
            is_fit = isinstance(statement.target, ast.Subscript) and partition.is_view(statement.target)
        if name is None or not is_fit or not self._fits(statement.value) or not self._fits(target, is_target=True):
            return False
        bound = statement.target.id if isinstance(statement.target, ast.Name) else None
        return self.add(bound, target, name, statement.value, statement)

    def _take_return(self, statement: ast.Return, value: ast.expr) -> bool:
        partition = self._partition
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        before = [False, *itertools.accumulate((has_effects(each, partition.names) for each in parts), operator.or_)]
        if any(is_late and partition.is_operation(each) for is_late, each in zip(before, parts, strict=False)):
            return False  # a call that may change what a later part is made of
        if not any(partition.is_operation(each) for each in parts) and not self._statements:
            return False
        if not all(self._fits(each) for each in parts if partition.is_operation(each)):
            return False
        made: list[ast.expr] = []
        for position, each in enumerate(parts):
            if partition.is_operation(each):
                name = f"{PREFIX}returned_{position}"
                self.add(name, None, None, each, each)
                made.append(loaded(name, each))
            else:
                made.append(partition.expression(each))
        returned = ast.Tuple(made, ast.Load()) if isinstance(value, ast.Tuple) else made[0]
        self._after = [ast.copy_location(ast.Return(ast.copy_location(returned, value)), statement)]
        return True

    def _fits(self, value: ast.expr, *, is_target: bool = False) -> bool:
        """Whether what `value` takes from outside of the region is the same before the region as here."""
        if not self._statements:
            return True
        for leaf in self._outside(value) if not is_target else [value]:
            if isinstance(leaf, (ast.Name, ast.Constant)):
                continue
            read = {each.id for each in ast.walk(leaf) if isinstance(each, ast.Name)}
            if read & self._defined.keys() or has_effects(leaf, self._partition.names):
                return False
            if self._mutates and not self._is_reference(leaf):
                return False
        return not (
            is_target and isinstance(value, ast.Name) and value.id in self._defined and not self._is_in_place(value.id)
        )

    def _is_in_place(self, name: str) -> bool:
        """Whether what the region last did to the variable left it the array that it was."""
        return self._statements[self._defined[name]][2] is not None

    def _outside(self, node: ast.expr) -> list[ast.expr]:
        operation = self._partition.operation(node) if self._partition.is_operation(node) else None
        if operation is None:
            return [node]
        return [leaf for operand in operation[1] for leaf in self._outside(operand)]

    def _is_reference(self, node: ast.expr) -> bool:
        """Whether a leaf is memory, or a number that no store changes: the same before a store and after it."""
        kinds = self._partition.kinds
        for each in ast.walk(node):
            if isinstance(each, ast.Call):
                return False
            if isinstance(each, ast.Subscript) and not isinstance(kinds.kind(each.value), TupleKind):
                axes = each.slice.elts if isinstance(each.slice, ast.Tuple) else [each.slice]
                if kinds.is_element(each) or not all(map(self._is_basic, axes)) or kinds.kind(each.value) == ANY:
                    return False
        return True

    def _is_basic(self, axis: ast.expr) -> bool:
        """Whether a part of an index selects without copying."""
        if isinstance(axis, ast.Constant):
            return axis.value is Ellipsis or axis.value is None or isinstance(axis.value, int)
        return isinstance(axis, ast.Slice) or self._partition.kinds.kind(axis) == SCALAR

    def add(
        self,
        name: str | None,
        target: ast.expr | None,
        in_place: str | None,
        value: ast.expr,
        statement: ast.AST,
    ) -> bool:
        """Add a statement: `name = value`, `target[...] = value` or `target op= value`."""
        place = self._partition.place(statement)
        node = self._tree(value)
        leaf = None
        if target is not None:
            leaf = self._leaf(target)
            self._mutates = True
            if in_place is not None:
                node = Apply(in_place, (Leaf(leaf), node))
        self._statements.append((name, leaf, in_place, node, place))
        if name is not None:
            self._defined[name] = len(self._statements) - 1
        return True

    def _tree(self, node: ast.expr) -> Node:
        partition = self._partition
        number = _number(node, partition.names)
        if number is not None:
            return Const(number)
        if isinstance(node, ast.Name) and node.id in self._defined:
            self._reads[node.id] += 1
            return Ref(self._defined[node.id])
        operation = partition.operation(node) if partition.is_operation(node) else None
        if operation is None:
            return Leaf(self._leaf(node))
        name, operands = operation
        if name == "astype":
            assert isinstance(node, ast.Call)
            return Cast(self._tree(operands[0]), partition.dtype(node.args[0]))
        made: list[Node] = []
        for number, each in enumerate(operands):
            # What stands before a call that may change arrays is computed before it.
            is_early = any(has_effects(later, partition.names) for later in operands[number + 1 :])
            made.append(Leaf(self._leaf(each)) if is_early and partition.is_operation(each) else self._tree(each))
        return Apply(name, tuple(made))

    def _leaf(self, node: ast.expr) -> int:
        text = ast.unparse(node)
        if isinstance(node, (ast.Name, ast.Subscript)) and text in self._names[self._first_known :]:
            return self._names.index(text, self._first_known)
        if has_effects(node, self._partition.names):
            self._first_known = len(self._names)
        self._names.append(text)
        self._leaves.append(self._partition.expression(node))
        return len(self._leaves) - 1

    def call(self, *, is_expression: bool = False) -> ast.Call:
        """The call of the region."""
        partition = self._partition
        last = dict(self._defined)
        statements = []
        for number, (name, leaf, in_place, node, place) in enumerate(self._statements):
            is_read = name is not None and last[name] == number and partition.loads(name) > self._reads[name]
            is_output = is_expression or (name is not None and (is_read or name.startswith(PREFIX)))
            statements.append(Statement(node, leaf, in_place, is_output, place))
        contiguous = [name in partition.contiguous for name in self._names]
        region = FusedRegion(
            statements,
            self._names,
            contiguous,
            fastmath=partition.options.fastmath,
            numba_types=partition.numba_types,
        )
        partition.regions.append(region)
        helper = partition.helper(f"region_{len(partition.regions)}", region)
        where = self._leaves[0] if self._leaves else ast.Constant(0)
        return ast.copy_location(ast.Call(loaded(helper, where), list(self._leaves), []), where)

    def close(self) -> list[ast.stmt]:
        """The statements that run the region."""
        if not self._statements:
            return self._after
        call = self.call()
        (region,) = self._partition.regions[-1:]
        outputs = [
            name for (name, *_), each in zip(self._statements, region.statements, strict=True)
            if each.is_output and name is not None
        ]  # fmt: skip
        statement: ast.stmt
        if not outputs:
            statement = ast.Expr(call)
        else:
            targets: list[ast.expr] = [ast.copy_location(ast.Name(name, ast.Store()), call) for name in outputs]
            target = targets[0] if len(targets) == 1 else ast.copy_location(ast.Tuple(targets, ast.Store()), call)
            statement = ast.Assign([target], call)
        return [ast.copy_location(statement, call), *self._after]


def loaded(name: str, where: ast.AST) -> ast.Name:
    """The variable `name`, read where `where` stands."""
    return ast.copy_location(ast.Name(name, ast.Load()), where)


def _as_read(target: ast.expr) -> ast.expr:
    """What an assignment's target is when it is read."""
    if isinstance(target, ast.Name):
        return loaded(target.id, target)
    assert isinstance(target, ast.Subscript)
    axes = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    if isinstance(target.value, ast.Name) and all(ast.unparse(each) in (":", "...") for each in axes):
        return target.value  # the whole array: no view of it is needed
    return ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)


def _number(node: ast.expr, names: Names) -> Any:
    """The number that an expression is, before the function runs; None if it is none."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand, names)
        return None if inner is None or isinstance(inner, bool) else -inner
    value = node.value if isinstance(node, ast.Constant) else names.value(node)
    return value if type(value) in (bool, int, float) else None
