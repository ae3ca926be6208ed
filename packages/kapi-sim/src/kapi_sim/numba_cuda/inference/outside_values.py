"""Types of what a kernel takes from outside: constants, functions, modules, and objects that no kernel can have."""

from __future__ import annotations

import builtins
import enum
import sys
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from kapi_sim.errors import Finding
from kapi_sim.items.convergence import DialectIntrinsic
from kapi_sim.language.attributes import MISSING
from kapi_sim.language.launchables.device_function import DeviceFunction
from kapi_sim.numba_cuda.inference.values import BOOL, Dim3, DtypeOf, Enumeration, Member, Module, Named, TypeOf
from kapi_sim.numba_cuda.static_types.kinds import UNKNOWN, Array, Kind, Number, Other, Text, Tuple, without_literal
from kapi_sim.numba_cuda.static_types.type_spellings import kind_of_type
from kapi_sim.numba_cuda.static_types.types_of_values import array_kind, kind_of_value
from kapi_sim.numba_cuda.support import Refused
from kapi_sim.numba_cuda.threads.captured_arrays import Captured
from kapi_sim.numba_cuda.threads.geometry import Indices
from kapi_sim.numba_cuda.threads.warps import LaneId
from kapi_sim.numba_cuda.values.dtypes import is_numba_type
from kapi_sim.numba_cuda.values.vectors import Vector
from kapi_sim.short_repr import short_repr

__all__ = ["attribute_of_module", "kind_outside", "owner_of"]

_NUMBERS: dict[Any, np.dtype[Any]] = {
    bool: np.dtype(bool),
    int: np.dtype(np.int64),
    float: np.dtype(np.float64),
    complex: np.dtype(np.complex128),
}
_CALLED = (DeviceFunction, DialectIntrinsic, BuiltinFunctionType, np.ufunc, Refused)


def kind_outside(value: Any, name: str) -> Kind | Finding:
    """Return the type of an object that a kernel takes by a name; or what is wrong, if it can have none."""
    if isinstance(value, Captured):
        return _of_array(value, name)
    known = _constant(value, name)
    if known is not None:
        return known
    if isinstance(value, ModuleType):
        return Module(value, name)
    if isinstance(value, Indices):
        return Dim3()
    if isinstance(value, LaneId):
        return Number(None, None, "int")
    if isinstance(value, type):
        return _of_class(value, name)
    root = owner_of(value)
    if isinstance(value, _CALLED) or root in ("numpy", "math", "cmath", "operator") or _is_builtin(value):
        return Named(value, name)
    if isinstance(value, FunctionType):
        return _of_function(value, name, root)
    if root in ("numba", "numba_cuda") or hasattr(value, "_numba_type_"):
        return _from_numba(value, name)
    if root == "kapi_sim" and not _is_testing(value):
        return UNKNOWN
    return Finding(
        "outside-object",
        f"{name} is an object of class {type(value).__name__}, which a kernel cannot have: pass its numbers and arrays "
        "as arguments",
    )


def _constant(value: Any, name: str) -> Kind | Finding | None:
    """Return the type of a value that the compiler takes as a constant; `None` of other objects."""
    if isinstance(value, enum.Enum):
        return Member(type(value), without_literal(kind_of_value(value.value) or UNKNOWN))
    if isinstance(value, (bool, np.bool_)):
        return Number(BOOL.dtype, bool(value))
    if isinstance(value, (list, set, frozenset, dict, bytearray, range)):
        spelled = type(value).__name__
        return Finding(
            "outside-collection",
            f"{name} is a {spelled}, which a kernel cannot have: pass an array, or make a tuple of it outside",
        )
    if isinstance(value, tuple):
        parts = [kind_outside(each, f"{name}[{i}]") for i, each in enumerate(value)]
        wrong = next((each for each in parts if isinstance(each, Finding)), None)
        made_by = type(value) if hasattr(value, "_fields") else None
        return wrong or Tuple(tuple(each for each in parts if isinstance(each, Kind)), made_by)
    if is_numba_type(value):
        return TypeOf(kind_of_type(value))
    if isinstance(value, np.dtype):
        return DtypeOf(value)
    if isinstance(value, np.ndarray):
        return array_kind(value)
    kind = kind_of_value(value)
    if kind is None and isinstance(value, int):
        return Finding("integer-too-wide", f"{name} must fit 64 bits, got {short_repr(value)}: make it a float")
    if isinstance(kind, Number) and isinstance(value, (int, float)) and not isinstance(value, np.generic):
        return Number(kind.dtype, value)
    if isinstance(value, bytes):
        return Other("bytes")
    return Text(value) if isinstance(value, str) else kind


