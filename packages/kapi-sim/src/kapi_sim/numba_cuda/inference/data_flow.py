"""Statements: the types of variables, followed along all control-flow paths of a function until they are settled."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import FunctionType
from typing import Any

from kapi_sim.language.attributes import bound_names
from kapi_sim.numba_cuda.inference.calls import Calls
from kapi_sim.numba_cuda.inference.expressions import is_false, is_true
from kapi_sim.numba_cuda.inference.session import Session
from kapi_sim.numba_cuda.inference.syntax import refused_statements, unset_variables
from kapi_sim.numba_cuda.inference.values import Conflict, Iterable, ListOf, LocalFunction, element_of, joined
from kapi_sim.numba_cuda.static_types.kinds import NOTHING, UNKNOWN, Array, Kind, Number, Text, Tuple, Unknown

__all__ = ["FunctionFlow", "follow"]

_Variables = dict[str, Kind]
_MOST_ROUNDS = 12


def follow(session: Session, function: FunctionType, tree: ast.FunctionDef, kinds: tuple[Kind, ...]) -> Kind:
    """Return the type of a function's result for the types of its parameters."""
    flow = FunctionFlow(session, function, bound_names(tree), True)
    refused = [*refused_statements(tree), *unset_variables(tree)]
    for line, finding in refused:
        session.report(function, line, finding)
    return UNKNOWN if refused else flow.result(tree, kinds)


class _Loop:
    """The ends of paths that leave a loop, or go on with its next iteration."""

    def __init__(self) -> None:
        self.left: list[_Variables] = []
        self.continued: list[_Variables] = []


