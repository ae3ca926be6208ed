"""Hints for a race: how to order the two accesses, the last line of a `DataRaceError`.

Advice has to be true where it is followed.  A barrier between two lines orders them unless a loop brings a
work-item back to the first, or the lines stand in branches that exclude each other, so what is around both is
looked up in the source; and a barrier mends no update of one element by many.
"""

from __future__ import annotations

import ast
from types import CodeType, FrameType
from typing import NamedTuple

from kapi_sim.checks.call_paths import Path, is_same_function, path_of_frame, path_to
from kapi_sim.items.convergence import Converging
from kapi_sim.items.schedule_state import ScheduleState
from kapi_sim.language.attributes import dotted_path
from kapi_sim.language.intrinsics.index_space import NdRange, Range
from kapi_sim.language.source import line_of, parse_code

__all__ = ["Barrier", "Hint", "race_hint"]

_UPDATE = "change it with an AtomicRef only"
_KEYWORDS: dict[type[ast.AST], str] = {ast.If: "if", ast.While: "while", ast.For: "for", ast.Match: "match"}


class Barrier(NamedTuple):
    """The source location at which a barrier is missing.

    - `file`: path.
    - `function`: first line of the function.
    - `line`: the line that it goes by.
    - `where`: ``"before"`` the line, ``"after"`` it, or ``"within"``: between its reads and its write.
    """

    file: str
    function: int
    line: int
    where: str = "before"


class Hint(NamedTuple):
    """A hint at how to order two accesses.

    - `text`: as a report says it.
    - `barrier`: where a barrier would.
    """

    text: str
    barrier: Barrier | None = None


def race_hint(
    clock: ScheduleState,
    earlier: tuple[CodeType, int],
    frame: FrameType,
    is_of_group: bool,
    both_write: bool,
    is_local: bool = False,
) -> Hint:
    """Return what would order two accesses.

    - `clock`: knows the index space, and the barriers that were passed.
    - `earlier`: code and instruction of the earlier access.
    - `frame`: where the kernel stands, at the later access.
    - `is_of_group`: whether both are of the group that runs.
    - `both_write`: whether both write; else one reads.
    - `is_local`: whether the memory is the group's own.
    """
    later = frame.f_code, frame.f_lasti
    first, second = (line_of(*access) for access in (earlier, later))
    is_update = earlier[0] is later[0] and first == second and (both_write or _is_update(later[0], first))
    if isinstance(clock.space, Range) or not is_of_group:
        who = "the work-items of a Range launch" if isinstance(clock.space, Range) else "work-groups"
        if is_update or both_write:
            hint = f"give each element one writer, {_UPDATE}"
        else:
            hint = f"write to another array than the one that is read, {_UPDATE}"
        return Hint(f"no barrier orders {who}: {hint}, or split the work into two launches")
    if clock.weak_barrier is not None:
        return Hint(
            f"the barrier at {clock.weak_barrier} has a fence_scope too narrow to order memory between "
            "work-items: leave fence_scope out, or make it MemoryScope.WORK_GROUP"
        )
    note = "" if clock.algorithm is None else f"; the group algorithm at {clock.algorithm} orders no memory"
    if is_update:
        return Hint(f"both work-items are at line {first}: give each element one writer, or {_UPDATE}{note}")
    if not is_local and _groups(clock) > 1:
        note += "; should another group use the element too, split the work into two launches"
    if earlier[0] is later[0]:
        found = _in_one_function(clock, later[0], *sorted((first, second)))
    else:
        found = _in_their_caller(clock, path_to(frame, *earlier), path_of_frame(frame)) or Hint(
            f"a `group_barrier` between {_named(*earlier)} and {_named(*later)} would order them"
        )
    return found._replace(text=found.text + note)


def _groups(clock: ScheduleState) -> int:
    return clock.space.group_range.size if isinstance(clock.space, NdRange) else 1


def _in_their_caller(clock: ScheduleState, one: Path | None, other: Path) -> Hint | None:
    """Return what would order two accesses in different functions, in the function that calls both."""
    for (code, first), (last, second) in zip(one or (), other, strict=False):
        if not is_same_function(code, last):
            return None
        if first != second:
            return _in_one_function(clock, last, *sorted((first, second)))
    return None


def _in_one_function(clock: ScheduleState, code: CodeType, low: int, high: int) -> Hint:
    tree = parse_code(code)
    around = _Around(tree, low, high)
    if around.chooser is not None:
        word, line = _KEYWORDS[type(around.chooser)], around.chooser.lineno
        return Hint(
            f"lines {low} and {high} stand in branches of the `{word}` at line {line} that exclude each other, and no "
            f"barrier can stand in one of them: split it into two, with a `group_barrier` between these"
        )
    loop = _loop_around(tree, low, high)
    barriers = () if loop is None else _barriers_in(clock, code, loop)
    is_between = any(low < line < high for line in barriers)
    is_before_or_after = any(not low <= line <= high for line in barriers)
    if loop is not None and is_between and not is_before_or_after:
        # One work-item has come round to the first line since it passed the barrier.
        line = next(line for line in barriers if low < line < high)
        return Hint(
            f"a `group_barrier` after line {high}, before the next iteration of the loop at line {loop.lineno}, "
            f"would order them; the barrier at line {line} orders them within one iteration only",
            Barrier(code.co_filename, code.co_firstlineno, high, "after"),
        )
    if loop is None and tree is not None and low < high:
        there = next((line for line in _barrier_lines(clock, tree) if low < line < high), None)
        if there is not None:
            return Hint(
                f"the `group_barrier` at line {there} would order them if the entire group reached it: move it to "
                "where all work-items come"
            )
    both = f"both work-items are at line {low}: split its read from its write and put a `group_barrier` between them"
    needs_one = loop is None or is_before_or_after
    inner = "" if loop is None else f"one at the end of each iteration of the loop at line {loop.lineno}"
    if low == high:
        inside = Barrier(code.co_filename, code.co_firstlineno, low, "within")
        return Hint(f"{both}{'' if needs_one else f', and {inner}'}, or give each element one writer", inside)
    barrier = Barrier(code.co_filename, code.co_firstlineno, around.line)
    if needs_one:
        return Hint(f"{around.describe_location()} would order them{around.condition()}", barrier)
    return Hint(f"{around.describe_location()}, and {inner}, would order them{around.condition()}", barrier)


