"""Compilation of a function's tree in the scope of the function that it was made of."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from types import CodeType
from typing import Any

from kapi_sim.language.source import FUTURE_FLAGS

__all__ = ["compile_closure"]


def compile_closure(function: Callable[..., Any], tree: ast.FunctionDef, added: Iterable[str]) -> CodeType:
    """Return the code of `tree`, whose free variables may be those of `function` and the names `added`.

    Raises
    ------
    SyntaxError
        If Python's compiler refuses the tree.
    """
    original = function.__code__
    names = dict.fromkeys((*original.co_freevars, *added))
    scope = ast.arguments(
        posonlyargs=[], args=[ast.arg(arg=name) for name in names], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    factory = ast.FunctionDef(name="_kapi_factory", args=scope, body=[tree], decorator_list=[])
    # Type parameters, a field since Python 3.12, would put a scope of their own around the function.
    for definition in (factory, tree):
        setattr(definition, "type_params", [])  # noqa: B010
    module = ast.fix_missing_locations(ast.Module(body=[ast.copy_location(factory, tree)], type_ignores=[]))
    flags = original.co_flags & FUTURE_FLAGS
    compiled = compile(module, original.co_filename, "exec", flags=flags, dont_inherit=True)
    return _nested(_nested(compiled, "_kapi_factory"), original.co_name)


def _nested(code: CodeType, name: str) -> CodeType:
    return next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)
