"""The body of a parallel loop as a work-group does it together.

Every work-item does all statements with numbers, and has the same ones. Iterations of inner loops are distributed over
the work-items, and their reductions combined; one work-item stores what lies outside of these loops. Barriers come
between stores and what else has the elements.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Any

from kapi_numba_offload.analysis.syntax import expression, names_in, nodes_in, statements, substituted, times, variable
from kapi_numba_offload.loops.cooperation.first_uses import Path
from kapi_numba_offload.loops.cooperation.inner_loops import Extremum, InnerLoop, Sum, inner_loop, stored_arrays

__all__ = ["GROUP_LINES", "OF_GROUPS", "GroupBody", "group_body"]

OF_GROUPS = (
    "any_of_group", "bit_or", "bit_xor", "group_barrier", "group_broadcast", "maximum", "minimum", "multiplies", "plus",
    "reduce_over_group",
)  # fmt: skip
"""Names of the kernel language that bodies have with `kapi_` before them."""

GROUP_LINES = (
    "kapi_k = item.get_local_id(0)",
    "kapi_size = item.get_local_range(0)",
    "kapi_group = item.get_group()",
)
"""Lines of a kernel before the body."""

_BARRIER = "kapi_group_barrier(kapi_group)"
_NEVER = 2**62  # comes after each number of an iteration


@dataclass(frozen=True, slots=True)
class GroupBody:
    """The body of a loop for a work-group.

    Attributes
    ----------
    statements : list of ast.stmt
        The body.
    loops : list of InnerLoop
        The inner loops whose iterations are distributed.
    stored : set of str
        Arrays whose elements are stored to: others may share no memory with them.
    """

    statements: list[ast.stmt]
    loops: list[InnerLoop]
    stored: set[str]

    @property
    def has_loops_in_others(self) -> bool:
        """Whether a loop that is distributed has other ones in it."""
        return any(isinstance(each, ast.For) for loop in self.loops for each in nodes_in(loop.body))


class _AloneError(Exception):
    """A statement that a work-item does better alone."""


def group_body(
    body: Sequence[ast.stmt], value_of: Callable[[ast.expr], Any], kept: Iterable[str], *, is_inward: bool
) -> GroupBody | None:
    """The body for a work-group; None where it has no inner loops to share, or other ones that cannot be.

    Parameters
    ----------
    body : sequence of ast.stmt
        With elements only.
    value_of : callable
        The value of a name outside of the function.
    kept : iterable of str
        The reductions of the parallel loop.
    is_inward : bool
        Whether of loops in each other the inner ones are distributed where they can be, and not the outer ones.
    """
    body = copy.deepcopy(list(body))
    writer = _Writer(value_of, frozenset(kept), frozenset(stored_arrays(body)), is_inward=is_inward)
    try:
        made = writer.block(body, (), is_loop=False)
    except _AloneError:
        return None
    return GroupBody(made, writer.loops, set(writer.stored)) if writer.loops else None


class _Writer:
    def __init__(
        self, value_of: Callable[[ast.expr], Any], kept: Set[str], stored: Set[str], *, is_inward: bool
    ) -> None:
        self._value_of, self._kept, self.stored, self._is_inward = value_of, kept, stored, is_inward
        self.loops: list[InnerLoop] = []
        # Since the latest barrier: arrays that are read, those stored to, and those of them by several work-items.
        self._read, self._written, self._shared = set[str](), set[str](), set[str]()
        self._count = 0

    def block(self, block: Sequence[ast.stmt], path: Path, *, is_loop: bool) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for number, statement in enumerate(block):
            for each in self._statement(statement, ((block, number, is_loop), *path)):
                made.append(each if hasattr(each, "lineno") else ast.copy_location(each, statement))
                ast.fix_missing_locations(made[-1])
        return made

    def _statement(self, node: ast.stmt, path: Path) -> list[ast.stmt]:
        match node:
            case ast.Pass() | ast.Continue() | ast.Break():
                return [node]
            case ast.For():
                found = inner_loop(node, path, self._value_of, self._kept)
                if found is not None and self._is_inward and (inner := self._inward(node, found, path)):
                    return inner
                if found is not None:
                    self.loops.append(found)
                    return [*self._ordered([node], is_shared=True), *self._distributed(found, path)]
                before = [] if isinstance(node.iter, ast.Name) else self._uniform(node.iter)
                return [*before, *self._repeated(node, path)]
            case ast.While():
                if self._reads([node.test]):
                    raise _AloneError
                return self._repeated(node, path)
            case ast.If() if not self._is_for_one(node):
                before = self._uniform(node.test)
                if before:
                    node.test = variable(before[-1].targets[0].id)  # type: ignore[attr-defined]
                return [*before, *self._branches(node, path)]
            case ast.Assign() | ast.AugAssign():
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if all(isinstance(each, ast.Name) for target in targets for each in _parts(target)):
                    return self._numbers(node)
        if not self._is_for_one(node):
            raise _AloneError
        return [*self._ordered([node]), *statements("if kapi_k == 0:\n    BODY", BODY=[node])]

    def _inward(self, node: ast.For, found: InnerLoop, path: Path) -> list[ast.stmt]:
        """The loop as one that all work-items do, with the loops in it distributed; nothing if it has none."""
        if not any(isinstance(each, ast.For) for each in nodes_in(found.body)):
            return []
        before, loops = self._pending(), list(self.loops)
        try:
            return self._repeated(copy.deepcopy(node), path)
        except _AloneError:
            self._read, self._written, self._shared = before
            self.loops = loops
            return []

    def _is_for_one(self, node: ast.stmt) -> bool:
        """Whether a statement only stores elements, or updates them."""
        nodes = list(ast.walk(node))
        if any(
            isinstance(each, (ast.Continue, ast.Break, ast.For, ast.While, ast.Assert, ast.Raise)) for each in nodes
        ):
            return False
        if any(isinstance(each, ast.stmt) and not isinstance(each, (ast.Assign, ast.AugAssign, ast.If, ast.Expr))
               for each in nodes):  # fmt: skip
            return False
        return not names_in(nodes, ast.Store) and bool(stored_arrays([node]))

    def _branches(self, node: ast.If, path: Path) -> list[ast.stmt]:
        before = self._pending()
        node.body = self.block(node.body, path, is_loop=False)
        after = self._pending()
        self._read, self._written, self._shared = before
        node.orelse = self.block(node.orelse, path, is_loop=False) if node.orelse else []
        self._wait_for(after)
        return [node]

    def _pending(self) -> tuple[set[str], set[str], set[str]]:
        return set(self._read), set(self._written), set(self._shared)

    def _wait_for(self, pending: tuple[set[str], set[str], set[str]]) -> None:
        self._read |= pending[0]
        self._written |= pending[1]
        self._shared |= pending[2]

    def _repeated(self, node: ast.For | ast.While, path: Path) -> list[ast.stmt]:
        """A loop that all work-items do, with loops in it that they share."""
        count, before = len(self.loops), self._pending()
        if node.orelse:
            raise _AloneError
        read, written = self._reads([node]), stored_arrays([node])
        self._read, self._written, self._shared = set(), set(), set()
        # Each iteration, the first one too, comes after a barrier.
        node.body = [*(statements(_BARRIER) if read | written else ()), *self.block(node.body, path, is_loop=True)]
        self._wait_for(before)
        self._wait_for((read, written, written))
        if len(self.loops) == count:
            raise _AloneError  # the others would wait for its iterations
        return [node]

    def _numbers(self, node: ast.Assign | ast.AugAssign) -> list[ast.stmt]:
        """An assignment of numbers, which other groups cannot make different ones in one group."""
        if "kapi_PrivateArray" in names_in(ast.walk(node.value), ast.Load):
            raise _AloneError
        before = self._uniform(node.value) if self._reads([node.value]) else []
        if before:
            node.value = variable(before[-1].targets[0].id)  # type: ignore[attr-defined]
        return [*before, node]

    def _uniform(self, value: ast.expr) -> list[ast.stmt]:
        """Statements of which the last one gives a variable the value, if it is made of elements that are stored to."""
        if not self._reads([value]):
            return []
        if isinstance(value, (ast.Tuple, ast.List)) or (isinstance(value, ast.Call) and _is_range(value)):
            raise _AloneError
        text = "kapi_uniform = kapi_group_broadcast(kapi_group, VALUE)"
        made = statements(text.replace("kapi_uniform", self._new("uniform")), VALUE=value)
        return [*self._ordered([ast.Expr(value)]), *made]

    def _reads(self, nodes: Sequence[ast.AST]) -> set[str]:
        """The arrays, of those that are stored to, of which something has elements."""
        lengths = {id(each.value) for each in nodes_in(nodes) if isinstance(each, ast.Attribute)}
        return {
            each.id for each in nodes_in(nodes) if isinstance(each, ast.Name) and id(each) not in lengths
        } & self.stored

    def _ordered(self, nodes: Sequence[ast.AST], *, is_shared: bool = False) -> list[ast.stmt]:
        """A barrier, if statements have elements that others store, or the other way round; note what they have.

        Stores of the one work-item that does what is not shared have an order.
        """
        read, written = self._reads(nodes), stored_arrays(nodes)
        made: list[ast.stmt] = []
        is_again = bool(written & (self._written if is_shared else self._shared))
        if (read & self._written) or (written & self._read) or is_again:
            made = statements(_BARRIER)
            self._read, self._written, self._shared = set(), set(), set()
        if is_shared:
            self._shared |= written
        self._read |= read
        self._written |= written
        return made

    # ------------------------------------------------------------------------------------------- inner loops

    def _distributed(self, loop: InnerLoop, path: Path) -> list[ast.stmt]:
        """A loop whose iterations are distributed over the work-items, and the combination of its reductions."""
        number, made, lengths = self._new("n"), list[ast.stmt](), list[str]()
        for level in loop.levels:
            args = _bounds(level)
            lengths.append(self._new("length"))
            text = f"{lengths[-1]} = kapi_slice_length(START, STOP, STEP)"
            made += statements(text, START=args[0], STOP=args[1], STEP=args[2])
        positions: list[ast.stmt] = []
        rest = number
        for at, level in reversed(list(enumerate(loop.levels))):
            start, _, step = _bounds(level)
            position = rest if at == 0 else f"({rest} % {lengths[at]})"
            value = times(expression(position), ast.Constant(step))
            assert isinstance(level.target, ast.Name)
            positions += statements(
                f"{level.target.id} = VALUE" if _is_zero(start) else f"{level.target.id} = START + VALUE",
                START=start, VALUE=value,
            )  # fmt: skip
            rest = f"({rest} // {lengths[at]})"
        body = ast.Module(loop.body, [])
        after: list[ast.stmt] = []
        for each in loop.reductions:
            if isinstance(each, Sum):
                own = self._new("partial")
                made += self._identity(each, path)
                made += statements(f"{own} = {each.name} if kapi_k == 0 else kapi_identity_{each.name}")
                substituted(body, partial(_renamed, each.name, own))
                after += statements(f"{each.name} = kapi_reduce_over_group(kapi_group, {own}, kapi_{each.operator})")
            else:
                made, after = self._chosen(each, number, body, made, after)
        text = f"for {number} in range(kapi_k, {' * '.join(lengths)}, kapi_size):\n    BODY"
        made += statements(text, BODY=[*positions, *body.body])
        return [*made, *after]

    def _identity(self, each: Sum, path: Path) -> list[ast.stmt]:
        """Statements that give the number which further work-items start with, of the type that the first one has."""
        block, at, _ = path[0]
        number = ast.Constant(each.identity)
        for before in reversed(block[:at]):
            if each.name in names_in(ast.walk(before), ast.Store):
                match before:
                    case ast.Assign([ast.Name()], ast.Constant(int() | float() as value)) if type(value) is not bool:
                        number = ast.Constant(each.identity if isinstance(value, int) else float(each.identity))
                        return statements(f"kapi_identity_{each.name} = X", X=number)
                    case ast.Assign(
                        [ast.Name()], ast.Call(ast.Attribute(ast.Name("kapi_np")) as type_, [ast.Constant()])
                    ):
                        return statements(f"kapi_identity_{each.name} = T(X)", T=type_, X=number)
                break
        if each.operator == "multiplies":
            array = self._new("identity")
            lines = [f"{array} = kapi_PrivateArray(1, {each.name}.dtype, True)", f"{array}[0] = 1"]
            return statements("\n".join([*lines, f"kapi_identity_{each.name} = {array}[0]"]))
        # Of an infinity and of a nan, the sum is the same with it several times.
        text = "ZERO = X - X\nif ZERO != ZERO:\n    ZERO = X"
        return statements(text.replace("ZERO", f"kapi_identity_{each.name}").replace("X", each.name))

    def _chosen(
        self, each: Any, number: str, body: ast.Module, made: list[ast.stmt], after: list[ast.stmt]
    ) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """The parts before and after a loop of a reduction whose value is that of one iteration."""
        own = self._new("at")
        made = [*made, *statements(f"{own} = -1")]
        taken = statements(f"{own} = {number}")[0]
        if not isinstance(each, Extremum):
            _After(each.name, taken).visit(body)
            best, first = self._new("best"), [each.name]
            lines = [f"{best} = kapi_reduce_over_group(kapi_group, {own}, kapi_maximum)", f"if {best} >= 0:"]
            lines += [f"    {name} = kapi_group_broadcast(kapi_group, {name}, {best} % kapi_size)" for name in first]
            return made, [*after, *statements("\n".join(lines))]
        each.update.body.append(copy.deepcopy(taken))
        return made, [*after, *statements("\n".join(self._extremum_lines(each, own)))]

    def _extremum_lines(self, each: Extremum, own: str) -> list[str]:
        """Lines that choose the extremum of those of all work-items: of equal ones the first or the last one."""
        best, value, total, wins = (self._new(word) for word in ("best", "value", "total", "wins"))
        lines = [f"{value} = {each.name}"]
        operator = "minimum" if each.is_least else "maximum"
        reduced = f"{total} = kapi_reduce_over_group(kapi_group, {value}, kapi_{operator})"
        if each.nans == "ignored":
            # One that is nan from the start stays so in each work-item.
            lines += [reduced, f"{wins} = {value} == {total} or {value} != {value}"]
        else:
            some = self._new("some")
            # Instead of a nan, the value of the first work-item that has a number.
            number = f"kapi_k if {value} == {value} else kapi_size"
            lines += [
                f"{some} = kapi_reduce_over_group(kapi_group, {number}, kapi_minimum)",
                f"{total} = kapi_group_broadcast(kapi_group, {value}, {some} % kapi_size)",
                f"{value} = {value} if {value} == {value} else {total}",
                reduced,
                f"{wins} = {each.name} == {total}",
            ]
            nan, is_nan = self._new("nan"), f"{each.name} != {each.name}"
            if each.nans == "kept":
                lines += [f"{nan} = kapi_any_of_group(kapi_group, {is_nan})", f"if {nan}:", f"    {wins} = {is_nan}"]
            else:
                lines += [f"if {some} == kapi_size:", f"    {wins} = {is_nan}"]
        chosen, other = ("minimum", _NEVER) if each.is_first else ("maximum", -_NEVER)
        lines += [
            f"{best} = kapi_reduce_over_group(kapi_group, {own} if {wins} else {other}, kapi_{chosen})",
            f"if {best} >= 0:",
        ]
        return lines + [
            f"    {name} = kapi_group_broadcast(kapi_group, {name}, {best} % kapi_size)"
            for name in (each.name, *each.others)
        ]

    def _new(self, word: str) -> str:
        self._count += 1
        return f"kapi_{word}_{self._count}"


def _parts(target: ast.expr) -> list[ast.expr]:
    return list(target.elts) if isinstance(target, (ast.Tuple, ast.List)) else [target]


def _is_range(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "range"


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def _bounds(node: ast.For) -> tuple[ast.expr, ast.expr, int]:
    """Start, stop and step of a loop over a range."""
    assert isinstance(node.iter, ast.Call)
    args = node.iter.args
    step = args[2].value if len(args) == 3 and isinstance(args[2], ast.Constant) else 1
    assert isinstance(step, int)
    return (ast.Constant(0), args[0], 1) if len(args) == 1 else (args[0], args[1], step)


def _renamed(name: str, new: str, node: ast.Name) -> ast.Name | None:
    return ast.Name(new, node.ctx) if node.id == name else None


class _After(ast.NodeTransformer):
    """Puts a statement after each one that assigns a variable."""

    def __init__(self, name: str, statement: ast.stmt) -> None:
        self._name, self._statement = name, statement

    def visit(self, node: ast.AST) -> Any:
        self.generic_visit(node)
        own = [node.target] if isinstance(node, (ast.AugAssign, ast.For)) else getattr(node, "targets", [])
        if isinstance(node, ast.stmt) and self._name in names_in(nodes_in(own), ast.Store):
            return [node, copy.deepcopy(self._statement)]
        return node
