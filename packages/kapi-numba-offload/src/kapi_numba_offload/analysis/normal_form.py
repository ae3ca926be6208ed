"""A function's syntax with fewer forms: what means the same is written in one way before it is partitioned."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence

from kapi_numba_offload.analysis.assignments_within import with_assignments_before
from kapi_numba_offload.analysis.call_arguments import with_calls_by_position
from kapi_numba_offload.analysis.control_flow import has_break

__all__ = ["normalised"]


def normalised(definition: ast.FunctionDef) -> ast.FunctionDef:
    """The definition, changed in place.

    What stands in the `else` of a loop without `break` stands after the loop, and `assert` is left out where Python
    leaves it out (``python -O``). A variable for ``a.flat`` that is only indexed is written as ``a.flat``. Functions
    within the function are given all their arguments by position. What is assigned within an expression is assigned
    before it.
    """
    with_calls_by_position(definition)
    definition.body = _block(_with_flat_written_out(definition))
    return definition


def _with_flat_written_out(definition: ast.FunctionDef) -> list[ast.stmt]:
    """The body without variables for the `flat` of arrays whose names always mean the same."""
    names = [each for each in ast.walk(definition) if isinstance(each, ast.Name)]
    stored = [each.id for each in names if not isinstance(each.ctx, ast.Load)]
    parameters = {each.arg for each in ast.walk(definition.args) if isinstance(each, ast.arg)}
    indexed = {id(each.value) for each in ast.walk(definition) if isinstance(each, ast.Subscript)}
    has_scopes = any(isinstance(each, (*_SCOPES, ast.Global, ast.Nonlocal)) for each in _below(definition))
    kept: list[ast.stmt] = []
    for statement in definition.body:
        match statement:
            case ast.Assign([ast.Name(name)], ast.Attribute(ast.Name(array), "flat") as flat) if not has_scopes:
                reads = [each for each in names if each.id == name and isinstance(each.ctx, ast.Load)]
                is_fixed = array in parameters and array not in stored
                is_fixed = is_fixed and stored.count(name) == 1 and name not in parameters
                if is_fixed and all(id(each) in indexed for each in reads):
                    _write_out(definition, name, flat)
                    continue
        kept.append(statement)
    return kept or [ast.Pass()]


_SCOPES = (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _below(definition: ast.FunctionDef) -> Iterator[ast.AST]:
    return (each for statement in definition.body for each in ast.walk(statement))


def _write_out(definition: ast.FunctionDef, name: str, flat: ast.Attribute) -> None:
    for each in _below(definition):
        if isinstance(each, ast.Subscript) and isinstance(each.value, ast.Name) and each.value.id == name:
            each.value = ast.copy_location(copy.deepcopy(flat), each.value)


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
        after: list[ast.stmt] = []
        if isinstance(statement, (ast.For, ast.While)) and not has_break(statement):
            after, statement.orelse = statement.orelse, []
        made += [*with_assignments_before(statement), *after]
    return [ast.fix_missing_locations(each) for each in made]
