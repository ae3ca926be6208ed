"""A function as the simulator runs it, and its copies for launches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import CellType, CodeType, FunctionType
from typing import Any

from kapi_sim.items.convergence import DialectIntrinsic
from kapi_sim.language.attributes import resolve
from kapi_sim.language.integers import as_plain
from kapi_sim.memory.constant_arrays import Snapshot

__all__ = ["HOOKS", "Compiled", "Dependency", "FunctionState", "with_code"]

Dependency = tuple[Callable[..., Any], tuple[str, ...], object]
"""A function, a path as its source has it, and the object that the path led to."""

HOOKS = (
    "_kapi_changes",
    "_kapi_constant",
    "_kapi_fence",
    "_kapi_line",
    "_kapi_check_join",
    "_kapi_print",
    "_kapi_private_array",
    "_kapi_range",
    "_kapi_record",
    "_kapi_reference",
    "_kapi_spin_limit",
    "_kapi_hand_over_limit",
)
"""Names in rewritten source whose meaning is each launch's own."""


_SEEN = frozenset({"_kapi_changes", "_kapi_line", "_kapi_print", "breakpoint", "print", "set_trace"})
"""Names in rewritten source by which a work-item is heard, or hears how memory changes."""


class FunctionState:
    """The parts of a function that reloading replaces in place, and their former values.

    - `function`: one of the user's.
    - `owner`: what leads to it by its `py_func`, or the function itself.
    """

    __slots__ = ("_code", "_defaults", "_function", "_keywords", "_owner")

    def __init__(self, function: Callable[..., Any], owner: Any) -> None:
        self._function, self._owner = function, owner
        self._code, self._defaults = function.__code__, function.__defaults__
        self._keywords = dict(function.__kwdefaults__ or {})

    def holds(self) -> bool:
        """Whether all is as it was."""
        function = self._function
        if function.__code__ is not self._code or function.__defaults__ is not self._defaults:
            return False
        if self._owner is not function and self._owner.py_func is not function:
            return False
        now = function.__kwdefaults__ or {}
        return now.keys() == self._keywords.keys() and all(now[name] is self._keywords[name] for name in now)


@dataclass(slots=True)
class Compiled:
    """A function as the simulator runs it.

    - `function`: to be called with the work-item and the arguments.
    - `has_convergent_call`: whether a barrier or a group algorithm may be reached.
    - `is_generator`: whether `function` is a generator function, which yields at convergence points and in loops that
      spin.
    - `on_threads`: whether each work-item needs a thread of its own, for a source is missing.
    - `makes_floats`: whether a float may come of integers.
    - `numbers_iterations`: whether it yields where, and with whom, it converges; else only that it does.
    - `orders_memory`: whether atomics, fences or sub-groups may order memory besides the barriers of work-groups.
    - `waits`: whether a loop may end by what an atomic operation reads.
    - `dependencies`: function, path and object of each name that decided the rewriting.
    - `made`: all functions that were made in place of the user's.
    - `without_source`: functions that run as they are.
    - `originals`: the user's functions and arrays as they were: where one is changed in place, the kernel is rewritten
      anew.
    - `words`: intrinsics of a dialect that are called.
    """

    function: Callable[..., Any]
    has_convergent_call: bool
    is_generator: bool
    on_threads: bool
    makes_floats: bool
    numbers_iterations: bool = True
    orders_memory: bool = False
    waits: bool = False
    dependencies: list[Dependency] = field(default_factory=list)
    made: list[FunctionType] = field(default_factory=list)
    without_source: list[CodeType] = field(default_factory=list)
    originals: list[FunctionState | Snapshot] = field(default_factory=list)
    words: list[DialectIntrinsic] = field(default_factory=list)

    def is_current(self) -> bool:
        """Whether the functions, and all names in them, still are and lead where they did at the rewriting."""
        return all(each.holds() for each in self.originals) and all(
            resolve(function, path) is value for function, path, value in self.dependencies
        )

    @property
    def is_repeatable(self) -> bool:
        """Whether each work-item runs to its end by itself, and nobody sees what it does but in memory."""
        if (
            self.has_convergent_call
            or self.is_generator
            or self.on_threads
            or self.orders_memory
            or self.without_source
        ):
            return False
        codes = [each.__code__ for each in (self.function, *self.made) if isinstance(each, FunctionType)]
        return _SEEN.isdisjoint(name for code in codes for name in (*code.co_freevars, *code.co_names))

    def for_launch(self, hooks: Mapping[str, object]) -> Callable[..., Any]:
        """Return `function` with what is the launch's own.

        - `hooks`: a value for each name of `HOOKS`.
        """
        if not any(name in HOOKS for function in self.made for name in function.__code__.co_freevars):
            return self.function
        made: Callable[..., Any] = _Copies(self.made, hooks).of(self.function)
        return made


class _Copies:
    """Copies of functions that call each other, with cells of their own for what is a launch's."""

    def __init__(self, made: list[FunctionType], hooks: Mapping[str, object]) -> None:
        self._hooks = {name: CellType(hooks[name]) for name in HOOKS}
        self._made = {id(function): function for function in made}
        self._copies: dict[int, Callable[..., Any]] = {}
        self._cells: dict[int, CellType] = {}

    def of(self, function: Any) -> Any:
        """Return the copy of what is or is not one of the functions."""
        if id(function) not in self._made:
            return function
        known = self._copies.get(id(function))
        if known is None:
            code = function.__code__
            pairs = zip(code.co_freevars, function.__closure__ or (), strict=True)
            cells = tuple(self._hooks.get(name) or self._cell(cell) for name, cell in pairs)
            names = function.__globals__
            if any(id(value) in self._made for value in map(names.get, code.co_names)):
                names = {**names, **{name: self.of(names[name]) for name in code.co_names if name in names}}
            known = self._copies[id(function)] = with_code(function, code, names, cells)
        return known

    def _cell(self, cell: CellType) -> CellType:
        known = self._cells.get(id(cell))
        if known is not None:
            return known
        try:
            content = cell.cell_contents
        except ValueError:  # a variable that is not set
            return cell
        if id(content) not in self._made:
            return cell
        # The cell is known before its content: a device function may call itself.
        made = self._cells[id(cell)] = CellType()
        made.cell_contents = self.of(content)
        return made


def with_code(
    function: Callable[..., Any], code: CodeType, names: dict[str, Any], cells: tuple[CellType, ...]
) -> FunctionType:
    """Return `function` with another code, other globals and other cells."""
    made = FunctionType(code, names, function.__name__, as_plain(function.__defaults__), cells)
    keywords = function.__kwdefaults__
    made.__kwdefaults__ = keywords and {name: as_plain(value) for name, value in keywords.items()}
    made.__qualname__ = function.__qualname__
    made.__module__ = function.__module__
    return made
