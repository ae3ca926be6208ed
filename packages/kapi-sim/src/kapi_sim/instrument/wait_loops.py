"""Dependences of a loop's condition: its own variables, or memory that others change.

The iterations of a loop are known to repeat if nothing that they depend on has changed.  So it is looked up, in the
source, which variables decide about an exit of the loop or about what it does to memory: a variable that only
counts the iterations is none of them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum

from kapi_sim.language.intrinsics.atomics import ATOMIC_KINDS

__all__ = ["Callee", "SpinLoops", "kind_of_method", "names_from_memory", "private_names", "waiting_of"]

_ATOMIC = frozenset({"load", "store", "exchange", "compare_exchange", *ATOMIC_KINDS})
_QUIET = frozenset({"append", "conjugate", "item", "astype", "type"})


class Callee(Enum):
    """The effects of a call in a loop."""

    QUIET = 0
    """It reads its arguments, and changes nothing."""
    ATOMIC = 1
    """It reads or changes one element of memory that is shared."""
    FUNCTION = 2
    """It is a function of the user's that stands by itself."""
    UNKNOWN = 3
    """It may do anything: a local function, or a convergence point."""


@dataclass(frozen=True, slots=True)
class SpinLoops:
    """The variables and memory that a loop's condition depends on.

    - `reads_shared`: whether an exit depends on what an atomic operation, or a function, has read.
    - `idles`: whether an iteration that changes no shared memory, and sees none changed, is like the one before.
    - `names`: the variables that exits and changes of memory depend on; `None` if that is not known.
    """

    reads_shared: bool
    idles: bool
    names: tuple[str, ...] | None


@dataclass(slots=True)
class _Change:
    """A statement or call that may change some names, what it reads, and what it depends on."""

    targets: frozenset[str]
    reads: list[ast.expr]
    guards: list[ast.expr]
    is_variable: bool
    goes_on: bool = False


@dataclass(slots=True)
class _Course:
    """The effects of a loop, statement by statement."""

    kind: Callable[[ast.Call], Callee]
    is_loop: bool = True
    exits: list[ast.expr] = field(default_factory=list)
    effects: list[ast.expr] = field(default_factory=list)
    changes: list[_Change] = field(default_factory=list)
    callees: set[Callee] = field(default_factory=set)
    given: set[str] = field(default_factory=set)

    def walk(self, body: list[ast.stmt], guards: list[ast.expr], is_inner: bool) -> None:
        """Take note of statements; in an inner loop, `break` and `continue` are that one's."""
        last = body[-1] if body and self.is_loop else None
        if isinstance(last, (ast.Return, ast.Raise)) or (isinstance(last, ast.Break) and not is_inner):
            # What an exit from the loop does is seen by no further iteration.
            self.exits += guards
            return
        for statement in body:
            for value in _expressions(statement):
                self._note_calls(value, guards)
            if isinstance(statement, ast.If):
                within = [*guards, statement.test]
                self.walk(statement.body, within, is_inner)
                self.walk(statement.orelse, within, is_inner)
            elif isinstance(statement, (ast.While, ast.For)):
                head = statement.test if isinstance(statement, ast.While) else statement.iter
                if isinstance(statement, ast.For):
                    self._assign([statement.target], [statement.iter], guards)
                self.walk(statement.body, [*guards, head], True)
                self.walk(statement.orelse, [*guards, head], is_inner)
            elif isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
                targets = statement.targets if isinstance(statement, ast.Assign) else (statement.target,)
                self._assign(targets, [statement.value], guards)
            elif isinstance(statement, ast.AugAssign):
                self._assign([statement.target], [statement.value], guards, goes_on=True)
            elif isinstance(statement, ast.Assert):
                self.exits += [*guards, statement.test]
            elif isinstance(statement, (ast.Return, ast.Raise)) or (
                isinstance(statement, (ast.Break, ast.Continue)) and not is_inner
            ):
                self.exits += guards
            elif not isinstance(statement, (ast.Expr, ast.Pass, ast.Break, ast.Continue)):
                self.callees.add(Callee.UNKNOWN)

    def _assign(
        self, targets: Iterable[ast.expr], reads: list[ast.expr], guards: list[ast.expr], goes_on: bool = False
    ) -> None:
        for target in targets:
            if isinstance(target, (ast.Subscript, ast.Attribute)):
                self.effects += [target, *reads, *guards]
                base: ast.expr = target
                while isinstance(base, (ast.Subscript, ast.Attribute)):
                    base = base.value
                self.changes.append(_Change(frozenset(_names([base])), [target, *reads], guards, False, goes_on))
            else:
                self.changes.append(_Change(frozenset(_names([target])), reads, guards, True, goes_on))

    def _note_calls(self, value: ast.expr, guards: list[ast.expr]) -> None:
        for node in ast.walk(value):
            if isinstance(node, ast.NamedExpr):
                self._assign([node.target], [node.value], guards)
            if not isinstance(node, ast.Call):
                continue
            kind = self.kind(node)
            self.callees.add(kind)
            if kind is not Callee.QUIET:
                self.effects += [node, *guards]
                given = [*node.args, *(keyword.value for keyword in node.keywords)]
                # An array that is given may be changed: the `expected` of a compare_exchange is.
                self.changes.append(_Change(frozenset(_names(given)), [node], guards, False))
                if kind is Callee.FUNCTION:
                    self.given |= _names(given)

    def parts(self, roots: list[ast.expr]) -> tuple[set[str], list[ast.expr]]:
        """Return the names and expressions that `roots` depend on, from iteration to iteration."""
        names, found = _names(roots), list(roots)
        pending = list(self.changes)
        while True:
            more = [change for change in pending if change.targets & names]
            if not more:
                return names, found
            pending = [change for change in pending if not change.targets & names]
            for change in more:
                found += [*change.reads, *change.guards]
                names |= _names([*change.reads, *change.guards])

    def carries_on(self, names: set[str]) -> bool:
        """Return whether one of these variables has something from the iteration before."""
        changed = {name for change in self.changes for name in change.targets if not change.targets.isdisjoint(names)}
        changed = {name for name in changed if any(name in c.targets and not _is_call(c) for c in self.changes)}
        fresh: set[str] = set()
        for change in self.changes:
            if change.targets.isdisjoint(names) or _is_call(change):
                continue
            read = _names([*change.guards, *_values(change)])
            if change.goes_on or read & (changed - fresh):
                return True
            if change.is_variable and not change.guards:
                fresh |= change.targets
        return False


