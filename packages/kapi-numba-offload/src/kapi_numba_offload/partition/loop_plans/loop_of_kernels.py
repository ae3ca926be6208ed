"""Plans for plain loops that are no kernels, and whose elements are all in inner loops that are."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from kapi_numba_offload.analysis.syntax import located
from kapi_numba_offload.loops.independent_loop import index_code
from kapi_numba_offload.loops.loop_of_kernels import InnerKernel, LoopOfKernels
from kapi_numba_offload.partition.function_info import FunctionInfo, loaded
from kapi_numba_offload.partition.loop_plans.element_accesses import elements
from kapi_numba_offload.partition.loop_plans.independent import IndependentPlan
from kapi_numba_offload.partition.loop_plans.plan import HostPlan, LoopPlan, Rewriter

__all__ = ["loop_of_kernels", "loops_with_elements"]


@dataclass(frozen=True, slots=True)
class _LoopOfKernelsPlan(LoopPlan):
    """A loop with two versions: in the function where all inner loops are kernels, else another plan's."""

    otherwise: HostPlan

    def rewritten(self, rewriter: Rewriter, helper: str) -> list[ast.stmt]:
        """An `if` statement with both versions."""
        where = self.statement
        guard = ast.Attribute(loaded(helper, where), "suits", ast.Load())
        test = ast.Call(guard, [loaded(each, where) for each in self.otherwise.given], [])
        on_host = rewriter.planned(self.otherwise)
        return [located(ast.If(test, rewriter.inline_loop(where), on_host), where)]


def loop_of_kernels(
    statement: ast.For | ast.While, inner: Sequence[LoopPlan | None], otherwise: LoopPlan, facts: FunctionInfo
) -> LoopPlan | None:
    """A plan for a loop over elements; None unless all elements are in inner loops that may be kernels.

    Parameters
    ----------
    statement : ast.For or ast.While
        The loop.
    inner : sequence of LoopPlan or None
        The plans of the loops with elements in its body.
    otherwise : LoopPlan
        The plan for values for which one of these is none.
    facts : FunctionInfo
        The function that it is in.
    """
    kernels = [
        InnerKernel(each.loop, tuple(map(index_code, each.bounds)), each.given, each.reductions)
        for each in inner if isinstance(each, IndependentPlan)
    ]  # fmt: skip
    if not kernels or len(kernels) < len(inner) or not isinstance(otherwise, HostPlan) or statement.orelse:
        return None
    loop = LoopOfKernels(facts.location(statement), kernels, otherwise.given, otherwise.loop)
    return _LoopOfKernelsPlan(loop, statement, otherwise)


def loops_with_elements(facts: FunctionInfo, statement: ast.For | ast.While) -> list[tuple[int, ast.For]] | None:
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
