"""Plans for loops over rows whose iterations are independent: the same statements of whole arrays.

`for i in range(n): c[i] = a[i] * b` is `c[:n] = a[:n] * b`. Each row becomes the array of the rows of all iterations:
the axes of the loops come first, then those of the row. A product of a row and a matrix becomes one of matrices.
"""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass, field
from typing import Any

from kapi_numba_offload.analysis.kinds import SCALAR, ArrayKind
from kapi_numba_offload.analysis.syntax import assignment, indices_of, integer_literal, located, mentions
from kapi_numba_offload.loops.lifted_loop import LiftedLoop, RowIndex, counts
from kapi_numba_offload.loops.loop_syntax import LoopSyntax, parallel_loop, variables_of
from kapi_numba_offload.partition.function_info import PREFIX, FunctionInfo, loaded
from kapi_numba_offload.partition.loop_plans.dependences import Nest, is_kept
from kapi_numba_offload.partition.loop_plans.kernel import with_refused_live_outs
from kapi_numba_offload.partition.loop_plans.plan import (
    LoopInContext,
    LoopPlan,
    Rewriter,
    choice,
    otherwise_statements,
    reads,
)

__all__ = ["LiftedPlan", "Lifting", "NotLiftedError", "lifted_plan"]


class NotLiftedError(Exception):
    """A statement of rows has no known counterpart for entire arrays."""


@dataclass(frozen=True, slots=True)
class LiftedPlan(LoopPlan):
    """A loop with two versions: statements of whole arrays where the guard holds, else another plan's.

    - `bounds`: start, stop and step of each loop.
    - `names`: the variables for these.
    - `given`: variables that the guard is given.
    - `views`: the statements that name the arrays of rows.
    - `statements`: the statements of these.
    - `otherwise`: the other plan; None for a loop that stays in the function then.
    """

    bounds: tuple[ast.expr, ...]
    names: tuple[str, ...]
    given: tuple[str, ...]
    views: tuple[ast.stmt, ...]
    statements: tuple[ast.stmt, ...]
    otherwise: LoopPlan | None

    def rewritten(self, rewriter: Rewriter, helper: str) -> list[ast.stmt]:
        """The bounds, and an `if` statement with both versions."""
        where = self.statement
        bounds = [assignment(name, copy.deepcopy(each)) for name, each in zip(self.names, self.bounds, strict=True)]
        given: list[ast.expr] = [ast.Tuple(reads(names, where), ast.Load()) for names in (self.names, self.given)]
        lists = rewriter.regions, rewriter.calls, rewriter.loops
        starts = list(map(len, lists))
        lifted = [*self.views, *self._run(rewriter, helper)]
        ends = list(map(len, lists))
        self.loop.parts = [each for one, start in zip(lists, starts, strict=True) for each in one[start:]]
        other = otherwise_statements(rewriter, where, self.otherwise)
        self.loop.other_parts = [each for one, end in zip(lists, ends, strict=True) for each in one[end:]]
        return [*(located(each, where) for each in bounds), choice(helper, where, given, lifted, other)]

    def _run(self, rewriter: Rewriter, helper: str) -> list[ast.stmt]:
        """The statements that run where the guard holds, once the arrays of rows have names."""
        rewriter.helper("counts", counts)
        return rewriter.block(self.statements)


def lifted_plan(context: LoopInContext, nest: Nest, otherwise: LoopPlan | None) -> LiftedPlan | None:
    """A plan with statements of whole arrays for a loop over rows; None if it has none.

    - `context`: the loop, a `for` statement.
    - `nest`: its independent loops.
    - `otherwise`: the plan for values that do not suit.
    """
    facts, statement, _ = context
    if nest.scattered or not nest.stored or facts.numba_types:
        return None
    assert isinstance(statement, ast.For)
    syntax = with_refused_live_outs(parallel_loop(statement, facts.names, nest.depth), context)
    if (
        syntax.refusals or syntax.reductions
        or any(id(each) in facts.kinds.constants for each in ast.walk(statement))
        or any((integer_literal(axis.step) or 0) < 1 for axis in syntax.axes)
    ):  # fmt: skip
        return None
    lifting = Lifting(facts, syntax, f"{PREFIX}lifted_{statement.lineno}_{statement.col_offset}_")
    try:
        for each in syntax.body:
            lifting.statement(each)
    except NotLiftedError:
        return None
    given = tuple(syntax.captured)
    loop = LiftedLoop(
        facts.location(statement), given, tuple(lifting.indices), frozenset(nest.stored), frozenset(lifting.elements),
        lifting.ranks, lifting.counted, None if otherwise is None else otherwise.loop,
    )  # fmt: skip
    views, statements = tuple(lifting.views), tuple(lifting.statements)
    return LiftedPlan(loop, statement, syntax.bounds, tuple(lifting.bounds), given, views, statements, otherwise)


