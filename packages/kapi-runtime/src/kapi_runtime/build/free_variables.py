"""A visitor of a function's free variables: the functions that it calls, and each value that it may read.

Captures and fingerprints share this visitor, so that the staleness check and the cache key agree: a changed constant
makes a kernel stale and gives its new code another key.
"""

from __future__ import annotations

import enum
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from opcode import opmap
from typing import Any

from kapi_sim import DeviceFunction
from kapi_sim.language.attributes import MISSING, attribute_of, has_constants, resolve
from kapi_sim.language.launchables.launchable import Launchable

__all__ = ["EMPTY", "FreeVariableVisitor", "is_known_object", "named_tuple_defaults"]

# Their functions and constants are known by name, and change with their versions.
_KNOWN = ("_operator", "builtins", "cmath", "enum", "kapi_runtime", "kapi_sim", "math", "numpy", "operator", "typing")

_LOAD_GLOBAL, _EXTENDED_ARG = opmap["LOAD_GLOBAL"], opmap["EXTENDED_ARG"]

EMPTY: Any = type("Empty", (), {})()
"""The contents of a closure's variable that is not yet assigned."""


class FreeVariableVisitor:
    """Visits a function and all that it calls; subclasses override the `visit_` methods.

    Each function is visited once, and so is each owner of constants for each code that takes some of it.  The order is
    the same in every process.
    """

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}  # of the functions visited, by id
        self._taken: set[tuple[int, types.CodeType, tuple[str, ...]]] = set()  # owners, and the code that takes of them
        self._texts: dict[types.CodeType, tuple[str, ...]] = {}  # that `getattr` may be given from outside
        self._held: list[Any] = []  # so that no other object takes an id

    # -- for subclasses

    def visit_function(self, function: types.FunctionType) -> None:
        """A user's function, its code and defaults; what it takes from outside follows."""

    def visit_again(self, number: int) -> None:
        """A function that was visited before, under this number."""

    def visit_known(self, value: Any) -> None:
        """A function or class of Python's, NumPy's or kapi's own, which is known by its name."""

    def visit_cell(self, cell: types.CellType, name: str, value: Any) -> None:
        """A variable of a closure and its value, or `EMPTY`."""

    def visit_item(self, mapping: Mapping[str, Any], name: str, value: Any) -> None:
        """A name of a mapping (globals, Python's own names, a module's, keyword defaults) and its value."""

    def visit_absent(self, mapping: Mapping[str, Any], names: Iterable[str]) -> None:
        """Names that a mapping does not have, and that would have another meaning if it had."""

    def visit_attribute(self, owner: Any, name: str, value: Any) -> None:
        """A constant that code may take of an object."""

    def visit_wrapped(self, wrapper: DeviceFunction[..., Any] | Launchable) -> None:
        """A device function or a kernel; its Python function follows."""

    def visit_tuple(self, value: tuple[Any, ...]) -> None:
        """A tuple; its members follow."""

    def visit_value(self, value: Any) -> None:
        """Any other value."""

    # -- the traversal

    def function(self, function: Any) -> None:
        """Visit a function."""
        number = self._numbers.get(id(function))
        if number is not None:
            self.visit_again(number)
            return
        self._numbers[id(function)] = len(self._numbers)
        self._held.append(function)
        if is_known_object(function):
            self.visit_known(function)
            return
        self.visit_function(function)
        code = function.__code__
        names = sorted(set(global_names(code)))
        if "getattr" in names:
            found = [resolve(function, (name,)) for name in (*code.co_freevars, *names)]
            self._texts[code] = tuple(value for value in found if isinstance(value, str))
        self._value(function.__defaults__, code)
        if function.__kwdefaults__:
            self._items(function.__kwdefaults__, sorted(function.__kwdefaults__), code)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:  # not yet assigned
                value = EMPTY
            self.visit_cell(cell, name, value)
            if value is not EMPTY:
                self._value(value, code)
        self._items(function.__globals__, [name for name in names if name in function.__globals__], code)
        # A name of Python's own may get a meaning of the module's.
        others = [name for name in names if name not in function.__globals__]
        self.visit_absent(function.__globals__, others)
        builtin = builtins_of(function)
        self._items(builtin, [name for name in others if name in builtin and not _is_python_s(builtin[name])], code)

    def _items(self, mapping: Mapping[str, Any], names: Iterable[str], code: types.CodeType) -> None:
        for name in names:
            self.visit_item(mapping, name, mapping[name])
            self._value(mapping[name], code)

    def _value(self, value: Any, code: types.CodeType) -> None:
        if isinstance(value, (DeviceFunction, Launchable)):
            self.visit_wrapped(value)
            self._value(value.py_func, code)
        elif isinstance(value, types.FunctionType):
            self.function(value)
        elif isinstance(value, tuple):
            self.visit_tuple(value)
            for each in value:
                self._value(each, code)
        else:
            self.visit_value(value)
            self._parts(value, code)

    def _parts(self, value: Any, code: types.CodeType) -> None:
        """Visit what the code may take of a value; the rest of it does not matter."""
        is_module = isinstance(value, types.ModuleType)
        is_enumeration = isinstance(value, type) and issubclass(value, enum.Enum)
        taking = (id(value), code, self._texts.get(code, ()))
        if not (is_enumeration or has_constants(value)) or taking in self._taken:
            return
        self._taken.add(taking)  # other code takes other attributes
        self._held.append(value)
        names = sorted({*attribute_names(code), *taking[2]})
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
                self.visit_attribute(owner, name, constant)
                self._value(constant, code)


def _is_python_s(value: Any) -> bool:
    """Whether a value is a function or a class that Python comes with; those are never changed."""
    return hasattr(value, "__module__") and hasattr(value, "__qualname__") and is_known_object(value)


def global_names(code: types.CodeType) -> Iterator[str]:
    """The names that code, and the code in it, loads from the module's globals."""
    argument = 0
    data = code.co_code
    for at in range(0, len(data), 2):
        argument = argument << 8 | data[at + 1]
        if data[at] == _LOAD_GLOBAL:
            yield code.co_names[argument >> 1]  # the lowest bit says something else
        if data[at] != _EXTENDED_ARG:
            argument = 0
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from global_names(constant)


def attribute_names(code: types.CodeType) -> Iterator[str]:
    """The names that code, and the code in it, may take as attributes, among others."""
    yield from code.co_names
    if "getattr" in code.co_names:
        yield from (name for name in code.co_consts if isinstance(name, str))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from attribute_names(constant)


def is_known_module(module: str) -> bool:
    """Whether what a module of this name holds is known by its name."""
    return module.partition(".")[0] in _KNOWN


def is_known_object(value: Any) -> bool:
    """Whether a function or class is what it says: that of this name in a known module."""
    if not is_known_module(value.__module__ or ""):
        return False
    found: Any = sys.modules.get(value.__module__)
    for part in value.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is value


def builtins_of(function: types.FunctionType) -> dict[str, Any]:
    """Python's own names, as a function finds them where its module has none."""
    found: dict[str, Any] = function.__builtins__  # type: ignore[attr-defined, unused-ignore]  # newer typeshed has it
    return found


def named_tuple_defaults(named_tuple: type) -> tuple[Any, ...]:
    """The defaults of a named tuple's last fields, as a call of the class takes them."""
    return getattr(named_tuple.__new__, "__defaults__", None) or ()
