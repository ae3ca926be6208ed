"""Control flow: exits of loops, and definitely assigned variables."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from kapi_numba_offload.analysis.syntax import names_in

__all__ = [
    "assigned_at",
    "has_break",
    "has_jump",
    "leaves_by_return",
    "may_leave_early",
    "own_nodes",
    "read_by_functions",
    "outlining_obstacle",
]

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_PROTECTED = (ast.Try, ast.With, *((ast.TryStar,) if hasattr(ast, "TryStar") else ()))


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below `node`, those within functions and classes that it defines left out."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, _FUNCTIONS):
            yield from own_nodes(child)


def leaves_by_return(loop: ast.stmt) -> bool:
    """Whether a loop may end its function."""
    return any(isinstance(each, ast.Return) for each in own_nodes(loop))


def may_leave_early(loop: ast.For) -> bool:
    """Whether an iteration of a loop over `prange` may keep later ones from being done, so that they have an order."""
    return leaves_by_return(loop) or has_break(loop)


def _jumps(node: ast.AST, kinds: tuple[type[ast.stmt], ...]) -> bool:
    """Whether `node` has a `break` (or `continue`) of the loop around it."""
    if isinstance(node, kinds):
        return True
    if isinstance(node, _FUNCTIONS):
        return False
    inner: Sequence[ast.AST] = node.orelse if isinstance(node, _LOOPS) else list(ast.iter_child_nodes(node))
    return any(_jumps(each, kinds) for each in inner)


def has_jump(node: ast.stmt) -> bool:
    """Whether what follows a statement in its block may be left out."""
    return _jumps(node, (ast.Break, ast.Continue))


def has_break(loop: ast.For | ast.While) -> bool:
    """Whether a loop may end before its last iteration without ending the function."""
    return any(_jumps(each, (ast.Break,)) for each in loop.body)


def outlining_obstacle(loop: ast.For | ast.While, definition: ast.FunctionDef) -> str | None:
    """Obstacle to outlining a loop; None if it may be outlined."""
    if any(_jumps(each, (ast.Break, ast.Continue)) for each in loop.orelse):
        return "it leaves the loop around it"
    stored: set[str] = set()
    for node in own_nodes(loop):
        if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await)):
            return "it yields"
        if isinstance(node, (ast.Delete, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom, *_FUNCTIONS)):
            if not (isinstance(node, ast.Delete) and not any(isinstance(each, ast.Name) for each in node.targets)):
                return "it defines or deletes names"
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            stored.add(node.id)
    if stored & read_by_functions(definition, loop):
        return "it assigns what a function reads that is defined outside of it"
    declared = {
        name for node in own_nodes(definition) if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names
    }
    if stored & declared:
        return "it assigns a global variable, or one of the function around"
    inside = {id(each) for each in ast.walk(loop)}
    if any(id(loop) in {id(each) for each in own_nodes(node)} for node in own_nodes(definition)
           if isinstance(node, _PROTECTED)):  # fmt: skip
        for node in ast.walk(definition):
            is_outside = isinstance(node, ast.Name) and id(node) not in inside
            if is_outside and node.id in stored:  # type: ignore[attr-defined]
                return "it may be left by an exception, after which its variables are known"
    return None


def read_by_functions(definition: ast.FunctionDef, loop: ast.stmt) -> set[str]:
    """The variables that functions read which are defined outside of a loop: they see each value that it assigns."""
    inside = {id(each) for each in ast.walk(loop)}
    found: set[str] = set()
    for node in own_nodes(definition):
        if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.GeneratorExp)) and id(node) not in inside:
            names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
            own = {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
            own |= {each.id for each in names if isinstance(each.ctx, ast.Store)}
            found |= {each.id for each in names} - own
    return found


def assigned_at(definition: ast.FunctionDef, statement: ast.stmt) -> set[str]:
    """The variables that surely have a value when `statement` is reached."""
    arguments = definition.args
    given = {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    given |= {each.arg for each in (arguments.vararg, arguments.kwarg) if each is not None}
    found: list[set[str]] = []
    _flow(definition.body, given, statement, found)
    return found[0] if found else set()


def _flow(statements: Sequence[ast.stmt], before: set[str], wanted: ast.stmt, found: list[set[str]]) -> set[str] | None:
    """Definitely assigned variables after the statements, None if their end is unreachable."""
    now: set[str] | None = set(before)
    for each in statements:
        if now is None:
            now = set()  # not reached, so nothing is claimed
        if each is wanted:
            found.append(set(now))
        now = _after(each, now, wanted, found)
    return now


def _after(node: ast.stmt, now: set[str], wanted: ast.stmt, found: list[set[str]]) -> set[str] | None:
    if isinstance(node, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
        return None
    if isinstance(node, ast.If):
        one, other = _flow(node.body, now, wanted, found), _flow(node.orelse, now, wanted, found)
        return other if one is None else one if other is None else one & other
    if isinstance(node, _LOOPS):
        target = _names(node.target) if isinstance(node, (ast.For, ast.AsyncFor)) else set()
        _flow(node.body, now | target, wanted, found)
        _flow(node.orelse, now, wanted, found)
        return now - _names(node, ast.Del)
    if isinstance(node, _PROTECTED):
        left = now - _names(node, ast.Del)
        for block in ("body", "handlers", "orelse", "finalbody"):
            for part in getattr(node, block, []):
                _flow(part.body if isinstance(part, ast.ExceptHandler) else [part], left, wanted, found)
        return left
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return now | {node.name}
    if isinstance(node, (ast.Assign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return now.union(*map(_names, targets))
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        return now | _names(node.target)
    return now - _names(node, ast.Del)


def _names(target: ast.AST, context: type[ast.expr_context] = ast.Store) -> set[str]:
    return set(names_in(ast.walk(target), context))