class _Around:
    """The statements around two lines of a function.

    - `chooser`: of which the lines stand in two branches.
    - `holder`: the innermost ``if`` that has both in one branch.
    - `low`, `high`: the statements, of one block, in which the lines are.
    """

    def __init__(self, tree: ast.FunctionDef | None, low: int, high: int) -> None:
        self._lines = low, high
        self.chooser: ast.If | ast.Match | None = None
        self.holder: ast.If | None = None
        self.low: ast.stmt | None = None
        self.high: ast.stmt | None = None
        block: list[ast.stmt] | None = None if tree is None else tree.body
        while block is not None:
            self.low, self.high = (_holding(block, line) for line in (low, high))
            if self.low is not self.high or self.low is None:
                return
            block = self._enter(self.low)

    def _enter(self, statement: ast.stmt) -> list[ast.stmt] | None:
        """Return the block of a statement that has both lines; note where two branches have them."""
        blocks = _blocks(statement)
        homes = [next((i for i, each in enumerate(blocks) if _holding(each, line)), None) for line in self._lines]
        if None in homes:
            return None
        if homes[0] == homes[1]:
            if isinstance(statement, ast.If):
                self.holder = statement
            return blocks[homes[0] or 0]
        if isinstance(statement, (ast.If, ast.Match)):
            self.chooser = statement
        return None

    @property
    def line(self) -> int:
        """The line that a barrier goes before which is to stand between the lines."""
        low, high = self._lines
        return high if self.high is None or self.high is self.low else max(self.high.lineno, low)

    def describe_location(self) -> str:
        """Say where a barrier goes that is to stand between the lines."""
        low, high = self._lines
        before, after = self.low, self.high
        if before is None or after is None or before is after:
            return f"a `group_barrier` between line {low} and line {high}"
        if type(after) in _KEYWORDS and after.lineno < high:
            return f"a `group_barrier` before the `{_KEYWORDS[type(after)]}` at line {after.lineno}"
        if type(before) in _KEYWORDS and before.lineno < low:
            return (
                f"a `group_barrier` before line {high}, after the `{_KEYWORDS[type(before)]}` at line {before.lineno},"
            )
        return f"a `group_barrier` between line {low} and line {high}"

    def condition(self) -> str:
        """Say what must be so for a barrier there to be reached by all."""
        if self.holder is None:
            return ""
        return f", if the whole group takes the branch of the `if` at line {self.holder.lineno}"


def _holding(block: list[ast.stmt], line: int) -> ast.stmt | None:
    return next((each for each in block if each.lineno <= line <= (each.end_lineno or each.lineno)), None)


def _blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    if isinstance(statement, ast.Match):
        return [case.body for case in statement.cases]
    return [block for name in ("body", "orelse") if isinstance(block := getattr(statement, name, None), list)]


def _barriers_in(clock: ScheduleState, code: CodeType, loop: ast.For | ast.While) -> list[int]:
    """Return the lines of a loop at which barriers stand, or the latest barrier was passed."""
    lines = _barrier_lines(clock, loop)
    passed = clock.last_barrier
    if (
        passed is not None
        and passed.filename == code.co_filename
        and loop.lineno <= passed.line <= (loop.end_lineno or 0)
    ):
        lines.append(passed.line)
    return lines


def _barrier_lines(clock: ScheduleState, tree: ast.AST) -> list[int]:
    words = {word.__name__ for word in clock.words if isinstance(word, Converging) and word.is_barrier}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call.lineno for call in calls if (dotted_path(call.func) or ("",))[-1] in {"group_barrier", *words}]


def _named(code: CodeType, instruction: int) -> str:
    return f"line {line_of(code, instruction)} in {code.co_name}()"


def _loop_around(tree: ast.FunctionDef | None, low: int, high: int) -> ast.For | ast.While | None:
    """Return the innermost loop of a function that holds both lines."""
    found: ast.For | ast.While | None = None
    for node in ast.walk(tree) if tree is not None else ():
        # Loops are visited from the outside in.
        if isinstance(node, (ast.For, ast.While)) and node.body[0].lineno <= low:
            if high <= (node.end_lineno or node.lineno) and node.lineno != high:
                found = node
    return found


def _is_update(code: CodeType, line: int) -> bool:
    """Return whether the line changes the element that it reads, as ``a[i] += x`` does."""
    tree = parse_code(code)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.AugAssign) and node.lineno <= line <= (node.end_lineno or line):
            inner = (part for part in ast.walk(node.value) if isinstance(part, ast.Subscript))
            return _array_of(node.target) not in map(_array_of, inner)
    return False


def _array_of(node: ast.expr) -> str:
    return ast.unparse(node.value) if isinstance(node, ast.Subscript) else ""
