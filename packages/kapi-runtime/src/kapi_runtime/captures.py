"""What a kernel takes from outside: globals, closures, attributes of modules, and whether they are what they were.

They are constants of a compiled kernel.  Python reads them anew at each call, and so does the simulator: a kernel one
of whose constants is another by now must be compiled again.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from kapi_runtime.outside_names import attribute_names, global_names, is_known_module, is_known_object
from kapi_sim import DeviceFunction
from kapi_sim.names import MISSING, attribute_of, has_constants

__all__ = ["Captures"]

# Compared by type and value; all else by identity.
_PLAIN = (bool, int, str, np.generic)


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

    __slots__ = ("_places",)

    def __init__(self, function: Callable[..., Any]) -> None:
        places: list[tuple[Callable[[str], Any], str, Any]] = []
        _collect(function, places, set())
        self._places = tuple(places)

    def __len__(self) -> int:
        return len(self._places)

    def hold(self) -> bool:
        """Whether each value is still what it was.  This is asked at every launch."""
        try:
            for read, name, value in self._places:
                now = read(name)
                if now is not value and not _is_equal(now, value):
                    return False
        except ValueError:  # a closure's variable was deleted
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


def _collect(function: Any, places: list[tuple[Callable[[str], Any], str, Any]], met: set[Any]) -> None:
    if id(function) in met or is_known_object(function):
        return
    met.add(id(function))
    code = function.__code__
    for cell in function.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:  # not yet assigned
            continue
        places.append((cell.__getattribute__, "cell_contents", value))
        _follow(value, code, places, met)
    outside = function.__globals__
    for name in sorted(set(global_names(code))):
        if name in outside:
            _add(outside, name, code, places, met)


def _add(
    mapping: dict[str, Any],
    name: str,
    code: types.CodeType,
    places: list[tuple[Callable[[str], Any], str, Any]],
    met: set[Any],
) -> None:
    value = mapping[name]
    # The modules that everyone imports are looked up in each kernel, and never changed.
    if not (isinstance(value, types.ModuleType) and is_known_module(value.__name__)):
        places.append((mapping.get, name, value))
        _follow(value, code, places, met)


def _follow(
    value: Any, code: types.CodeType, places: list[tuple[Callable[[str], Any], str, Any]], met: set[Any]
) -> None:
    """Collect what is reached through a value: a function's own captures, and what the code may take of a module."""
    if isinstance(value, DeviceFunction):
        _collect(value.py_func, places, met)
    elif isinstance(value, types.FunctionType):
        _collect(value, places, met)
    elif isinstance(value, tuple):
        for each in value:
            _follow(each, code, places, met)
    elif isinstance(value, types.ModuleType) and not is_known_module(value.__name__) and (id(value), code) not in met:
        met.add((id(value), code))  # other code takes other attributes
        for name in sorted(set(attribute_names(code))):
            if name in vars(value):
                _add(vars(value), name, code, places, met)
    elif not isinstance(value, types.ModuleType) and has_constants(value) and (id(value), code) not in met:
        met.add((id(value), code))
        read = partial(attribute_of, value)
        for name in sorted(set(attribute_names(code))):
            constant = read(name)
            if constant is not MISSING:
                places.append((read, name, constant))
                _follow(constant, code, places, met)
