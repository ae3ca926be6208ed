"""Types of calls."""

from __future__ import annotations

import ast
import builtins
import cmath
import math
import operator
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from kapi_sim.items.convergence import DialectIntrinsic
from kapi_sim.language.launchables.device_function import DeviceFunction
from kapi_sim.numba_cuda.inference.device_calls import DeviceCalls
from kapi_sim.numba_cuda.inference.outside_values import owner_of
from kapi_sim.numba_cuda.inference.supported_functions import (
    BUILTINS,
    CMATH,
    INSTEAD,
    MATH,
    NUMPY,
    OPERATOR,
    REFUSED_BUILTINS,
)
from kapi_sim.numba_cuda.inference.values import (
    BOOL,
    INT,
    INT64,
    DtypeOf,
    Iterable,
    LocalFunction,
    Method,
    Named,
    Slice,
    TypeOf,
    joined,
)
from kapi_sim.numba_cuda.static_types.kinds import (
    NOTHING,
    UNKNOWN,
    Array,
    Kind,
    Nothing,
    Number,
    Record,
    Text,
    Tuple,
    Unknown,
    without_literal,
)
from kapi_sim.numba_cuda.threads.geometry import Grid, GridSize
from kapi_sim.numba_cuda.threads.kernel_arrays import ConstantArrays, LocalArrays, SharedArrays
from kapi_sim.numba_cuda.threads.synchronisation import SyncThreads, SyncWarp, ThreadFence

__all__ = ["Calls"]

_MODULES: dict[str, tuple[Any, frozenset[str]]] = {
    "math": (math, MATH),
    "cmath": (cmath, CMATH),
    "operator": (operator, OPERATOR),
    "numpy": (np, NUMPY),
}
_OF_COMPLEX = ("acosh", "cosh", "log10", "phase", "polar", "sinh", "tanh")
"""Functions of `cmath` that the compiler does not have for other numbers."""