def waiting_of(
    loop: ast.While | ast.For,
    kind: Callable[[ast.Call], Callee],
    from_memory: Iterable[str],
    private: frozenset[str] | None,
) -> SpinLoops:
    """Look through a loop.

    - `loop`: as written.
    - `kind`: what a call does.
    - `from_memory`: variables of the function that have a value from an atomic operation or a function.
    - `private`: variables that may be private arrays, which functions can change; `None` if that is not known.
    """
    course = _Course(kind)
    if isinstance(loop, ast.While):
        course._note_calls(loop.test, [])
        course.exits.append(loop.test)
    else:
        course._assign([loop.target], [loop.iter], [], goes_on=True)
    course.walk(loop.body, [], False)
    deciding, expressions = course.parts(course.exits)
    nodes = [node for expression in expressions for node in ast.walk(expression)]
    kinds = {kind(node) for node in nodes if isinstance(node, ast.Call)}
    reads_shared = bool(kinds - {Callee.QUIET}) or not deciding.isdisjoint(from_memory)
    if Callee.UNKNOWN in course.callees:
        return SpinLoops(reads_shared, False, None)
    names, _ = course.parts([*course.exits, *course.effects])
    reads = reads_shared or any(isinstance(node, ast.Subscript) for node in nodes)
    is_known = not course.given if private is None else private.isdisjoint(course.given)
    idles = reads and is_known and not loop.orelse and not course.carries_on(names)
    return SpinLoops(reads_shared, idles, tuple(sorted(names)))


def names_from_memory(tree: ast.FunctionDef, kind: Callable[[ast.Call], Callee]) -> frozenset[str]:
    """Return the variables of a function that may have a value from an atomic operation or a function."""
    return _variables_from(tree, kind, lambda call: kind(call) is not Callee.QUIET)


def private_names(
    tree: ast.FunctionDef, kind: Callable[[ast.Call], Callee], is_private: Callable[[ast.Call], bool]
) -> frozenset[str]:
    """Return the variables of a kernel that may be private arrays, or have something of one.

    - `tree`: the kernel, as written.
    - `kind`: what a call does.
    - `is_private`: whether a call makes a private array.
    """
    return _variables_from(tree, kind, is_private)


def _variables_from(
    tree: ast.FunctionDef, kind: Callable[[ast.Call], Callee], begins: Callable[[ast.Call], bool]
) -> frozenset[str]:
    course = _Course(kind, is_loop=False)
    course.walk(tree.body, [], True)
    found: set[str] = set()
    size = -1
    while size < len(found):
        size = len(found)
        for change in course.changes:
            nodes = [node for value in change.reads for node in ast.walk(value)]
            calls = any(isinstance(node, ast.Call) and begins(node) for node in nodes)
            if change.is_variable and (calls or not _names(change.reads).isdisjoint(found)):
                found |= change.targets
    return frozenset(found)


def kind_of_method(name: str) -> Callee:
    """Return what a method of something in a kernel does."""
    if name in _ATOMIC:
        return Callee.ATOMIC
    return Callee.QUIET if name.startswith("get_") or name in _QUIET else Callee.UNKNOWN


def _is_call(change: _Change) -> bool:
    return not change.is_variable and len(change.reads) == 1 and isinstance(change.reads[0], ast.Call)


def _values(change: _Change) -> list[ast.expr]:
    """Return the names that an assignment reads: of a target such as ``e[i]``, the index."""
    if change.is_variable:
        return change.reads
    target, *others = change.reads
    return [target.slice, *others] if isinstance(target, ast.Subscript) else others


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    return {part.id for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name)}


def _expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of a statement, without those of the statements in it."""
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.expr):
            yield child
