"""The names by which a function's code reaches what is outside of it, and whose meaning is known by the name."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from opcode import opmap
from typing import Any

__all__ = [
    "attribute_names",
    "builtins_of",
    "global_names",
    "is_known_module",
    "is_known_object",
    "made_defaults",
]

# Their functions and constants are known by name, and change with their versions.
_KNOWN = ("_operator", "builtins", "cmath", "enum", "kapi_runtime", "kapi_sim", "math", "numpy", "operator", "typing")

_LOAD_GLOBAL, _EXTENDED_ARG = opmap["LOAD_GLOBAL"], opmap["EXTENDED_ARG"]


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


def made_defaults(named_tuple: type) -> tuple[Any, ...]:
    """The defaults of a named tuple's last fields, as a call of the class takes them."""
    return getattr(named_tuple.__new__, "__defaults__", None) or ()
