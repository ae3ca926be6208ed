"""The choice of a loop's plan, by what the loop does with arrays."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from kapi_numba_offload.loops.loop_syntax import is_parallel
from kapi_numba_offload.partition.function_info import FunctionInfo
from kapi_numba_offload.partition.loop_plans.element_accesses import elements, has_array_work
from kapi_numba_offload.partition.loop_plans.guarded import guarded_plan
from kapi_numba_offload.partition.loop_plans.kernel import kernel_plan
from kapi_numba_offload.partition.loop_plans.plan import LoopPlan
from kapi_numba_offload.partition.loop_plans.sequential import sequential_plan
from kapi_numba_offload.run.reasons import Refusal

__all__ = ["loop_plan"]


def loop_plan(
    facts: FunctionInfo, statement: ast.For | ast.While, following: Sequence[Sequence[ast.stmt]]
) -> LoopPlan | None:
    """Choose the plan for a loop; None for one that stays in the function, its own parts rewritten.

    Parameters
    ----------
    facts : FunctionInfo
        The function that it is in.
    statement : ast.For or ast.While
        The loop.
    following : sequence of sequence of ast.stmt
        What may run after it, block by block.
    """
    if isinstance(statement, ast.For) and is_parallel(statement, facts.names):
        return kernel_plan(facts, statement, following)
    element = next(elements(facts, statement), None)
    if element is None or has_array_work(facts, statement):
        return guarded_plan(facts, statement, following)
    names = [each for each in ast.walk(element) if isinstance(each, ast.Name)]
    array = next((each.id for each in names if facts.is_usm(each)), names[0].id if names else "")
    return sequential_plan(facts, statement, following, Refusal("sequential-loop", statement.lineno, array))
