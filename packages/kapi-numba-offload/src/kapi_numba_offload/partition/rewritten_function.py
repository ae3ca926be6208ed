"""The function that a rewritten definition stands for."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from kapi_numba_offload.partition.function_info import PREFIX

__all__ = ["rewritten_function"]


def rewritten_function(
    original: Callable[..., Any], definition: ast.FunctionDef, closure: Mapping[str, Any]
) -> FunctionType:
    """Compile a rewritten definition, which has no defaults afterwards.

    - `original`: the function whose globals it has: functions called by name are those that the module has by then.
    - `closure`: what its text names besides.
    """
    outer = ast.parse(f"def {PREFIX}outer({', '.join(closure)}):\n    return {definition.name}").body[0]
    assert isinstance(outer, ast.FunctionDef)
    definition.args.defaults = []
    definition.args.kw_defaults = [None] * len(definition.args.kwonlyargs)
    outer.body.insert(0, definition)
    module = ast.fix_missing_locations(ast.Module([outer], []))
    scope: dict[str, Any] = {}
    exec(compile(module, original.__code__.co_filename, "exec"), original.__globals__, scope)
    made = scope[f"{PREFIX}outer"](*closure.values())
    assert isinstance(made, FunctionType)
    return made
