"""Call paths from a kernel to a line: of the access that is made now, and of one that was recorded."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import CodeType, FrameType
from typing import Any

from kapi_sim.language.attributes import MISSING, attribute_of, called_function, dotted_path, resolve
from kapi_sim.language.source import SourceLocation, line_of, parse_code
from kapi_sim.tracebacks import is_users_own

__all__ = ["DEVICE", "Path", "called_at", "is_same_function", "path_of_frame", "path_to"]

DEVICE = "_kapi_device_"
"""The prefix of names of device functions in a rewritten function."""

Path = tuple[tuple[CodeType, int], ...]
"""Function and line of each call, from the kernel to the function that makes the access."""

_DEEPEST = 20


def is_same_function(one: CodeType, other: CodeType) -> bool:
    """Return whether two codes are of one function of the user's, as written or rewritten."""
    return (one.co_filename, one.co_name, _last_line(one)) == (other.co_filename, other.co_name, _last_line(other))


@cache
def _last_line(code: CodeType) -> int:
    # The first one is that of a decorator, or of `def` where the function was rewritten.
    return max((line for _, _, line in code.co_lines() if line is not None), default=code.co_firstlineno)


def path_of_frame(frame: FrameType) -> Path:
    """Return the call path of the running kernel."""
    return tuple((each.f_code, line_of(each.f_code, each.f_lasti)) for each in reversed(list(_frames(frame))))


def path_to(frame: FrameType, code: CodeType, instruction: int) -> Path | None:
    """Return the call path from a kernel to an instruction; `None` where there are several, or none is found.

    - `frame`: where the kernel stands.
    - `instruction`: offset in bytes.
    """
    kernel = list(_frames(frame))[-1]
    end = (code, line_of(code, instruction))
    if is_same_function(kernel.f_code, code):
        return (end,)

    def resolve(path: tuple[str, ...]) -> Any:
        values = {**kernel.f_globals, **kernel.f_locals}
        value = values[path[0]] if path[0] in values else _rewritten(path, kernel.f_locals)
        for name in path[1:]:
            value = attribute_of(value, name)
        return value

    found = list(_call_paths(kernel.f_code, resolve, code, ()))
    return (*found[0], end) if len(found) == 1 else None


def called_at(path: Path | None) -> str:
    """Return the calls of a path as reports have them, the innermost first; nothing for the kernel itself."""
    calls = reversed((path or ())[:-1])
    return "".join(f", called at {SourceLocation(code.co_filename, line)}" for code, line in calls)


def _frames(frame: FrameType) -> Iterator[FrameType]:
    """The frames of a kernel and of what it calls, the innermost first."""
    each: FrameType | None = frame
    while each is not None and _is_of_kernels(str(each.f_globals.get("__name__") or "")):
        yield each
        each = each.f_back


def _is_of_kernels(module: str) -> bool:
    return is_users_own(module) or module.startswith("kapi_sim.whole_arrays.")  # algorithms are kernels, too


def _call_paths(
    code: CodeType, resolve: Callable[[tuple[str, ...]], Any], wanted: CodeType, path: Path
) -> Iterator[Path]:
    tree = parse_code(code)
    if tree is None or len(path) > _DEEPEST:
        return
    for node in ast.walk(tree):
        named = dotted_path(node.func) if isinstance(node, ast.Call) else None
        called = None if named is None else called_function(resolve(named))
        if called is None or not isinstance(node, ast.Call):
            continue
        longer = (*path, (code, node.lineno))
        if is_same_function(called.__code__, wanted):
            yield longer
        else:
            yield from _call_paths(called.__code__, _Names(called), wanted, longer)


class _Names:
    """The functions that the names of a function lead to."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, path: tuple[str, ...]) -> Any:
        found = resolve(self._function, path)
        function: Any = self._function
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        return (
            _rewritten(path, {name: cell.cell_contents for name, cell in cells.items()}) if found is MISSING else found
        )


def _rewritten(path: tuple[str, ...], closure: Mapping[str, Any]) -> Any:
    """Return the function that a rewritten one calls in place of a variable around it."""
    begins = f"{DEVICE}{path[-1]}_"
    return next((value for name, value in closure.items() if name.startswith(begins)), MISSING)