class FunctionFlow(Calls):
    """Follows one function.

    Parameters
    ----------
    session : Session
        Keeps the problems.
    function : function
        Whose globals and closure the names are looked up in.
    local : set of str
        Names of its variables.
    is_called : bool
        Whether it is a device function that another one calls: the compiler makes a function of it.
    """

    def __init__(self, session: Session, function: FunctionType, local: set[str], is_called: bool) -> None:
        super().__init__(session, function, local)
        self._is_called = is_called
        self._around: list[ast.AST] = []
        self._loops: list[_Loop] = []
        self._returned: list[tuple[ast.AST, Kind]] = []
        self._parameters: set[str] = set()

    def result(self, tree: ast.FunctionDef, kinds: tuple[Kind, ...]) -> Kind:
        """Return the type of the function's result."""
        arguments = tree.args
        names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
        self.variables = dict.fromkeys((each.arg for each in ast.walk(arguments) if isinstance(each, ast.arg)), UNKNOWN)
        self.variables.update(zip(names, kinds, strict=False))
        self._parameters = {name for name in names if isinstance(self.variables[name], Array)}
        self._parameters -= {each.id for each in ast.walk(tree) if isinstance(each, ast.Name) and _is_stored(each)}
        return self._run(tree.body, tree)

    @property
    def returned(self) -> list[tuple[ast.AST, Kind]]:
        """The types that the function returns, with the statements."""
        return self._returned

    def _run(self, body: list[ast.stmt], node: ast.AST) -> Kind:
        """Follow a body, and return the type of what it returns."""
        if self._block(body):
            self._returned.append((node, NOTHING))
        result: Kind | None = None
        for position, kind in self._returned:
            found = kind if result is None else joined(result, kind)
            if isinstance(found, Conflict):
                return self.problem(
                    position, "return-types", f"a function must return values of one type, got {found}: convert them"
                )
            result = found
        return NOTHING if result is None else result

    def _block(self, statements: list[ast.stmt]) -> bool:
        """Follow statements; return whether their end is reached."""
        return all(self._statement(statement) for statement in statements)

    def _statement(self, node: ast.stmt) -> bool:
        follow_it: Callable[[Any], bool | None] | None = getattr(self, f"_on_{type(node).__name__}", None)
        return follow_it is None or follow_it(node) is not False

    # Assignments.

    def _on_Expr(self, node: ast.Expr) -> None:
        self.kind(node.value)

    def _on_Assign(self, node: ast.Assign) -> None:
        if isinstance(node.value, ast.List) and all(isinstance(each, (ast.Tuple, ast.List)) for each in node.targets):
            node = ast.copy_location(ast.Assign(node.targets, ast.Tuple(node.value.elts, ast.Load())), node)
            ast.copy_location(node.value, node)
        kind = self.kind(node.value)
        for target in node.targets:
            self._assign(target, kind)

    def _on_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._assign(node.target, self.kind(node.value))

    def _on_AugAssign(self, node: ast.AugAssign) -> None:
        value = self.used(node.value)
        if isinstance(node.target, ast.Name):
            before = self.used(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
            self.variables[node.target.id] = self.operation(node, before, node.op, value)
        elif isinstance(node.target, ast.Subscript):
            self.stored(node.target, value if isinstance(value, Number) else UNKNOWN)

    def _assign(self, target: ast.expr, kind: Kind) -> None:
        match target:
            case ast.Name():
                self.variables[target.id] = kind
            case ast.Tuple() | ast.List():
                self._unpack(target, kind)
            case ast.Subscript():
                self.stored(target, kind)
            case ast.Attribute():
                owner = self.used(target.value)
                if isinstance(owner, (Array, Number, Tuple)) and not (isinstance(owner, Array) and _has_fields(owner)):
                    self.problem(
                        target, "attribute-assigned", "a kernel cannot assign an attribute: write to an element"
                    )

    def _unpack(self, target: ast.Tuple | ast.List, kind: Kind) -> None:
        members: tuple[Kind, ...] = (UNKNOWN,) * len(target.elts)
        if isinstance(kind, (Tuple, ListOf)):
            if len(kind.members) != len(target.elts):
                self.problem(
                    target,
                    "unpacking",
                    f"a tuple of {len(kind.members)} must be unpacked to as many names, got {len(target.elts)}",
                )
            else:
                members = kind.members
        elif isinstance(kind, (Array, Iterable)):
            members = (element_of(kind) or UNKNOWN,) * len(target.elts)
        elif not isinstance(kind, Unknown):
            self.problem(target, "unpacking", f"what is unpacked must be a tuple, got {kind}")
        for each, member in zip(target.elts, members, strict=True):
            self._assign(each, member)

    # Branches and loops.

    def _on_If(self, node: ast.If) -> bool:
        test = self.condition(node.test)
        if is_true(test) or is_false(test):
            return self._block(node.body if is_true(test) else node.orelse)
        ends = []
        before = self.variables
        # Of two branches that a question about a type chooses from, the compiler leaves one out.
        is_asked = isinstance(test, Unknown) and _asks_for_type(node.test)
        for block in (node.body, node.orelse):
            self.variables = dict(before)
            with self._quietly() if is_asked else nullcontext():
                if self._block(block):
                    ends.append(self.variables)
        return self._join(ends)

    def _on_Match(self, node: ast.Match) -> bool:
        subject = self.used(node.subject)
        before, ends = self.variables, []
        is_complete = False
        for case in node.cases:
            self.variables = dict(before)
            for pattern in ast.walk(case.pattern):
                if isinstance(pattern, ast.MatchAs) and pattern.name:
                    self.variables[pattern.name] = subject
            if case.guard is not None:
                self.condition(case.guard)
            is_complete |= isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and case.guard is None
            if self._block(case.body):
                ends.append(self.variables)
        return self._join(ends if is_complete else [*ends, before])

    def _join(self, ends: list[_Variables]) -> bool:
        """Go on where several paths come together; return whether any path does."""
        if not ends:
            return False
        made = dict(ends[0])
        for other in ends[1:]:
            for name, kind in other.items():
                made[name] = joined(made[name], kind) if name in made else kind
        self.variables = made
        return True

    def _on_While(self, node: ast.While) -> bool:
        return self._loop(node, lambda: self.condition(node.test))

    def _on_For(self, node: ast.For) -> bool:
        element = self.iterated(node.iter)

        def begin() -> Kind:
            self._assign(node.target, element)
            return UNKNOWN

        return self._loop(node, begin)

    def _loop(self, node: ast.While | ast.For, begin: Callable[[], Kind]) -> bool:
        """Follow a loop until the types at its start are settled, and once more to tell what is wrong."""
        with self._quietly():
            for _ in range(_MOST_ROUNDS):
                start = dict(self.variables)
                self._iteration(node, begin)
                if self.variables == start:
                    break
        settled = dict(self.variables)
        loop, test, after_test = self._iteration(node, begin)
        self.variables = settled if isinstance(node, ast.For) else after_test
        ends = loop.left
        if not is_true(test) and self._block(node.orelse):
            ends.append(self.variables)
        return self._join(ends)

    def _iteration(self, node: ast.While | ast.For, begin: Callable[[], Kind]) -> tuple[_Loop, Kind, _Variables]:
        """Follow one iteration, and join the types at its end to those at its start."""
        start = dict(self.variables)
        loop = _Loop()
        self._loops.append(loop)
        test = begin()
        after_test = dict(self.variables)
        ends = [start]
        if not is_false(test) and self._block(node.body):
            ends.append(self.variables)
        self._loops.pop()
        self._join(ends + loop.continued)
        return loop, test, after_test

    @contextmanager
    def _quietly(self) -> Iterator[None]:
        was_quiet, self.session.is_quiet = self.session.is_quiet, True
        returned = list(self._returned)
        try:
            yield
        finally:
            self.session.is_quiet = was_quiet
            self._returned = returned

    def _on_Break(self, node: ast.Break) -> bool:
        self._loops[-1].left.append(dict(self.variables))
        return False

    def _on_Continue(self, node: ast.Continue) -> bool:
        self._loops[-1].continued.append(dict(self.variables))
        return False

    # Functions, and what leaves them.

    def _on_Try(self, node: ast.Try) -> None:
        self.problem(node, "try-in-kernel", "kernels have no try: a GPU catches no exceptions")

    _on_TryStar = _on_Try

    def _on_FunctionDef(self, node: ast.FunctionDef) -> None:
        free = names_read(node) - bound_names(node)
        later = sorted(name for name in free & self._local if name not in self.variables)
        if later:
            self.problem(
                node,
                "local-function-order",
                f"a local function cannot call itself, or use a variable that is set after it, got {later[0]!r}",
            )
        self.variables[node.name] = UNKNOWN if later else LocalFunction(node)

    def followed_locally(self, node: ast.FunctionDef | ast.Lambda, kinds: dict[str, Kind]) -> Kind:
        if node in self._around:
            return self.problem(node, "local-function-order", "a local function cannot call itself: write a loop")
        inner = FunctionFlow(self.session, self.function, self.inside(node), False)
        inner._around = [*self._around, node]
        inner.variables = {**self.variables, **kinds}
        if isinstance(node, ast.Lambda):
            return inner.used(node.body)
        refused = refused_statements(node)
        for line, finding in refused:
            self.session.report(self.function, line, finding)
        return UNKNOWN if refused else inner._run(node.body, node)

    def _on_Return(self, node: ast.Return) -> bool:
        kind = self.used(node.value) if node.value is not None else NOTHING
        is_given = isinstance(node.value, ast.Name) and node.value.id in self._parameters
        if isinstance(kind, Array) and not is_given and self._is_called:
            self.problem(
                node,
                "private-array-returned",
                f"a device function can return an array that it was given, and no other, got `{_spelled(node)}`: pass "
                "an array that it writes to",
            )
        self._returned.append((node, kind))
        return False

    def _on_Raise(self, node: ast.Raise) -> bool:
        if isinstance(node.exc, ast.Call):
            if node.exc.keywords:
                self.problem(node, "raise-value", "an exception must be given its arguments one by one in a kernel")
            self._reported(node, node.exc.args)
        return False

    def _on_Assert(self, node: ast.Assert) -> None:
        self.condition(node.test)
        if node.msg is not None:
            self._reported(node, [node.msg])

    def _reported(self, node: ast.AST, values: list[ast.expr]) -> None:
        """Check what an exception is given: the compiler has to know it."""
        for each in values:
            kind = self.kind(each)
            is_number = isinstance(kind, Number) and kind.literal is None
            if is_number or (isinstance(kind, Text) and kind.literal is None) or isinstance(kind, Array):
                self.problem(
                    node, "raise-value", f"an exception must be given constants in a kernel, got `{ast.unparse(each)}`"
                )


def _asks_for_type(test: ast.expr) -> bool:
    names = {each.func.id for each in ast.walk(test) if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)}
    return not names.isdisjoint(("isinstance", "hasattr", "type"))


def names_read(node: ast.AST) -> set[str]:
    """Return the names that a part of a function reads."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}


def _has_fields(array: Array) -> bool:
    return array.dtype is None or array.dtype.names is not None


def _is_stored(node: ast.Name) -> bool:
    return not isinstance(node.ctx, ast.Load)


def _spelled(node: ast.Return) -> str:
    return "" if node.value is None else ast.unparse(node.value)
