"""Grouping of consecutive statements into fused regions."""

from __future__ import annotations

import ast
import itertools
import operator
from collections import Counter
from dataclasses import dataclass
from typing import Any

from kapi_numba_offload.analysis.effects import has_effects, has_inner_assignment
from kapi_numba_offload.analysis.kinds import ANY, SCALAR, ArrayKind, Kind, TupleKind
from kapi_numba_offload.analysis.operations import OPERATORS
from kapi_numba_offload.analysis.scope import Scope
from kapi_numba_offload.analysis.syntax import indices_of
from kapi_numba_offload.elements.expression import Apply, Cast, Const, Leaf, Node, Ref
from kapi_numba_offload.elements.statements import Statement, StatementLocation
from kapi_numba_offload.partition.function_info import PREFIX, FunctionInfo, loaded
from kapi_numba_offload.regions.fused_region import FusedRegion

__all__ = ["Fused", "StatementGroup", "expression_region"]


@dataclass(frozen=True, slots=True)
class Fused:
    """Statements that became one region.

    - `region`: the region; None where there is a `return` alone.
    - `leaves`: what it is given, as written.
    - `elements`: leaves that are given as views of one element.
    - `outputs`: the variables for what it gives.
    - `returned`: what is returned after it, as written but for the values of the region.
    """

    region: FusedRegion | None
    leaves: list[ast.expr]
    elements: set[int]
    outputs: list[str]
    returned: ast.expr | None


def expression_region(facts: FunctionInfo, value: ast.expr, where: ast.AST) -> Fused:
    """The region of one elementwise expression, and what it is given, as written."""
    group = StatementGroup(facts)
    group.add(None, None, None, value, where)
    return Fused(group.region(is_expression=True), group.leaves, group.elements, [], None)


