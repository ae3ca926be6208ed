"""The schedule of a parallel loop on a GPU: a work-group for each iteration where its inner loops are long."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

import kapi_runtime
from kapi_numba_offload.elements.work_distribution import group_size
from kapi_numba_offload.libraries.arrays import device_facts, is_device_array, may_share_memory
from kapi_numba_offload.loops.body.pipeline import LoweredBody
from kapi_numba_offload.loops.body.views import HELPERS
from kapi_numba_offload.loops.coarsening import traversed_rows
from kapi_numba_offload.loops.cooperation.group_body import GroupBody, group_body
from kapi_numba_offload.loops.cooperation.inner_loops import InnerLoop

__all__ = ["Cooperation", "cooperation"]

_SHORTEST = 32  # iterations of inner loops: with fewer, most of a group's work-items have none
_SHORTEST_OF_COLUMNS = 256  # the same, where neighbours in memory belong to neighbouring iterations of the outer loop
_ITEMS_PER_UNIT = 512  # iterations of the outer loop for which work-items of their own use memory as well
_MOST_GROUPS = 2**20
_GROUPS_PER_UNIT = 16  # with reductions, each of which has a partial result


@dataclass(frozen=True, slots=True)
class Cooperation:
    """A loop whose iterations work-groups can do.

    Attributes
    ----------
    source, body : LoweredBody, GroupBody
        The body for a work-item, and for a work-group.
    has_rows : bool
        Whether inner loops go along rows, so that work-items of an iteration have neighbours in memory.
    names : sequence of str
        The captured variables.
    disjoint : list of tuple
        Pairs of captured arrays, by their positions, of which one is stored to: they must share no memory.
    """

    source: LoweredBody
    body: GroupBody
    has_rows: bool
    names: Sequence[str]
    disjoint: list[tuple[int, int]]
    _lengths: CodeType
    _variables: Sequence[str]

    def length(self, bounds: Sequence[int], captured: Sequence[Any]) -> int:
        """Iterations of the longest of the inner loops, in the middle of the outer ones; 0 if the data decide."""
        scope: dict[str, Any] = dict(zip(self.names, captured, strict=True))
        for number, name in enumerate(self._variables):
            start, stop, step = bounds[3 * number : 3 * number + 3]
            scope[name] = start + len(range(start, stop, step)) // 2 * step
        exec(self._lengths, _SCOPE, scope)
        found: int = scope["kapi_longest"]
        return found

    def group_items(self, bounds: Sequence[int], extents: Sequence[int], captured: Sequence[Any], queue: Any) -> int:
        """The work-items of a group; 0 where a work-item for each iteration is the better schedule, or the only one."""
        is_full = math.prod(extents) >= _ITEMS_PER_UNIT * device_facts(queue).units
        if is_full and not self.has_rows:
            return 0
        if any(may_share_memory(captured[one], captured[other]) for one, other in self.disjoint):
            return 0
        length = self.length(bounds, captured)
        shortest = _SHORTEST if self.has_rows else _SHORTEST_OF_COLUMNS
        return group_size(length) if length >= shortest else 0

    def space(
        self,
        bounds: Sequence[int],
        extents: Sequence[int],
        captured: Sequence[Any],
        queue: Any,
        *,
        has_reductions: bool = False,
    ) -> kapi_runtime.NdRange:
        """The index space of a launch; with reductions it is smaller, as each group has a partial result."""
        size = self.group_items(bounds, extents, captured, queue)
        most = _GROUPS_PER_UNIT * device_facts(queue).units if has_reductions else _MOST_GROUPS
        return kapi_runtime.NdRange(min(math.prod(extents), most) * size, size)


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
    made = group_body(body, value_of, kept)
    names, arrays = list(captured), {name for name, each in captured.items() if is_device_array(each)}
    if made is None or not arrays:
        return None
    pairs = {(min(one, other), max(one, other)) for one in arrays for other in made.stored & arrays if one != other}
    disjoint = [(names.index(one), names.index(other)) for one, other in sorted(pairs)]
    has_rows = bool(traversed_rows(body, variables[-1], has_vectors=False) & arrays)
    return Cooperation(lowered, made, has_rows, names, disjoint, _lengths(body, made.loops), variables)


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
