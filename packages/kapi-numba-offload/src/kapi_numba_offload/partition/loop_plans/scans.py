"""Plans for loops whose recurrence is a scan: `s += a[i]; b[i] = s`, and `b[i] = b[i - 1] + a[i]`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kapi_numba_offload.analysis.syntax import assignment, indices_of
from kapi_numba_offload.loops.lifted_loop import RowIndex, ScanLoop
from kapi_numba_offload.loops.loop_syntax import parallel_loop
from kapi_numba_offload.partition.function_info import PREFIX, loaded
from kapi_numba_offload.partition.grouping import Fused, expression_region
from kapi_numba_offload.partition.loop_plans.dependences import is_counted
from kapi_numba_offload.partition.loop_plans.lifted import LiftedPlan, Lifting, NotLiftedError
from kapi_numba_offload.partition.loop_plans.plan import LoopInContext, LoopPlan, Rewriter
from kapi_numba_offload.regions.scan import LoopScan

__all__ = ["ScanPlan", "scan_plan"]

_SCANS: dict[type[ast.operator], str] = {ast.Add: "cumsum", ast.Mult: "cumprod"}
_OF_INTEGERS = (ast.Add, ast.Sub, ast.Mult, ast.USub)
"""The operators that give integers of integers."""


class _Recurrence(NamedTuple):
    """The recurrence that a loop's body is.

    - `operator`: what combines the running value with the next one.
    - `target`: the element that it is stored to.
    - `value`: the next one.
    - `variable`: the variable of the running value; empty where it is the element before.
    """

    operator: ast.operator
    target: ast.Subscript
    value: ast.expr
    variable: str


@dataclass(frozen=True, slots=True)
class ScanPlan(LiftedPlan):
    """A loop with two versions: a scan where the guard holds, else another plan's.

    - `target`, `start`: the view that is stored to, and the value before the first one.
    - `variable`: the variable of the running value; empty where the array alone has it.
    - `name`: a key of `GROUP_OPERATORS`.
    - `has_result`: whether the last value is used after the loop.
    """

    target: ast.expr
    start: ast.expr
    variable: str
    name: str
    fused: Fused
    has_result: bool

    def _run(self, rewriter: Rewriter, helper: str) -> list[ast.stmt]:
        """The call of the scan."""
        assert self.fused.region is not None
        scan = LoopScan(self.name, self.fused.region, has_result=self.has_result)
        rewriter.regions.append(scan)
        given = [self.target, self.start, *map(rewriter.expression, self.fused.leaves)]
        call = ast.Call(loaded(rewriter.helper(f"{helper}_scan", scan), self.statement), given, [])
        return [assignment(self.variable, call) if self.has_result else ast.Expr(call)]


def scan_plan(context: LoopInContext, otherwise: LoopPlan | None) -> ScanPlan | None:
    """A plan with a scan for a loop over elements; None if it has none.

    - `context`: the loop, a `for` statement.
    - `otherwise`: the plan for values that do not suit.
    """
    facts, statement, _ = context
    assert isinstance(statement, ast.For)
    found = _recurrence(statement.body)
    if found is None or facts.numba_types or not is_counted(facts, statement):
        return None
    assert isinstance(statement.target, ast.Name)
    assert isinstance(found.target.value, ast.Name)
    syntax = parallel_loop(statement, facts.names, 1)
    if not isinstance(syntax.axes[0].step, ast.Constant) or syntax.axes[0].step.value != 1:
        return None
    array = found.target.value.id
    if len(indices_of(found.target)) > 1 or context.is_live_after(statement.target.id):
        return None
    lifting = Lifting(facts, syntax, f"{PREFIX}scan_{statement.lineno}_{statement.col_offset}_")
    try:
        view = lifting.view(found.target, 0)
        (own,) = lifting.indices
        if not found.variable:
            lifting.indices.append(RowIndex(array, 0, 0, own.added - 1))
        is_itself = ast.unparse(found.value) == ast.unparse(found.target)
        value = lifting.named(view, 0) if is_itself else lifting.lifted(found.value, 0)
    except NotLiftedError:
        return None
    before = ast.BinOp(loaded(lifting.bounds[0], statement), ast.Add(), ast.Constant(own.added - 1))
    start: ast.expr = ast.Subscript(loaded(array, statement), before, ast.Load())
    if found.variable:
        start = loaded(found.variable, statement)
    fused = expression_region(facts, value, statement)
    given = tuple(sorted({*syntax.captured, array, *([found.variable] if found.variable else ())}))
    loop = ScanLoop(
        facts.location(statement), given, tuple(lifting.indices), frozenset([array]), frozenset(lifting.elements),
        lifting.ranks, lifting.counted, None if otherwise is None else otherwise.loop, target=array,
        makes_floats=not all(map(_is_of_integers, ast.walk(found.value))),
    )  # fmt: skip
    has_result = bool(found.variable) and context.is_live_after(found.variable)
    return ScanPlan(
        loop, statement, syntax.bounds, tuple(lifting.bounds), given, tuple(lifting.views), (), otherwise,
        lifting.named(view, 0), start, found.variable, _SCANS[type(found.operator)], fused, has_result,
    )  # fmt: skip


def _recurrence(body: Sequence[ast.stmt]) -> _Recurrence | None:
    """The recurrence that a loop's body is; None for anything else."""
    match body:
        case [
            ast.AugAssign(ast.Name(name), operator, value),
            ast.Assign([ast.Subscript() as target], ast.Name(stored)),
        ]:
            is_known = name == stored
        case [
            ast.Assign([ast.Name(name)], ast.BinOp(left, operator, right)),
            ast.Assign([ast.Subscript() as target], ast.Name(stored)),
        ]:
            own, value = (left, right) if ast.unparse(left) == name else (right, left)
            is_known = name == stored and ast.unparse(own) == name
        case [ast.Assign([ast.Subscript() as target], ast.BinOp(left, operator, right))]:
            own, value = (left, right) if _is_before(left, target) else (right, left)
            name, is_known = "", _is_before(own, target)
        case [ast.AugAssign(ast.Subscript() as target, operator, before)]:
            value = ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
            name, is_known = "", _is_before(before, target)
        case _:
            return None
    if not is_known or type(operator) not in _SCANS or not isinstance(target.value, ast.Name):
        return None
    read = {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}
    is_itself = ast.unparse(value) == ast.unparse(target)
    if name in read or (target.value.id in read and not is_itself):
        return None
    if is_itself and name:
        return None
    return _Recurrence(operator, target, value, name)


def _is_of_integers(node: ast.AST) -> bool:
    """Whether a part of an expression gives integers of integers."""
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    return isinstance(node, (ast.Name, ast.Subscript, ast.Attribute, ast.BinOp, ast.UnaryOp, ast.expr_context)) or (
        isinstance(node, _OF_INTEGERS)
    )


def _is_before(node: ast.expr, target: ast.Subscript) -> bool:
    """Whether an expression is the element before another one: `b[i - 1]` before `b[i]`, `b[i]` before `b[i + 1]`."""
    if not isinstance(node, ast.Subscript) or ast.unparse(node.value) != ast.unparse(target.value):
        return False
    one, other = _offset(node.slice), _offset(target.slice)
    return one is not None and other is not None and one[0] == other[0] and one[1] == other[1] - 1


def _offset(index: ast.expr) -> tuple[str, int] | None:
    """The variable of an index, and the number that is added to it."""
    match index:
        case ast.Name(name):
            return name, 0
        case ast.BinOp(ast.Name(name), ast.Add() | ast.Sub() as sign, ast.Constant(int(number))):
            return name, number if isinstance(sign, ast.Add) else -number
    return None