class StatementGroup:
    """Statements in a row that become one region.

    - `leaves`: what the region takes from outside, as written.
    - `elements`: leaves that are elements of arrays, and are given as views of them, since the other operands are
      arrays or rows.
    """

    def __init__(self, facts: FunctionInfo) -> None:
        self._facts = facts
        self._statements: list[tuple[str | None, int | None, str | None, Node, StatementLocation]] = []
        self.leaves: list[ast.expr] = []
        self._names: list[str] = []
        self._defined: dict[str, int] = {}
        self._reads: Counter[str] = Counter()
        self._mutates = False
        self._first_known = 0
        self._is_of_rows = False
        self.elements: set[int] = set()
        self._returned: ast.expr | None = None

    def take(self, statement: ast.stmt) -> bool:
        """Take a statement into the region, if it can be part of it."""
        facts = self._facts
        if self._returned is not None or has_inner_assignment(statement):  # nothing follows a return
            return False
        statement = facts.rebinding(statement)
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
        if not facts.is_operation(value) and not (isinstance(target, ast.Subscript) and _is_copied(facts, value)):
            return False
        if isinstance(target, ast.Name):
            return self._fits(value) and self.add(target.id, None, None, value, statement)
        if isinstance(target, ast.Subscript) and facts.is_view(target):
            read = _as_read(target)
            facts.kinds.note(read, facts.kinds.kind(target))
            if not self._fits(value) or not self._fits(read, is_target=True):
                return False
            return self.add(None, read, None, value, statement)
        return False

    def _take_in_place(self, statement: ast.AugAssign) -> bool:
        facts = self._facts
        if isinstance(statement.target, ast.Attribute):  # `z.real += 1` is Python's and dpnp's
            return False
        name = OPERATORS.get(type(statement.op))
        target = _as_read(statement.target)
        if isinstance(statement.target, ast.Name):
            kind = facts.kinds.target(statement)
            facts.kinds.note(target, kind)
            is_array = isinstance(kind, ArrayKind) and kind.usm
            is_fit = facts.may_be_usm(target) and (
                statement.target.id not in self._defined or (is_array and self._is_in_place(statement.target.id))
            )
        else:
            is_fit = isinstance(statement.target, ast.Subscript) and facts.is_view(statement.target)
        if name is None or not is_fit or not self._fits(statement.value) or not self._fits(target, is_target=True):
            return False
        bound = statement.target.id if isinstance(statement.target, ast.Name) else None
        return self.add(bound, target, name, statement.value, statement)

    def _take_return(self, statement: ast.Return, value: ast.expr) -> bool:
        facts = self._facts
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        before = [False, *itertools.accumulate((has_effects(each, facts.names) for each in parts), operator.or_)]
        if any(is_late and facts.is_operation(each) for is_late, each in zip(before, parts, strict=False)):
            return False  # a call that may change what a later part is made of
        if not any(facts.is_operation(each) for each in parts) and not self._statements:
            return False
        if not all(self._fits(each) for each in parts if facts.is_operation(each)):
            return False
        made: list[ast.expr] = []
        for position, each in enumerate(parts):
            if facts.is_operation(each):
                name = f"{PREFIX}returned_{position}"
                self.add(name, None, None, each, each)
                made.append(loaded(name, each))
            else:
                made.append(each)
        returned = ast.Tuple(made, ast.Load()) if isinstance(value, ast.Tuple) else made[0]
        self._returned = ast.copy_location(returned, value)
        return True

    def _fits(self, value: ast.expr, *, is_target: bool = False) -> bool:
        """Whether what `value` takes from outside of the region is the same before the region as here."""
        if not self._statements:
            return True
        for leaf in self._outside(value) if not is_target else [value]:
            if isinstance(leaf, (ast.Name, ast.Constant)):
                continue
            read = {each.id for each in ast.walk(leaf) if isinstance(each, ast.Name)}
            if read & self._defined.keys() or has_effects(leaf, self._facts.names):
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
        operation = self._facts.operation(node) if self._facts.is_operation(node) else None
        if operation is None:
            return [node]
        return [leaf for operand in operation[1] for leaf in self._outside(operand)]

    def _is_reference(self, node: ast.expr) -> bool:
        """Whether a leaf is memory, or a number that no store changes: the same before a store and after it."""
        kinds = self._facts.kinds
        for each in ast.walk(node):
            if isinstance(each, ast.Call):
                return False
            if isinstance(each, ast.Subscript) and not isinstance(kinds.kind(each.value), TupleKind):
                axes = indices_of(each)
                if kinds.is_element(each) or not all(map(self._is_basic, axes)) or kinds.kind(each.value) == ANY:
                    return False
        return True

    def _is_basic(self, axis: ast.expr) -> bool:
        """Whether a part of an index selects without copying."""
        if isinstance(axis, ast.Constant):
            return axis.value is Ellipsis or axis.value is None or isinstance(axis.value, int)
        return isinstance(axis, ast.Slice) or self._facts.kinds.kind(axis) == SCALAR

    def add(
        self,
        name: str | None,
        target: ast.expr | None,
        in_place: str | None,
        value: ast.expr,
        statement: ast.AST,
    ) -> bool:
        """Add a statement: `name = value`, `target[...] = value` or `target op= value`."""
        location = self._facts.location(statement)
        self._is_of_rows = any(_is_row(self._facts.kinds.kind(each)) for each in (value, target) if each is not None)
        node = self._tree(value)
        leaf = None
        if target is not None:
            leaf = self._leaf(target)
            self._mutates = True
            if in_place is not None:
                node = Apply(in_place, (Leaf(leaf), node))
        self._statements.append((name, leaf, in_place, node, location))
        if name is not None:
            self._defined[name] = len(self._statements) - 1
        return True

    def _tree(self, node: ast.expr) -> Node:
        facts = self._facts
        number = _number(node, facts.names)
        if number is not None:
            return Const(number)
        if isinstance(node, ast.Name) and node.id in self._defined:
            self._reads[node.id] += 1
            return Ref(self._defined[node.id])
        operation = facts.operation(node) if facts.is_operation(node) else None
        if operation is None:
            return Leaf(self._leaf(node))
        name, operands = operation
        if name == "astype":
            assert isinstance(node, ast.Call)
            return Cast(self._tree(operands[0]), facts.converted_to(node))
        made: list[Node] = []
        for number, each in enumerate(operands):
            # What stands before a call that may change arrays is computed before it.
            is_early = any(has_effects(later, facts.names) for later in operands[number + 1 :])
            made.append(Leaf(self._leaf(each)) if is_early and facts.is_operation(each) else self._tree(each))
        return Apply(name, tuple(made))

    def _leaf(self, node: ast.expr) -> int:
        text = ast.unparse(node)
        if isinstance(node, (ast.Name, ast.Subscript)) and text in self._names[self._first_known :]:
            return self._names.index(text, self._first_known)
        if has_effects(node, self._facts.names):
            self._first_known = len(self._names)
        if self._is_of_rows and self._facts.kinds.is_element(node) and self._facts.is_usm(node.value):  # type: ignore[attr-defined]
            self.elements.add(len(self.leaves))
        self._names.append(text)
        self.leaves.append(node)
        return len(self.leaves) - 1

    def region(self, *, is_expression: bool = False) -> FusedRegion:
        """The region."""
        facts = self._facts
        last = dict(self._defined)
        statements = []
        for number, (name, leaf, in_place, node, location) in enumerate(self._statements):
            is_read = name is not None and last[name] == number and facts.loads(name) > self._reads[name]
            is_output = is_expression or (name is not None and (is_read or name.startswith(PREFIX)))
            statements.append(Statement(node, leaf, in_place, is_output, location))
        contiguous = [name in facts.contiguous for name in self._names]
        return FusedRegion(
            statements, self._names, contiguous, fastmath=facts.options.fastmath, numba_types=facts.numba_types
        )

    def fused(self) -> Fused | None:
        """The statements as a region; None if there are none."""
        if not self._statements:
            return None if self._returned is None else Fused(None, [], set(), [], self._returned)
        region = self.region()
        outputs = [
            name for (name, *_), each in zip(self._statements, region.statements, strict=True)
            if each.is_output and name is not None
        ]  # fmt: skip
        return Fused(region, self.leaves, self.elements, outputs, self._returned)


