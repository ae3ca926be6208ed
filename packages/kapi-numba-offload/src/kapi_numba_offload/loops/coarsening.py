"""Coarsening on CPUs: a work-item runs many iterations, and compilers make vectors of the loops within each.

The alternative, vectors of work-items, is better where neighbouring iterations access neighbouring elements.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from typing import Any

from kapi_numba_offload.analysis.operations import OPERATORS
from kapi_numba_offload.analysis.syntax import indices_of, mentions, names_in, nodes_in, targets_of
from kapi_numba_offload.elements.work_distribution import has_enough_rows
from kapi_numba_offload.libraries.interface import DeviceFacts

__all__ = ["has_long_rows", "may_coarsen", "traversed_rows"]

_MIN_LENGTH = 16  # elements of a row; traversing it takes longer than what is done once for each
_QUICK = frozenset(f"kapi_array_{name}" for name in OPERATORS.values() if name != "power") | frozenset(
    "abs absolute bool fabs float float32 float64 int int8 int16 int32 int64 kapi_slice_bound kapi_slice_bound_down "
    "kapi_slice_length kapi_slice_length_down kapi_wrapped_index len max maximum min minimum range sqrt square uint8 "
    "uint16 uint32 uint64".split()
)
"""Functions that a compiler makes instructions of; those of others it has for the work-items of a vector only."""


def may_coarsen(extents: Sequence[int], device: DeviceFacts) -> bool:
    """Whether work-items may run many iterations: on CPUs, whose units all get some."""
    return device.is_cpu and (len(extents) == 1 or has_enough_rows(extents[0], device))


def has_long_rows(array: Any) -> bool:
    """Whether traversing a row takes longer than what is done once for each."""
    return bool(array.ndim) and array.shape[-1] >= _MIN_LENGTH


def traversed_rows(body: Sequence[ast.stmt], variable: str, *, has_vectors: bool = True) -> frozenset[str]:
    """The arrays whose rows the inner loops of a body traverse, if these are better vectors than iterations are.

    It is empty where most subscripts move by one with the iteration.

    Parameters
    ----------
    body : sequence of ast.stmt
        What an iteration does, with elements only.
    variable : str
        The loop variable, of the innermost loop if there are several.
    has_vectors : bool
        Whether a compiler makes the vectors, which it does not of inner loops that call functions.
    """
    reader = _UnitStrides(variable, _varying(body, variable))
    for statement in body:
        reader.visit(statement)
    rows = sum(reader.rows.values())
    return frozenset(reader.rows) if rows > reader.columns and not (has_vectors and reader.calls) else frozenset()


class _UnitStrides(ast.NodeVisitor):
    """Counts the subscripts in inner loops that move by one: with the iteration, or with the inner loop's variable."""

    def __init__(self, variable: str, varying: set[str]) -> None:
        self._variable, self._varying = variable, varying
        self._counters: list[tuple[str, bool]] = []
        self.rows: Counter[str] = Counter()
        self.columns = 0
        self.calls = False

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        is_counted = isinstance(node.iter, ast.Call) and isinstance(node.target, ast.Name)
        if is_counted:
            self._counters.append((node.target.id, mentions(node.iter, self._varying)))  # type: ignore[attr-defined]
        for each in (*node.body, *node.orelse):
            self.visit(each)
        if is_counted:
            self._counters.pop()

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        self.calls |= bool(self._counters) and name not in _QUICK
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        is_quick = not isinstance(node.op, ast.Pow) or (isinstance(node.right, ast.Constant) and node.right.value == 2)
        self.calls |= bool(self._counters) and not is_quick
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.generic_visit(node)
        if not self._counters or not isinstance(node.value, ast.Name):
            return
        *outer, last = indices_of(node)
        counter, differs = self._counters[-1]
        if _has_unit_stride(last, self._variable):
            self.columns += 1
        elif _has_unit_stride(last, counter) and (
            differs or any(mentions(each, self._varying) for each in (*outer, last))
        ):
            self.rows[node.value.id] += 1


def _varying(body: Sequence[ast.stmt], variable: str) -> set[str]:
    """The variable, and those that may differ from iteration to iteration with it."""
    stores = [
        (name, each.value)
        for each in nodes_in(body)
        if isinstance(each, (ast.Assign, ast.AugAssign))
        for name in names_in(nodes_in(targets_of(each)), ast.Store)
    ]
    found: set[str] = set()
    more = {variable}
    while more - found:
        found |= more
        more = {name for name, value in stores if mentions(value, found)}
    return found


def _has_unit_stride(index: ast.expr, name: str) -> bool:
    """Whether an index goes up by one with a variable."""
    if isinstance(index, ast.Name):
        return index.id == name
    if isinstance(index, ast.Call) and isinstance(index.func, ast.Name) and index.func.id == "kapi_wrapped_index":
        return _has_unit_stride(index.args[0], name)
    if isinstance(index, ast.IfExp):
        return _has_unit_stride(index.body, name)
    if not isinstance(index, ast.BinOp) or not isinstance(index.op, (ast.Add, ast.Sub)):
        return False
    if _has_unit_stride(index.left, name):
        return not mentions(index.right, {name})
    is_sum = isinstance(index.op, ast.Add)
    return is_sum and _has_unit_stride(index.right, name) and not mentions(index.left, {name})
