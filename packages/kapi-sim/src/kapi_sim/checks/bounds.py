"""Indices against their axes.  A computed negative index is outside: constants alone count from the end."""

from __future__ import annotations

import ast
from types import FrameType
from typing import NoReturn

from kapi_sim.errors import OutOfBoundsError
from kapi_sim.items.schedule_state import ScheduleState
from kapi_sim.language.source import SourceLocation, line_of, parse_code, source_location

__all__ = ["describe_index", "fail_outside", "fail_rank", "spell"]


def fail_outside(
    name: str, index: object, axis: int, position: int, shape: tuple[int, ...], clock: ScheduleState, frame: FrameType
) -> NoReturn:
    """Raise for an index that lies outside one axis of the array called `name`, used where the kernel stands."""
    site = source_location(frame.f_code, frame.f_lasti)
    extent = shape[axis]
    if position < 0:
        hint = _below_zero_hint(name, axis, extent, frame)
    else:
        hint = _guard_that_lets_through(name, axis, frame) or (
            f"guard the access with `if index < {name}.shape[{axis}]`, or launch as many work-items as it has"
        )
    raise OutOfBoundsError(
        f"{describe_index(f'`{name}`', axis, position, extent)}, in {spell(name, index)} of shape {shape}\n"
        f"  {clock.describe()} at {site}\n  {hint}",
        code="negative-index" if position < 0 else "index-out-of-bounds",
    )


def describe_index(name: str, axis: int, position: int, extent: int) -> str:
    """Say what is wrong with an index, in the simulator and on a device alike.

    - `name`: the array, as the message calls it.
    - `axis`, `position`, `extent`: the axis, the index along it, and the axis' length.

    Examples
    --------
    >>> describe_index("`a`", 0, 3, 3)
    'index 3 is out of bounds: axis 0 of `a` has length 3'
    """
    fault = "negative" if position < 0 else "out of bounds"
    return f"index {position} is {fault}: axis {axis} of {name} has length {extent}"


def _below_zero_hint(name: str, axis: int, extent: int, frame: FrameType) -> str:
    """Say how a kernel writes what a negative index means: a number counts from the end, a neighbour needs a guard."""
    indices = _indices(name, axis, frame)
    if indices and all(map(_is_number, indices)):
        return f"a constant negative index counts from the end: write one from -{extent} on"
    negative = next((each for each in indices if len(indices) == 1 or not isinstance(each, ast.Name)), None)
    guarded = "index" if negative is None or _is_number(negative) else ast.unparse(negative)
    return (
        f"a computed index does not count from the end: guard the access with `if {guarded} >= 0`, and say what "
        "holds outside"
    )


def _is_number(index: ast.expr) -> bool:
    """Whether an index is a number of the source."""
    return isinstance(index.operand if isinstance(index, ast.UnaryOp) else index, ast.Constant)


def _indices(name: str, axis: int, frame: FrameType) -> list[ast.expr]:
    """Return the indices along an axis of the accesses to an array in the line where the kernel stands."""
    tree = parse_code(frame.f_code)
    line = line_of(frame.f_code, frame.f_lasti)
    found = []
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Subscript) and node.lineno <= line <= (node.end_lineno or line):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if isinstance(node.value, ast.Name) and node.value.id == name and len(parts) > axis:
                found.append(parts[axis])
    return found


def _guard_that_lets_through(name: str, axis: int, frame: FrameType) -> str:
    """Say which comparison of the index guards the access and lets it through; nothing if none is found."""
    tree = parse_code(frame.f_code)
    line = line_of(frame.f_code, frame.f_lasti)
    indices = _indices(name, axis, frame)
    for node in ast.walk(tree) if tree is not None and len(indices) == 1 else ():
        if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare) or node.lineno > line:
            continue
        is_around = node.body[0].lineno <= line <= (node.body[-1].end_lineno or line)
        is_before = isinstance(node.body[-1], ast.Return) and (node.end_lineno or line) < line
        if (is_around or is_before) and _names(node.test) & _names(indices[0]):
            return (
                f"the guard at line {node.lineno}, `{ast.unparse(node.test)}`, lets this index through: compare the "
                f"index itself, `{ast.unparse(indices[0])} < {name}.shape[{axis}]`"
            )
    return ""


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def fail_rank(
    name: str, index: tuple[object, ...], shape: tuple[int, ...], clock: ScheduleState, site: SourceLocation
) -> NoReturn:
    """Raise for more indices than the array called `name` has axes."""
    raise OutOfBoundsError(
        f"index of `{name}` must have at most {len(shape)} components, got {len(index)} in "
        f"{spell(name, index)}, "
        f"shape {shape}\n  {clock.describe()} at {site}\n  leave out the components that are too many",
        code="too-many-indices",
    )


def spell(name: str, index: object) -> str:
    """Return ``name[3]``, ``name[3, 4]`` or ``name[1:3]`` as a kernel writes it; of ``name[].x``, ``name[3].x``."""
    components = index if isinstance(index, tuple) else (index,)
    location = f"[{', '.join(map(_spell_component, components)) or '()'}]"
    return name.replace("[]", location, 1) if "[]" in name else f"{name}{location}"


def _spell_component(component: object) -> str:
    if component is Ellipsis:
        return "..."
    if not isinstance(component, slice):
        return str(component)
    start, stop = ("" if end is None else str(end) for end in (component.start, component.stop))
    return f"{start}:{stop}" if component.step is None else f"{start}:{stop}:{component.step}"
