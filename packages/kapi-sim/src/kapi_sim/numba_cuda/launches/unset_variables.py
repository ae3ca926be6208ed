"""Variables that some threads never set: numba.cuda passes them on, and what uses one of them has no defined value."""

from __future__ import annotations

import ast
from types import FunctionType
from typing import Any

from kapi_sim.errors import UninitializedReadError
from kapi_sim.items.undefined import Undefined
from kapi_sim.language.attributes import bound_names
from kapi_sim.language.source import Site
from kapi_sim.numba_cuda.threads.running import running

__all__ = ["has_unset_variables", "with_unset_variables"]

_MADE = "_kapi_unset_"
_NEVER = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def with_unset_variables(tree: ast.FunctionDef, function: FunctionType) -> dict[str, Any]:
    """Give the variables that may be read before they are set a value that must not be used.

    A variable that no path sets before it is read stays what it is to Python.

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
            _Origin(name, Site(file, line)),
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
    """Tell whether a function has variables that may be read before they are set."""
    return bool(_unset(tree))


def _unset(tree: ast.FunctionDef) -> dict[str, int]:
    """Return the variables that are read where only some paths have set them, with the line that sets them."""
    paths = _Paths(bound_names(tree))
    given = frozenset(each.arg for each in ast.walk(tree.args) if isinstance(each, ast.arg))
    paths.block(tree.body, _Reaching(given, given))
    return paths.unset


class _Origin:
    """Says of a variable without a value which thread uses it.

    Parameters
    ----------
    name : str
        The variable's.
    site : Site
        Where it is set.
    """

    __slots__ = ("_name", "_site")

    def __init__(self, name: str, site: Site) -> None:
        self._name = name
        self._site = site

    def __str__(self) -> str:
        thread = running("a variable").describe()
        return f"{thread} uses variable `{self._name}`, which {self._site} sets on another path only"


class _Reaching:
    """The variables that are set on all paths to a point, and those that are set on any.

    Parameters
    ----------
    on_all, on_any : frozenset of str
        Their names.
    is_dead : bool
        Whether no path leads there.
    """

    __slots__ = ("is_dead", "on_all", "on_any")

    def __init__(self, on_all: frozenset[str], on_any: frozenset[str], is_dead: bool = False) -> None:
        self.on_all = on_all
        self.on_any = on_any
        self.is_dead = is_dead

    def setting(self, names: set[str]) -> _Reaching:
        return _Reaching(self.on_all | names, self.on_any | names, self.is_dead)

    def joined(self, other: _Reaching) -> _Reaching:
        on_all = other.on_all if self.is_dead else self.on_all if other.is_dead else self.on_all & other.on_all
        return _Reaching(on_all, self.on_any | other.on_any, self.is_dead and other.is_dead)


class _Paths:
    """Follows the paths of a function.

    Parameters
    ----------
    local : set of str
        The function's variables.

    Attributes
    ----------
    unset : dict of str to int
        Variables that are read where only some paths have set them, with the line that sets them.
    """

    def __init__(self, local: set[str]) -> None:
        self._local = local
        self._lines: dict[str, int] = {}
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
        return _Reaching(state.on_all, state.on_any, state.is_dead or isinstance(node, _NEVER))

    def _loop(self, node: ast.For | ast.While, state: _Reaching, targets: set[str]) -> _Reaching:
        """Follow a loop that may not run at all; what a `break` leaves behind may not be set."""
        set_inside = _bound(ast.Module(node.body, [])) | targets
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                self._lines.setdefault(each.id, each.lineno)
        start = _Reaching(state.on_all | targets, state.on_any | set_inside)
        self.block(node.body, start)
        after = _Reaching(state.on_all, state.on_any | set_inside, state.is_dead)
        return after.joined(self.block(node.orelse, after))

    def _expression(self, node: ast.AST, state: _Reaching) -> _Reaching:
        """Look at what a statement or expression reads, and return the state with what it sets."""
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
                self._read(each.id, state)
            elif isinstance(each, ast.Name):
                self._lines.setdefault(each.id, each.lineno)
                if isinstance(node, ast.AugAssign) and each is node.target:
                    self._read(each.id, state)
        return state.setting(_bound(node))

    def _read(self, name: str, state: _Reaching) -> None:
        is_unset = name in self._local and name not in state.on_all and name in state.on_any
        if is_unset and not state.is_dead:
            self.unset.setdefault(name, self._lines.get(name, 0))


def _bound(node: ast.AST) -> set[str]:
    """Return the variables that a part of a function sets."""
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    return names | {each.name for each in ast.walk(node) if isinstance(each, ast.MatchAs) and each.name}
