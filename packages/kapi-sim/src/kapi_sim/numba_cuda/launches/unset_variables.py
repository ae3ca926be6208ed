"""Variables that some threads never set: numba.cuda passes them on, and what uses one of them has no defined value."""

from __future__ import annotations

import ast
from types import FunctionType
from typing import Any

from kapi_sim.errors import UninitializedReadError
from kapi_sim.items.undefined_values import Undefined
from kapi_sim.language.attributes import bound_names
from kapi_sim.language.source import SourceLocation
from kapi_sim.numba_cuda.threads.running import running

__all__ = ["has_unset_variables", "with_unset_variables"]

_MADE = "_kapi_unset_"
_NEVER = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def with_unset_variables(tree: ast.FunctionDef, function: FunctionType) -> dict[str, Any]:
    """Give the variables that may be read before they are set a value that must not be used.

    Parameters
    ----------
    tree : ast.FunctionDef
        The source of a function, changed in place.
    function : function
        Of which it is the source.

    Returns
    -------
    dict of str to object
        What the new names in the source stand for.
    """
    file = function.__code__.co_filename
    made = {}
    for name, line in sorted(_unset(tree).items()):
        made[f"{_MADE}{name}"] = Undefined(
            _Origin(name, SourceLocation(file, line)),
            "set it on every path before",
            UninitializedReadError,
            "variable-unset",
        )
        start = ast.Assign([ast.Name(name, ast.Store())], ast.Name(f"{_MADE}{name}", ast.Load()))
        for part in ast.walk(start):
            ast.copy_location(part, tree.body[0])
        tree.body.insert(0, start)
    return made


def has_unset_variables(tree: ast.FunctionDef) -> bool:
    """Return whether a function has variables that may be read before they are set."""
    return bool(_unset(tree))


def _unset(tree: ast.FunctionDef) -> dict[str, int]:
    """Return the variables that are read where only some paths have set them, with the line that sets them."""
    paths = _Paths(bound_names(tree), _lines_of(tree))
    given = frozenset(each.arg for each in ast.walk(tree.args) if isinstance(each, ast.arg))
    paths.block(tree.body, _Reaching(given))
    return paths.unset


def _lines_of(tree: ast.FunctionDef) -> dict[str, int]:
    """Return the first line at which each variable is set."""
    lines: dict[str, int] = {}
    for node in ast.walk(tree):
        match node:
            case (
                ast.Name(id=name, ctx=ast.Store() | ast.Del())
                | ast.FunctionDef(name=name)
                | ast.MatchAs(name=str(name))
            ):
                lines[name] = min(node.lineno, lines.get(name, node.lineno))
            case _:
                pass
    return lines


class _Origin:
    """Says of a variable without a value which thread uses it."""

    __slots__ = ("_name", "_site")

    def __init__(self, name: str, site: SourceLocation) -> None:
        self._name = name
        self._site = site

    def __str__(self) -> str:
        thread = running("a variable").describe()
        return f"{thread} uses variable `{self._name}`, which {self._site} sets on another path only"


class _Reaching:
    """The variables that are set on all paths to a point."""

    __slots__ = ("is_dead", "names")

    def __init__(self, names: frozenset[str], is_dead: bool = False) -> None:
        self.names = names
        self.is_dead = is_dead

    def setting(self, names: set[str]) -> _Reaching:
        return _Reaching(self.names | names, self.is_dead)

    def joined(self, other: _Reaching) -> _Reaching:
        if self.is_dead or other.is_dead:
            return other if self.is_dead else self
        return _Reaching(self.names & other.names)


class _Paths:
    """Follows the paths of a function.

    Parameters
    ----------
    local : set of str
        The function's variables.
    lines : dict of str to int
        The line at which each is first set.

    Attributes
    ----------
    unset : dict of str to int
        Variables that are read where only some paths have set them, with the line that sets them.
    """

    def __init__(self, local: set[str], lines: dict[str, int]) -> None:
        self._local = local
        self._lines = lines
        self.unset: dict[str, int] = {}

    def block(self, statements: list[ast.stmt], state: _Reaching) -> _Reaching:
        for statement in statements:
            state = self._statement(statement, state)
        return state

    def _statement(self, node: ast.stmt, state: _Reaching) -> _Reaching:
        match node:
            case ast.If():
                state = self._expression(node.test, state)
                return self.block(node.body, state).joined(self.block(node.orelse, state))
            case ast.While():
                return self._loop(node, self._expression(node.test, state), set())
            case ast.For():
                return self._loop(node, self._expression(node.iter, state), _bound(node.target))
            case ast.Match():
                state = self._expression(node.subject, state)
                ends = [self.block(case.body, state.setting(_bound(case.pattern))) for case in node.cases]
                for end in ends:
                    state = state.joined(end)
                return state
            case ast.Try() | ast.With():
                return self.block(node.body, state)
            case ast.FunctionDef():
                for each in ast.walk(node):
                    if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
                        self._read(each.id, state)
                return state.setting({node.name})
        state = self._expression(node, state)
        return _Reaching(state.names, state.is_dead or isinstance(node, _NEVER))

    def _loop(self, node: ast.For | ast.While, state: _Reaching, targets: set[str]) -> _Reaching:
        """Follow a loop that may not run at all; what a `break` leaves behind may not be set."""
        self.block(node.body, state.setting(targets))
        after = _Reaching(state.names, state.is_dead)
        return after.joined(self.block(node.orelse, after))

    def _expression(self, node: ast.AST, state: _Reaching) -> _Reaching:
        """Check what a statement or expression reads, and return the state with what it sets."""
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
                self._read(each.id, state)
            elif isinstance(node, ast.AugAssign) and each is node.target and isinstance(each, ast.Name):
                self._read(each.id, state)
        return state.setting(_bound(node))

    def _read(self, name: str, state: _Reaching) -> None:
        if name in self._local and name not in state.names and not state.is_dead:
            self.unset.setdefault(name, self._lines.get(name, 0))


def _bound(node: ast.AST) -> set[str]:
    """Return the variables that a part of a function sets."""
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    return names | {each.name for each in ast.walk(node) if isinstance(each, ast.MatchAs) and each.name}
