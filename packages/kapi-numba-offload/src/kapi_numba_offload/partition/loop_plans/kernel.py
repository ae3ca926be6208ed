"""Plans for `prange` loops: kernels, with the same loop on the host for what kernels refuse."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from kapi_numba_offload.analysis.control_flow import assigned_at, may_leave_early, read_by_functions
from kapi_numba_offload.analysis.kinds import SCALAR, ArrayKind
from kapi_numba_offload.analysis.syntax import indices_of, located, nodes_in, targets_of
from kapi_numba_offload.elements.statements import StatementLocation
from kapi_numba_offload.loops.host.host_loop import HostLoop
from kapi_numba_offload.loops.loop_syntax import LoopSyntax, parallel_loop, variables_of
from kapi_numba_offload.loops.parallel_loop import ParallelLoop
from kapi_numba_offload.partition.function_info import FunctionInfo, loaded
from kapi_numba_offload.partition.loop_plans.numba_equivalence import computes_after_stores, with_buffered_updates
from kapi_numba_offload.partition.loop_plans.plan import LoopInContext, LoopPlan, Rewriter, reads
from kapi_numba_offload.partition.loop_plans.sequential import inlined_local_functions, sequential_plan
from kapi_numba_offload.run.fallback import Refusal
from kapi_numba_offload.run.placement import mixed_error

__all__ = ["KernelPlan", "host_bounds", "kernel_plan", "with_bounds", "with_refused_live_outs"]


@dataclass(frozen=True, slots=True)
class KernelPlan(LoopPlan):
    """A loop that becomes a kernel.

    - `given`, `reductions`, `left`: variables that it is given, those that it reduces into, and those that it leaves.
    - `bounds`: arguments of `prange`, as written: start, stop and step of each axis.
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
        groups = self._bounds(rewriter), reads(self.given, where), reads(self.reductions, where)
        return [rewriter.queue(where), *(ast.Tuple(each, ast.Load()) for each in groups)]

    def _bounds(self, rewriter: Rewriter) -> list[ast.expr]:
        return list(map(rewriter.expression, self.bounds))


def kernel_plan(context: LoopInContext) -> LoopPlan:
    """A plan for a `prange` loop: as a kernel, or as a sequential loop if its syntax already forbids one."""
    facts, statement, _ = context
    assert isinstance(statement, ast.For)
    variable = ast.unparse(statement.target)
    if may_leave_early(statement) or any(isinstance(each, (ast.Yield, ast.YieldFrom)) for each in ast.walk(statement)):
        return sequential_plan(context, Refusal("early-exit", statement.lineno, variable))
    if variables_of([statement], ast.Store) & read_by_functions(facts.definition, statement):
        return sequential_plan(context, Refusal("not-in-kernel", statement.lineno, variable))
    changed = next((each for each in ast.walk(statement) if computes_after_stores(facts, each)), None)
    if changed is not None:
        detail = f"an operand that a later call in the expression may change: `{ast.unparse(changed)}`"
        return sequential_plan(context, Refusal("not-in-kernel", statement.lineno, variable, detail))
    location = facts.location(statement)
    syntax = parallel_loop(statement, facts.names)
    _check_same_memory(facts, syntax, location)
    definitions, captured = inlined_local_functions(facts, syntax.captured)
    syntax = replace(syntax, body=[*definitions, *syntax.body], captured=captured)
    syntax = with_refused_live_outs(syntax, context)
    reductions = tuple(syntax.reductions)
    late = {each.variable for each in syntax.refusals if each.variable in syntax.assigned}
    # On the host, what iterations carry is given and returned as well.
    carried = tuple(sorted(late - syntax.reductions.keys()))
    if not assigned_at(facts.definition, statement).issuperset(carried):
        return sequential_plan(context, syntax.refusals[0])
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


def with_refused_live_outs(syntax: LoopSyntax, context: LoopInContext) -> LoopSyntax:
    """The loop with a refusal for each variable that it assigns and that is live after it."""
    variables = {axis.variable for axis in syntax.axes}
    live = set(filter(context.is_live_after, syntax.assigned | variables))
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


_REDUCING = (ast.Add, ast.Sub, ast.Mult, ast.Div)


def may_be_parallel(syntax: LoopSyntax, is_number: Callable[[ast.expr | ast.AugAssign], bool]) -> bool:
    """Whether no iteration changes what another one changes, but for the reductions that Numba has.

    Numba's reductions of arrays, and those behind a comparison, lose iterations.

    - `is_number`: whether an expression, or the target of an augmented assignment, is a number.
    """
    variables = [axis.variable for axis in syntax.axes]
    for each in nodes_in(syntax.body):
        if not isinstance(each, (ast.Assign, ast.AugAssign)):
            continue
        for target in targets_of(each):
            if isinstance(target, ast.Name):
                is_reduction = target.id in syntax.reductions
                if is_reduction and not _is_numba_reduction(each, target.id):
                    return False
                # What is changed in place may be a part of an array that other iterations have, too.
                if (is_reduction or isinstance(each, ast.AugAssign)) and not is_number(_value(each)):
                    return False
            elif not _is_own(target, variables):
                return False
    return True


def _value(node: ast.Assign | ast.AugAssign) -> ast.expr | ast.AugAssign:
    return node.value if isinstance(node, ast.Assign) else node


def _is_numba_reduction(node: ast.AST, name: str) -> bool:
    """Whether a statement reduces into the variable as Numba knows it."""
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, _REDUCING)
    value = node.value if isinstance(node, ast.Assign) else None
    if isinstance(value, ast.BinOp):
        return isinstance(value.op, _REDUCING) and isinstance(value.left, ast.Name) and value.left.id == name
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in ("min", "max")


def _is_own(target: ast.expr, variables: Sequence[str]) -> bool:
    """Whether what is stored to has all loop variables as indices, and so is stored to in one iteration only."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return all(isinstance(each, ast.Name) or _is_own(each, variables) for each in target.elts)
    if not isinstance(target, ast.Subscript):
        return False
    indices = indices_of(target)
    named = {each.id for each in indices if isinstance(each, ast.Name)}
    return named.issuperset(variables)
