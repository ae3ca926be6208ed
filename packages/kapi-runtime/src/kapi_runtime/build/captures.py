"""What a kernel takes from outside: globals, closures, attributes of modules, and whether they are what they were.

They are constants of a compiled kernel.  Python reads them anew at each call, and so does the simulator: a kernel one
of whose constants is another by now must be compiled again.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Callable, Iterable, KeysView
from typing import Any

import numpy as np

from kapi_runtime.build.outside_names import (
    attribute_names,
    builtins_of,
    global_names,
    is_known_module,
    is_known_object,
    made_defaults,
)
from kapi_sim import DeviceFunction
from kapi_sim.language.attributes import MISSING, attribute_of, has_constants
from kapi_sim.language.outside_values import is_constant_array

__all__ = ["Captures"]

# Compared by type and value; all else by identity.
_PLAIN = (bool, int, str, bytes, np.generic)


class Captures:
    """The values that a function, and all functions that it calls, take from outside as they are now.

    Parameters
    ----------
    function : function
        A kernel.

    Examples
    --------
    >>> def scaled(factor):
    ...     def kernel(item, a):
    ...         a[item.get_id(0)] *= factor
    ...
    ...     def change(value):
    ...         nonlocal factor
    ...         factor = value
    ...
    ...     return kernel, change
    >>> kernel, change = scaled(2)
    >>> captures = Captures(kernel)
    >>> captures.hold()
    True
    >>> change(3)
    >>> captures.hold()
    False
    """

    __slots__ = ("_absent", "_cells", "_functions", "_items", "_others")

    def __init__(self, function: Callable[..., Any]) -> None:
        found = _Collection()
        found.function(function)
        # Loops over tuples of one kind are what the interpreter does fastest, and launches ask each time.
        self._functions = tuple(found.functions)
        self._items = tuple(found.items)
        self._cells = tuple(found.cells)
        self._absent = tuple(found.absent)
        self._others = tuple(found.others)

    def hold(self) -> bool:
        """Whether each value is still what it was.  This is asked at every launch."""
        try:
            for function, code, defaults in self._functions:
                if function.__code__ is not code or function.__defaults__ is not defaults:
                    return False
            for mapping, name, value in self._items:
                now = mapping[name]
                if now is not value and not _is_equal(now, value):
                    return False
            for cell, value in self._cells:
                now = cell.cell_contents
                if now is not value and not _is_equal(now, value):
                    return False
            for there, names in self._absent:
                if not there.isdisjoint(names):
                    return False
            for read, owner, name, value in self._others:
                now = read(owner, name)
                if now is not value and not _is_equal(now, value):
                    return False
        except (ValueError, KeyError, AttributeError):  # a variable, a global or an attribute was deleted
            return False
        return True


def _is_equal(now: Any, value: Any) -> bool:
    if type(now) is not type(value):
        return False
    if type(value) in (float, complex):
        return repr(now) == repr(value)  # the sign of zero counts, and a NaN is a NaN
    if isinstance(value, np.generic):
        return bool(now.dtype == value.dtype) and now.tobytes() == value.tobytes()
    return isinstance(value, _PLAIN) and bool(now == value)


def _contents(array: np.ndarray[Any, Any], _name: str) -> bytes:
    """What an array holds, which may be changed in place."""
    return b"%r %r " % (array.dtype.str, array.shape) + array.tobytes()


class _Collection:
    """What is found of a function and of all that it calls."""

    def __init__(self) -> None:
        self.functions: list[tuple[types.FunctionType, types.CodeType, Any]] = []
        self.items: list[tuple[dict[str, Any], str, Any]] = []
        self.cells: list[tuple[types.CellType, Any]] = []
        self.absent: list[tuple[KeysView[str], frozenset[str]]] = []
        self.others: list[tuple[Callable[[Any, str], Any], Any, str, Any]] = []
        self._met: set[Any] = set()

    def function(self, function: Any) -> None:
        """Add a function: its code, which may be patched in place, and what the code takes from outside."""
        if id(function) in self._met or is_known_object(function):
            return
        self._met.add(id(function))
        code = function.__code__
        self.functions.append((function, code, function.__defaults__))
        self._follow(function.__defaults__, code)
        if code.co_kwonlyargcount:
            given = function.__kwdefaults__
            self.others.append((getattr, function, "__kwdefaults__", given))
            self._values(given or {}, given or (), code)
        for cell in function.__closure__ or ():
            try:
                value = cell.cell_contents
            except ValueError:  # not yet assigned
                continue
            self.cells.append((cell, value))
            self._follow(value, code)
        outside, builtin = function.__globals__, builtins_of(function)
        names = sorted(set(global_names(code)))
        self._values(outside, [name for name in names if name in outside], code)
        # A name of Python's own may get a meaning of the module's.
        others = [name for name in names if name not in outside]
        if others:
            self.absent.append((outside.keys(), frozenset(others)))
        mine = [name for name in others if name in builtin and not _is_python_s(builtin[name])]
        self._values(builtin, mine, code)

    def _values(self, mapping: dict[str, Any], names: Iterable[str], code: types.CodeType) -> None:
        for name in names:
            self.items.append((mapping, name, mapping[name]))
            self._follow(mapping[name], code)

    def _follow(self, value: Any, code: types.CodeType) -> None:
        """Add what is reached through a value: functions, and what the code may take of a module or an object."""
        if isinstance(value, DeviceFunction):
            self.others.append((getattr, value, "py_func", value.py_func))
            self.function(value.py_func)
        elif isinstance(value, types.FunctionType):
            self.function(value)
        elif isinstance(value, tuple):
            for each in value:
                self._follow(each, code)
        elif is_constant_array(value):
            self.others.append((_contents, value, "", _contents(value, "")))
        elif isinstance(value, enum.Enum):
            self.others.append((getattr, value, "_value_", value.value))
        elif (id(value), code) not in self._met:  # other code takes other attributes
            self._met.add((id(value), code))
            self._parts(value, code)

    def _parts(self, value: Any, code: types.CodeType) -> None:
        names = sorted(set(attribute_names(code)))
        if isinstance(value, types.ModuleType):
            if not is_known_module(value.__name__):  # what everyone imports is never changed
                there = vars(value)
                self._values(there, [name for name in names if name in there], code)
                self._constants(value, [name for name in names if name not in there], code)
        elif isinstance(value, type) and issubclass(value, enum.Enum):
            for name in names:
                if name in value.__members__:
                    self._follow(value.__members__[name], code)
        elif isinstance(value, type) and issubclass(value, tuple):
            if made_defaults(value):
                self.others.append((getattr, value.__new__, "__defaults__", made_defaults(value)))
        elif has_constants(value):
            self._constants(value, names, code)

    def _constants(self, owner: Any, names: Iterable[str], code: types.CodeType) -> None:
        for name in names:
            constant = attribute_of(owner, name)
            if constant is not MISSING:
                self.others.append((attribute_of, owner, name, constant))
                self._follow(constant, code)


def _is_python_s(value: Any) -> bool:
    """Whether a value is a function or a class that Python comes with; those are never changed."""
    return hasattr(value, "__module__") and hasattr(value, "__qualname__") and is_known_object(value)
