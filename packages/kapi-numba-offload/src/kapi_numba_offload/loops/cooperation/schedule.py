"""The schedule of a parallel loop on a GPU: a work-group for each iteration where its inner loops are long."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any, NamedTuple

import kapi_runtime
from kapi_numba_offload.elements.work_distribution import group_size
from kapi_numba_offload.libraries.arrays import device_facts, is_device_array, may_share_memory
from kapi_numba_offload.loops.body.pipeline import LoweredBody
from kapi_numba_offload.loops.body.views import HELPERS
from kapi_numba_offload.loops.coarsening import traversed_rows
from kapi_numba_offload.loops.cooperation.group_body import GroupBody, group_body
from kapi_numba_offload.loops.cooperation.inner_loops import InnerLoop

__all__ = ["ALONE", "Cooperation", "Team", "cooperation", "group_range"]

_SHORTEST = 32  # iterations of inner loops: with fewer, most of a group's work-items have none
_SHORTEST_OF_COLUMNS = 256  # the same, where neighbours in memory belong to neighbouring iterations of the outer loop
_ITEMS_PER_UNIT = 512  # iterations of the outer loop for which work-items of their own use memory as well
_MOST_GROUPS = 2**20
_GROUPS_PER_UNIT = 16  # with reductions, each of which has a partial result


class Team(NamedTuple):
    """Choice of the work-group that does an iteration.

    Attributes
    ----------
    is_inward : bool
        Whether of loops in each other the inner ones are distributed, and not the outer ones.
    size : int
        Work-items of the group; 0 where a work-item for each iteration is the better schedule, or the only one.
    """

    is_inward: bool
    size: int


ALONE = Team(False, 0)
"""A work-item for each iteration."""


@dataclass(frozen=True, slots=True)
class Cooperation:
    """A loop whose iterations work-groups can do.

    Attributes
    ----------
    source : LoweredBody
        The body for a work-item.
    bodies : dict of bool to GroupBody
        The body for a work-group; by `Team.is_inward`, if that makes a difference.
    has_rows : bool
        Whether inner loops go along rows, so that work-items of an iteration have neighbours in memory.
    names : sequence of str
        The captured variables.
    disjoint : list of tuple
        Pairs of captured arrays, by their positions, of which one is stored to: they must share no memory.
    """

    source: LoweredBody
    bodies: dict[bool, GroupBody]
    has_rows: bool
    names: Sequence[str]
    disjoint: list[tuple[int, int]]
    _lengths: dict[bool, CodeType]
    _variables: Sequence[str]

    def team(self, bounds: Sequence[int], extents: Sequence[int], captured: Sequence[Any], queue: Any) -> Team:
        """The work-groups that do such a loop's iterations."""
        is_full = math.prod(extents) >= _ITEMS_PER_UNIT * device_facts(queue).units
        if is_full and not self.has_rows:
            return ALONE
        scope: dict[str, Any] = dict(zip(self.names, captured, strict=True))
        for number, name in enumerate(self._variables):
            start, stop, step = bounds[3 * number : 3 * number + 3]
            scope[name] = start + len(range(start, stop, step)) // 2 * step
        is_inward, length = False, _longest(self._lengths[False], scope)
        if True in self.bodies:
            inner = _longest(self._lengths[True], scope)
            # Along rows, work-items that are neighbours have neighbours in memory.
            if inner >= _SHORTEST and (self.has_rows or length < _SHORTEST):
                is_inward, length = True, inner
        return Team(is_inward, group_size(length)) if length >= self._shortest else ALONE

    def shares_memory(self, captured: Sequence[Any]) -> bool:
        """Whether arrays that must share no memory do, so that each iteration is a work-item's."""
        return any(may_share_memory(captured[one], captured[other]) for one, other in self.disjoint)

    @property
    def asked(self) -> frozenset[str]:
        """The captured variables whose values or shapes decide on the team."""
        return frozenset(name for code in self._lengths.values() for name in code.co_names).intersection(self.names)

    @property
    def _shortest(self) -> int:
        return _SHORTEST if self.has_rows else _SHORTEST_OF_COLUMNS


