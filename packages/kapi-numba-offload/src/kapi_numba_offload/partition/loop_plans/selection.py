"""The choice of a loop's plan, by what the loop does with arrays."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from kapi_numba_offload.analysis.syntax import names_in, nodes_in
from kapi_numba_offload.loops.independent_loop import index_code
from kapi_numba_offload.loops.loop_of_kernels import InnerKernel, LoopOfKernels
from kapi_numba_offload.loops.loop_syntax import is_parallel
from kapi_numba_offload.partition.function_info import FunctionInfo
from kapi_numba_offload.partition.loop_plans.dependences import nest_of
from kapi_numba_offload.partition.loop_plans.element_accesses import elements, has_array_work
from kapi_numba_offload.partition.loop_plans.guarded import group_plan, guarded_plan
from kapi_numba_offload.partition.loop_plans.independent import IndependentPlan, independent_plan
from kapi_numba_offload.partition.loop_plans.kernel import KernelPlan, kernel_plan
from kapi_numba_offload.partition.loop_plans.lifted import lifted_plan
from kapi_numba_offload.partition.loop_plans.plan import HostPlan, LoopInContext, LoopPlan, Rewriter, choice, reads
from kapi_numba_offload.partition.loop_plans.scans import scan_plan
from kapi_numba_offload.partition.loop_plans.sequential import sequential_plan
from kapi_numba_offload.run.fallback import Refusal

__all__ = ["loop_plan"]


def loop_plan(context: LoopInContext) -> LoopPlan | None:
    """Choose the plan for a loop; None for one that stays in the function, its own parts rewritten."""
    facts, statement, _ = context
    if id(statement) in facts.inner_plans:
        known: LoopPlan | None = facts.inner_plans[id(statement)]
        return known
    plan = _plan(context)
    is_ordered = plan is None or isinstance(plan, (HostPlan, _LoopOfKernelsPlan))
    return (group_plan(context, plan) if is_ordered else None) or plan


def _plan(context: LoopInContext) -> LoopPlan | None:
    facts, statement, following = context
    if isinstance(statement, ast.For) and is_parallel(statement, facts.names):
        kernel, loops = kernel_plan(context), nest_of(facts, statement)
        if isinstance(kernel, KernelPlan) and loops.depth > len(kernel.bounds) // 3:
            nested = independent_plan(context, loops, kernel, has_elements=False, is_prange=True)
            kernel = nested or kernel
        return lifted_plan(context, loops, kernel) or kernel
    element = next(elements(facts, statement), None)
    has_elements = element is not None and not has_array_work(facts, statement)
    # On a host, one core has stored them all before two kernels have.
    keeps_order = facts.library is not None and not facts.library.is_host
    nest = nest_of(facts, statement, keeps_order=keeps_order) if isinstance(statement, ast.For) else None
    if element is not None and has_elements:
        names = [each for each in ast.walk(element) if isinstance(each, ast.Name)]
        array = next((each.id for each in names if facts.is_usm(each)), names[0].id if names else "")
        detail = nest.dependence or nest.order if nest is not None else ""
        refusal = Refusal("sequential-loop", statement.lineno, array, detail)
        plan: LoopPlan | None = sequential_plan(context, refusal)
        scan = scan_plan(context, plan) if isinstance(statement, ast.For) else None
        if scan is not None:
            return scan
    else:
        plan = guarded_plan(context)
    if isinstance(statement, ast.For) and nest is not None and not nest.dependence:
        independent = independent_plan(context, nest, plan, has_elements=has_elements)
        lifted = None if has_elements else lifted_plan(context, nest, independent or plan)
        if independent is not None or lifted is not None:
            return lifted or independent
    inner = _loops_with_elements(facts, statement) if has_elements and plan is not None else None
    if plan is None or not inner:
        return plan
    # After the last statement of the body its first may follow.
    blocks: list[list[Sequence[ast.stmt]]] = [[statement.body[at + 1 :], [statement], *following] for at, _ in inner]
    plans = [_planned(LoopInContext(facts, each, block)) for (_, each), block in zip(inner, blocks, strict=True)]
    return _loop_of_kernels(statement, plans, plan, facts) or plan


def _planned(context: LoopInContext) -> LoopPlan | None:
    """The plan of an inner loop, which it has as well where the loop around it stays in the function."""
    plan = context.facts.inner_plans[id(context.statement)] = loop_plan(context)
    return plan


@dataclass(frozen=True, slots=True)
class _LoopOfKernelsPlan(LoopPlan):
    """A loop with two versions: in the function where all inner loops are kernels, else another plan's."""

    otherwise: HostPlan

    def rewritten(self, rewriter: Rewriter, helper: str) -> list[ast.stmt]:
        """An `if` statement with both versions."""
        where = self.statement
        on_host = rewriter.planned(self.otherwise)
        return [choice(helper, where, reads(self.otherwise.given, where), rewriter.inline_loop(where), on_host)]


def _loop_of_kernels(
    statement: ast.For | ast.While, inner: Sequence[LoopPlan | None], otherwise: LoopPlan, facts: FunctionInfo
) -> LoopPlan | None:
    """A plan for a loop over elements; None unless all elements are in inner loops that may be kernels.

    - `inner`: the plans of the loops with elements in its body.
    - `otherwise`: the plan for values for which one of these is none.
    """
    if not isinstance(otherwise, HostPlan) or statement.orelse:
        return None
    kernels = [_inner_kernel(each, otherwise, facts) for each in inner if isinstance(each, IndependentPlan)]
    if not kernels or len(kernels) < len(inner):
        return None
    loop = LoopOfKernels(facts.location(statement), kernels, otherwise.given, otherwise.loop)
    return _LoopOfKernelsPlan(loop, statement, otherwise)


def _inner_kernel(plan: IndependentPlan, around: HostPlan, facts: FunctionInfo) -> InnerKernel:
    """An inner loop that may be a kernel, of a loop around it."""
    made = {*plan.given, *plan.reductions, *names_in(nodes_in(plan.bounds), ast.Load)} & facts.names.locals
    made -= set(around.given)
    counting = set(names_in(nodes_in(plan.bounds), ast.Load)) & made
    may_be_tried = bool(made & facts.usm_names) and counting <= facts.usm_names
    bounds = tuple(map(index_code, plan.bounds))
    return InnerKernel(plan.loop, bounds, plan.given, plan.reductions, may_be_tried)


def _loops_with_elements(facts: FunctionInfo, statement: ast.For | ast.While) -> list[tuple[int, ast.For]] | None:
    """The positions and loops of a body that have elements; None if something else of it has."""
    found = []
    head = statement.test if isinstance(statement, ast.While) else statement.iter
    if next(elements(facts, ast.copy_location(ast.Expr(head), statement)), None) is not None:
        return None
    for position, each in enumerate(statement.body):
        if next(elements(facts, each), None) is None:
            continue
        if not isinstance(each, ast.For):
            return None
        found.append((position, each))
    return found
