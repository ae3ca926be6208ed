"""Assertions in code, and in the functions that it calls."""

from __future__ import annotations

import ast
import dis
from collections.abc import Sequence
from types import CodeType, FunctionType
from typing import Any

from kapi_numba_offload.analysis.scope import Scope
from kapi_numba_offload.libraries.entry import NOT_USER_CODE

__all__ = ["asserts"]


def asserts(statements: Sequence[ast.stmt], names: Scope) -> bool:
    """Whether statements, or functions that they name, hold an `assert` that Python would not leave out.

    Parameters
    ----------
    statements : sequence of ast.stmt
        The statements.
    names : Scope
        What their names mean.
    """
    seen: set[int] = set()
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assert):
                return True
            is_name = isinstance(node, (ast.Name, ast.Attribute))
            if is_name and _asserts(names.value(node), seen):  # type: ignore[arg-type]  # an expression, by its class
                return True
    return False


def _asserts(value: Any, seen: set[int]) -> bool:
    function = getattr(value, "py_func", value)
    if not isinstance(function, FunctionType) or id(function) in seen or _is_of_numpy(function):
        return False
    seen.add(id(function))
    if _has_assertion(function.__code__):
        return True
    outside = [function.__globals__.get(name) for name in function.__code__.co_names]
    for cell in function.__closure__ or ():
        try:
            outside.append(cell.cell_contents)
        except ValueError:  # not bound yet
            continue
    return any(_asserts(each, seen) for each in outside)


def _is_of_numpy(function: FunctionType) -> bool:
    return (function.__module__ or "").partition(".")[0] in ("math", *NOT_USER_CODE)


def _has_assertion(code: CodeType) -> bool:
    # The one is Python 3.13's and earlier, the other, of which AssertionError is the first constant, 3.14's.
    return any(
        each.opname == "LOAD_ASSERTION_ERROR" or (each.opname == "LOAD_COMMON_CONSTANT" and each.arg == 0)
        for each in dis.get_instructions(code)
    ) or any(_has_assertion(each) for each in code.co_consts if isinstance(each, CodeType))
