"""What a kernel's module holds and no kernel can use: functions that devices lack, and data that no device owns."""

from __future__ import annotations

import builtins
import sys
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

from kapi_sim.names import MISSING

__all__ = ["foreign_call", "foreign_value"]

_BUILTINS = frozenset(
    id(getattr(builtins, name))
    for name in (
        *("abs", "all", "any", "bool", "breakpoint", "complex", "divmod", "float", "int", "len", "max", "min"),
        *("pow", "print", "range", "round", "slice", "sum"),
    )
)
_FOR_KERNELS = frozenset({"__main__", "_operator", "enum", "operator"})
"""Modules of the standard library whose functions kernels have, and the user's own."""
_MAKERS = frozenset({"array", "arange", "empty", "empty_like", "full", "linspace", "ones", "ones_like", "zeros"})


def foreign_call(value: Any, path: tuple[str, ...]) -> str:
    """Return why a kernel cannot call `value`; nothing if it can, or if that is seen only when it does.

    Parameters
    ----------
    value : object
        What the called name leads to, `MISSING` if it is the kernel's own.
    path : tuple of str
        The called name, from left to right, as the kernel spells it.
    """
    if value is MISSING or not callable(value) or (isinstance(value, type) and issubclass(value, np.generic)):
        return ""
    if isinstance(value, FunctionType) and value.__module__ in (None, "builtins"):
        return ""  # the user's own, made where no module is
    owner = _owner(value)
    if owner == "builtins":
        is_known = id(value) in _BUILTINS or (isinstance(value, type) and issubclass(value, BaseException))
    elif owner in ("numpy", "math", "cmath"):
        is_known = any(value is function for function in _functions(owner))
    else:
        is_known = owner != "dpnp" and (owner not in sys.stdlib_module_names or owner in _FOR_KERNELS)
    if is_known:
        return ""
    name = getattr(value, "__name__", repr(value))
    cure = ""
    if owner == "numpy" and name in _MAKERS:
        cure = ": pass an array as an argument, or make a kapi.PrivateArray"
    elif owner == "dpnp" and any(name == getattr(each, "__name__", "") for each in _functions("numpy")):
        cure = f": write np.{name}"
    elif name in ("finfo", "iinfo"):
        cure = ": compute it outside of the kernel, whose constants may be globals"
    elif owner in ("numpy", "dpnp"):
        cure = ": write a loop over the elements, or use it outside of the kernel"
    if owner in ("numpy", "dpnp") and len(path) > 1:
        path = (owner, *path[1:])  # whatever it was imported as
    return f"{'.'.join(path)} is no function that kernels have{cure}"


def foreign_value(name: str, value: Any) -> str:
    """Return why a kernel cannot use what `name` leads to outside of it; nothing if it can.

    Parameters
    ----------
    name : str
        As the kernel spells it.
    value : object
        What it leads to, `MISSING` if it is the kernel's own.
    """
    if isinstance(value, np.ndarray):
        return f"{name} is a numpy.ndarray, which no device owns; make it an argument of the kernel"
    if isinstance(value, (list, dict, set)):
        return (
            f"{name} is a {type(value).__name__}, which kernels lack; make it a tuple, or an array that is an argument"
        )
    return ""


def _owner(value: Any) -> str:
    """Return the first part of the name of the module that defines a function or class."""
    module = getattr(value, "__module__", None) or type(getattr(value, "__self__", None)).__module__
    if isinstance(value, np.ufunc):
        module = "numpy"
    return str(module).partition(".")[0]


@cache
def _functions(owner: str) -> tuple[Any, ...]:
    """The functions of a module, one of which a kernel calls, that are rows of the intrinsic table."""
    # Only a kernel that calls such a function needs the table.
    from kapi_sim.spec.function_rows import FUNCTION_ROWS

    return tuple(getattr(sys.modules[owner], row.name, None) for row in FUNCTION_ROWS if row.owner == owner)
