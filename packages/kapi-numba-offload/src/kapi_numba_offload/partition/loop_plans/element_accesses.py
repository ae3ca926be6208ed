"""Loops over single elements of USM arrays, loops that do work on full arrays or rows as well, and truth values."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import numpy as np

from kapi_numba_offload.analysis.kinds import SCALAR, ArrayKind, Kind, may_have_axes
from kapi_numba_offload.analysis.numpy_functions import numpy_name
from kapi_numba_offload.loops.loop_syntax import is_parallel
from kapi_numba_offload.partition.function_info import FunctionInfo
from kapi_numba_offload.partition.loop_plans.numba_equivalence import called_function

__all__ = ["array_of_elements", "arrays_of_truth", "computes_arrays", "elements", "has_array_work"]

_EXTENTS = ("shape", "size", "ndim")


def elements(facts: FunctionInfo, statement: ast.stmt) -> Iterator[ast.expr]:
    """Accesses to single elements of USM arrays, those of parallel loops within left out."""
    if isinstance(statement, ast.For) and is_parallel(statement, facts.names):
        return
    if isinstance(statement, ast.For) and _iterates_elements(facts, statement.iter):
        yield statement.iter
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.stmt):
            yield from elements(facts, child)
        else:
            for node in ast.walk(child):
                if _is_element(facts, node):
                    yield node  # type: ignore[misc]  # an expression, as it is an element


def array_of_elements(facts: FunctionInfo, node: ast.expr) -> str | None:
    """A variable that is a USM array whose elements a comprehension takes one by one; None if there is none."""
    for each in ast.walk(node):
        owner = getattr(each, "value" if isinstance(each, ast.Subscript) else "iter", None)
        if isinstance(owner, ast.Name) and owner.id in facts.usm_names:
            return owner.id
    return None


def has_array_work(facts: FunctionInfo, statement: ast.For | ast.While) -> bool:
    """Whether each iteration of the loop that touches elements has work on full arrays or rows for the device, too.

    Then it stays on the device: what touches elements goes along in small kernels. Of nested loops each that has such
    statements in its own body must have both.
    """
    own = [each for each in statement.body if not isinstance(each, (ast.For, ast.While))]
    inner = [each for each in statement.body if isinstance(each, (ast.For, ast.While))]
    head = statement.test if isinstance(statement, ast.While) else statement.iter
    if isinstance(statement, ast.For) and _iterates_elements(facts, statement.iter):
        return False
    if any(_has_element(facts, each) for each in (head, *statement.orelse)):
        return False
    if any(_has_indirect_index(facts, each) for each in own):
        return False  # the host would wait for a number in each iteration before it knows what to submit
    if any(_has_element(facts, each) for each in own) and not any(computes_arrays(facts, each) for each in own):
        return False
    if any(isinstance(each, (ast.For, ast.While)) for one in own for each in ast.walk(one)):
        return False  # a loop within a branch
    return all(next(elements(facts, each), None) is None or has_array_work(facts, each) for each in inner)


def _has_element(facts: FunctionInfo, node: ast.AST) -> bool:
    return any(_is_element(facts, each) for each in ast.walk(node))


def _is_element(facts: FunctionInfo, node: ast.AST) -> bool:
    """Whether a node is an element of a USM array, or a call of a user function that touches elements."""
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr == "item":
            return facts.is_usm(node.func.value)
        if isinstance(node.func, ast.Name) and _indexes_captured_arrays(facts, node.func.id):
            return True
        found = called_function(facts, node) if any(_is_row(facts.kinds.kind(each)) for each in node.args) else None
        return found is not None and any(next(elements(found[0], each), None) is not None for each in found[1])
    if not isinstance(node, ast.Subscript):
        return False
    if isinstance(node.value, ast.Attribute) and node.value.attr == "flat":
        return facts.is_usm(node.value.value)
    if not facts.is_usm(node.value):
        return False
    kind = facts.kinds.kind(node)
    return kind == SCALAR or (isinstance(kind, ArrayKind) and kind.may_be_element)


def _indexes_captured_arrays(facts: FunctionInfo, name: str) -> bool:
    """Whether a local function of a name indexes USM arrays of the function around it."""
    for definition in facts.local_functions:
        names = [definition.name] if isinstance(definition, ast.FunctionDef) else []
        if isinstance(definition, ast.Assign):
            names = [each.id for each in definition.targets if isinstance(each, ast.Name)]
        if name in names and any(
            isinstance(each, ast.Subscript) and isinstance(each.value, ast.Name) and each.value.id in facts.usm_names
            for each in ast.walk(definition)
        ):
            return True
    return False


def _has_indirect_index(facts: FunctionInfo, node: ast.AST) -> bool:
    return any(isinstance(each, ast.Subscript) and _has_element(facts, each.slice) for each in ast.walk(node))


def computes_arrays(facts: FunctionInfo, statement: ast.AST) -> bool:
    """Whether a statement, or an expression, computes with full arrays or rows on the device."""
    return any(
        isinstance(each, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.AugAssign))
        and (
            any(_is_row(facts.kinds.kind(inner)) for inner in ast.iter_child_nodes(each) if isinstance(inner, ast.expr))
            or (isinstance(each, ast.AugAssign) and _is_row(facts.kinds.target(each)))
        )
        and not (isinstance(each, ast.Call) and not _is_array_call(facts, each))
        for each in ast.walk(statement)
    )


def _is_array_call(facts: FunctionInfo, call: ast.Call) -> bool:
    """Whether a call is of a NumPy function, or of one of the user's that computes with full arrays or rows itself.

    Not, say, of `len`, or of a function of which nothing is known.
    """
    if numpy_name(facts.names.value(call.func)) is not None:
        return True
    found = called_function(facts, call)
    return found is not None and any(computes_arrays(found[0], each) for each in found[1])


def _is_row(kind: Kind) -> bool:
    return may_have_axes(kind) and not kind.may_be_element


def _iterates_elements(facts: FunctionInfo, node: ast.expr) -> bool:
    """Whether what is iterated gives elements of USM arrays one by one, or the indices of all of them."""
    if facts.kinds.kind(node) == ArrayKind(True, 1):
        return True
    if isinstance(node, ast.Attribute):
        return node.attr == "flat" and facts.is_usm(node.value)
    if not isinstance(node, ast.Call):
        return False
    function = facts.names.value(node.func)
    if function in (zip, enumerate, reversed):
        return any(_iterates_elements(facts, each) for each in node.args)
    is_of_all = function in (np.ndindex, np.ndenumerate, np.nditer)
    return is_of_all and any(
        facts.is_usm(each) for arg in node.args for each in ast.walk(arg) if isinstance(each, ast.expr)
    )


def arrays_of_truth(facts: FunctionInfo, loop: ast.For) -> frozenset[str]:
    """The arrays whose elements are conditions, or are stored what is one, wherever a loop has them.

    Bools mean the same to NumPy and to Numba then: sums of NumPy's, and other operations, have other types.
    """
    parents = {id(child): each for each in ast.walk(loop) for child in ast.iter_child_nodes(each)}
    names = {each.id for each in ast.walk(loop) if isinstance(each, ast.Name) and each.id in facts.usm_names}
    other = {
        each.id for each in ast.walk(loop)
        if isinstance(each, ast.Name) and each.id in names and not _is_of_truth(facts, each, parents)
    }  # fmt: skip
    return frozenset(names - other)


def _is_of_truth(facts: FunctionInfo, node: ast.Name, parents: dict[int, ast.AST]) -> bool:
    parent = parents.get(id(node))
    if isinstance(parent, ast.Attribute):
        return parent.attr in _EXTENTS
    if not isinstance(parent, ast.Subscript) or parent.value is not node:
        return False
    kind = facts.kinds.kind(parent)
    if kind != SCALAR and not (isinstance(kind, ArrayKind) and kind.ndim == 0):
        return False
    above = parents.get(id(parent))
    if not isinstance(parent.ctx, ast.Load):
        return isinstance(above, ast.Assign) and len(above.targets) == 1 and _gives_truth(above.value)
    return _is_condition(parent, parents)


def _is_condition(node: ast.expr, parents: dict[int, ast.AST]) -> bool:
    """Whether nothing of a value counts but its truth."""
    above = parents.get(id(node))
    if isinstance(above, ast.UnaryOp) and isinstance(above.op, ast.Not):
        return True
    if isinstance(above, ast.BoolOp):
        return _is_condition(above, parents)
    return isinstance(above, (ast.If, ast.While, ast.IfExp)) and above.test is node


def _gives_truth(node: ast.expr) -> bool:
    """Whether an expression of numbers is a truth value."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, bool)
    if isinstance(node, ast.BoolOp):
        return all(map(_gives_truth, node.values))
    return isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))
