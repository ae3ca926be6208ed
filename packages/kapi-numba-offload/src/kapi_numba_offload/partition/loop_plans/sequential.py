"""Plans for loops over elements: outlined as functions on the host, or interpreted where they are."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from kapi_numba_offload.analysis.control_flow import assigned_at, leaves_by_return, outlining_obstacle
from kapi_numba_offload.analysis.kinds import SCALAR
from kapi_numba_offload.analysis.syntax import located, names_in
from kapi_numba_offload.elements.statements import StatementLocation
from kapi_numba_offload.libraries.arrays import arrays_among
from kapi_numba_offload.loops.host.host_loop import HostLoop, more_than_read
from kapi_numba_offload.loops.host.interpreted_loop import InterpretedLoop
from kapi_numba_offload.loops.host.loop_exits import is_flaggable
from kapi_numba_offload.loops.host.worked_axes import most_elements
from kapi_numba_offload.loops.independent_loop import Unsuited
from kapi_numba_offload.loops.loop_syntax import first_use, variables_of
from kapi_numba_offload.partition.function_info import FunctionInfo
from kapi_numba_offload.partition.loop_plans.numba_equivalence import computes_after_stores, with_buffered_updates
from kapi_numba_offload.partition.loop_plans.plan import HostPlan, LoopInContext, LoopPlan, NoticedPlan
from kapi_numba_offload.run.fallback import Refusal, fall_back
from kapi_numba_offload.run.options import OffloadOptions
from kapi_numba_offload.run.timing import timed

__all__ = [
    "Outline",
    "SequentialLoop",
    "host_loop",
    "inlined_local_functions",
    "outline",
    "sequential_plan",
]


@dataclass(eq=False)
class SequentialLoop:
    """A loop over elements of USM arrays that is no `prange` loop, and so runs on the host.

    - `refusal`: why it is no kernel.
    - `needs_function`: whether Numba compiles it with the function around it alone, as it is given lists or sets that
      this makes.
    - `latest`: what the latest run warned, or why it was on the host by choice.
    - `unsuited`: why the values of the call suit no kernel, where iterations are independent.
    """

    location: StatementLocation
    refusal: Refusal
    host: HostLoop
    options: OffloadOptions
    needs_function: bool
    latest: str | None = None
    unsuited: Unsuited | None = None

    @timed
    def __call__(self, *captured: Any) -> Any:
        """Run the loop, with a warning if there is a USM array for it."""
        if next(arrays_among(captured), None) is not None:
            self.latest = self._chosen(captured) or self._fall_back(captured)
        return self.host.leave((), captured)

    def _chosen(self, captured: Sequence[Any]) -> str | None:
        """The reason for which the host is to run it, where that takes less time; None for other loops."""
        is_quicker = self.unsuited is not None and self.unsuited.is_quicker and most_elements()
        if not is_quicker or not self.options.may_fall_back or self.host.why_not_compiled((), captured) is not None:
            return None
        return "it has little work, and Numba computes where its arrays are"

    def _fall_back(self, captured: Sequence[Any]) -> str:
        detail = self.refusal.detail if self.unsuited is None else self.unsuited.text
        refusal = replace(self.refusal, detail=detail)
        return fall_back(self.location, refusal, self.options.may_fall_back, self.host.how((), captured))


class Outline(NamedTuple):
    """A loop as a function of its own.

    - `given`, `returned`, `flagged`: variables that it takes, those that it returns, and those of them that may have no
      value.
    - `obstacle`: why outlining would change the meaning.
    - `definitions`: the local functions that it calls.
    """

    given: list[str]
    returned: list[str]
    flagged: list[str]
    obstacle: str | None
    definitions: list[ast.FunctionDef]


def outline(context: LoopInContext) -> Outline:
    """The function that a loop becomes."""
    facts, statement, _ = context
    stored = variables_of([statement], ast.Store)
    read = variables_of([statement], ast.Load)
    before = assigned_at(facts.definition, statement)
    returned = sorted(filter(context.is_live_after, stored))
    # A variable that is live at its start is a parameter, and so must have a value.
    needed = {name for name in read & facts.names.locals
              if name not in stored or first_use(name, [statement]) == "read"}  # fmt: skip
    definitions, around = inlined_local_functions(facts, needed)
    needed = set(around)
    flagged = [name for name in returned if name not in before]
    obstacle = outlining_obstacle(statement, facts.definition)
    if obstacle is None and not (needed <= before and all(is_flaggable(each, statement) for each in flagged)):
        obstacle = "a variable may have no value"
    if obstacle is None and any(computes_after_stores(facts, each) for each in ast.walk(statement)):
        obstacle = "Numba would compute part of an expression after a call in it that may change its arrays"
    return Outline(sorted((needed | set(returned)) & before), returned, flagged, obstacle, definitions)


def sequential_plan(context: LoopInContext, refusal: Refusal) -> LoopPlan:
    """Outline the loop for the host, or leave it inline if outlining would change semantics."""
    facts, statement, _ = context
    parts = outline(context)
    location = facts.location(statement)
    if parts.obstacle is not None:
        detail = "; ".join(filter(None, (refusal.detail, parts.obstacle)))
        stays = InterpretedLoop(location, replace(refusal, detail=detail), facts.options.may_fall_back)
        return NoticedPlan(stays, statement)
    empty = _lists_that_start_empty(facts, statement, parts.given)
    containers = {
        target.id
        for each in ast.walk(facts.definition)
        if isinstance(each, ast.Assign) and _makes_container(each.value)
        for target in each.targets
        if isinstance(target, ast.Name)
    }
    needs_function = bool(containers.intersection(parts.given).difference(empty) & more_than_read(statement))
    moved = SequentialLoop(location, refusal, host_loop(facts, statement, parts), facts.options, needs_function)
    return HostPlan(moved, statement, tuple(parts.given), tuple(parts.returned), tuple(parts.flagged))


def host_loop(facts: FunctionInfo, statement: ast.For | ast.While, parts: Outline) -> HostLoop:
    """The loop as one that Numba compiles, its iterations in their order."""
    return HostLoop(
        facts.original, facts.names, with_buffered_updates(facts, statement), (), parts.given, parts.returned,
        parallel=False, flagged=parts.flagged, options=facts.options.for_numba, definitions=parts.definitions,
        may_fill=not _may_raise(facts, statement), empty=_lists_that_start_empty(facts, statement, parts.given),
    )  # fmt: skip


def _may_raise(facts: FunctionInfo, statement: ast.stmt) -> bool:
    """Whether a loop raises, or its function handles exceptions: lists then count that are not filled to the end."""
    return any(isinstance(each, (ast.Raise, ast.Assert)) for each in ast.walk(statement)) or any(
        isinstance(each, ast.Try) for each in ast.walk(facts.definition)
    )


def _lists_that_start_empty(facts: FunctionInfo, statement: ast.For | ast.While, given: Sequence[str]) -> list[str]:
    """The variables that a loop is given, and fills with numbers, that hold lists which were made empty."""
    if _may_raise(facts, statement) or leaves_by_return(statement):
        return []
    return [name for name in given if _starts_empty(facts, name) and _is_filled_with_numbers(facts, statement, name)]


def _starts_empty(facts: FunctionInfo, name: str) -> bool:
    """Whether all that a function assigns to a variable is `[]`, and no other variable holds its value."""
    if name in facts.names.parameters:
        return False
    made: set[int] = set()
    for each in ast.walk(facts.definition):
        if isinstance(each, ast.Assign):
            if isinstance(each.value, ast.List) and not each.value.elts:
                made.update(id(target) for target in each.targets if len(each.targets) == 1)
            held = each.value.elts if isinstance(each.value, (ast.Tuple, ast.List)) else [each.value]
            if any(isinstance(value, ast.Name) and value.id == name for value in held):
                return False
    stores = [each for each in ast.walk(facts.definition)
              if isinstance(each, ast.Name) and each.id == name and not isinstance(each.ctx, ast.Load)]  # fmt: skip
    return bool(stores) and all(id(each) in made for each in stores)


def _is_filled_with_numbers(facts: FunctionInfo, statement: ast.stmt, name: str) -> bool:
    """Whether a loop uses a list for its length and items, and to append numbers, only."""
    known: set[int] = set()
    has_append = False
    for each in ast.walk(statement):
        if isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Load):
            known.add(id(each.value))
        elif isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == "len":
            known.update(map(id, each.args))
        elif isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr == "append":
            if len(each.args) == 1 and facts.kinds.kind(each.args[0]) == SCALAR:
                known.add(id(each.func.value))
                has_append |= isinstance(each.func.value, ast.Name) and each.func.value.id == name
    uses = [each for each in ast.walk(statement) if isinstance(each, ast.Name) and each.id == name]
    return has_append and all(id(each) in known for each in uses)


def _makes_container(value: ast.expr) -> bool:
    """Whether an expression makes a list, set or dictionary of Python's."""
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id in ("list", "set", "dict")
    return isinstance(value, (ast.List, ast.ListComp, ast.Set, ast.SetComp, ast.Dict, ast.DictComp))


