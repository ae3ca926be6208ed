"""Values that a kernel may take from outside: numbers, tuples, enumerations, and functions of kernels.

Globals, variables of a function around it, and attributes of modules, classes and objects are constants of a kernel.
The simulator's check, the compiler's constants, and the runtime's captures and cache keys all ask here: with a rule in
each layer, a changed constant gave a stale kernel.  The contents of a constant array are a part of every key, which is
why it has at most 32 KiB.
"""

from __future__ import annotations

import builtins
import cmath
import enum
import math
import random
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from kapi_sim.errors import Finding
from kapi_sim.language import LocalAccessor, NdRange, Range
from kapi_sim.language.attributes import attribute_of, has_constants
from kapi_sim.language.intrinsics.memory import MAX_CONSTANT_BYTES, MAX_RANK
from kapi_sim.language.intrinsics.records import is_element_dtype
from kapi_sim.language.launchables.device_function import DeviceFunction
from kapi_sim.language.launchables.launchable import Launchable
from kapi_sim.language.table.intrinsics import rows
from kapi_sim.language.table.other_names import numpy_names

__all__ = [
    "BUILTINS",
    "describe_value",
    "is_constant_array",
    "is_constant_record",
    "is_kernel_value",
    "names_dtype",
]

BUILTINS = (
    abs, all, any, bool, complex, divmod, enumerate, float, int, len, max, min, pow, print, range, reversed, round,
    slice, sum, tuple, zip,
)  # fmt: skip
"""Python's own functions that kernels have."""

_MODULES: dict[str, Any] = {"math": math, "cmath": cmath, "numpy": np}
_OF_THE_TABLE = {id(attribute_of(module, row.name)) for owner, module in _MODULES.items() for row in rows(owner)}
_OF_THE_HOST = (Range, NdRange, LocalAccessor)
_MAKERS = frozenset({"array", "arange", "empty", "empty_like", "full", "linspace", "ones", "ones_like", "zeros"})
_NUMBERS = (bool, int, float, complex)


def is_kernel_value(value: object) -> bool:
    """Return whether a kernel may name `value`; a module or an object with constants is no value, but has some."""
    value = numpy_names(value)
    if isinstance(value, FunctionType) and (value.__module__ or "").partition(".")[0] == "dpnp":
        return False
    if value is None or type(value) in (*_NUMBERS, range):
        return True
    if isinstance(value, tuple):
        return all(map(is_kernel_value, value))
    if isinstance(value, (enum.Enum, ModuleType, DeviceFunction, FunctionType)):
        return True
    if isinstance(value, np.generic):
        return is_element_dtype(value.dtype)
    if isinstance(value, np.ndarray):
        return is_constant_array(value)
    if isinstance(value, np.dtype):
        return True  # which one it may be is told where an array is made of it
    if isinstance(value, type):
        return _is_kernel_class(value)
    return _is_kernel_function(value)


def is_constant_array(value: object) -> bool:
    """Return whether `value` is an array of NumPy's that kernels take as a constant."""
    if type(value) is not np.ndarray or value.size == 0 or value.ndim > MAX_RANK:
        return False
    return is_element_dtype(value.dtype) and value.nbytes <= MAX_CONSTANT_BYTES


def is_constant_record(value: object) -> bool:
    """Return whether `value` is a record of NumPy's that kernels take as a constant."""
    return type(value) in (np.void, np.record) and is_element_dtype(value.dtype)  # type: ignore[attr-defined]  # has it


def _is_kernel_class(value: type) -> bool:
    if value in BUILTINS or value is np.void or issubclass(value, (enum.Enum, np.number, np.bool_)):
        return True
    if issubclass(value, tuple):
        return hasattr(value, "_fields")
    return value.__module__.startswith("kapi_sim.") and value not in _OF_THE_HOST