class Calls(DeviceCalls):
    """Finds the types of calls."""

    def _of_Call(self, node: ast.Call) -> Kind:
        called = self.used(node.func)
        match called:
            case LocalFunction():
                return self.local_call(node, called)
            case TypeOf():
                return self._converted(node, called)
            case Method():
                self._arguments(node)
                return called.result()
            case Named(value=DeviceFunction()):
                return self.device_call(node, called.value)
            case Named():
                return self._named_call(node, called)
            case Number() | Nothing() | Tuple() | Array():
                return self.problem(node, "called-value", f"{called} cannot be called, since it is not a function")
        self._arguments(node)
        return UNKNOWN

    def _converted(self, node: ast.Call, called: TypeOf) -> Kind:
        kinds = self._arguments(node)
        if kinds and isinstance(kinds[0], Text) and called.kind.category != "float":  # type: ignore[attr-defined]
            return self.problem(node, "number-text", "an integer must be made of a number in a kernel, got a string")
        return without_literal(called.kind)

    def _named_call(self, node: ast.Call, called: Named) -> Kind:
        function = called.value
        name = getattr(function, "__name__", called.name)
        if isinstance(function, (SharedArrays, LocalArrays)):
            return self._memory(node, function)
        if isinstance(function, ConstantArrays):
            return self._constant_memory(node)
        if isinstance(function, (Grid, GridSize)):
            return self._indices(node, f"cuda.{name}")
        if isinstance(function, (SyncThreads, SyncWarp, ThreadFence)):
            self._arguments(node)
            return NOTHING
        if isinstance(function, type) and issubclass(function, (BaseException, tuple)) and function is not tuple:
            return self._made(node, function)
        if getattr(builtins, name, None) is function:
            return self._builtin(node, name)
        for module, (_, known) in _MODULES.items():
            if _is_of(function, module):
                return self._of_library(node, called, module, known)
        self._arguments(node)
        if isinstance(function, DialectIntrinsic) and function.is_atomic and node.keywords:
            self.problem(
                node, "call-arguments", f"{called.name}() must be given its arguments one by one, without names"
            )
        if isinstance(function, BuiltinFunctionType):
            self.problem(node, "function-unknown", f"{called.name} is not a function that kernels can call")
        return UNKNOWN

    def _arguments(self, node: ast.Call) -> list[Kind]:
        """Return the types of a call's arguments, those with names last."""
        return [self.used(each) for each in (*node.args, *(keyword.value for keyword in node.keywords))]

    def _made(self, node: ast.Call, made_by: type[Any]) -> Kind:
        kinds = self._arguments(node)
        if not issubclass(made_by, tuple) or not hasattr(made_by, "_fields"):
            return UNKNOWN
        is_complete = len(kinds) == len(made_by._fields) and not node.keywords
        return Tuple(tuple(kinds), made_by) if is_complete else UNKNOWN

    # Libraries.

    def _of_library(self, node: ast.Call, called: Named, module: str, known: frozenset[str]) -> Kind:
        kinds = self._arguments(node)
        name = called.value.__name__
        if name not in known:
            instead = INSTEAD.get(name, "write out what it does") if module == "numpy" else "write out what it does"
            if module == "numpy" and name in MATH:
                instead = f"write math.{name}"
            return self.problem(
                node, "function-unknown", f"{called.name} is not a function that kernels can call: {instead}"
            )
        if name in _OF_COMPLEX and module == "cmath" and kinds and isinstance(kinds[0], Number):
            if kinds[0].category not in ("complex", ""):
                return self.problem(
                    node, "call-arguments", f"cmath.{name} must be given a complex number in a kernel, got {kinds[0]}"
                )
        if module == "math" and name == "log" and len(node.args) > 1:
            return self.problem(
                node, "call-arguments", "math.log takes one argument in a kernel: write math.log(x) / math.log(base)"
            )
        if isinstance(called.value, np.ufunc):
            return self._ufunc(node, called, kinds)
        return UNKNOWN

    def _ufunc(self, node: ast.Call, called: Named, kinds: list[Kind]) -> Kind:
        if node.keywords:
            return self.problem(
                node,
                "call-arguments",
                f"{called.name} must be given its arguments one by one, got {node.keywords[0].arg}=: an array for the "
                "result stands last",
            )
        if len(kinds) == called.value.nin and any(isinstance(each, Array) for each in kinds):
            return self.problem(
                node,
                "whole-array",
                f"{called.name} must be given an array for its result, since a kernel makes none: add it as the last "
                "argument, or write a loop",
            )
        return UNKNOWN

    # Functions of Python's own.

    def _builtin(self, node: ast.Call, name: str) -> Kind:
        if name == "print":
            return self._print(node)
        if name in REFUSED_BUILTINS:
            code, text = REFUSED_BUILTINS[name]
            said = text if code != "function-unknown" else f"{name}() is not a function that kernels can call: {text}"
            return self.problem(node, code, said)
        if name not in BUILTINS:
            return self.problem(node, "function-unknown", f"{name}() is not a function that kernels can call")
        kinds = [self.used(each) for each in node.args]
        for keyword in node.keywords:
            self.used(keyword.value)
        return self._result_of_builtin(node, name, kinds)

    def _result_of_builtin(self, node: ast.Call, name: str, kinds: list[Kind]) -> Kind:
        match name:
            case "pow" if len(kinds) > 2:
                return self.problem(node, "call-arguments", "pow() takes two arguments in a kernel, got three")
            case "len":
                return self._length(kinds)
            case "range":
                return Iterable(INT64, "range")
            case "enumerate" if node.args:
                return Iterable(Tuple((INT64, self.iterated(node.args[0]))), "enumerate")
            case "zip":
                return Iterable(Tuple(tuple(self.iterated(each) for each in node.args)), "zip")
            case "slice":
                return Slice()
            case "abs" if kinds and isinstance(kinds[0], Number):
                return Number(None, None, "float" if kinds[0].category == "complex" else kinds[0].category)
            case "tuple" if kinds and isinstance(kinds[0], Array):
                return self.problem(node, "whole-array", "tuple() must be given a tuple in a kernel, got an array")
            case "max" | "min" if kinds and all(isinstance(each, Number) for each in kinds):
                found = kinds[0]
                for each in kinds[1:]:
                    found = joined(found, each)
                return without_literal(found)
            case "isinstance" if len(node.args) == 2:
                return Number(BOOL.dtype, _is_instance(kinds[0], kinds[1]))
            case "isinstance" | "hasattr":
                return UNKNOWN
            case "type" if kinds and isinstance(kinds[0], Number):
                return UNKNOWN
        return UNKNOWN

    def _length(self, kinds: list[Kind]) -> Kind:
        return INT64 if len(kinds) == 1 else UNKNOWN

    def _print(self, node: ast.Call) -> Kind:
        for keyword in node.keywords:
            self.problem(node, "print-call", f"print() has no options in a kernel, got {keyword.arg}=: leave it out")
        for each in node.args:
            kind = self.used(each)
            is_complex = isinstance(kind, Number) and kind.category == "complex"
            is_made = isinstance(kind, Text) and kind.literal is None and not isinstance(kind, Unknown)
            if is_complex or is_made or isinstance(kind, (Array, Nothing, Record, Named, LocalFunction)):
                what = "a string that is not constant" if is_made else str(kind)
                self.problem(
                    node, "print-value", f"print() must be given numbers and constant strings in a kernel, got {what}"
                )
        return NOTHING

    # Memory and indices.

    def _given(self, node: ast.Call, position: int, name: str) -> ast.expr | None:
        if len(node.args) > position and not any(isinstance(each, ast.Starred) for each in node.args):
            return node.args[position]
        return next((keyword.value for keyword in node.keywords if keyword.arg == name), None)

    def _memory(self, node: ast.Call, word: SharedArrays | LocalArrays) -> Kind:
        name = f"cuda.{word.__name__}"
        shape, dtype = self._given(node, 0, "shape"), self._given(node, 1, "dtype")
        alignment = self._given(node, 2, "alignment")
        extents = None if shape is None else self._extents(node, name, shape, isinstance(word, SharedArrays))
        kind = UNKNOWN if dtype is None else self.used(dtype)
        if alignment is not None:
            self.used(alignment)
        element = self._element(node, name, kind)
        return Array(element, None if extents is None else len(extents), "C", False, True)

    def _extents(self, node: ast.Call, name: str, shape: ast.expr, is_shared: bool) -> tuple[int, ...] | None:
        """Return the shape of memory, where it is known; one that the compiler does not know is a problem."""
        kind = self.kind(shape)
        if isinstance(kind, Unknown):
            return None
        members = kind.members if isinstance(kind, Tuple) else (kind,)
        extents: list[int] = []
        for each in members:
            if isinstance(each, Unknown):
                return None
            is_integer = isinstance(each, Number) and isinstance(each.literal, int) and each.category == "int"
            if not is_integer or not isinstance(each, Number):
                self.problem(
                    node,
                    "shape-unknown",
                    f"shape of {name} must be known when the kernel is compiled, got `{ast.unparse(shape)}`: use "
                    "integer literals, or global variables that are Python integers",
                )
                return None
            extents.append(int(each.literal or 0))
        is_dynamic = is_shared and extents == [0]
        if any(each < 1 for each in extents) and not is_dynamic:
            self.problem(
                node, "array-shape", f"shape of {name} must be made of integers from 1 on, got `{ast.unparse(shape)}`"
            )
        return tuple(extents)

    def _element(self, node: ast.Call, name: str, kind: Kind) -> np.dtype[Any] | None:
        """Return the dtype that memory is asked for; what no array has is a problem."""
        match kind:
            case TypeOf(kind=Number() | Record() as element, is_python_type=False):
                return element.dtype
            case DtypeOf():
                return kind.dtype
            case Text(literal=str() as text):
                try:
                    return np.dtype(text)
                except TypeError:
                    return None
            case Unknown() | Named() | Text():
                return None
            case TypeOf(is_python_type=False):
                return None
        self.problem(
            node,
            "array-dtype",
            f"dtype of {name} must be one of NumPy's or Numba's that the source says, got {kind}: write np.float32",
        )
        return None

    def _constant_memory(self, node: ast.Call) -> Kind:
        kinds = self._arguments(node)
        kind = kinds[0] if kinds else UNKNOWN
        return Array(kind.dtype, kind.ndim, kind.layout, True, True) if isinstance(kind, Array) else UNKNOWN

    def _indices(self, node: ast.Call, name: str) -> Kind:
        given = self._given(node, 0, "ndim")
        kind = UNKNOWN if given is None else self.used(given)
        if isinstance(kind, Unknown):
            return UNKNOWN
        if isinstance(kind, Number) and kind.literal in (1, 2, 3) and kind.category == "int":
            return INT if kind.literal == 1 else Tuple((INT,) * int(kind.literal))
        assert given is not None
        return self.problem(
            node,
            "dim-out-of-range",
            f"ndim of {name} must be 1, 2 or 3, and known when the kernel is compiled, got `{ast.unparse(given)}`",
        )


def _is_instance(kind: Kind, wanted: Kind) -> bool | None:
    """Return whether values of a type are of a class of Python's; `None` where that is not sure."""
    if isinstance(wanted, Named) and wanted.value is tuple and isinstance(kind, (Number, Array, Tuple, Nothing)):
        return isinstance(kind, Tuple)
    if isinstance(wanted, TypeOf) and wanted.is_python_type and isinstance(wanted.kind, Number):
        if isinstance(kind, (Array, Tuple, Nothing)):
            return False
        if isinstance(kind, Number) and "bool" not in (kind.category, wanted.kind.category) and kind.category:
            return kind.category == wanted.kind.category
    return None


def _is_of(function: object, module: str) -> bool:
    """Return whether a function comes from one of the libraries of which the compiler knows some functions."""
    owner = "numpy" if isinstance(function, np.ufunc) else owner_of(function).lstrip("_")
    return owner == module
