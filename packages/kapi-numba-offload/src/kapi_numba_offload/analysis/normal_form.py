"""A function's syntax with fewer forms: what means the same is written in one way before it is partitioned."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from kapi_numba_offload.analysis.control_flow import has_break

__all__ = ["normalised"]


def normalised(definition: ast.FunctionDef) -> ast.FunctionDef:
    """The definition, changed in place.

    What stands in the `else` of a loop without `break` stands after the loop, and `assert` is left out where Python
    leaves it out (``python -O``).
    """
    definition.body = _block(definition.body)
    return definition


def _block(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    made: list[ast.stmt] = []
    for statement in statements:
        if isinstance(statement, ast.Assert) and not __debug__:
            continue
        for field, value in ast.iter_fields(statement):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                setattr(statement, field, _block(value) or ([] if field == "orelse" else [ast.Pass()]))
        for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            part.body = _block(part.body) or [ast.Pass()]
        made.append(statement)
        if isinstance(statement, (ast.For, ast.While)) and not has_break(statement):
            made += statement.orelse
            statement.orelse = []
    return [ast.fix_missing_locations(each) for each in made]
