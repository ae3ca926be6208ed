"""Plans for `prange` loops: kernels, with the same loop on the host for what kernels refuse."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kapi_numba_offload.analysis.control_flow import assigned_at, may_leave_early, read_by_functions
from kapi_numba_offload.analysis.kinds import SCALAR, ArrayKind
from kapi_numba_offload.analysis.syntax import located
from kapi_numba_offload.elements.statements import StatementLocation
from kapi_numba_offload.loops.host.host_loop import HostLoop
from kapi_numba_offload.loops.host.parallel_safety import may_be_parallel
from kapi_numba_offload.loops.loop_syntax import LoopSyntax, parallel_loop, variables_of
from kapi_numba_offload.loops.parallel_loop import ParallelLoop
from kapi_numba_offload.partition.function_info import FunctionInfo, loaded
from kapi_numba_offload.partition.loop_plans.numba_equivalence import computes_after_stores, with_buffered_updates
from kapi_numba_offload.partition.loop_plans.plan import LoopPlan, Rewriter, is_live_after
from kapi_numba_offload.partition.loop_plans.sequential import inlined_local_functions, sequential_plan
from kapi_numba_offload.run.placement import mixed_error
from kapi_numba_offload.run.reasons import Refusal

__all__ = ["KernelPlan", "host_bounds", "kernel_plan", "with_bounds", "with_refused_live_outs"]


@dataclass(frozen=True, slots=True)
class KernelPlan(LoopPlan):
    """A loop that becomes a kernel.

    Attributes
    ----------
    given, reductions, left : tuple of str
        Variables that it is given, those that it reduces into, and those that it leaves.
    bounds : tuple of ast.expr
        Arguments of `prange`, as written: start, stop and step of each axis.
    """

    given: tuple[str, ...]
    reductions: tuple[str, ...]
    left: tuple[str, ...]
    bounds: tuple[ast.expr, ...]

    def rewritten(self, rewriter: Rewriter, helper: str) -> list[ast.stmt]:
        """A call with queue, bounds and variables, whose results are assigned."""
        where = self.statement
        call = ast.Call(loaded(helper, where), self._arguments(rewriter), [])
        targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in self.left]
        made: ast.stmt = ast.Expr(call)
        if targets:
            made = ast.Assign([targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store())], call)
        return [located(made, where)]

    def _arguments(self, rewriter: Rewriter) -> list[ast.expr]:
        """Queue, bounds, and the variables that it is given and reduces into."""
        where = self.statement
        bounds = self._bounds(rewriter)
        given: list[ast.expr] = [loaded(each, where) for each in self.given]
        reductions: list[ast.expr] = [loaded(each, where) for each in self.reductions]
        return [rewriter.queue(where), *(ast.Tuple(each, ast.Load()) for each in (bounds, given, reductions))]

    def _bounds(self, rewriter: Rewriter) -> list[ast.expr]:
        return list(map(rewriter.expression, self.bounds))


def kernel_plan(facts: FunctionInfo, statement: ast.For, following: Sequence[Sequence[ast.stmt]]) -> LoopPlan:
    """A plan for a `prange` loop: as a kernel, or as a sequential loop if its syntax already forbids one.

    Parameters
    ----------
    facts : FunctionInfo
        The function that it is in.
    statement : ast.For
        The loop.
    following : sequence of sequence of ast.stmt
        What may run after it, block by block.
    """
    if may_leave_early(statement) or any(isinstance(each, (ast.Yield, ast.YieldFrom)) for each in ast.walk(statement)):
        refusal = Refusal("early-exit", statement.lineno, ast.unparse(statement.target))
        return sequential_plan(facts, statement, following, refusal)
    if variables_of([statement], ast.Store) & read_by_functions(facts.definition, statement):
        refusal = Refusal("not-in-kernel", statement.lineno, ast.unparse(statement.target))
        return sequential_plan(facts, statement, following, refusal)
    changed = next((each for each in ast.walk(statement) if computes_after_stores(facts, each)), None)
    if changed is not None:
        detail = f"an operand that a later call in the expression may change: `{ast.unparse(changed)}`"
        refusal = Refusal("not-in-kernel", statement.lineno, ast.unparse(statement.target), detail)
        return sequential_plan(facts, statement, following, refusal)
    location = facts.location(statement)
    syntax = parallel_loop(statement, facts.names)
    _check_same_memory(facts, syntax, location)
    definitions, captured = inlined_local_functions(facts, syntax.captured)
    syntax = replace(syntax, body=[*definitions, *syntax.body], captured=captured)
    syntax = with_refused_live_outs(syntax, following)
    reductions = tuple(syntax.reductions)
    late = {each.variable for each in syntax.refusals if each.variable in syntax.assigned}
    # On the host, what iterations carry is given and returned as well.
    carried = tuple(sorted(late - syntax.reductions.keys()))
    if not assigned_at(facts.definition, statement).issuperset(carried):
        return sequential_plan(facts, statement, following, syntax.refusals[0])
    syntax = replace(syntax, captured=[*syntax.captured, *carried])
    given, left = tuple(syntax.captured), (*reductions, *carried)
    # Numba runs a loop that may raise sequentially, with a warning.
    raises = any(isinstance(each, (ast.Raise, ast.Assert)) for each in ast.walk(statement))

    def is_number(node: ast.expr | ast.AugAssign) -> bool:
        kind = facts.kinds.target(node) if isinstance(node, ast.AugAssign) else facts.kinds.kind(node)
        return kind in (SCALAR, ArrayKind(True, 0))

    moved = with_buffered_updates(facts, with_bounds(syntax, statement))
    host = HostLoop(
        facts.original, facts.names, moved, host_bounds(syntax), [*given, *reductions], left,
        parallel=facts.options.parallel and not carried and not raises and may_be_parallel(syntax, is_number),
        options=facts.options.for_numba,
    )  # fmt: skip
    loop = ParallelLoop(
        facts.original, facts.names, syntax, location, host, facts.options, numba_types=facts.numba_types
    )
    return KernelPlan(loop, statement, given, reductions, left, syntax.bounds)


def host_bounds(syntax: LoopSyntax) -> list[str]:
    """The names that `with_bounds` gives the bounds of loops."""
    return [f"kapi_{word}{number}" for number in range(len(syntax.axes)) for word in ("start", "stop", "step")]


def with_refused_live_outs(syntax: LoopSyntax, following: Sequence[Sequence[ast.stmt]]) -> LoopSyntax:
    """The loop with a refusal for each variable that it assigns and that is live after it."""
    variables = {axis.variable for axis in syntax.axes}
    live = {name for name in syntax.assigned | variables if is_live_after(following, name)}
    late = [Refusal("value-after-loop", syntax.node.lineno, name) for name in sorted(live)]
    return replace(syntax, assigned=syntax.assigned | live, refusals=[*syntax.refusals, *late])


def with_bounds(syntax: LoopSyntax, statement: ast.For) -> ast.For:
    """The nest with the bounds of its loops as variables, which are computed once."""
    inner: list[ast.stmt] = syntax.body
    made = statement
    for number in reversed(range(len(syntax.axes))):
        node = statement
        for _ in range(number):
            (held,) = node.body
            assert isinstance(held, ast.For)
            node = held
        assert isinstance(node.iter, ast.Call)
        bounds: list[ast.expr] = [loaded(f"kapi_{word}{number}", node) for word in ("start", "stop", "step")]
        # A step of one is Numba's condition for a parallel loop; others it refuses.
        step = syntax.axes[number].step
        is_unit = isinstance(step, ast.Constant) and step.value == 1
        function = node.iter.func if is_unit else ast.copy_location(ast.Name("range", ast.Load()), node)
        call = ast.copy_location(ast.Call(function, bounds[:2] if is_unit else bounds, []), node)
        made = ast.copy_location(ast.For(node.target, call, inner, []), node)
        inner = [made]
    return made


def _check_same_memory(facts: FunctionInfo, syntax: LoopSyntax, location: StatementLocation) -> None:
    """Raise if the loop has arrays of both the host and the device."""
    found: dict[bool, str] = {}
    for statement in syntax.body:
        for node in ast.walk(statement):
            kind = facts.kinds.kind(node) if isinstance(node, ast.Name) else None
            if isinstance(node, ast.Name) and isinstance(kind, ArrayKind) and node.id in syntax.captured:
                found.setdefault(kind.usm, node.id)
    if len(found) == 2:
        raise mixed_error(location, found[True], found[False], facts.library)
