"""The choice of a loop's plan, by what the loop does with arrays."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from kapi_numba_offload.loops.loop_syntax import is_parallel
from kapi_numba_offload.partition.function_info import FunctionInfo
from kapi_numba_offload.partition.loop_plans.dependences import nest_of
from kapi_numba_offload.partition.loop_plans.element_accesses import elements, has_array_work
from kapi_numba_offload.partition.loop_plans.guarded import guarded_plan
from kapi_numba_offload.partition.loop_plans.independent import independent_plan
from kapi_numba_offload.partition.loop_plans.kernel import KernelPlan, kernel_plan
from kapi_numba_offload.partition.loop_plans.lifted import lifted_plan
from kapi_numba_offload.partition.loop_plans.loop_of_kernels import loop_of_kernels, loops_with_elements
from kapi_numba_offload.partition.loop_plans.plan import LoopPlan
from kapi_numba_offload.partition.loop_plans.scans import scan_plan
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
    if id(statement) in facts.inner_plans:
        known: LoopPlan | None = facts.inner_plans[id(statement)]
        return known
    if isinstance(statement, ast.For) and is_parallel(statement, facts.names):
        kernel, loops = kernel_plan(facts, statement, following), nest_of(facts, statement)
        if isinstance(kernel, KernelPlan) and loops.depth > len(kernel.bounds) // 3:
            nested = independent_plan(facts, statement, following, loops, kernel, has_elements=False, is_prange=True)
            kernel = nested or kernel
        return lifted_plan(facts, statement, following, loops, kernel) or kernel
    element = next(elements(facts, statement), None)
    has_elements = element is not None and not has_array_work(facts, statement)
    nest = nest_of(facts, statement) if isinstance(statement, ast.For) else None
    if element is not None and has_elements:
        names = [each for each in ast.walk(element) if isinstance(each, ast.Name)]
        array = next((each.id for each in names if facts.is_usm(each)), names[0].id if names else "")
        detail = nest.dependence if nest is not None else ""
        refusal = Refusal("sequential-loop", statement.lineno, array, detail)
        plan: LoopPlan | None = sequential_plan(facts, statement, following, refusal)
        scan = scan_plan(facts, statement, following, plan) if isinstance(statement, ast.For) else None
        if scan is not None:
            return scan
    else:
        plan = guarded_plan(facts, statement, following)
    if isinstance(statement, ast.For) and nest is not None and not nest.dependence:
        independent = independent_plan(facts, statement, following, nest, plan, has_elements=has_elements)
        lifted = None if has_elements else lifted_plan(facts, statement, following, nest, independent or plan)
        if independent is not None or lifted is not None:
            return lifted or independent
    inner = loops_with_elements(facts, statement) if has_elements and plan is not None else None
    if plan is None or not inner:
        return plan
    # After the last statement of the body its first may follow.
    plans = [_planned(facts, each, [statement.body[at + 1 :], [statement], *following]) for at, each in inner]
    return loop_of_kernels(statement, plans, plan, facts) or plan


def _planned(facts: FunctionInfo, loop: ast.For, following: Sequence[Sequence[ast.stmt]]) -> LoopPlan | None:
    """The plan of an inner loop, which it has as well where the loop around it stays in the function."""
    plan = facts.inner_plans[id(loop)] = loop_plan(facts, loop, following)
    return plan
