"""What would order two accesses that raced: the last line of a `DataRaceError`.

Advice has to be true where it is followed.  A barrier between two lines orders them unless a loop brings a
work-item back to the first, so the loops around both are looked up in the source; and a barrier mends no
update of one element by many.
"""

from __future__ import annotations

import ast
from types import CodeType

from kapi_sim.items.clock import Clock
from kapi_sim.language.attributes import dotted_path
from kapi_sim.language.source import line_of, parse_code
from kapi_sim.language.words.index_space import Range

__all__ = ["cure_of_race"]

_UPDATE = "change it with an AtomicRef only"


def cure_of_race(
    clock: Clock, earlier: tuple[CodeType, int], later: tuple[CodeType, int], is_of_group: bool, both_write: bool
) -> str:
    """Return what would order two accesses.

    Parameters
    ----------
    clock : Clock
        Knows the index space, and the barriers that were passed.
    earlier, later : tuple of code and int
        Code and instruction of the accesses.
    is_of_group : bool
        Whether both are of the group that runs.
    both_write : bool
        Whether both write; else one reads.
    """
    first, second = (line_of(*access) for access in (earlier, later))
    is_update = earlier[0] is later[0] and first == second and (both_write or _is_update(later[0], first))
    if isinstance(clock.space, Range) or not is_of_group:
        who = "the work-items of a Range launch" if isinstance(clock.space, Range) else "work-groups"
        if is_update or both_write:
            cure = f"give each element one writer, {_UPDATE}"
        else:
            cure = f"write to another array than the one that is read, {_UPDATE}"
        return f"no barrier orders {who}: {cure}, or split the work into two launches"
    if clock.weak_barrier is not None:
        return (
            f"the barrier at {clock.weak_barrier} has a fence_scope too narrow to order memory between "
            "work-items: leave fence_scope out, or make it MemoryScope.WORK_GROUP"
        )
    met = "" if clock.algorithm is None else f"; the group algorithm at {clock.algorithm} is none: it orders no memory"
    if is_update:
        return f"both work-items are at line {first}: give each element one writer, or {_UPDATE}{met}"
    if earlier[0] is not later[0]:
        return f"a `group_barrier` between {_named(*earlier)} and {_named(*later)} would order them{met}"
    return f"{_in_one_function(clock, later[0], *sorted((first, second)))}{met}"


def _in_one_function(clock: Clock, code: CodeType, low: int, high: int) -> str:
    loop = _loop_around(code, low, high)
    barriers = () if loop is None else _barriers_in(clock, code, loop)
    is_between = any(low < line < high for line in barriers)
    is_before_or_after = any(not low <= line <= high for line in barriers)
    if loop is not None and is_between and not is_before_or_after:
        # One work-item has come round to the first line since it passed the barrier.
        line = next(line for line in barriers if low < line < high)
        return (
            f"a `group_barrier` after line {high}, before the loop at line {loop.lineno} comes round to line {low}, "
            f"would order them; that at line {line} orders them within one turn only"
        )
    both = f"both work-items are at line {low}: split its read from its write and put a `group_barrier` between them"
    if loop is None or is_before_or_after:
        if low == high:
            return f"{both}, or give each element one writer"
        return f"a `group_barrier` between line {low} and line {high} would order them"
    turn = f"one at the end of each turn of the loop at line {loop.lineno}"
    if low == high:
        return f"{both}, and {turn}, or give each element one writer"
    return f"a `group_barrier` between line {low} and line {high}, and {turn}, would order them"


def _barriers_in(clock: Clock, code: CodeType, loop: ast.For | ast.While) -> list[int]:
    """Return the lines of a loop at which barriers stand, or the latest barrier was passed."""
    calls = [node for node in ast.walk(loop) if isinstance(node, ast.Call)]
    lines = [call.lineno for call in calls if (dotted_path(call.func) or ("",))[-1] == "group_barrier"]
    passed = clock.last_barrier
    if passed is not None and passed.file == code.co_filename and loop.lineno <= passed.line <= (loop.end_lineno or 0):
        lines.append(passed.line)
    return lines


def _named(code: CodeType, instruction: int) -> str:
    return f"line {line_of(code, instruction)} in {code.co_name}()"


def _loop_around(code: CodeType, low: int, high: int) -> ast.For | ast.While | None:
    """Return the innermost loop of a function that holds both lines."""
    tree = parse_code(code)
    found: ast.For | ast.While | None = None
    for node in ast.walk(tree) if tree is not None else ():
        # Loops are met from the outside in.
        if isinstance(node, (ast.For, ast.While)) and node.body[0].lineno <= low:
            if high <= (node.end_lineno or node.lineno) and node.lineno != high:
                found = node
    return found


def _is_update(code: CodeType, line: int) -> bool:
    """Tell whether the line changes the element that it reads, as ``a[i] += x`` does."""
    tree = parse_code(code)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.AugAssign) and node.lineno <= line <= (node.end_lineno or line):
            inner = (part for part in ast.walk(node.value) if isinstance(part, ast.Subscript))
            return _array_of(node.target) not in map(_array_of, inner)
    return False


def _array_of(node: ast.expr) -> str:
    return ast.unparse(node.value) if isinstance(node, ast.Subscript) else ""