def _is_copied(facts: FunctionInfo, value: ast.expr) -> bool:
    """Whether a value is a number, an element or an array on the device, so that storing it is a kernel's."""
    kind = facts.kinds.kind(value)
    if kind == SCALAR and isinstance(value, (ast.Name, ast.BinOp, ast.UnaryOp)):
        return True
    if isinstance(value, ast.Subscript) and kind == SCALAR:
        return facts.is_usm(value.value)
    return _number(value, facts.names) is not None or (
        isinstance(value, (ast.Name, ast.Subscript)) and isinstance(kind, ArrayKind) and kind.usm and kind.ndim != 0
    )


def _is_row(kind: Kind) -> bool:
    return isinstance(kind, ArrayKind) and kind.usm and kind.ndim is not None and kind.ndim > 0


def _as_read(target: ast.expr) -> ast.expr:
    """An assignment's target as an expression that is read."""
    if isinstance(target, ast.Name):
        return loaded(target.id, target)
    assert isinstance(target, ast.Subscript)
    axes = indices_of(target)
    if isinstance(target.value, ast.Name) and all(ast.unparse(each) in (":", "...") for each in axes):
        return target.value  # the full array: no view of it is needed
    return ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)


def _number(node: ast.expr, names: Scope) -> Any:
    """The number that an expression is, before the function runs; None if it is none."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand, names)
        return None if inner is None or isinstance(inner, bool) else -inner
    value = node.value if isinstance(node, ast.Constant) else names.value(node)
    return value if type(value) in (bool, int, float) else None