def inlined_local_functions(facts: FunctionInfo, captured: Iterable[str]) -> tuple[list[ast.FunctionDef], list[str]]:
    """Definitions of the local functions among variables, and the other variables, with those that they read."""
    waiting, seen, known = sorted(captured), set(captured), set(captured)
    definitions: list[ast.FunctionDef] = []
    while waiting:
        name = waiting.pop(0)
        found = [made for each in facts.local_functions if (made := _local_function(name, each)) is not None]
        if len(found) != 1 or names_in(ast.walk(facts.definition), ast.Store).count(name) > 1:
            continue
        (definition,) = found
        own = {each.arg for each in definition.args.args} | variables_of(definition.body, ast.Store)
        around = (variables_of(definition.body, ast.Load) - own) & facts.names.locals
        definitions.insert(0, definition)
        known = (known | around) - {name}
        waiting += sorted(around - seen)
        seen |= around
    return definitions, sorted(known)


def _local_function(name: str, node: ast.AST) -> ast.FunctionDef | None:
    """A copy of the definition of `name`, its variables renamed; None if the node is none."""
    if isinstance(node, ast.FunctionDef) and node.name == name and not node.decorator_list:
        made = copy.deepcopy(node)
    elif (
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Lambda)
        and [ast.unparse(each) for each in node.targets] == [name]
    ):
        made = ast.FunctionDef(name, copy.deepcopy(node.value.args), [ast.Return(copy.deepcopy(node.value.body))], [])
        located(made, node)
    else:
        return None
    own = {each.arg for each in made.args.args} | variables_of(made.body, ast.Store)
    for each in ast.walk(made):
        if isinstance(each, ast.Name) and each.id in own:
            each.id = f"kapi_own_{each.id}"
        elif isinstance(each, ast.arg):
            each.arg = f"kapi_own_{each.arg}"
    return made
