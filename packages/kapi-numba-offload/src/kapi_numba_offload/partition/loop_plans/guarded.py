"""Plans for loops over full arrays: where the work is less than the cost of launches, on the host or in one launch."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from dataclasses import dataclass

from kapi_numba_offload.analysis.control_flow import leaves_by_return
from kapi_numba_offload.analysis.effects import has_effects
from kapi_numba_offload.analysis.kinds import ANY, SCALAR, ArrayKind, Kind, may_have_axes
from kapi_numba_offload.analysis.syntax import indices_of, names_in
from kapi_numba_offload.loops.group_loop import GroupLoop
from kapi_numba_offload.loops.host.host_loop import HostLoop
from kapi_numba_offload.loops.host.interpreted_loop import InterpretedLoop
from kapi_numba_offload.loops.host.iteration_work import StepSizes
from kapi_numba_offload.loops.host.short_iterations import ShortSteps
from kapi_numba_offload.loops.host.small_loops import SmallLoop
from kapi_numba_offload.loops.loop_syntax import Axis, LoopSyntax, is_parallel, variables_of
from kapi_numba_offload.partition.dtype_equivalence import LoopIntegers
from kapi_numba_offload.partition.function_info import FunctionInfo
from kapi_numba_offload.partition.loop_plans.numba_equivalence import (
    called_functions,
    is_alike_for_numba,
    is_movable,
    may_reach_beyond,
    stores_what_it_reads,
    with_buffered_updates,
)
from kapi_numba_offload.partition.loop_plans.plan import (
    HostPlan,
    LoopInContext,
    LoopPlan,
    NoticedPlan,
    Rewriter,
    choice,
    otherwise_statements,
    reads,
)
from kapi_numba_offload.partition.loop_plans.sequential import host_loop, outline
from kapi_numba_offload.partition.loop_plans.work_estimates import loop_costs, parallel_depth, worked_axes
from kapi_numba_offload.run.fallback import Refusal

__all__ = ["GroupPlan", "GuardedPlan", "group_plan", "guarded_plan"]


@dataclass(frozen=True, slots=True)
class GuardedPlan(HostPlan):
    """A loop with two versions: on the host where the guard holds for the values in hand, else in the function."""

    def rewritten(self, rewriter: Rewriter, helper: str) -> list[ast.stmt]:
        """An `if` statement with both versions."""
        where = self.statement
        on_host = HostPlan.rewritten(self, rewriter, helper)
        return [choice(helper, where, reads(self.given, where), on_host, rewriter.inline_loop(where))]


def guarded_plan(context: LoopInContext) -> LoopPlan | None:
    """A plan with a version on the host for small arrays; None where the two could differ.

    A loop that cannot be outlined has a plan that warns of many launches.
    """
    facts, statement, _ = context
    nodes = list(ast.walk(statement))
    loops = [each for each in nodes if isinstance(each, ast.For)]
    has_parallel = any(is_parallel(each, facts.names) for each in loops)
    if not _has_arrays(facts, nodes, has_parallel=has_parallel):
        return None
    parts = outline(context)
    given, returned, flagged, obstacle, definitions = parts
    if obstacle is not None:
        return None if has_parallel else _launched_plan(facts, statement, nodes, given, obstacle)
    # In a device context types are Numba's anyway.
    called = called_functions(facts, nodes, of_any_type=facts.numba_types)
    # These have elements, which are slow in Python, or plans of their own; and NumPy's types are not Numba's.
    is_compiled_only = has_parallel or bool(called) or facts.numba_types or _has_narrow_numbers(facts, nodes)
    may_move = (
        is_movable(nodes)
        and not has_effects(statement, facts.names, called.keys())
        and all(_has_same_kind_on_host(facts, nodes, name) for name in returned)
    )
    is_alike = may_move and all(is_alike_for_numba(facts, each, of_any_type=facts.numba_types) for each in nodes)
    # The types of arrays that it leaves count, and kernels have their own.
    arrays_left = [name for name in returned if _makes_arrays(facts, nodes, name)] + _arrays_returned(facts, nodes)
    has_same_integers = LoopIntegers(facts, statement, given).are_alike
    short_steps = None
    if not has_parallel:
        refusal = _refusal(facts, statement, nodes)
        short_steps = ShortSteps(
            facts.location(statement), refusal, host_loop(facts, statement, parts), arrays_left, has_same_integers
        )  # fmt: skip
    if not is_alike and (is_compiled_only or not may_move) and short_steps is None:
        return None
    # Numba does then what devices and NumPy do with zeros, and does not reach beyond arrays. Slices never do.
    options = {
        "boundscheck": any(map(may_reach_beyond, nodes)),
        "error_model": "numpy",
        "fastmath": facts.options.numba_fastmath,
    }
    host = HostLoop(
        facts.original, facts.names, with_buffered_updates(facts, statement), (), given, returned, flagged=flagged,
        options=options, called=tuple(called.values()), definitions=definitions,
        parallel=facts.options.parallel and not has_parallel and not called
        and not any(stores_what_it_reads(facts, each) for each in nodes),
        interpreted=statement,
    )  # fmt: skip
    depth = parallel_depth(facts, nodes)
    sizes = StepSizes(
        tuple(given), worked_axes(facts, nodes), loop_costs(facts, statement), depth or 0,
        _has_rows(facts, statement, nodes), host.only_reads,
    )  # fmt: skip
    loop = SmallLoop(
        facts.location(statement), host, sizes, facts.options, may_compile=is_alike,
        may_interpret=may_move and not is_compiled_only,
        has_number_operations=any(_is_of_numbers(facts, each) for each in nodes), has_known_loops=depth is not None,
        of_any_type=facts.numba_types or not (arrays_left or has_parallel), has_same_integers=has_same_integers,
        short_steps=short_steps,
    )  # fmt: skip
    return GuardedPlan(loop, statement, tuple(given), tuple(returned), tuple(flagged))


def _arrays_returned(facts: FunctionInfo, nodes: Sequence[ast.AST]) -> list[str]:
    """The arrays, or what may be some, that a loop makes and leaves the function with."""
    values = [each.value for each in nodes if isinstance(each, ast.Return) and each.value is not None]
    values = [part for each in values for part in (each.elts if isinstance(each, ast.Tuple) else [each])]
    return [
        ast.unparse(each)
        for each in values
        if facts.kinds.kind(each) not in (SCALAR, ArrayKind(True, 0))
        and not (isinstance(each, ast.Name) and not _makes_arrays(facts, nodes, each.id))
    ]


def _has_arrays(facts: FunctionInfo, nodes: Sequence[ast.AST], *, has_parallel: bool) -> bool:
    """Whether a loop works on arrays, so far as their kinds are known, or by parallel loops."""
    return has_parallel or any(may_have_axes(facts.kinds.kind(each)) for each in nodes if isinstance(each, ast.expr))


def _launched_plan(
    facts: FunctionInfo, statement: ast.For | ast.While, nodes: Sequence[ast.AST], given: Sequence[str], obstacle: str
) -> NoticedPlan:
    """A plan for a loop that stays in the function, which warns of many launches."""
    sizes = StepSizes(
        tuple(given), worked_axes(facts, nodes), loop_costs(facts, statement), 0,
        _has_rows(facts, statement, nodes), lambda _name: False,
    )  # fmt: skip
    refusal = _refusal(facts, statement, nodes, f"it cannot be compiled apart: {obstacle}")
    loop = InterpretedLoop(facts.location(statement), refusal, True, sizes)
    return NoticedPlan(loop, statement, tuple(given))


def _refusal(
    facts: FunctionInfo, statement: ast.For | ast.While, nodes: Sequence[ast.AST], detail: str = ""
) -> Refusal:
    arrays = [each for each in nodes if isinstance(each, ast.expr) and may_have_axes(facts.kinds.kind(each))]
    array = next((each.id for each in arrays if isinstance(each, ast.Name)), "")
    return Refusal("short-steps", statement.lineno, array, detail)


def _has_rows(facts: FunctionInfo, statement: ast.For | ast.While, nodes: Sequence[ast.AST]) -> bool:
    """Whether a loop takes rows or elements of arrays."""
    return any(
        isinstance(each, ast.Subscript)
        and facts.is_usm(each.value)
        and any(facts.kinds.kind(axis) == SCALAR and not isinstance(axis, ast.Constant) for axis in indices_of(each))
        for each in nodes
    ) or (isinstance(statement, ast.For) and facts.is_usm(statement.iter))


def _makes_arrays(facts: FunctionInfo, nodes: Sequence[ast.AST], name: str) -> bool:
    """Whether a loop assigns an array, or what may be one, to a variable; one that is changed in place stays itself."""
    return any(
        isinstance(each, ast.Assign)
        and any(_assigns(target, name) for target in each.targets)
        and facts.kinds.kind(each.value) not in (SCALAR, ArrayKind(True, 0))
        for each in nodes
    )


def _has_narrow_numbers(facts: FunctionInfo, nodes: Sequence[ast.AST]) -> bool:
    """Whether a loop may compute with single integers of fewer than 64 bits, for which NumPy has other types."""
    return facts.has_narrow_integers and any(
        (isinstance(each, ast.AugAssign) and facts.kinds.target(each) in (SCALAR, ANY))
        or (isinstance(each, ast.expr) and facts.number_operation(each) is not None)
        for each in nodes
    )


def _is_of_numbers(facts: FunctionInfo, node: ast.AST) -> bool:
    """Whether a node is an operation of numbers, one of which arrays may have been reduced to."""
    match node:
        case ast.BinOp(left, _, right):
            kinds = [facts.kinds.kind(left), facts.kinds.kind(right)]
        case ast.AugAssign(_, _, value):
            kinds = [facts.kinds.target(node), facts.kinds.kind(value)]
        case _:
            return False
    is_number = all(each in (SCALAR, ANY) or (isinstance(each, ArrayKind) and each.ndim == 0) for each in kinds)
    return is_number and any(each != SCALAR for each in kinds)


def _has_same_kind_on_host(facts: FunctionInfo, nodes: Sequence[ast.AST], name: str) -> bool:
    """Whether what a loop leaves in a variable is a number, or an array, on the device and on the host alike."""
    kinds = []
    for each in nodes:
        targets: list[ast.expr] = []
        if isinstance(each, ast.Assign):
            targets = each.targets
            kinds += [facts.kinds.kind(each.value) for target in targets if _assigns(target, name)]
        elif isinstance(each, ast.AugAssign) and _assigns(each.target, name):
            before = facts.kinds.target(each)
            # A number that moves to the device has no kind of its own, but those of its assigned values.
            kinds += _assigned_kinds(facts, name) if before == ANY else [before]
            kinds.append(facts.kinds.kind(each.value))
        elif isinstance(each, ast.AnnAssign) and _assigns(each.target, name):
            return False
        elif isinstance(each, ast.For) and _assigns(each.target, name):
            is_plain = isinstance(each.iter, ast.Call) and facts.names.value(each.iter.func) is range
            kinds.append(SCALAR if is_plain and isinstance(each.target, ast.Name) else ANY)
        elif any(isinstance(target, (ast.Tuple, ast.List)) and _assigns(target, name) for target in targets):
            return False
    return all(each == SCALAR or (isinstance(each, ArrayKind) and each.usm) for each in kinds)


def _assigned_kinds(facts: FunctionInfo, name: str) -> list[Kind]:
    """The kinds of what a variable is assigned in the function; `ANY` for a parameter."""
    found: list[Kind] = [ANY] if name in facts.names.parameters else []
    for each in ast.walk(facts.definition):
        if isinstance(each, ast.Assign) and any(_assigns(target, name) for target in each.targets):
            is_alone = all(isinstance(target, ast.Name) for target in each.targets)
            found.append(facts.kinds.kind(each.value) if is_alone else ANY)
    return found


def _assigns(target: ast.expr, name: str) -> bool:
    return name in names_in(ast.walk(target), ast.Store)


# ---------------------------------------------------------------------- loops of groups

_NOT_IN_GROUPS = (
    ast.Yield,
    ast.YieldFrom,
    ast.Try,
    ast.With,
    ast.Raise,
    ast.Assert,
    ast.Delete,
    ast.FunctionDef,
    ast.Lambda,
)


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
    if facts.library is None or facts.library.is_host or any(isinstance(each, _NOT_IN_GROUPS) for each in nodes):
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