def _is_kernel_function(value: object) -> bool:
    if id(value) in _OF_THE_TABLE or any(value is each for each in BUILTINS) or value is builtins.breakpoint:
        return True
    module = getattr(value, "__module__", None) or ""
    if isinstance(value, BuiltinFunctionType):
        return module == "_operator"
    # A function that Numba has compiled for the host is written in Python, too.
    return hasattr(value, "py_func") and type(value).__module__.startswith("numba.")


_NO_NUMBERS = Finding("outside-object", "is not a tuple of numbers")


def names_dtype(text: str) -> bool:
    """Return whether a text is the name of one of NumPy's types, as arrays outside of kernels take it."""
    found = getattr(np, text, None) if text.isidentifier() else None
    return isinstance(found, type) and issubclass(found, np.generic)


def _hint(function: Any) -> str:
    """Return the advice for a call of one of NumPy's functions."""
    module = "numpy" if isinstance(function, np.ufunc) else getattr(function, "__module__", None) or ""
    package, name = module.partition(".")[0], getattr(function, "__name__", "")
    if isinstance(getattr(function, "__self__", None), (np.random.RandomState, np.random.Generator, random.Random)):
        return ": write `kapi.random.uniform(seed, counter, stream)`, which needs no state"
    if package not in ("numpy", "dpnp"):
        return ""
    if name in _MAKERS:
        return ": pass an array as an argument, or make a kapi.PrivateArray"
    if name in ("finfo", "iinfo"):
        return ": compute it outside of the kernel, whose constants may be globals"
    return ": write a loop over the elements, or use it outside of the kernel"


def describe_value(value: object) -> Finding:
    """Say why a constant, a global or a closure's value is none in a kernel, to follow its name."""
    if isinstance(value, (str, bytes)):
        hint = f"; write np.{value}" if isinstance(value, str) and names_dtype(value) else ""
        return Finding("outside-text", f"is a string, which a kernel can only print or raise{hint}")
    if isinstance(value, (list, dict, set, frozenset)):
        kind = type(value).__name__
        return Finding(
            "outside-collection",
            f"is a {kind}, which kernels do not have: use a tuple, or pass an array as an argument",
        )
    if isinstance(value, np.ndarray) and value.nbytes > MAX_CONSTANT_BYTES:
        return Finding(
            "outside-array-too-large",
            f"is an array of {value.nbytes} bytes, and one that a kernel takes from outside has at most "
            f"{MAX_CONSTANT_BYTES}; make it an argument of the kernel",
        )
    if isinstance(value, np.ndarray):
        return Finding(
            "outside-array",
            f"is an array of shape {value.shape} and dtype {value.dtype}; a kernel takes plain arrays "
            "from outside, with elements, and of the numbers that it has",
        )
    if type(value).__name__ == "ndarray":
        return Finding("outside-array", "is an array of a device: pass it as an argument of the kernel")
    if hasattr(type(value), "__sycl_usm_array_interface__"):
        return Finding("outside-array", "is an array from outside of the kernel: pass it as an argument")
    if value is Ellipsis:
        return Finding("ellipsis", "is not an index in a kernel: write an index for each axis")
    if value is LocalAccessor:
        return Finding("local-accessor-made", "cannot be created in a kernel: pass one as an argument of the launch")
    if isinstance(value, tuple):
        return next((describe_value(each) for each in value if not is_kernel_value(each)), _NO_NUMBERS)
    if has_constants(value) and not isinstance(value, type):
        return Finding(
            "outside-object",
            f"is an object of class {type(value).__name__}, which kernels do not have: "
            "use its attributes that are numbers",
        )
    if isinstance(value, Launchable):
        return Finding(
            "kernel-in-kernel",
            "is a kernel, which a kernel cannot call: decorate functions that kernels call with @device_func",
        )
    if callable(value):
        return Finding("function-unknown", f"is not a function that kernels can call{_hint(value)}")
    return Finding("outside-object", f"is an object of class {type(value).__name__}, which kernels do not have")