def group_range(
    team: Team, extents: Sequence[int], queue: Any, *, has_reductions: bool = False
) -> kapi_runtime.NdRange:
    """The index space of a launch; with reductions it is smaller, as each group has a partial result."""
    most = _GROUPS_PER_UNIT * device_facts(queue).units if has_reductions else _MOST_GROUPS
    return _nd_range(min(math.prod(extents), most), team.size)


@lru_cache(maxsize=256)
def _nd_range(groups: int, size: int) -> kapi_runtime.NdRange:
    return kapi_runtime.NdRange(groups * size, size)


def _longest(lengths: CodeType, scope: dict[str, Any]) -> int:
    """Iterations of the longest of the loops that are distributed; 0 if the data decide."""
    exec(lengths, _SCOPE, scope)
    found: int = scope["kapi_longest"]
    return found


_SCOPE = {
    "__builtins__": {"max": max, "min": min, "len": len, "abs": abs, "range": range, "NameError": NameError},
    **HELPERS,
}


def cooperation(
    lowered: LoweredBody,
    value_of: Callable[[ast.expr], Any],
    captured: Mapping[str, Any],
    variables: Sequence[str],
    kept: Iterable[str],
) -> Cooperation | None:
    """The loop for work-groups; None if its inner loops cannot be shared.

    Parameters
    ----------
    lowered : LoweredBody
        What an iteration does.
    value_of : callable
        The value of a name outside of the function.
    captured : mapping of str to object
        Values of the captured variables.
    variables : sequence of str
        The loop variables.
    kept : iterable of str
        The loop's reductions.
    """
    body = lowered.statements
    made = group_body(body, value_of, kept, is_inward=False)
    names, arrays = list(captured), {name for name, each in captured.items() if is_device_array(each)}
    if made is None or not arrays:
        return None
    pairs = {(min(one, other), max(one, other)) for one in arrays for other in made.stored & arrays if one != other}
    disjoint = [(names.index(one), names.index(other)) for one, other in sorted(pairs)]
    has_rows = bool(traversed_rows(body, variables[-1], has_vectors=False) & arrays)
    bodies = {False: made}
    if made.has_loops_in_others and (inward := group_body(body, value_of, kept, is_inward=True)) is not None:
        bodies[True] = inward
    lengths = {key: _lengths(body, each.loops) for key, each in bodies.items()}
    return Cooperation(lowered, bodies, has_rows, names, disjoint, lengths, variables)


def _lengths(body: Sequence[ast.stmt], loops: Sequence[InnerLoop]) -> CodeType:
    """The code that gives the length of the longest inner loop, as far as it is made of lengths and integers."""
    lines = ["kapi_longest = 0"]
    for each in body:
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name) and _is_quick(each.value):
            lines.append(_tried(ast.unparse(each)))
    for loop in loops:
        ranges = [level.iter for level in loop.levels]
        if all(map(_is_quick, (arg for each in ranges if isinstance(each, ast.Call) for arg in each.args))):
            text = " * ".join(f"len({ast.unparse(each)})" for each in ranges)
            lines.append(_tried(f"kapi_longest = max(kapi_longest, {text})"))
    return compile("\n".join(lines), "<lengths of inner loops>", "exec")


def _tried(line: str) -> str:
    return f"try: {line}\nexcept NameError: pass"


def _is_quick(node: ast.expr) -> bool:
    """Whether an expression has no elements of arrays, which a device would have to be asked for."""
    nodes = list(ast.walk(node))
    own = all(isinstance(each.value, ast.Attribute) and each.value.attr == "shape" for each in nodes
              if isinstance(each, ast.Subscript))  # fmt: skip
    called = {each.func.id if isinstance(each.func, ast.Name) else "" for each in nodes if isinstance(each, ast.Call)}
    return own and called <= {"max", "min", "len", "abs", "kapi_slice_bound", "kapi_slice_bound_down",
                              "kapi_slice_length", "kapi_slice_length_down", "kapi_wrapped_index"}  # fmt: skip
