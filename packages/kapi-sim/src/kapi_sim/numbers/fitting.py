"""Literals with strong integers: where one of two is chosen, a literal must fit the type of the other.

On a device both are of one type. Here each is what it is, so the other one is looked at where it is chosen.
"""

from __future__ import annotations

import ast
import dis
from collections.abc import Iterator
from typing import Any

import numpy as np

from kapi_sim.errors import DtypeError, KernelCompilationError
from kapi_sim.short_repr import short_repr

__all__ = [
    "CHECK_LITERALS_FIT",
    "check_literals_fit",
    "check_wide_literals_fit",
    "choices_with_literals",
    "counted",
    "folded",
    "is_of_literals",
    "may_repeat",
    "position",
    "settle_tests",
    "values_with_literals",
]

CHECK_LITERALS_FIT = "_kapi_check_literals_fit"
"""The name of `check_literals_fit` in a rewritten kernel."""
_SMALLEST_RANGE = range(128)
"""The integers that fit every integer type."""

_OF_A_CONSTANT = ("RESUME", "LOAD_CONST", "LOAD_SMALL_INT", "RETURN_VALUE", "RETURN_CONST")


def check_literals_fit(value: Any, lowest: int, highest: int) -> Any:
    """Return `value`, after a check that the literals that are joined with it fit its type.

    Raises `DtypeError` if a literal does not fit the type of `value`.
    """
    if isinstance(value, np.integer):
        limits = np.iinfo(value.dtype)
        for literal in (lowest, highest):
            if not limits.min <= literal <= limits.max:
                raise DtypeError(
                    f"literal must fit {value.dtype}, got {short_repr(literal)}: where one of two is taken, both "
                    "are of one "
                    f"type; convert the other, as in `int(...)` or `numpy.int64(...)`",
                    code="number-unfit",
                )
    return check_wide_literals_fit(value) if highest >= 2**63 else value


def check_wide_literals_fit(value: Any) -> Any:
    """Return `value`, whose operand is a literal of 2**63 or more, unless it is a weak integer: that has a sign.

    Raises `DtypeError` if it is.
    """
    if isinstance(value, (int, np.bool_)):
        raise DtypeError(
            f"literal beside a Python integer must fit int64, got one of 2**63 or more beside {short_repr(value)}: "
            "make it a numpy.uint64",
            code="number-unfit",
        )
    return value


def counted(value: Any) -> Any:
    """Return a truth value as 0 or 1: NumPy compares none with a literal of 2**63 or more."""
    return int(value) if isinstance(value, (bool, np.bool_)) else value


def position(index: Any, indexed: Any = ()) -> Any:
    """Return the index of a member of a tuple, unless it is a truth value.

    - `index`: what stands in the brackets.
    - `indexed`: what stands in front of them; indexes of arrays are looked at by the arrays.

    Raises `KernelCompilationError` if a tuple has a truth value for an index.
    """
    if isinstance(indexed, tuple) and isinstance(index, (bool, np.bool_)):
        raise KernelCompilationError(
            f"a tuple cannot be indexed, got an index of {type(index).__name__}: make it an integer, as in `int(...)`",
            code="indexed-value",
        )
    return index


def is_of_literals(node: ast.expr) -> bool:
    """Return whether an expression has operators and literals alone."""
    pending: list[ast.AST] = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, ast.BinOp):
            pending += [part.left, part.right]
        elif isinstance(part, ast.UnaryOp) and not isinstance(part.op, ast.Not):
            pending.append(part.operand)
        elif not (isinstance(part, ast.Constant) and isinstance(part.value, (int, float, complex))):
            return False
    return True


def folded(node: ast.expr) -> Any:
    """The number that Python makes of an expression of literals as it compiles it; None of any other."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, (int, float, complex)) else None
    if not isinstance(node, (ast.BinOp, ast.UnaryOp)) or not is_of_literals(node):
        return None
    return _constant(node)


def _constant(node: ast.expr) -> Any:
    """Return the constant that Python folds an expression to; None if it is computed at run time."""
    code = compile(ast.fix_missing_locations(ast.Expression(node)), "<literals>", "eval")
    # Of 2**1000 and 1 // 0 there are more instructions.
    is_folded = all(each.opname in _OF_A_CONSTANT for each in dis.get_instructions(code))
    return eval(code) if is_folded else None


def may_repeat(node: ast.BinOp) -> bool:
    """Whether a multiplication may be of a tuple, other than one of literals that Python has repeated beforehand."""
    operands = node.left, node.right
    if any(isinstance(folded(each), float) for each in operands):
        return False
    return not any(isinstance(each, ast.Tuple) for each in operands) or not isinstance(_constant(node), tuple)


def _literal(node: ast.expr) -> int | None:
    value = folded(node)
    return value if type(value) is int else None


def _leaves(node: ast.expr) -> Iterator[tuple[ast.AST, str, int | None]]:
    """The places of the expressions of which a choice takes one: holder, field, and index in a list.

    What a literal test keeps from being taken is not compiled, and is no part of the choice.
    """
    if isinstance(node, ast.IfExp):
        truth = _truth(node.test)
        fields: list[tuple[str, int | None]] = [
            (name, None) for name, test in (("body", True), ("orelse", False)) if truth in (test, None)
        ]
    elif isinstance(node, ast.BoolOp):
        fields = [("values", position) for position in _taken(node)]
    else:
        return
    for name, position in fields:
        inner = getattr(node, name) if position is None else getattr(node, name)[position]
        if isinstance(inner, (ast.IfExp, ast.BoolOp)):
            yield from _leaves(inner)
        else:
            yield node, name, position


def _truth(node: ast.expr) -> bool | None:
    """Return the truth value of a literal; None if it is known at run time only."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        truth = _truth(node.operand)
        return None if truth is None else not truth
    value = node.value if isinstance(node, ast.Constant) else folded(node)
    return bool(value) if isinstance(node, ast.Constant) or value is not None else None


