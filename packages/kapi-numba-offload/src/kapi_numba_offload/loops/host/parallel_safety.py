"""Safety of Numba's parallel execution: `prange` loops with the results of sequential execution."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from kapi_numba_offload.analysis.syntax import indices_of, nodes_in, targets_of
from kapi_numba_offload.loops.loop_syntax import LoopSyntax

__all__ = ["may_be_parallel"]

_REDUCING = (ast.Add, ast.Sub, ast.Mult, ast.Div)


def may_be_parallel(syntax: LoopSyntax, is_number: Callable[[ast.expr | ast.AugAssign], bool]) -> bool:
    """Whether no iteration changes what another one changes, but for the reductions that Numba has.

    Numba's reductions of arrays, and those behind a comparison, lose iterations.

    Parameters
    ----------
    syntax : LoopSyntax
        The loop.
    is_number : callable
        Whether an expression, or the target of an augmented assignment, is a number.
    """
    variables = [axis.variable for axis in syntax.axes]
    for each in nodes_in(syntax.body):
        if not isinstance(each, (ast.Assign, ast.AugAssign)):
            continue
        for target in targets_of(each):
            if isinstance(target, ast.Name):
                is_reduction = target.id in syntax.reductions
                if is_reduction and not _is_numba_reduction(each, target.id):
                    return False
                # What is changed in place may be a part of an array that other iterations have, too.
                if (is_reduction or isinstance(each, ast.AugAssign)) and not is_number(_value(each)):
                    return False
            elif not _is_own(target, variables):
                return False
    return True


def _value(node: ast.Assign | ast.AugAssign) -> ast.expr | ast.AugAssign:
    return node.value if isinstance(node, ast.Assign) else node


def _is_numba_reduction(node: ast.AST, name: str) -> bool:
    """Whether a statement reduces into the variable as Numba knows it."""
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, _REDUCING)
    value = node.value if isinstance(node, ast.Assign) else None
    if isinstance(value, ast.BinOp):
        return isinstance(value.op, _REDUCING) and isinstance(value.left, ast.Name) and value.left.id == name
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in ("min", "max")


def _is_own(target: ast.expr, variables: Sequence[str]) -> bool:
    """Whether what is stored to has all loop variables as indices, and so is stored to in one iteration only."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return all(isinstance(each, ast.Name) or _is_own(each, variables) for each in target.elts)
    if not isinstance(target, ast.Subscript):
        return False
    indices = indices_of(target)
    named = {each.id for each in indices if isinstance(each, ast.Name)}
    return named.issuperset(variables)
