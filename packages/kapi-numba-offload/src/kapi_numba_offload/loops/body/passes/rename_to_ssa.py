"""Renaming to static single assignment: one variable for each value of those that straight-line code assigns again.

A name of a row may then be a name of another part afterwards, or of an expression: `row = row[1:]`, `row = row * 2`.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Sequence

__all__ = ["rename_to_ssa"]

_BLOCKS = ("body", "orelse")


def rename_to_ssa(body: Sequence[ast.stmt], kept: Iterable[str]) -> list[ast.stmt]:
    """Give each value of such a variable its own name; the statements are changed in place.

    Parameters
    ----------
    body : sequence of ast.stmt
        The body of a loop.
    kept : iterable of str
        Variables that have a value before or after it: they stay.
    """
    kept = set(kept)
    for statement in body:
        for each in ast.walk(statement):
            if isinstance(
                each, (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
            ):
                # It may read a variable later.
                kept |= {inner.id for inner in ast.walk(each) if isinstance(inner, ast.Name)}
    return _block(list(body), body, kept)


def _block(block: list[ast.stmt], body: Sequence[ast.stmt], kept: set[str]) -> list[ast.stmt]:
    for name in sorted(_assigned(block) - kept):
        if _is_straight_line(name, block, body):
            _rename(name, block)
    made = [part for each in block for part in _paired(each)]
    for statement in made:
        for field in _BLOCKS:
            inner = getattr(statement, field, None)
            if inner and not isinstance(statement, ast.FunctionDef):
                setattr(statement, field, _block(inner, body, kept))
    return made


def _assigned(block: Sequence[ast.stmt]) -> set[str]:
    """The variables that statements of the block itself assign."""
    return {name for statement in block for name in _targets(statement)}


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
    mentions = [each for statement in block for each in ast.walk(statement)
                if isinstance(each, ast.Name) and each.id == name]  # fmt: skip
    everywhere = sum(isinstance(each, ast.Name) and each.id == name for part in body for each in ast.walk(part))
    stored = sum(not isinstance(each.ctx, ast.Load) for each in mentions)
    if len(mentions) != everywhere or stored != sum(_targets(block[number]).count(name) for number in assigning):
        return False
    first = block[assigning[0]]
    assert isinstance(first, ast.Assign)
    before = [each for statement in (*block[: assigning[0]], first.value) for each in ast.walk(statement)]
    return not any(isinstance(each, ast.Name) and each.id == name for each in before)


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
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return [statement]
    target, value = statement.targets[0], statement.value
    if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple) or len(target.elts) != len(value.elts):
        return [statement]
    names = {each.id for each in target.elts if isinstance(each, ast.Name)}
    read = {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}
    if len(names) != len(target.elts) or names & read:
        return [statement]
    made = [ast.Assign([copy.deepcopy(one)], other) for one, other in zip(target.elts, value.elts, strict=True)]
    return [ast.copy_location(each, statement) for each in made]
