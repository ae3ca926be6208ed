"""The part of the tree transformation that makes arithmetic what a device computes."""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import CellType
from typing import Any

from kapi_sim.numbers.arithmetic import (
    FAR,
    checked_ring,
    floor_divide,
    inner_ring,
    power,
    remainder,
    shift,
    wrapped_power,
    wrapped_ring,
    wrapped_shift,
)
from kapi_sim.numbers.attributes import contains, index_0d, reject_tuple_product, sliced
from kapi_sim.numbers.complex_operands import OPERATORS, ordered
from kapi_sim.numbers.fitting import (
    CHECK_LITERALS_FIT,
    check_literals_fit,
    check_wide_literals_fit,
    choices_with_literals,
    counted,
    folded,
    is_of_literals,
    may_repeat,
    position,
)

__all__ = ["ArithmeticRewriter", "names_of_truths"]

_RING = (ast.Add, ast.Sub, ast.Mult, ast.Pow, ast.LShift)
_GROWING = (ast.Mult, ast.Pow, ast.LShift)
_ORDERINGS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_OF_TRUTH = ("bool", "any", "all")
"""Functions of Python's that give truth values; those of `math` begin with "is"."""
_DIVISIONS: dict[type[ast.operator], Callable[..., Any]] = {ast.FloorDiv: floor_divide, ast.Mod: remainder}


