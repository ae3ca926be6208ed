"""Calls of NumPy's functions of rows, by tables: what a function takes is checked here, for all of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Generic, NamedTuple, TypeVar

from kapi_numba_offload.analysis.syntax import named_arguments
from kapi_numba_offload.loops.body.state import BodyState, NotInKernelError, unsupported_option
from kapi_numba_offload.loops.body.views import Rows

__all__ = ["RowFunction", "made_by"]

_Made = TypeVar("_Made")


class RowFunction(NamedTuple, Generic[_Made]):
    """A function of rows.

    - `make`: what it makes of rows, of its other arguments by name, and of its call.
    - `parameters`: the names of other arguments.
    - `rank`: that of its rows; None for any.
    - `of_selections`: whether its rows may be what a mask selects.
    """

    make: Callable[[BodyState, Rows, Mapping[str, ast.expr], ast.Call], _Made]
    parameters: tuple[str, ...] = ()
    rank: int | None = None
    of_selections: bool = False


def made_by(functions: Mapping[str, RowFunction[_Made]], state: BodyState, node: ast.expr) -> _Made | None:
    """The result of one of the functions, by NumPy's names, for its operands; None for other expressions."""
    name, operands = state.called(node) if isinstance(node, ast.Call) else (None, [])
    function = functions.get(name or "")
    if function is None or not isinstance(node, ast.Call):
        return None
    given = named_arguments(node, ("", *function.parameters), operands)
    first = next((given.pop(each) for each in ("", "a", "x") if each in given), None)
    rows = None if first is None else state.rows(first)
    if rows is None:
        return None
    if len(operands) - 1 > len(function.parameters) or not given.keys() <= {*function.parameters}:
        raise unsupported_option(node)
    if rows.mask is not None and not function.of_selections:
        raise NotInKernelError(f"`{ast.unparse(node)}` of what a mask selects", node)
    if function.rank not in (None, len(rows.shape)):
        raise NotInKernelError(f"`{ast.unparse(node)}` of a part of an array of {len(rows.shape)} axes", node)
    return function.make(state, rows, given, node)
