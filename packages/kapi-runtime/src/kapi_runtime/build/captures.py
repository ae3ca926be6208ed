"""Captured values of a kernel (globals, closures, attributes of modules), and whether they are what they were.

They are constants of a compiled kernel.  Python reads them anew at each call, and so does the simulator: a kernel one
of whose constants is another by now must be compiled again.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Callable, Iterable, KeysView, Mapping
from typing import Any

import numpy as np

from kapi_runtime.build.free_variables import EMPTY, FreeVariableVisitor, named_tuple_defaults
from kapi_sim import DeviceFunction
from kapi_sim.language.attributes import attribute_of
from kapi_sim.language.launchables.launchable import Launchable
from kapi_sim.language.outside_values import is_constant_array, is_constant_record

__all__ = ["Captures"]

# Compared by type and value; all else by identity.
_PLAIN = (bool, int, str, bytes, np.generic)


class Captures:
    """The values that a function, and all functions that it calls, take from outside as they are now.

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

    __slots__ = ("hold",)

    hold: Callable[[], bool]
    """Whether each value is still what it was.  This is asked at every launch."""

    def __init__(self, function: Callable[..., Any]) -> None:
        found = _Collection()
        found.function(function)
        self.hold = _comparison(found)


def _comparison(found: _Collection) -> Callable[[], bool]:
    """A function that is written for what was found: loops over it would take twice as long."""
    names: dict[str, Any] = {"equal": _is_equal}
    lines: list[str] = []

    def named(*values: Any) -> list[str]:
        made = [f"k{len(names) + location}" for location in range(len(values))]
        names.update(zip(made, values, strict=True))
        return made

    def same(read: str, value: str) -> str:
        return f"(now := {read}) is {value} or equal(now, {value})"

    for function, code, defaults in found.functions:
        f, c, d = named(function, code, defaults)
        lines.append(f"{f}.__code__ is {c} and {f}.__defaults__ is {d}")
    for mapping, name, value in found.items:
        m, n, v = named(mapping, name, value)
        lines.append(same(f"{m}[{n}]", v))
    for cell, value in found.cells:
        c, v = named(cell, value)
        lines.append(same(f"{c}.cell_contents", v))
    for there, absent in found.absent:
        t, a = named(there, absent)
        lines.append(f"{t}.isdisjoint({a})")
    for read, owner, name, value in found.others:
        r, o, n, v = named(read, owner, name, value)
        lines.append(same(f"{r}({o}, {n})", v))
    text = [
        "def hold():",
        "    try:",
        *(f"        if not ({line}): return False" for line in lines),
        "        return True",
        "    except (ValueError, KeyError, AttributeError):",  # a variable, a global or an attribute was deleted
        "        return False",
    ]
    exec("\n".join(text), names)  # of texts of this module alone; values are named, not written
    hold: Callable[[], bool] = names["hold"]
    return hold


def _is_equal(now: Any, value: Any) -> bool:
    if type(now) is not type(value):
        return False
    if type(value) in (float, complex):
        return repr(now) == repr(value)  # the sign of zero counts, and a NaN is a NaN
    if isinstance(value, np.generic):
        return bool(now.dtype == value.dtype) and now.tobytes() == value.tobytes()
    return isinstance(value, _PLAIN) and bool(now == value)


def _contents(array: np.ndarray[Any, Any] | np.void, _name: str) -> bytes:
    """The contents of an array or a record, which may be changed in place."""
    dtype = array.dtype.str if array.dtype.names is None else repr(array.dtype)
    return b"%r %r " % (dtype, array.shape) + array.tobytes()


class _Collection(FreeVariableVisitor):
    """Collects what is to be compared: where each value is read, and the value."""

    def __init__(self) -> None:
        super().__init__()
        self.functions: list[tuple[types.FunctionType, types.CodeType, Any]] = []
        self.items: list[tuple[Mapping[str, Any], str, Any]] = []
        self.cells: list[tuple[types.CellType, Any]] = []
        self.absent: list[tuple[KeysView[str], frozenset[str]]] = []
        self.others: list[tuple[Callable[[Any, str], Any], Any, str, Any]] = []

    def visit_function(self, function: types.FunctionType) -> None:
        # Its code may be patched in place.
        self.functions.append((function, function.__code__, function.__defaults__))
        if function.__code__.co_kwonlyargcount:
            self.others.append((getattr, function, "__kwdefaults__", function.__kwdefaults__))

    def visit_cell(self, cell: types.CellType, name: str, value: Any) -> None:
        if value is not EMPTY:
            self.cells.append((cell, value))

    def visit_item(self, mapping: Mapping[str, Any], name: str, value: Any) -> None:
        self.items.append((mapping, name, value))

    def visit_absent(self, mapping: Mapping[str, Any], names: Iterable[str]) -> None:
        if names:
            self.absent.append((mapping.keys(), frozenset(names)))

    def visit_attribute(self, owner: Any, name: str, value: Any) -> None:
        self.others.append((attribute_of, owner, name, value))

    def visit_wrapped(self, wrapper: DeviceFunction[..., Any] | Launchable) -> None:
        self.others.append((getattr, wrapper, "py_func", wrapper.py_func))

    def visit_value(self, value: Any) -> None:
        if is_constant_array(value) or is_constant_record(value):
            self.others.append((_contents, value, "", _contents(value, "")))
        elif isinstance(value, enum.Enum):
            self.others.append((getattr, value, "_value_", value.value))
        elif isinstance(value, type) and issubclass(value, tuple) and named_tuple_defaults(value):
            self.others.append((getattr, value.__new__, "__defaults__", named_tuple_defaults(value)))
