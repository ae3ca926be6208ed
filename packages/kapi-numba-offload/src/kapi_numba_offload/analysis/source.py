"""The syntax of a function: parsed from its source, or written anew from its bytecode where there is none.

Offload reads syntax rather than Numba's IR, which has lost names and lines: a loop's kernel is compiled, cached and
explained as a function of the author's file.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from types import CodeType
from typing import Any

from kapi_numba_offload.analysis.decompile import definition_from_ir

__all__ = ["function_definition", "parsed_function"]


def function_definition(function: Callable[..., Any], func_ir: Any) -> ast.FunctionDef:
    """The definition of `function`, its line numbers those of the file.

    Parameters
    ----------
    function : function
        Defined by `def` or `lambda`.
    func_ir : numba.core.ir.FunctionIR
        Numba's IR of it, for a function without source.

    Raises
    ------
    KernelCompilationError
        If there is no source and the function has branches.
    """
    return parsed_function(function) or definition_from_ir(function, func_ir)


def parsed_function(function: Callable[..., Any]) -> ast.FunctionDef | None:
    """The definition of a function, parsed from its source; None if it has none."""
    try:
        lines, first = inspect.getsourcelines(function.__code__)
    except (OSError, TypeError):
        return None
    text = textwrap.dedent("".join(lines))
    found = _parsed(text, function.__code__)
    if found is None:
        return None
    ast.increment_lineno(found, first - 1)
    found.decorator_list = []
    found.returns = None
    for argument in ast.walk(found.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    return found


def _parsed(text: str, code: CodeType) -> ast.FunctionDef | None:
    """The definition in `text` that compiles to `code`, None if there is none."""
    tree = _parse(text)
    if tree is None:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            return node
        if isinstance(node, ast.Lambda) and _is_code_of(node, code):
            returned = ast.copy_location(ast.Return(node.body), node.body)
            definition = ast.parse("def f(): pass").body[0]
            assert isinstance(definition, ast.FunctionDef)
            definition.name, definition.args, definition.body = "lambda_", node.args, [returned]
            return ast.copy_location(definition, node)
    return None


def _parse(text: str) -> ast.Module | None:
    # The lines of a lambda may be the inner part of a statement: brackets around them make it one.
    for attempt in (text, f"({text.strip().rstrip(',')})", f"({text.strip().rstrip(',')}", text[: text.rfind(")")]):
        try:
            return ast.parse(attempt)
        except SyntaxError:
            continue
    start = text.find("lambda")
    for end in range(len(text), start, -1) if start >= 0 else ():
        try:
            return ast.parse(f"({text[start:end]})")
        except SyntaxError:
            continue
    return None


def _is_code_of(node: ast.Lambda, code: CodeType) -> bool:
    """Whether the lambda compiles to `code`, its closure made of the same names."""
    outer = ast.parse(f"def outer({', '.join(code.co_freevars)}): return None").body[0]
    assert isinstance(outer, ast.FunctionDef)
    outer.body[0] = ast.Return(node)
    compiled = compile(ast.fix_missing_locations(ast.Module([outer], [])), "<lambda>", "exec")
    (function,) = (each for each in compiled.co_consts if isinstance(each, CodeType))
    own = [each for each in function.co_consts if isinstance(each, CodeType)][-1]
    same = ("co_code", "co_varnames", "co_names", "co_freevars")
    constants, own_constants = (
        [each for each in one.co_consts if not isinstance(each, CodeType)] for one in (code, own)
    )
    return all(getattr(own, name) == getattr(code, name) for name in same) and own_constants == constants
