"""Plans for loops over small arrays that one work-group does, with another plan for other ones."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass

from kapi_numba_offload.analysis.control_flow import leaves_by_return
from kapi_numba_offload.loops.group_loop import GroupLoop
from kapi_numba_offload.loops.host.iteration_work import StepSizes
from kapi_numba_offload.loops.loop_syntax import Axis, LoopSyntax, variables_of
from kapi_numba_offload.partition.loop_plans.plan import (
    HostPlan,
    LoopInContext,
    LoopPlan,
    Rewriter,
    choice,
    otherwise_statements,
    reads,
)
from kapi_numba_offload.partition.loop_plans.sequential import outline
from kapi_numba_offload.partition.loop_plans.work_estimates import loop_costs, parallel_depth, worked_axes

__all__ = ["group_plan"]

_REFUSED = (ast.Yield, ast.YieldFrom, ast.Try, ast.With, ast.Raise, ast.Assert, ast.Delete, ast.FunctionDef, ast.Lambda)


@dataclass(frozen=True, slots=True)
class GroupPlan(HostPlan):
    """A loop with two versions: one launch of one work-group, or another plan's.

    - `otherwise`: the plan for values that do not suit a group; None for the loop itself.
    """

    otherwise: LoopPlan | None

    def rewritten(self, rewriter: Rewriter, helper: str) -> list[ast.stmt]:
        """An `if` statement with both versions."""
        where = self.statement
        in_group = HostPlan.rewritten(self, rewriter, helper)
        other = otherwise_statements(rewriter, where, self.otherwise)
        return [choice(helper, where, reads(self.given, where), in_group, other)]


def group_plan(context: LoopInContext, otherwise: LoopPlan | None) -> GroupPlan | None:
    """A plan with a version for one work-group; None for loops that end early or leave what is no number."""
    facts, statement, _ = context
    written = copy.deepcopy(statement)
    nodes = list(ast.walk(statement))
    if facts.library is None or facts.library.is_host or any(isinstance(each, _REFUSED) for each in nodes):
        return None
    parts = outline(context)
    if parts.obstacle is not None or parts.flagged or parts.definitions or leaves_by_return(statement):
        return None
    depth = parallel_depth(facts, nodes)
    if statement.orelse or depth is None:
        return None
    left = tuple(parts.returned)
    captured = [each for each in parts.given if each not in left]
    zero, one = ast.Constant(0), ast.Constant(1)
    syntax = LoopSyntax(
        written, [Axis("kapi_once", zero, one, one)], [written], captured, dict.fromkeys(left, "sum"),
        assigned=variables_of([statement], ast.Store),
    )  # fmt: skip
    sizes = StepSizes(
        tuple(parts.given), worked_axes(facts, nodes), loop_costs(facts, statement), 0, False, lambda _name: False
    )
    loop = GroupLoop(
        facts.original, facts.names, syntax, facts.location(statement), sizes, facts.options, facts.numba_types,
        None if otherwise is None else otherwise.loop,
    )  # fmt: skip
    return GroupPlan(loop, statement, tuple(parts.given), left, (), otherwise)
