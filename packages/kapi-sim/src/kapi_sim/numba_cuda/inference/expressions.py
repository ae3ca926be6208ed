"""Types of expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from kapi_sim.errors import Finding
from kapi_sim.language.attributes import MISSING, resolve
from kapi_sim.numba_cuda.inference.operations import compared, of_numbers, of_unary
from kapi_sim.numba_cuda.inference.outside_values import attribute_of_module, kind_outside
from kapi_sim.numba_cuda.inference.session import Session
from kapi_sim.numba_cuda.inference.subscripts_and_attributes import attribute_kind, index_problem, part_of
from kapi_sim.numba_cuda.inference.values import (
    BOOL,
    Conflict,
    Dim3,
    Enumeration,
    ListOf,
    LocalFunction,
    Member,
    Module,
    Slice,
    element_of,
    joined,
)
from kapi_sim.numba_cuda.static_types.kinds import (
    NOTHING,
    UNKNOWN,
    Array,
    Kind,
    Nothing,
    Number,
    Optional,
    Other,
    Text,
    Tuple,
    Unknown,
    without_literal,
)

__all__ = ["Expressions", "is_false", "is_true"]

_LIST = Finding("list-in-kernel", "kernels have no lists: use a tuple, or cuda.local.array")
_COMPREHENSION = Finding("comprehension", "kernels have no comprehensions: write a loop")
_REFUSED: dict[type[ast.expr], Finding] = {
    ast.ListComp: _COMPREHENSION,
    ast.SetComp: _COMPREHENSION,
    ast.DictComp: _COMPREHENSION,
    ast.Dict: Finding("dict-in-kernel", "kernels have no dicts: use tuples or arrays"),
    ast.Set: Finding("set-in-kernel", "kernels have no sets: use tuples or arrays"),
}
_TEXT = Finding("text-in-kernel", "kernels make no strings: give print() constant strings and numbers one by one")


def is_true(kind: Kind) -> bool:
    """Return whether a condition of this type always holds."""
    return isinstance(kind, Number) and kind.literal is not None and bool(kind.literal)


def is_false(kind: Kind) -> bool:
    """Return whether a condition of this type never holds."""
    return isinstance(kind, Nothing) or (isinstance(kind, Number) and kind.literal is not None and not kind.literal)


class Expressions:
    """Finds the types of a function's expressions.

    Parameters
    ----------
    session : Session
        Keeps the problems.
    function : function
        Whose globals and closure the names are looked up in.
    local : set of str
        Names of its variables.

    Attributes
    ----------
    variables : dict of str to Kind
        Types of the variables, where the path that is followed stands.
    """

    def __init__(self, session: Session, function: FunctionType, local: set[str]) -> None:
        self.session = session
        self.function = function
        self.variables: dict[str, Kind] = {}
        self._local = local

    def report(self, node: ast.AST, finding: Finding) -> None:
        """Keep a problem of a part of the source."""
        self.session.report(self.function, getattr(node, "lineno", 0), finding)

    def problem(self, node: ast.AST, code: str, text: str) -> Kind:
        """Keep a problem, and return the type of what has none."""
        self.report(node, Finding(code, text))
        return UNKNOWN

    def kind(self, node: ast.expr | None) -> Kind:
        """Return the type of an expression."""
        if node is None:
            return NOTHING
        refused = _REFUSED.get(type(node))
        if refused is not None:
            self.report(node, refused)
            return UNKNOWN
        find: Callable[[Any], Kind] | None = getattr(self, f"_of_{type(node).__name__}", None)
        if find is not None:
            return find(node)
        for each in ast.iter_child_nodes(node):
            if isinstance(each, ast.expr):
                self.kind(each)
        return UNKNOWN

    def used(self, node: ast.expr) -> Kind:
        """Return the type of an expression whose value something is done with: there are no lists."""
        kind = self.kind(node)
        if isinstance(kind, ListOf):
            self.report(node, _LIST)
            return UNKNOWN
        return kind

    # Names and constants.

    def _of_Constant(self, node: ast.Constant) -> Kind:
        value = node.value
        if isinstance(value, bool):
            return Number(BOOL.dtype, value)
        if isinstance(value, int):
            if not -(2**63) <= value < 2**64:
                return self.problem(node, "integer-too-wide", f"a constant must fit 64 bits, got {value:#x}")
            return Number(np.dtype(np.int64 if value < 2**63 else np.uint64), value)
        if isinstance(value, float):
            return Number(np.dtype(np.float64), value)
        if isinstance(value, complex):
            return Number(np.dtype(np.complex128))
        if isinstance(value, str):
            return Text(value)
        return NOTHING if value is None else Other("..." if value is Ellipsis else "bytes")

    def _of_Name(self, node: ast.Name) -> Kind:
        if node.id in self._local:
            found = self.variables.get(node.id)
            if found is None:
                return UNKNOWN  # where a thread uses it, the run tells which
            if isinstance(found, Conflict):
                return self.problem(
                    node,
                    "variable-types",
                    f"variable {node.id!r} must have one type, got {found}: use two variables",
                )
            if isinstance(found, ListOf):
                self.report(node, _LIST)
                return UNKNOWN
            return found
        value = resolve(self.function, (node.id,))
        if value is MISSING:
            if node.id in self.function.__code__.co_freevars:  # a variable that is not set yet
                return UNKNOWN
            return self.problem(node, "name-undefined", f"name {node.id!r} is not defined")
        return self._known(node, kind_outside(value, node.id))

    def _known(self, node: ast.expr, kind: Kind | Finding) -> Kind:
        if isinstance(kind, Finding):
            self.report(node, kind)
            return UNKNOWN
        return kind

    def _of_Attribute(self, node: ast.Attribute) -> Kind:
        owner = self.used(node.value)
        if isinstance(owner, Module):
            value = attribute_of_module(owner, node.attr)
            name = f"{owner.name}.{node.attr}"
            if value is MISSING:
                return self.problem(node, "module-attribute", f"module {owner.name} has no {node.attr!r}")
            # A number of a module is none of the literals that shapes are made of.
            return without_literal(self._known(node, kind_outside(value, name)))
        if isinstance(owner, Enumeration):
            member = owner.value.__members__.get(node.attr)
            if member is None:
                return self.problem(node, "no-enum-member", f"{owner.name} has no {node.attr!r} in a kernel")
            return self._known(node, kind_outside(member, node.attr))
        if isinstance(owner, Text):
            self.report(node, _TEXT)
            return UNKNOWN
        return self._known(node, attribute_kind(owner, node.attr))

    # Operators.

    def _of_BinOp(self, node: ast.BinOp) -> Kind:
        left, right = self.used(node.left), self.used(node.right)
        return self.operation(node, left, node.op, right)

    def operation(self, node: ast.AST, left: Kind, operator: ast.operator, right: Kind) -> Kind:
        """Return the type of what an operator makes of two values."""
        if isinstance(left, Text) and isinstance(right, Text) and isinstance(operator, ast.Add):
            if left.literal and right.literal:
                return Text(f"{left.literal}{right.literal}")
        if isinstance(left, Text) or isinstance(right, Text):
            self.report(node, _TEXT)
            return UNKNOWN
        if isinstance(left, Number) and isinstance(right, Number):
            is_literal = isinstance(node, ast.BinOp) and _is_literal(node)
            return of_numbers(left, operator, right, is_literal)
        if isinstance(left, Tuple) and isinstance(right, Tuple) and isinstance(operator, ast.Add):
            full = Tuple(left.members + right.members)
            return full if isinstance(node, ast.BinOp) and _is_literal(node) else without_literal(full)
        return UNKNOWN

    def _of_UnaryOp(self, node: ast.UnaryOp) -> Kind:
        kind = self.used(node.operand)
        if isinstance(node.op, ast.Not):
            if isinstance(kind, Optional):
                self._refuse_optional(node.operand, kind)
            return Number(BOOL.dtype, False if is_true(kind) else True if is_false(kind) else None)
        return of_unary(node.op, kind, _is_literal(node)) if isinstance(kind, Number) else UNKNOWN

    def _of_Compare(self, node: ast.Compare) -> Kind:
        kinds = [self.used(node.left)]
        for operator, each in zip(node.ops, node.comparators, strict=True):
            is_membership = isinstance(operator, (ast.In, ast.NotIn))
            kind = self.kind(each) if is_membership else self.used(each)
            kinds.append(kind)
        if any(isinstance(each, Dim3) for each in kinds):
            self.problem(node, "operator-operands", "three indices cannot be compared: compare their x, y and z")
        return compared(node.ops, kinds)

    def condition(self, node: ast.expr) -> Kind:
        """Return the type of a condition."""
        kind = self.used(node)
        if isinstance(kind, Member):
            self.problem(node, "operator-operands", f"a condition must not be {kind}: compare it with another one")
        if isinstance(kind, Optional):
            self._refuse_optional(node, kind)
        return kind

    def _refuse_optional(self, node: ast.expr, kind: Optional) -> None:
        self.problem(
            node,
            "operator-operands",
            f"a condition must not be {kind.of} on one path and None on another: write `is not None`",
        )

    def _of_BoolOp(self, node: ast.BoolOp) -> Kind:
        is_and = isinstance(node.op, ast.And)
        found: Kind | None = None
        for value in node.values:
            kind = self.used(value)
            found = kind if found is None else joined(found, kind)
            if is_false(kind) if is_and else is_true(kind):
                if found is kind or node.values[0] is value:
                    return kind
                return without_literal(self._settled(node, found))
            if (is_true(kind) if is_and else is_false(kind)) and found is kind:
                found = None
        return without_literal(self._settled(node, found)) if found is not None else kind

    def _of_IfExp(self, node: ast.IfExp) -> Kind:
        test = self.condition(node.test)
        if is_true(test) or is_false(test):
            return self.kind(node.body if is_true(test) else node.orelse)
        return self._settled(node, joined(self.used(node.body), self.used(node.orelse)))

    def _settled(self, node: ast.AST, kind: Kind) -> Kind:
        if not isinstance(kind, Conflict):
            return kind
        spelled = ast.unparse(node) if isinstance(node, ast.expr) else "a value"
        return self.problem(node, "variable-types", f"value of `{spelled}` must have one type, got {kind}")

    # Tuples, lists, parts.

    def _of_Tuple(self, node: ast.Tuple) -> Kind:
        members: list[Kind] = []
        for each in node.elts:
            if isinstance(each, ast.Starred):
                inner = self.used(each.value)
                if not isinstance(inner, Tuple):
                    return UNKNOWN
                members += inner.members
            else:
                members.append(self.used(each))
        is_starred = any(isinstance(each, ast.Starred) for each in node.elts)
        return without_literal(Tuple(tuple(members))) if is_starred else Tuple(tuple(members))

    def _of_List(self, node: ast.List) -> Kind:
        return ListOf(tuple(self.used(each) for each in node.elts if not isinstance(each, ast.Starred)))

    def _of_JoinedStr(self, node: ast.JoinedStr) -> Kind:
        first = node.values[0] if len(node.values) == 1 else None
        if isinstance(first, ast.FormattedValue) and first.conversion == -1 and first.format_spec is None:
            self.used(first.value)
            return Text()
        if all(isinstance(each, ast.Constant) for each in node.values):
            return Text("".join(str(each.value) for each in node.values if isinstance(each, ast.Constant)))
        self.report(node, _TEXT)
        return UNKNOWN

    def _of_Slice(self, node: ast.Slice) -> Kind:
        for each in (node.lower, node.upper, node.step):
            if each is not None:
                self.used(each)
        return Slice()

    def _of_Subscript(self, node: ast.Subscript) -> Kind:
        owner = self.used(node.value)
        index = self.used(node.slice)
        if isinstance(owner, Array) and index == Other("..."):
            return self.problem(node, "ellipsis", "a whole array cannot be had by `...` in a kernel: use its name")
        return self._known(node, part_of(owner, index, ast.unparse(node.value)))

    def stored(self, node: ast.Subscript, value: Kind) -> None:
        """Check an assignment to a part of a value."""
        owner = self.used(node.value)
        index = self.used(node.slice)
        spelled = ast.unparse(node.value)
        if isinstance(owner, Tuple):
            self.problem(node, "tuple-changed", f"tuple `{spelled}` cannot be changed: make a new one")
        if not isinstance(owner, Array):
            return
        if owner.is_readonly:
            self.problem(
                node, "outside-array-stored", f"array `{spelled}` is constant in a kernel: pass it as an argument"
            )
        wrong = index_problem(owner, index, spelled)
        if wrong is not None:
            self.report(node, wrong)
            return
        self._fits(node, part_of(owner, index, spelled), value, spelled)

    def _fits(self, node: ast.AST, target: Kind | Finding, value: Kind, spelled: str) -> None:
        if isinstance(target, Array) and isinstance(value, Array):
            self.problem(
                node,
                "whole-array",
                f"a part of `{spelled}` must be copied element by element, got an array: write a loop",
            )
        if isinstance(target, Number) and not isinstance(value, (Number, Unknown, Optional, Other)):
            self.problem(node, "stored-value", f"an element of `{spelled}` must be a number, got {value}")

    def _of_Lambda(self, node: ast.Lambda) -> Kind:
        return LocalFunction(node)

    def _of_NamedExpr(self, node: ast.NamedExpr) -> Kind:
        kind = self.kind(node.value)
        self.variables[node.target.id] = kind
        return kind

    def _of_Starred(self, node: ast.Starred) -> Kind:
        return self.used(node.value)

    def iterated(self, node: ast.expr) -> Kind:
        """Return the type of what a loop over an expression gives."""
        kind = self.kind(node)
        element = element_of(kind)
        if element is not None:
            return element
        spelled = ast.unparse(node)
        if isinstance(kind, (Tuple, ListOf)):
            return self.problem(
                node,
                "loop-over",
                f"a loop over `{spelled}` must be over values of one type, got {kind}: write out the steps",
            )
        return self.problem(node, "loop-over", f"a loop must be over a range, an array or a tuple, got {kind}")


def _is_literal(node: ast.expr) -> bool:
    """Return whether Python's compiler makes one constant of an expression."""
    match node:
        case ast.Constant():
            return True
        case ast.UnaryOp():
            return _is_literal(node.operand)
        case ast.BinOp():
            return _is_literal(node.left) and _is_literal(node.right)
        case ast.Tuple():
            return all(map(_is_literal, node.elts))
    return False
