"""Renaming to static single assignment: one variable for each value of those that straight-line code assigns again.

A name of a row may then be a name of another part afterwards, or of an expression: `row = row[1:]`, `row = row * 2`.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Sequence

from kapi_numba_offload.analysis.syntax import names_in, nodes_in, rewrite_blocks

__all__ = ["rename_to_ssa"]


def rename_to_ssa(body: Sequence[ast.stmt], kept: Iterable[str]) -> list[ast.stmt]:
    """Give each value of such a variable its own name, in place; those of `kept` have a value before or after."""
    scopes = (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
    # They may read a variable later.
    inner = nodes_in(each for each in nodes_in(body) if isinstance(each, scopes))
    return _block(list(body), body, {*kept, *names_in(inner, ast.expr_context)})


def _block(block: list[ast.stmt], body: Sequence[ast.stmt], kept: set[str]) -> list[ast.stmt]:
    for name in sorted({name for each in block for name in _targets(each)} - kept):
        if _is_straight_line(name, block, body):
            _rename(name, block)
    made = [part for each in block for part in _paired(each)]
    for statement in made:
        rewrite_blocks(statement, lambda inner: _block(inner, body, kept))
    return made


def _targets(statement: ast.stmt) -> list[str]:
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return []
    target = statement.targets[0]
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    return [each.id for each in parts if isinstance(each, ast.Name)]


def _is_straight_line(name: str, block: Sequence[ast.stmt], body: Sequence[ast.stmt]) -> bool:
    """Whether statements of the block itself alone assign the variable, several times, the first of what reads it."""
    assigning = [number for number, each in enumerate(block) if name in _targets(each)]
    if len(assigning) < 2:
        return False
    here, everywhere = nodes_in(block), nodes_in(body)
    if names_in(here, ast.expr_context).count(name) != names_in(everywhere, ast.expr_context).count(name):
        return False
    stored = names_in(here, ast.Store, ast.Del).count(name)
    if stored != sum(_targets(block[number]).count(name) for number in assigning):
        return False
    first = block[assigning[0]]
    assert isinstance(first, ast.Assign)
    return name not in names_in(nodes_in([*block[: assigning[0]], first.value]), ast.expr_context)


def _rename(name: str, block: Sequence[ast.stmt]) -> None:
    count, current = 0, name
    for statement in block:
        for each in ast.walk(statement):
            if isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Load):
                each.id = current
        if name in _targets(statement):
            count += 1
            current = name if count == 1 else f"kapi_v{count}_{name}"
            assert isinstance(statement, ast.Assign)
            for each in ast.walk(statement.targets[0]):
                if isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Store):
                    each.id = current


def _paired(statement: ast.stmt) -> list[ast.stmt]:
    """`x = p` and `y = q` for `x, y = p, q`, where neither reads the other variable."""
    match statement:
        case ast.Assign([ast.Tuple(targets)], ast.Tuple(values) as value) if len(targets) == len(values):
            names = {each.id for each in targets if isinstance(each, ast.Name)}
            if len(names) == len(targets) and not names & {*names_in(ast.walk(value), ast.expr_context)}:
                made = [ast.Assign([copy.deepcopy(one)], other) for one, other in zip(targets, values, strict=True)]
                return [ast.copy_location(each, statement) for each in made]
    return [statement]
