"""Plans for plain loops whose iterations are independent: kernels, where there are enough of them."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass, replace

from kapi_numba_offload.analysis.control_flow import read_by_functions
from kapi_numba_offload.analysis.kinds import ArrayKind
from kapi_numba_offload.loops.host.host_loop import HostLoop
from kapi_numba_offload.loops.independent_loop import IndependentLoop, NestedLoop, index_code
from kapi_numba_offload.loops.loop_syntax import is_parallel, parallel_loop, variables_of
from kapi_numba_offload.partition.loop_plans.dependences import Nest
from kapi_numba_offload.partition.loop_plans.element_accesses import arrays_of_truth
from kapi_numba_offload.partition.loop_plans.kernel import (
    KernelPlan,
    host_bounds,
    with_bounds,
    with_refused_live_outs,
)
from kapi_numba_offload.partition.loop_plans.plan import LoopInContext, LoopPlan, Rewriter, choice, otherwise_statements
from kapi_numba_offload.partition.loop_plans.sequential import SequentialLoop
from kapi_numba_offload.partition.loop_plans.work_estimates import loop_costs

__all__ = ["IndependentPlan", "independent_plan"]


@dataclass(frozen=True, slots=True)
class IndependentPlan(KernelPlan):
    """A loop with two versions: a kernel where the guard holds for the values in hand, else another plan's.

    - `otherwise`: the other plan; None for a loop that stays in the function then.
    """

    otherwise: LoopPlan | None = None

    def rewritten(self, rewriter: Rewriter, helper: str) -> list[ast.stmt]:
        """An `if` statement with both versions."""
        where, arguments = self.statement, self._arguments(rewriter)
        as_kernel = KernelPlan.rewritten(self, rewriter, helper)
        return [choice(helper, where, arguments, as_kernel, otherwise_statements(rewriter, where, self.otherwise))]

    def _bounds(self, rewriter: Rewriter) -> list[ast.expr]:
        return list(copy.deepcopy(self.bounds))  # of numbers and extents; the loop keeps its own


def independent_plan(
    context: LoopInContext,
    nest: Nest,
    otherwise: LoopPlan | None,
    *,
    has_elements: bool,
    is_prange: bool = False,
) -> IndependentPlan | None:
    """A plan with a kernel for a plain loop whose iterations are independent; None if it has none.

    - `context`: the loop, a `for` statement.
    - `nest`: its independent loops.
    - `otherwise`: the plan for values that do not suit the kernel.
    - `has_elements`: whether it is a loop over elements, which the host runs otherwise; else its statements are
      launches.
    - `is_prange`: whether it is a `prange` loop, which is a kernel otherwise.
    """
    facts, statement, _ = context
    assert isinstance(statement, ast.For)
    syntax = with_refused_live_outs(parallel_loop(statement, facts.names, nest.depth), context)
    if syntax.refusals:
        return None  # numbers that one iteration has of another one, or leaves
    names = {*syntax.captured, *syntax.reductions}
    kinds = [facts.kinds.kind(each) for each in ast.walk(statement) if isinstance(each, ast.Name) and each.id in names]
    is_unknown = (
        any(
            isinstance(each, ast.For) and is_parallel(each, facts.names)
            for one in (syntax.body if is_prange else [statement])
            for each in ast.walk(one)
        )
        or any(isinstance(each, ArrayKind) and not each.usm for each in kinds)
        or names & {getattr(each, "name", None) for each in facts.local_functions}
        or variables_of([statement], ast.Store) & read_by_functions(facts.definition, statement)
    )
    if is_unknown or not (nest.stored or syntax.reductions) or (nest.order and (syntax.reductions or not has_elements)):
        return None
    given, reductions = tuple(syntax.captured), tuple(syntax.reductions)
    host = HostLoop(
        facts.original, facts.names, with_bounds(syntax, statement), host_bounds(syntax), [*given, *reductions],
        reductions, parallel=False, options=facts.options.for_numba,
    )  # fmt: skip
    loop = (NestedLoop if is_prange else IndependentLoop)(
        facts.original, facts.names, replace(syntax, body=copy.deepcopy(syntax.body)), facts.location(statement), host,
        facts.options, numba_types=facts.numba_types, costs=loop_costs(facts, statement), has_elements=has_elements,
        indices=tuple(index_code(each.expression) for each in nest.indices), stored=frozenset(nest.stored),
        scattered=nest.scattered, order=nest.order, of_truth=arrays_of_truth(facts, statement),
    )  # fmt: skip
    loop.other = None if otherwise is None else otherwise.loop
    if otherwise is not None and isinstance(otherwise.loop, SequentialLoop):
        loop.teller = otherwise.loop
    return IndependentPlan(loop, statement, given, reductions, reductions, syntax.bounds, otherwise)
