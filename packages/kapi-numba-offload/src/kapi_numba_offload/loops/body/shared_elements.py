"""Elements that several iterations of a parallel loop may update: they do so atomically, and lose nothing."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence

from kapi_numba_offload.loops.body.state import ArrayFacts
from kapi_numba_offload.loops.body.syntax_parts import variable
from kapi_numba_offload.loops.body.views import ArrayPart, FixedAxis

__all__ = ["SharedElements", "as_update"]

_METHODS: dict[type[ast.operator], str] = {
    ast.Add: "fetch_add", ast.Sub: "fetch_sub", ast.BitAnd: "fetch_and", ast.BitOr: "fetch_or", ast.BitXor: "fetch_xor",
}  # fmt: skip
_DTYPES = ("int32", "uint32", "int64", "uint64", "float32", "float64")


class SharedElements:
    """Tells which updates of elements meet in one element, and writes them as atomic ones.

    Parameters
    ----------
    arrays : mapping of str to ArrayFacts
        The arrays that the loop is given.
    parallel : sequence of str
        The variables of the parallel loops.
    """

    def __init__(self, arrays: Mapping[str, ArrayFacts], parallel: Sequence[str]) -> None:
        self._arrays, self._parallel = arrays, tuple(parallel)

    def needs_atomic(self, view: ArrayPart, operation: ast.operator, value: ast.expr) -> bool:
        """Whether another iteration may update the same element, and an atomic can do the same."""
        facts = self._arrays.get(view.array)
        if facts is None or facts.dtype is None or type(operation) not in _METHODS:
            return False
        if facts.dtype.name not in _DTYPES or (facts.dtype.kind in "iu" and not self._is_whole(value)):
            return False
        if facts.dtype.kind == "f" and not isinstance(operation, (ast.Add, ast.Sub)):
            return False
        indices = [axis.index for axis in view.axes if isinstance(axis, FixedAxis)]
        return not all(any(_follows(index, each) for index in indices) for each in self._parallel)

    def _is_whole(self, value: ast.expr) -> bool:
        """Whether a value is surely an integer: adding a fraction to an element is not adding its whole part."""
        if isinstance(value, ast.Constant):
            return type(value.value) in (int, bool)
        if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name):
            facts = self._arrays.get(value.value.id)
            return facts is not None and facts.dtype is not None and facts.dtype.kind in "iub"
        if isinstance(value, ast.BinOp):
            return not isinstance(value.op, (ast.Div, ast.Pow)) and all(map(self._is_whole, (value.left, value.right)))
        return isinstance(value, ast.Name) and value.id in self._parallel

    @staticmethod
    def atomic(node: ast.AugAssign) -> ast.stmt:
        """The update of an element as an atomic one."""
        assert isinstance(node.target, ast.Subscript)
        reference = ast.Call(variable("kapi_AtomicRef"), [node.target.value, copy.deepcopy(node.target.slice)], [])
        method = ast.Attribute(reference, _METHODS[type(node.op)], ast.Load())
        made = ast.Expr(ast.Call(method, [node.value], []))
        return ast.fix_missing_locations(ast.copy_location(made, node))


def as_update(node: ast.Assign) -> ast.AugAssign | None:
    """`a[i] += x` for `a[i] = a[i] + x`; None for anything else."""
    value, (target, *_) = node.value, node.targets
    if not isinstance(value, ast.BinOp) or type(value.op) not in _METHODS or not isinstance(target, ast.Subscript):
        return None
    if ast.unparse(value.left) != ast.unparse(target):
        return None
    return ast.copy_location(ast.AugAssign(target, value.op, value.right), node)


def _follows(index: ast.expr, name: str) -> bool:
    """Whether an index has another value for each value of a loop variable, all else being equal in all iterations."""
    if isinstance(index, ast.Name):
        return index.id == name
    if isinstance(index, ast.BinOp) and isinstance(index.op, (ast.Add, ast.Sub)):
        sides = (index.left, index.right)
        for own, other in (sides, sides[::-1]):
            if _follows(own, name) and isinstance(other, ast.Constant):
                return True
        return False
    if isinstance(index, ast.BinOp) and isinstance(index.op, ast.Mult):
        sides = (index.left, index.right)
        return any(
            _follows(own, name) and isinstance(other, ast.Constant) and bool(other.value)
            for own, other in (sides, sides[::-1])
        )
    is_wrapped = isinstance(index, ast.Call) and isinstance(index.func, ast.Name)
    return is_wrapped and index.func.id == "kapi_wrapped_index" and _follows(index.args[0], name)  # type: ignore[attr-defined]