def _of_class(value: type[Any], name: str) -> Kind | Finding:
    if value in _NUMBERS:
        return TypeOf(Number(_NUMBERS[value]), is_python_type=True)
    if issubclass(value, np.generic):
        return TypeOf(kind_of_type(value)) if np.dtype(value).kind in "biufc" else Named(value, name)
    if issubclass(value, enum.Enum):
        return Enumeration(value, name)
    if type(value).__name__ == "JitClassType":
        return _from_numba(value, name)
    is_known = issubclass(value, (Vector, BaseException)) or (issubclass(value, tuple) and hasattr(value, "_fields"))
    if owner_of(value) in ("numba", "numba_cuda") and ".typed" in value.__module__:
        return _of_typed(name)
    if is_known or _is_builtin(value) or owner_of(value) in ("numpy", "numba", "numba_cuda"):
        return Named(value, name)
    return Finding(
        "outside-object",
        f"{name} is a class, which a kernel cannot have: pass numbers and arrays, or use a named tuple",
    )


def _of_function(value: FunctionType, name: str, root: str) -> Kind | Finding:
    if root in ("numba", "numba_cuda"):
        return _from_numba(value, name)
    if root in sys.stdlib_module_names - {"__main__"} or (root == "kapi_sim" and not _is_testing(value)):
        return Finding(
            "function-unknown",
            f"{name} is a function of the host, which a kernel cannot call: call it before the launch",
        )
    return Finding(
        "function-unknown",
        f"{name} is a plain function, which a kernel cannot call: decorate it with @cuda.jit(device=True)",
    )


def _of_typed(name: str) -> Finding:
    return Finding("outside-object", f"{name} grows in memory that a kernel cannot ask for: use cuda.local.array")


_UNKNOWN_TO_CUDA = ("literal_unroll", "literally")
"""Functions of Numba's that its compiler for the host alone has."""


def _from_numba(value: Any, name: str) -> Kind | Finding:
    if getattr(value, "__name__", "") in _UNKNOWN_TO_CUDA:
        return Finding("function-unknown", f"{name} is a function that numba.cuda does not have: write out the loop")
    if type(value).__name__ in ("DUFunc", "GUFunc", "JitClassType"):
        return Finding("function-unknown", f"{name} is made for the host, and a kernel cannot call it: use @cuda.jit")
    if not getattr(value, "_can_compile", True):
        return Finding(
            "function-unknown",
            f"{name} is compiled for the signatures that it has, on the host, and a kernel cannot call it: leave the "
            "signatures out",
        )
    return UNKNOWN


def _of_array(value: Captured, name: str) -> Kind | Finding:
    kind = array_kind(value.constant)
    if value.constant.dtype.hasobject:
        return Finding("outside-object", f"{name} is an array of objects, which a kernel cannot have: convert it")
    return Array(kind.dtype, kind.ndim, kind.layout, value.is_constant, True)


def attribute_of_module(module: Module, attribute: str) -> Any:
    """Return what a module has under a name, or `MISSING`."""
    return getattr(module.value, attribute, MISSING)


def owner_of(value: object) -> str:
    """Return the name of the package that an object, or its class, comes from."""
    module = getattr(value, "__module__", None) or type(value).__module__
    return str(module).partition(".")[0]


def _is_builtin(value: object) -> bool:
    name = getattr(value, "__name__", "")
    return isinstance(name, str) and getattr(builtins, name, None) is value


def _is_testing(value: Callable[..., Any]) -> bool:
    return str(getattr(value, "__module__", "")).startswith("kapi_sim.testing")
