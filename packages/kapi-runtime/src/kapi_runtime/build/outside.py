"""The walk over what a function takes from outside: the functions that it calls, and each value that it may read.

Captures and fingerprints are both made on this walk, so that no value is part of the one and not of the other: a
changed constant makes a kernel stale, and the key of its new code another.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Iterable, Mapping
from typing import Any

from kapi_runtime.build.outside_names import (
    attribute_names,
    builtins_of,
    global_names,
    is_known_module,
    is_known_object,
)
from kapi_sim import DeviceFunction
from kapi_sim.language.attributes import MISSING, attribute_of, has_constants
from kapi_sim.language.launchable import Launchable

__all__ = ["EMPTY", "OutsideWalk"]

EMPTY: Any = type("Empty", (), {})()
"""The contents of a closure's variable that is not yet assigned."""


class OutsideWalk:
    """Walks over a function and all that it calls; a subclass says what it does with what is met.

    Each function is met once, and so is each owner of constants for each code that takes some of it.  The order is the
    same in every process.
    """

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}  # of the functions met, by id
        self._taken: set[tuple[int, types.CodeType]] = set()  # owners of constants, and the code that takes them
        self._held: list[Any] = []  # so that no other object takes an id

    # -- what is met

    def met_function(self, function: types.FunctionType) -> None:
        """A user's function, its code and defaults; what it takes from outside follows."""

    def met_again(self, number: int) -> None:
        """A function that was met as this one before."""

    def met_known(self, value: Any) -> None:
        """A function or class of Python's, NumPy's or kapi's own, which is known by its name."""

    def met_cell(self, cell: types.CellType, name: str, value: Any) -> None:
        """A variable of a closure and its value, or `EMPTY`."""

    def met_item(self, mapping: Mapping[str, Any], name: str, value: Any) -> None:
        """A name of a mapping (globals, Python's own names, a module's, keyword defaults) and its value."""

    def met_absent(self, mapping: Mapping[str, Any], names: Iterable[str]) -> None:
        """Names that a mapping does not have, and that would have another meaning if it had."""

    def met_attribute(self, owner: Any, name: str, value: Any) -> None:
        """A constant that code may take of an object."""

    def met_wrapped(self, wrapper: DeviceFunction[..., Any] | Launchable) -> None:
        """A device function or a kernel; its Python function follows."""

    def met_tuple(self, value: tuple[Any, ...]) -> None:
        """A tuple; its members follow."""

    def met_value(self, value: Any) -> None:
        """Any other value."""

    # -- the walk

    def function(self, function: Any) -> None:
        """Walk over a function."""
        number = self._numbers.get(id(function))
        if number is not None:
            self.met_again(number)
            return
        self._numbers[id(function)] = len(self._numbers)
        self._held.append(function)
        if is_known_object(function):
            self.met_known(function)
            return
        self.met_function(function)
        code = function.__code__
        self._value(function.__defaults__, code)
        if function.__kwdefaults__:
            self._items(function.__kwdefaults__, sorted(function.__kwdefaults__), code)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:  # not yet assigned
                value = EMPTY
            self.met_cell(cell, name, value)
            if value is not EMPTY:
                self._value(value, code)
        names = sorted(set(global_names(code)))
        self._items(function.__globals__, [name for name in names if name in function.__globals__], code)
        # A name of Python's own may get a meaning of the module's.
        others = [name for name in names if name not in function.__globals__]
        self.met_absent(function.__globals__, others)
        builtin = builtins_of(function)
        self._items(builtin, [name for name in others if name in builtin and not _is_python_s(builtin[name])], code)

    def _items(self, mapping: Mapping[str, Any], names: Iterable[str], code: types.CodeType) -> None:
        for name in names:
            self.met_item(mapping, name, mapping[name])
            self._value(mapping[name], code)

    def _value(self, value: Any, code: types.CodeType) -> None:
        if isinstance(value, (DeviceFunction, Launchable)):
            self.met_wrapped(value)
            self._value(value.py_func, code)
        elif isinstance(value, types.FunctionType):
            self.function(value)
        elif isinstance(value, tuple):
            self.met_tuple(value)
            for each in value:
                self._value(each, code)
        else:
            self.met_value(value)
            self._parts(value, code)

    def _parts(self, value: Any, code: types.CodeType) -> None:
        """What the code may take of a value; the rest of it does not matter."""
        is_module = isinstance(value, types.ModuleType)
        is_enumeration = isinstance(value, type) and issubclass(value, enum.Enum)
        if not (is_enumeration or has_constants(value)) or (id(value), code) in self._taken:
            return
        self._taken.add((id(value), code))  # other code takes other attributes
        self._held.append(value)
        names = sorted(set(attribute_names(code)))
        if is_enumeration:
            for name in names:
                if name in value.__members__:
                    self._value(value.__members__[name], code)
        elif not is_module:
            self._constants(value, names, code)
        elif not is_known_module(value.__name__):  # what everyone imports is never changed
            there = vars(value)
            self._items(there, [name for name in names if name in there], code)
            self._constants(value, [name for name in names if name not in there], code)

    def _constants(self, owner: Any, names: Iterable[str], code: types.CodeType) -> None:
        for name in names:
            constant = attribute_of(owner, name)
            if constant is not MISSING:
                self.met_attribute(owner, name, constant)
                self._value(constant, code)


def _is_python_s(value: Any) -> bool:
    """Whether a value is a function or a class that Python comes with; those are never changed."""
    return hasattr(value, "__module__") and hasattr(value, "__qualname__") and is_known_object(value)
