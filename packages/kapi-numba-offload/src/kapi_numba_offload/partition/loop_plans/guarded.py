"""Plans for loops over whole arrays: on the device, or where the work is less than its launches cost, on the host."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from kapi_numba_offload.analysis.effects import has_aliases, has_effects
from kapi_numba_offload.analysis.kinds import ANY, SCALAR, ArrayKind, Kind, may_have_axes
from kapi_numba_offload.analysis.syntax import located, names_in
from kapi_numba_offload.loops.host.host_loop import HostLoop
from kapi_numba_offload.loops.host.small_loops import SmallLoop
from kapi_numba_offload.loops.loop_syntax import is_parallel
from kapi_numba_offload.partition.function_info import FunctionInfo, loaded
from kapi_numba_offload.partition.loop_plans.numba_equivalence import (
    called_functions,
    is_alike_for_numba,
    is_movable,
    may_reach_beyond,
    stores_what_it_reads,
)
from kapi_numba_offload.partition.loop_plans.plan import HostPlan, Rewriter
from kapi_numba_offload.partition.loop_plans.sequential import outline
from kapi_numba_offload.partition.loop_plans.work_estimates import (
    loop_costs,
    parallel_depth,
    worked_axes,
)

__all__ = ["GuardedPlan", "guarded_plan"]


@dataclass(frozen=True, slots=True)
class GuardedPlan(HostPlan):
    """A loop with two versions: on the host where the guard holds for the values in hand, else in the function."""

    def rewritten(self, rewriter: Rewriter, helper: str) -> list[ast.stmt]:
        """An `if` statement with both versions."""
        where = self.statement
        on_host = HostPlan.rewritten(self, rewriter, helper)
        guard = ast.Attribute(loaded(helper, where), "suits", ast.Load())
        test = ast.Call(guard, [loaded(name, where) for name in self.given], [])
        made = ast.If(test, on_host, rewriter.inline_loop(where))
        return [located(made, where)]


def guarded_plan(
    facts: FunctionInfo, statement: ast.For | ast.While, following: Sequence[Sequence[ast.stmt]]
) -> GuardedPlan | None:
    """A plan with a version on the host for small arrays; None where the two could differ."""
    nodes = list(ast.walk(statement))
    loops = [each for each in nodes if isinstance(each, ast.For)]
    has_parallel = any(is_parallel(each, facts.names) for each in loops)
    given, returned, flagged, obstacle, definitions = outline(facts, statement, following)
    # In a device context types are Numba's anyway.
    called = called_functions(facts, nodes, of_any_type=facts.numba_types)
    # These have elements, which are slow in Python, or plans of their own; and NumPy's types are not Numba's.
    is_compiled_only = has_parallel or bool(called) or facts.numba_types or _has_narrow_numbers(facts, nodes)
    is_alike = not has_aliases(statement) and all(
        is_alike_for_numba(facts, each, of_any_type=facts.numba_types) for each in nodes
    )
    if (
        not (has_parallel or any(may_have_axes(facts.kinds.kind(each)) for each in nodes if isinstance(each, ast.expr)))
        or (is_compiled_only and not is_alike)
        or not is_movable(nodes)
        or has_effects(statement, facts.names, called.keys())
    ):
        return None
    if obstacle is not None or not all(_has_same_kind_on_host(facts, nodes, name) for name in returned):
        return None
    # The types of arrays that it leaves count, and kernels have their own.
    makes_arrays = any(_makes_arrays(facts, nodes, name) for name in returned)
    # Numba does then what devices and NumPy do with zeros, and does not reach beyond arrays. Slices never do.
    options = {
        "boundscheck": any(map(may_reach_beyond, nodes)),
        "error_model": "numpy",
        "fastmath": facts.options.numba_fastmath,
    }
    host = HostLoop(
        facts.original, facts.names, statement, (), given, returned, flagged=flagged, options=options,
        parallel=facts.options.parallel and not has_parallel and not called
        and not any(stores_what_it_reads(facts, each) for each in nodes),
        called=tuple(called.values()), definitions=definitions,
    )  # fmt: skip
    loop = SmallLoop(
        facts.location(statement), host, worked_axes(facts, nodes), loop_costs(facts, statement),
        facts.options,
        may_compile=is_alike, may_interpret=not is_compiled_only, depth=parallel_depth(facts, nodes),
        of_any_type=facts.numba_types or not (makes_arrays or has_parallel),
    )  # fmt: skip
    return GuardedPlan(loop, statement, tuple(given), tuple(returned), tuple(flagged))


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