class ArithmeticRewriter(ast.NodeTransformer):
    """Puts calls of `kapi_sim.numbers.arithmetic` where Python's own operators would not do.

    - `is_checked`: whether every weak integer result is looked at, or those of ``* ** <<`` only.
    - `fits_literals`: whether a literal must fit the type of the other operand.
    - `has_complex`: whether a number may be complex.
    - `cells`: what the rewritten source closes over in addition.
    - `has_changed`: whether the tree differs from the source.
    """

    def __init__(self, is_checked: bool, fits_literals: bool = True, has_complex: bool = False) -> None:
        self._is_checked = is_checked
        self._fits_literals = fits_literals
        self._has_complex = has_complex
        self._temporaries = 0
        self._parameters: set[str] = set()
        self._truths: set[str] = set()  # the names that may hold a truth value of Python's
        self._ring = checked_ring if is_checked else wrapped_ring
        self._inner = inner_ring if is_checked else wrapped_ring
        self._power = power if is_checked else wrapped_power
        self._shift = shift if is_checked else wrapped_shift
        self.cells: dict[str, CellType] = {CHECK_LITERALS_FIT: CellType(check_literals_fit)}
        self.has_changed = False

    def _call(self, called: Callable[..., Any], arguments: list[ast.expr], node: ast.AST) -> ast.Call:
        """A call of a function that the rewritten one closes over."""
        name = f"_kapi_{called.__name__}"
        self.cells[name] = CellType(called)
        return self._call_of_cell(name, arguments, node)

    def _call_of_cell(self, name: str, arguments: list[ast.expr], node: ast.AST) -> ast.Call:
        self.has_changed = True
        function = ast.copy_location(ast.Name(name, ast.Load()), node)
        return ast.copy_location(ast.Call(function, arguments, []), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if _is_settled(node):
            return node
        is_literal = is_of_literals(node)
        self.generic_visit(node)
        if is_literal:
            return self._call(self._ring, [node], node)
        if self._is_checked and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
            return self._call(self._ring, [node], node)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        return self._choice(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        return self._choice(node)

    def _choice(self, node: ast.IfExp | ast.BoolOp) -> ast.expr:
        if self._fits_literals:
            before = len(list(ast.walk(node)))
            choices_with_literals(node)
            self.has_changed |= len(list(ast.walk(node))) > before
        self.generic_visit(node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        if _is_settled(node):
            return node
        if _may_divide_by_zero(node.op, node.right):
            made = self._check_wide(node, self.visit(node.left), self.visit(node.right))
            return self._call(_DIVISIONS[type(node.op)], [*made], node)
        if isinstance(node.op, _RING):
            needs_check = self._needs_check(node)
            has_product = self._fits_literals and _has_product(node)
            chain = self._visit_chain(node)
            if has_product:
                chain = self._call(reject_tuple_product, [chain], node)
            return self._call(self._ring, [chain], node) if needs_check else chain
        node.left, node.right = self._check_wide(node, self.visit(node.left), self.visit(node.right))
        return self._of_complex(node)

    def _of_complex(self, node: ast.BinOp) -> ast.expr:
        """The operation, or its call where one operand may be Python's complex number and the other NumPy's."""
        operator = OPERATORS.get(type(node.op).__name__) if self._has_complex else None
        has_literal = _is_settled(node.left) or _is_settled(node.right)
        if operator is None or (has_literal and not _is_complex(node.left)):
            return node
        return self._call(operator, [node.left, node.right], node)

    def _check_wide(self, node: ast.BinOp, left: ast.expr, right: ast.expr) -> tuple[ast.expr, ast.expr]:
        """The operands, once visited, that must not be signed with a literal which only a uint64 holds."""
        if self._fits_literals and _is_wide(node.right) and not is_of_literals(node.left):
            left = self._call(check_wide_literals_fit, [left], node.left)
        if self._fits_literals and _is_wide(node.left) and not is_of_literals(node.right):
            right = self._call(check_wide_literals_fit, [right], node.right)
        return left, right

    def _check_all_wide(self, given: list[ast.expr]) -> list[ast.expr]:
        """The arguments of a function whose result is of all their kinds, visited; as `_beside_wide` for operands."""
        if not self._fits_literals or not any(map(_is_wide, given)) or any(isinstance(g, ast.Starred) for g in given):
            return [self.visit(each) for each in given]
        return [
            self.visit(each)
            if is_of_literals(each) and not _is_truth_value(each)
            else self._call(check_wide_literals_fit, [self.visit(each)], each)
            for each in given
        ]

    def _visit_chain(self, node: ast.BinOp, in_index: bool = False) -> ast.expr:
        """Visit a chain of ring operations: wrapping its end wraps its inner results as well, unless it is a float."""
        visited: dict[str, ast.expr] = {}
        for side, other in (("left", "right"), ("right", "left")):
            operand = getattr(node, side)
            is_inner = isinstance(operand, ast.BinOp) and isinstance(operand.op, _RING)
            # An exponent or a shift count is no ring operand: it has to be right by itself.
            if (
                is_inner
                and not is_of_literals(operand)
                and not (side == "right" and isinstance(node.op, (ast.Pow, ast.LShift)))
            ):
                looked = None if in_index else self._inner_check(node, operand, other=getattr(node, other))
                chain = self._visit_chain(operand, in_index)
                visited[side] = self._call(looked, [chain], operand) if looked else chain
            else:
                visited[side] = self.visit(operand)
        node.left, node.right = self._check_wide(node, visited["left"], visited["right"])
        # A literal integer says itself whether it is negative or far, and gives no complex number.
        if isinstance(node.op, ast.Pow) and not _is_near(node.right):
            return self._call(self._power, [node.left, node.right], node)
        if isinstance(node.op, ast.LShift) and not _is_near(node.right):
            return self._call(self._shift, [node.left, node.right], node)
        return self._of_complex(node)

    def _inner_check(self, node: ast.BinOp, inner: ast.BinOp, other: ast.expr) -> Callable[..., Any] | None:
        """Return the check of an inner result, which a float at the chain's end would hide; None if nothing need."""
        if any(map(_is_float, (inner.left, inner.right))) or _is_integer(other) or isinstance(node.op, ast.Pow):
            return None
        if self._is_checked and _is_float(other):
            return self._ring
        return self._inner if _grows(inner) else None

    def _needs_check(self, node: ast.expr) -> bool:
        """Return whether a chain of ring operations may leave 64 bits and has to be looked at."""
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

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        operands = node.left, *node.comparators
        self.generic_visit(node)
        is_membership = len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn))
        if is_membership and self._fits_literals and not isinstance(operands[1], ast.Tuple):
            within = self._call(contains, [node.left, node.comparators[0]], node)
            is_not = isinstance(node.ops[0], ast.NotIn)
            return ast.copy_location(ast.UnaryOp(ast.Not(), within), node) if is_not else within
        if self._has_complex and any(isinstance(each, _ORDERINGS) for each in node.ops):
            node.left, *node.comparators = (self._ordered(each) for each in (node.left, *node.comparators))
        if any(map(_is_wide, operands)):
            node.left = self._call(counted, [node.left], node.left)
            node.comparators = [*(self._call(counted, [each], each) for each in node.comparators)]
        return node

    def _ordered(self, node: ast.expr) -> ast.expr:
        return node if isinstance(node, ast.Constant) else self._call(ordered, [node], node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        arguments = self._position_argument(node)
        node.value = self.visit(node.value)
        if self._fits_literals and isinstance(node.slice, ast.Tuple) and not node.slice.elts:
            return self._call(index_0d, [node.value], node) if isinstance(node.ctx, ast.Load) else node
        if self._fits_literals and isinstance(node.slice, ast.Slice) and not isinstance(node.value, ast.Constant):
            is_parameter = isinstance(node.value, ast.Name) and node.value.id in self._parameters
            if isinstance(node.ctx, ast.Load) and not is_parameter:
                node.value = self._call(sliced, [node.value], node.value)
        # An index that left 64 bits is out of bounds anyway: its end needs no check of its own.
        node.slice = self._index(node.slice)
        if arguments is not None:
            node.slice = self._call(position, [node.slice, *arguments], node.slice)
        return node

    def _position_argument(self, node: ast.Subscript) -> list[ast.expr] | None:
        """The second argument of `position`; None where no tuple is indexed by what may be a truth value."""
        if not self._fits_literals or not isinstance(node.ctx, ast.Load):
            return None
        if isinstance(node.value, ast.Tuple):
            return None if isinstance(node.slice, (ast.Constant, ast.Slice)) else []
        is_truth = isinstance(node.slice, ast.Name) and node.slice.id in self._truths
        is_truth = is_truth or _gives_truth(node.slice, self._truths)
        return (
            [ast.copy_location(ast.Name(node.value.id, ast.Load()), node)]
            if (is_truth and isinstance(node.value, ast.Name))
            else None
        )

    def _index(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Tuple):
            node.elts = [self._index(element) for element in node.elts]
            return node
        if isinstance(node, ast.BinOp) and isinstance(node.op, _RING):
            return self._visit_chain(node, in_index=True)
        made: ast.expr = self.visit(node)
        return made

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt | list[ast.stmt]:
        is_division = _may_divide_by_zero(node.op, node.value)
        target = node.target
        is_changed = is_division or isinstance(node.op, _RING) or (self._has_complex and isinstance(node.op, ast.Div))
        if isinstance(target, ast.Name) and is_changed:
            read = ast.copy_location(ast.Name(target.id, ast.Load()), target)
            value = ast.copy_location(ast.BinOp(read, node.op, node.value), node)
            return ast.copy_location(ast.Assign([target], self.visit(value)), node)
        if isinstance(target, ast.Attribute) and is_division:
            record = self._temporary(target.value)
            before, after = (
                ast.copy_location(ast.Attribute(_load(record), target.attr, ctx), target)
                for ctx in (ast.Load(), ast.Store())
            )
            result = self._call(_DIVISIONS[type(node.op)], [before, self.visit(node.value)], node)
            return [
                ast.copy_location(ast.Assign([record], self.visit(target.value)), node),
                ast.copy_location(ast.Assign([self.visit(after)], result), node),
            ]
        if isinstance(target, ast.Subscript) and is_division:
            # The array and the index are evaluated once, as Python does.
            array, index = self._temporary(target.value), self._temporary(target.slice)
            location = [
                ast.copy_location(ast.Subscript(_load(array), _load(index), ctx), target)
                for ctx in (ast.Load(), ast.Store())
            ]
            result = self._call(_DIVISIONS[type(node.op)], [location[0], self.visit(node.value)], node)
            return [
                ast.copy_location(ast.Assign([array], self.visit(target.value)), node),
                ast.copy_location(ast.Assign([index], self._index(target.slice)), node),
                ast.copy_location(ast.Assign([location[1]], result), node),
            ]
        self.generic_visit(node)
        return node

    def _temporary(self, node: ast.expr) -> ast.Name:
        self._temporaries += 1
        return ast.copy_location(ast.Name(f"_kapi_{self._temporaries}", ast.Store()), node)


def _grows(node: ast.expr) -> bool:
    """Return whether a chain of ring operations has one whose result may be far larger than its operands."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, _RING):
        return False
    return isinstance(node.op, _GROWING) or _grows(node.left) or _grows(node.right)


def _is_float(node: ast.expr) -> bool:
    """Return whether an expression is a literal float, or negative one."""
    return isinstance(folded(node), float)


def _is_complex(node: ast.expr) -> bool:
    """Return whether an expression is a literal complex number."""
    return isinstance(folded(node), complex)


def _is_integer(node: ast.expr) -> bool:
    """Return whether an expression is an integer made of literals, negative ones among them."""
    return isinstance(folded(node), int)


def _is_near(node: ast.expr) -> bool:
    """Return whether an expression is a literal integer that is not `FAR` as an exponent or as a count of bits."""
    value = folded(node)
    return isinstance(value, int) and value <= FAR


def _may_divide_by_zero(operation: ast.operator, right: ast.expr) -> bool:
    if type(operation) not in _DIVISIONS:
        return False
    return not (isinstance(right, ast.Constant) and isinstance(right.value, (int, float)) and right.value != 0)


def _is_settled(node: ast.expr) -> bool:
    """Return whether an expression is a literal to the compiler as well, and of 64 bits if it is an integer."""
    value = folded(node)
    return value is not None and (not isinstance(value, int) or -(2**63) <= value < 2**64)


def _is_wide(node: ast.expr) -> bool:
    """Return whether it is a literal that a uint64 holds, and no signed integer."""
    value = folded(node)
    return isinstance(value, int) and 2**63 <= value < 2**64


def _is_truth_value(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, bool)


def names_of_truths(tree: ast.FunctionDef, given: set[str]) -> set[str]:
    """Return the names that may hold a truth value of Python's: those `given`, and what is assigned one."""
    assigned = [
        (target.id, node.value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    ]
    found, before = set(given), -1
    while len(found) > before:
        before = len(found)
        found |= {name for name, value in assigned if _gives_truth(value, found)}
    return found


def _gives_truth(node: ast.expr, truths: set[str]) -> bool:
    """Return whether an expression may give a truth value of Python's, by its form."""
    if isinstance(node, ast.Name):
        return node.id in truths
    if isinstance(node, ast.Call):
        function = node.func
        name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
        return name in _OF_TRUTH or name.startswith("is")
    if isinstance(node, ast.IfExp):
        return _gives_truth(node.body, truths) or _gives_truth(node.orelse, truths)
    is_not = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return is_not or _is_truth_value(node) or isinstance(node, (ast.Compare, ast.BoolOp))


def _has_product(node: ast.expr) -> bool:
    """Return whether a chain of ring operations has a multiplication of what may be a tuple."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, _RING):
        return False
    is_one = isinstance(node.op, ast.Mult) and may_repeat(node)
    return is_one or _has_product(node.left) or _has_product(node.right)


def _load(name: ast.Name) -> ast.Name:
    return ast.copy_location(ast.Name(name.id, ast.Load()), name)