class _Tests(ast.NodeTransformer):
    """Makes a literal that is a test the truth value that Python's compiler takes it for, whatever its size."""

    def visit_If(self, node: ast.If | ast.While | ast.IfExp) -> ast.AST:
        node.test = _settled(node.test)
        return self.generic_visit(node)

    visit_While = visit_IfExp = visit_If

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if isinstance(node.op, ast.Not):
            node.operand = _settled(node.operand)
        return self.generic_visit(node)


def _settled(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.BoolOp):
        test.values = [_settled(value) for value in test.values]
    value = folded(test)
    return test if value is None else ast.copy_location(ast.Constant(bool(value)), test)


def settle_tests(tree: ast.FunctionDef) -> ast.FunctionDef:
    """Put the truth value of each literal that is a test in its place."""
    _Tests().visit(tree)
    return tree


def _taken(node: ast.BoolOp) -> Iterator[int]:
    """The positions of what `and` or `or` may give."""
    ends_with = isinstance(node.op, ast.Or)
    for position, value in enumerate(node.values):
        truth = _truth(value)
        if truth is None or truth == ends_with or position == len(node.values) - 1:
            yield position
        if truth == ends_with:
            return


def choices_with_literals(node: ast.expr) -> None:
    """Check by `check_literals_fit` each expression of a choice in which there are literals that may not fit it."""
    positions = list(_leaves(node))
    values = [_at(*position) for position in positions]
    literals = [literal for literal in map(_literal, values) if literal is not None and literal not in _SMALLEST_RANGE]
    if not literals:
        return
    # A comparison gives a truth value, which most literals fit, and none that a uint64 alone holds.
    left_alone = ast.Constant if max(literals) >= 2**63 else (ast.Constant, ast.Compare)
    for (holder, name, position), value in zip(positions, values, strict=True):
        if not isinstance(value, left_alone) and _literal(value) is None:
            made = _call(value, min(literals), max(literals))
            if position is None:
                setattr(holder, name, made)
            else:
                getattr(holder, name)[position] = made


def _at(holder: ast.AST, name: str, position: int | None) -> ast.expr:
    found = getattr(holder, name)
    made: ast.expr = found if position is None else found[position]
    return made


def _call(value: ast.expr, lowest: int, highest: int) -> ast.expr:
    parts: list[ast.expr] = [value, ast.Constant(lowest), ast.Constant(highest)]
    call = ast.Call(ast.Name(CHECK_LITERALS_FIT, ast.Load()), parts, [])
    for node in ast.walk(call):
        if not hasattr(node, "lineno") and isinstance(node, ast.expr):
            ast.copy_location(node, value)
    return ast.copy_location(call, value)


def values_with_literals(tree: ast.FunctionDef) -> bool:
    """Check by `check_literals_fit` what is assigned to a name that another branch gives a literal.

    Returns whether there was any.
    """
    assigned: dict[str, list[tuple[int, ast.Assign]]] = {}
    for number, block in enumerate(_blocks(tree)):
        for statement in block:
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                target = statement.targets[0]
                if isinstance(target, ast.Name):
                    assigned.setdefault(target.id, []).append((number, statement))
    has_changed = False
    for positions in assigned.values():
        known = [(number, _literal(statement.value)) for number, statement in positions]
        far = [(n, literal) for n, literal in known if literal is not None and literal not in _SMALLEST_RANGE]
        for number, statement in positions:
            # One after the other in a block, the second is another variable to the compiler.
            literals = [literal for n, literal in far if n != number]
            if literals and not isinstance(statement.value, ast.Constant) and _literal(statement.value) is None:
                statement.value = _call(statement.value, min(literals), max(literals))
                has_changed = True
    return has_changed


def _blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """Each list of statements of a function, without those of functions in it."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(tree, name, None)
        is_compiled = not isinstance(tree, ast.If) or _truth(tree.test) in (name == "body", None)
        if isinstance(block, list) and is_compiled:
            yield block
            for statement in block:
                if not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                    yield from _blocks(statement)