@dataclass
class Lifting:
    """The statements of whole arrays for a loop's body.

    - `prefix`: what the names of new variables begin with.
    - `indices`, `elements`, `ranks`, `counted`: as of `LiftedLoop`.
    - `views`, `statements`: as of `LiftedPlan`.
    """

    facts: FunctionInfo
    syntax: LoopSyntax
    prefix: str
    indices: list[RowIndex] = field(default_factory=list)
    elements: set[str] = field(default_factory=set)
    ranks: dict[str, int] = field(default_factory=dict)
    counted: dict[str, int] = field(default_factory=dict)
    views: list[ast.stmt] = field(default_factory=list)
    statements: list[ast.stmt] = field(default_factory=list)
    _rows: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._variables = [axis.variable for axis in self.syntax.axes]
        self._changed = variables_of(self.syntax.body, ast.Store) | set(self._variables)
        self.bounds = [f"{self.prefix}{word}{loop}" for loop in range(len(self._variables))
                       for word in ("start", "stop", "step")]  # fmt: skip

    def statement(self, node: ast.stmt) -> None:
        """Add the statement that stands for one of the body's.

        Raises `NotLiftedError` if there is none.
        """
        if isinstance(node, ast.Pass):
            return
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target: ast.expr = node.targets[0]
        elif isinstance(node, ast.AugAssign):
            target = node.target
        else:
            raise NotLiftedError
        value = node.value
        if isinstance(target, ast.Name) and isinstance(node, ast.Assign):
            rank = self._rank(value)
            if rank == 0:
                raise NotLiftedError
            made = self.lifted(value, rank)
            self._rows[target.id] = rank
            self._add(assignment(target.id, made), node)
            return
        if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name):
            raise NotLiftedError
        rank = self._own_rank(target)
        if rank == 0 or len(self._loops_of(target)) < len(self._variables):
            raise NotLiftedError
        view = self.view(target, rank)
        stored = ast.Subscript(self.named(view, rank), ast.Constant(...), ast.Store())
        self.facts.kinds.note(stored, ArrayKind(True, len(self._variables) + rank))
        if isinstance(value, ast.Name) and value.id in self._variables and isinstance(node, ast.Assign):
            made = self._counts(target.value.id, view, value.id, rank)
        else:
            made = self.lifted(value, rank)
        new = ast.Assign([stored], made) if isinstance(node, ast.Assign) else ast.AugAssign(stored, node.op, made)
        self._add(new, node)

    def _add(self, made: ast.stmt, node: ast.stmt) -> None:
        """Add a statement that stands for one of the body's."""
        self.facts.written[id(made)] = copy.deepcopy(node)
        self.statements.append(located(made, node))

    def lifted(self, node: ast.expr, rank: int) -> ast.expr:
        """The expression of whole arrays for one of rows that has, or broadcasts to, so many axes."""
        facts = self.facts
        if not self.varies(node):
            return self._kept(node, rank)
        if isinstance(node, ast.Name) and node.id in self._rows:
            if self._rows[node.id] != rank:
                raise NotLiftedError
            return self.named(node.id, rank)
        if isinstance(node, ast.Subscript):
            return self.named(self.view(node, rank), rank)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            return self._product(node, rank)
        operation = facts.operation(node)
        if operation is None:
            raise NotLiftedError
        made = copy.copy(node)
        operands = {id(each): self.lifted(each, rank) for each in operation[1]}
        for name, value in ast.iter_fields(made):
            if isinstance(value, list):
                setattr(made, name, [operands.get(id(each), each) for each in value])
            elif id(value) in operands:
                setattr(made, name, operands[id(value)])
        if isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) and id(made.func.value) in operands:
            made.func = ast.copy_location(
                ast.Attribute(operands[id(made.func.value)], made.func.attr, ast.Load()), made.func
            )
        facts.kinds.note(made, ArrayKind(True, len(self._variables) + rank))
        return made

    def _product(self, node: ast.BinOp, rank: int) -> ast.expr:
        """A product of a row and a matrix, as one of all rows and the matrix."""
        is_row_first = self.varies(node.left)
        row, matrix = (node.left, node.right) if is_row_first else (node.right, node.left)
        kind = self.facts.kinds.kind(matrix)
        is_matrix = isinstance(kind, ArrayKind) and kind.usm and kind.ndim == 2 and isinstance(matrix, ast.Name)
        if rank != 1 or self.varies(matrix) or not is_matrix or self._rank(row) != 1:
            raise NotLiftedError
        rows, other = self.lifted(row, 1), self._with_kinds(matrix)
        if not is_row_first:
            other = ast.copy_location(ast.Attribute(other, "T", ast.Load()), matrix)
            self.facts.kinds.note(other, kind)
        made = ast.copy_location(ast.BinOp(rows, ast.MatMult(), other), node)
        self.facts.written[id(made)] = copy.deepcopy(node)
        self.facts.kinds.note(made, ArrayKind(True, len(self._variables) + 1))
        name = self._new("product")
        self.statements.append(located(assignment(name, made), node))
        return self.named(name, 1)

    def _kept(self, node: ast.expr, rank: int) -> ast.expr:
        """An expression that is the same in all iterations: a number, or an array that broadcasts to the rows."""
        kind = self.facts.kinds.kind(node)
        if kind != SCALAR:
            if not isinstance(kind, ArrayKind) or not kind.usm or (kind.ndim is not None and kind.ndim > rank):
                raise NotLiftedError
            if kind.ndim is None:
                if not isinstance(node, ast.Name):
                    raise NotLiftedError
                self.ranks[node.id] = min(rank, self.ranks.get(node.id, rank))
        return self._with_kinds(node)

    def view(self, node: ast.Subscript, rank: int) -> str:
        """The variable of the array of all rows of a subscript, its axes those of the loops and so many others."""
        if not isinstance(node.value, ast.Name) or node.value.id in self._changed:
            raise NotLiftedError
        own, loops = self._own_rank(node), self._loops_of(node)
        if own > rank:
            raise NotLiftedError
        if own == 0:
            self.elements.add(node.value.id)
        axes: list[ast.expr] = []
        kept: list[int | None] = []  # the loop of each axis that stays, None for one of the row
        for position, index in enumerate(indices_of(node)):
            found = loops.get(position)
            if found is not None:
                loop, added = found
                self.indices.append(RowIndex(node.value.id, position, loop, added))
                bounds: list[ast.expr] = [loaded(each, node) for each in self.bounds[3 * loop : 3 * loop + 3]]
                if added:
                    bounds[:2] = [ast.BinOp(each, ast.Add(), ast.Constant(added)) for each in bounds[:2]]
                axes.append(ast.Slice(bounds[0], bounds[1], bounds[2]))
                kept.append(loop)
                continue
            axes.append(copy.deepcopy(index))
            if isinstance(index, ast.Slice):
                kept.append(None)
        count = own + len(loops)
        kept += [None] * (count - len(kept))
        order = sorted(range(count), key=lambda axis: (kept[axis] is None, kept[axis] or 0))
        made: ast.expr = ast.Subscript(loaded(node.value.id, node), ast.Tuple(axes, ast.Load()), ast.Load())
        if order != sorted(order):
            made = ast.Call(ast.Attribute(made, "transpose", ast.Load()), [ast.Constant(each) for each in order], [])
        has_loop = {loop for loop, _ in loops.values()}
        new: list[ast.expr] = [
            ast.Slice() if loop in has_loop else ast.Constant(None) for loop in range(len(self._variables))
        ]
        new += [ast.Constant(None)] * (rank - own)
        if any(isinstance(each, ast.Constant) for each in new):
            made = ast.Subscript(made, ast.Tuple([*new, ast.Constant(...)], ast.Load()), ast.Load())
        return self._assigned("rows", made, node)

    def _counts(self, array: str, view: str, variable: str, rank: int) -> ast.expr:
        """The values of a loop's variable, along its own axis of the arrays of rows."""
        loop = self._variables.index(variable)
        self.counted[array] = loop
        bounds = [loaded(each, self.syntax.node) for each in self.bounds[3 * loop : 3 * loop + 3]]
        where = self.syntax.node
        made: ast.expr = ast.Call(loaded(f"{PREFIX}counts", where), [loaded(view, where), *bounds], [])
        after = len(self._variables) - loop - 1 + rank
        made = ast.Subscript(made, ast.Tuple([ast.Slice(), *[ast.Constant(None)] * after], ast.Load()), ast.Load())
        return self.named(self._assigned("counts", made, where), rank)

    def _loops_of(self, node: ast.Subscript) -> dict[int, tuple[int, int]]:
        """The loop and the added number of each axis whose index is a loop's variable; the others are kept."""
        found: dict[int, tuple[int, int]] = {}
        for position, index in enumerate(indices_of(node)):
            parts = [index] if not isinstance(index, ast.Slice) else [index.lower, index.upper, index.step]
            if all(each is None or self._is_kept(each) for each in parts):
                continue
            base, added = index, 0
            if isinstance(index, ast.BinOp) and isinstance(index.op, (ast.Add, ast.Sub)):
                number = integer_literal(index.right)
                if number is None:
                    raise NotLiftedError
                base, added = index.left, number if isinstance(index.op, ast.Add) else -number
            if not isinstance(base, ast.Name) or base.id not in self._variables:
                raise NotLiftedError
            loop = self._variables.index(base.id)
            if loop in [own for own, _ in found.values()]:
                raise NotLiftedError  # a diagonal
            found[position] = loop, added
        return found

    def _is_kept(self, node: ast.expr) -> bool:
        return is_kept(self.facts, node, self._changed)

    def _own_rank(self, node: ast.Subscript) -> int:
        kind = self.facts.kinds.kind(node)
        if kind == SCALAR and self.facts.is_usm(node.value):
            return 0
        if not isinstance(kind, ArrayKind) or not kind.usm or kind.ndim is None:
            raise NotLiftedError
        return kind.ndim

    def _rank(self, node: ast.expr) -> int:
        """The axes of a row that an expression is."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            return 1
        if isinstance(node, ast.Name) and node.id in self._rows:
            return self._rows[node.id]
        if isinstance(node, ast.Subscript) and self.varies(node):
            return self._own_rank(node)
        operation = self.facts.operation(node) if self.varies(node) else None
        if operation is not None:
            return max(map(self._rank, operation[1]))
        kind = self.facts.kinds.kind(node)
        if isinstance(kind, ArrayKind) and kind.ndim is None:
            raise NotLiftedError
        return kind.ndim or 0 if isinstance(kind, ArrayKind) else 0

    def varies(self, node: ast.expr) -> bool:
        """Whether an expression may differ from iteration to iteration."""
        return mentions(node, self._changed)

    def _with_kinds(self, node: ast.expr) -> ast.expr:
        made = copy.deepcopy(node)
        for one, other in zip(ast.walk(node), ast.walk(made), strict=True):
            if isinstance(one, ast.expr) and isinstance(other, ast.expr):
                self.facts.kinds.note(other, self.facts.kinds.kind(one))
        return made

    def _assigned(self, word: str, value: ast.expr, where: Any) -> str:
        name = self._new(word)
        self.views.append(located(assignment(name, value), where))
        return name

    def _new(self, word: str) -> str:
        return f"{self.prefix}{word}{len(self.views) + len(self.statements)}"

    def named(self, name: str, rank: int) -> ast.Name:
        """A variable of an array of rows that have so many axes."""
        made = loaded(name, self.syntax.node)
        self.facts.kinds.note(made, ArrayKind(True, len(self._variables) + rank))
        return made
